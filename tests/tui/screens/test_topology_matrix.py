"""The matrix of distances: on the screen of links and alone, at any size."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.frame import SourceFrame
from gputop.probes.model.sample import SourceState
from gputop.probes.model.topology_frames import TopologyFrame
from gputop.tui.app.app import GputopApp
from gputop.tui.drawing.lines import text_of, width_of
from gputop.tui.drawing.target import Block
from gputop.tui.screens.link_screen import draw, draw_topology
from gputop.tui.screens.picture_screen import picture
from gputop.tui.session.view import View
from gputop.tui.widgets.canvas import Canvas

from support.tui_watch import app_of, changed, judgement, view


def text(shown: View, width: int = 132, height: int = 43) -> str:
    return "\n".join(text_of(line) for line in drawn(shown, width, height).lines)


def drawn(shown: View, width: int, height: int) -> Block:
    block = picture(shown, width, height, draw)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    return block


def test_islands_are_named_and_in_the_matrix() -> None:
    shown = text(view(judgement("two-islands")))
    assert "island A: GPU 0-3" in shown
    assert "island B: GPU 4-7" in shown
    (row,) = [line for line in shown.splitlines() if line.split()[:1] == ["GPU5"]]
    assert row.split()[1:9] == ["SYS"] * 4 + ["NV4", "X", "NV4", "NV4"]
    assert row.split()[9:13] == ["B", "1", "r5", "near"]


def test_the_matrix_shows_cards_where_there_is_room() -> None:
    wide = text(view(judgement()), 200, 50)
    (row,) = [line for line in wide.splitlines() if line.split()[:1] == ["GPU2"]]
    assert row.split()[9:19] == "NODE NODE PIX NODE SYS SYS SYS SYS NODE SYS".split()  # noqa: SIM905
    assert "NIC2" in wide
    assert "NIC2" not in text(view(judgement()), 100, 40)


def shown_text(app: GputopApp) -> str:
    return "\n".join(text_of(line) for line in app.screen.query_one(Canvas).lines)


def matrix(shown: View, width: int, height: int, first: int = 0) -> list[str]:
    def alone(shown: View, width: int, height: int) -> Block:
        return draw_topology(shown, width, height, first)

    block = picture(shown, width, height, alone)
    assert len(block.lines) == len(block.targets) == height
    assert {width_of(text_of(line)) for line in block.lines} == {width}
    return [text_of(line) for line in block.lines]


def rows_of(lines: list[str], name: str) -> list[list[str]]:
    return [line.split() for line in lines if line.split()[:1] == [name]]


def test_the_matrix_alone_has_the_rows_of_the_cards() -> None:
    lines = matrix(view(), 200, 30)
    (row,) = rows_of(lines, "NIC2")
    assert row[1:9] == "NODE NODE PIX NODE SYS SYS SYS SYS".split()  # noqa: SIM905
    assert row[9:19] == "NODE NODE X NODE SYS SYS SYS SYS NODE SYS".split()  # noqa: SIM905
    assert row[19:] == ["0", "mlx5_2", "CPUs", "0-47"]


@pytest.mark.parametrize("width", [80, 132])
def test_where_it_is_too_narrow_the_cards_have_a_table_of_their_own(width: int) -> None:
    lines = matrix(view(), width, 43)
    to_gpus, to_cards = rows_of(lines, "NIC9")
    assert to_gpus[1:9] == "SYS SYS SYS SYS NODE NODE NODE NODE".split()  # noqa: SIM905
    assert to_cards[1:11] == "SYS SYS SYS SYS NODE NODE NODE NODE SYS X".split()  # noqa: SIM905


def test_the_cards_are_below_the_gpus_where_a_tall_terminal_has_room() -> None:
    (row,) = rows_of(text(view(), 200, 70).splitlines(), "NIC9")
    assert row[-4:-2] == ["1", "mlx5_9"]
    assert not rows_of(text(view(), 200, 45).splitlines(), "NIC9")


def of_size(gpus: int, nics: int) -> View:
    """A node of so many GPUs and cards, no two pairs of which are equally many links apart."""
    judged = judgement()
    topology = judged.frame.topology
    assert topology is not None
    size = gpus + nics
    levels = tuple(
        tuple("X" if row == column else f"{row + column:03}" for column in range(size))
        for row in range(size)
    )
    cards = [msgspec.structs.replace(topology.nics[0], name=f"mlx5_{n}") for n in range(nics)]
    places = [msgspec.structs.replace(topology.gpus[0], index=n) for n in range(gpus)]
    names = (*(f"GPU{n}" for n in range(gpus)), *(card.name for card in cards))
    changes = {"gpus": tuple(places), "nics": tuple(cards), "columns": names, "levels": levels}
    return view(changed(judged, topology=msgspec.structs.replace(topology, **changes)))


@pytest.mark.parametrize("width", [60, 80, 132, 200])
@pytest.mark.parametrize(("gpus", "nics"), [(8, 0), (8, 10), (16, 0), (16, 10), (1, 12)])
def test_every_pair_is_somewhere_in_the_matrix(width: int, gpus: int, nics: int) -> None:
    """Whatever the width: its columns are read off the headings, which must not run together."""
    found: set[frozenset[str]] = set()
    headings: list[str] = []
    full = {f"{kind[0]}{n}": f"{kind}{n}" for kind in ("GPU", "NIC") for n in range(10, 16)}
    for line in matrix(of_size(gpus, nics), width, 200):
        words = line.split()
        cells = [word for word in words[1:] if word == "X" or (word.isdigit() and len(word) == 3)]
        if cells and words[0].startswith(("GPU", "NIC")):
            found |= {frozenset((words[0], name)) for name in headings[: len(cells)]}
            assert len(cells) == len(headings)
        elif words and full.get(words[0], words[0])[:3] in ("GPU", "NIC"):
            headings = [name for word in words if (name := full.get(word, word))[3:].isdigit()]
    names = [*(f"GPU{n}" for n in range(gpus)), *(f"NIC{n}" for n in range(nics))]
    assert {frozenset((one, two)) for one in names for two in names} <= found


@given(
    width=st.integers(min_value=20, max_value=250),
    height=st.integers(min_value=5, max_value=70),
    first=st.integers(min_value=0, max_value=50),
    gpus=st.integers(min_value=0, max_value=8),
    nics=st.integers(min_value=0, max_value=10),
)
@settings(max_examples=60)
def test_the_matrix_alone_has_exactly_its_size(
    width: int, height: int, first: int, gpus: int, nics: int
) -> None:
    whole = judgement().frame.topology
    assert whole is not None
    kept = [*range(gpus), *range(len(whole.gpus), len(whole.gpus) + nics)]
    topology = msgspec.structs.replace(
        whole,
        gpus=whole.gpus[:gpus],
        nics=whole.nics[:nics],
        columns=tuple(whole.columns[at] for at in kept),
        levels=tuple(tuple(whole.levels[row][at] for at in kept) for row in kept),
    )
    matrix(view(changed(judgement(), topology=topology)), width, height, first)


async def test_a_key_gives_the_matrix_the_screen_and_arrows_move_it() -> None:
    app, _ = app_of(judgement())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("3", "t")
        await pilot.pause()
        assert "lines 1 to 20 of 32" in shown_text(app)
        await pilot.press("down", "down", "pagedown", "pagedown")
        await pilot.pause()
        assert "lines 13 to 32 of 32" in shown_text(app), "no further than its end"
        await pilot.press("escape")
        await pilot.pause()
        assert "Links" in shown_text(app)
        assert app.screen.name == "links"


def test_without_topology_it_says_so() -> None:
    assert "not read yet" in text(view(changed(judgement(), topology=None)))
    assert "not read yet" in text(view(changed(judgement(), topology=TopologyFrame())))


@pytest.mark.parametrize(
    ("nvml", "topology", "why"),
    [
        ("absent", "ok", "no libnvidia-ml"),
        ("ok", "ok", "the NVIDIA driver lists no GPU"),
        ("ok", "absent", "no /sys here"),
        ("absent", "absent", "no /sys here"),
    ],
)
@pytest.mark.parametrize("read", [None, TopologyFrame()])
def test_without_gpus_it_says_why_there_is_no_matrix(
    nvml: SourceState, topology: SourceState, why: str, read: TopologyFrame | None
) -> None:
    """And not that it has not been read yet: that would be so for ever."""
    sources = (
        SourceFrame(name="nvml", status=nvml, reason="" if nvml == "ok" else "no libnvidia-ml"),
        SourceFrame(
            name="topology", status=topology, reason="" if topology == "ok" else "no /sys here"
        ),
    )
    shown = view(changed(judgement(), gpus=(), topology=read, sources=sources))
    assert why in text(shown)
    assert "not read yet" not in "\n".join(matrix(shown, 80, 24))


def test_hints_of_what_sends_traffic_up() -> None:
    topology = judgement().frame.topology
    assert topology is not None
    hinted = msgspec.structs.replace(topology, iommu=True, acs_redirects=("0000:15:01.0",))
    shown = text(view(changed(judgement(), topology=hinted)))
    assert "ACS sends peer traffic up at 1 bridge" in shown
    assert "IOMMU on" in shown
