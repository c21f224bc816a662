"""Whatever number the driver gives: either it can be true, or it is None with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputop.probes.model.throttle_reasons import throttle_words
from gputop.probes.sources.nvml import units as rules
from gputop.probes.sources.nvml.call import Answer
from gputop.probes.sources.nvml.names import ARCHITECTURES

UNSIGNED_32 = 0xFFFFFFFF
UNSIGNED_64 = 0xFFFFFFFFFFFFFFFF

# Everything that fits the widest signed or unsigned member of NVML's value union, near its edges too.
whole = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.sampled_from([0, 1, 100, 101, 200, UNSIGNED_32, UNSIGNED_64, 2**31 - 1, 2**63 - 1, -1]),
)
any_number = st.one_of(whole, st.floats())

RULES: list[tuple[Callable[[Any], Answer[Any]], float, float]] = [
    (rules.ratio, 0.0, 1.0),
    (rules.count, 0, 2**63),
    (rules.word, 0, 2**31),
    (rules.scaled(1e6), 0, 2**31 * 1e6),
    (rules.multiple(1024), 0, 2**73),
    (rules.thousandths, 0, 2**63),
    (rules.celsius, 0, 200),
    (rules.hertz, 0, 2e10),
    (rules.watts(700.0), 0, 2100),
    (rules.watts(None), 0, 10_000),
    (rules.flag, 0, 1),
    (rules.total, math.ulp(0.0), 2**63),
    (rules.part_of(1000), 0, 1000),
    (rules.up_to(15), 0, 15),
]


@settings(max_examples=50)
@given(value=any_number)
@pytest.mark.parametrize(("rule", "lowest", "highest"), RULES)
def test_a_value_is_in_its_range_or_none_with_a_reason(
    rule: Callable[[Any], Answer[Any]], lowest: float, highest: float, value: float
) -> None:
    answer = rule(value)
    if answer.value is None:
        assert answer.reason
    else:
        assert not answer.reason
        assert math.isfinite(answer.value)
        assert lowest <= answer.value <= highest


@pytest.mark.parametrize("blank", [UNSIGNED_32, UNSIGNED_64, 0x7FFFFFF0, 9223372036854775792])
def test_blanks_are_no_values(blank: int) -> None:
    for rule in (rules.word, rules.ratio, rules.celsius, rules.scaled(1.0), rules.watts(None)):
        assert rule(blank) == Answer(None, "driver gave no value")


def test_counters_may_pass_thirty_two_bits() -> None:
    assert rules.count(UNSIGNED_32) == Answer(UNSIGNED_32)
    assert rules.count(UNSIGNED_64).value is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (rules.ratio(200), "driver reported 200 %"),
        (rules.ratio(101), "driver reported 101 %"),
        (rules.ratio(101.5), "driver reported 101.5 %"),
        (rules.watts(700.0)(4_000_000), "driver reported 4000 W"),
        (rules.celsius(250), "driver reported 250 °C"),
        (rules.celsius(-5), "driver reported -5"),
        (rules.total(0), "driver reported a size of 0"),
        (rules.part_of(10)(11), "driver reported more used than there is"),
        (rules.flag(7), "driver reported 7"),
        (rules.text(""), "driver gave no value"),
    ],
)
def test_the_reason_names_what_was_reported(answer: Answer[Any], reason: str) -> None:
    assert answer == Answer(None, reason)


def test_a_measured_share_may_be_a_rounding_above_one() -> None:
    assert rules.ratio(100.4) == Answer(1.0)


def test_unknown_numbers_keep_their_number() -> None:
    assert rules.named(ARCHITECTURES)(9) == Answer("Hopper")
    assert rules.named(ARCHITECTURES)(77) == Answer("unknown (77)")


@given(bits=st.integers(0, 2**64 - 1))
def test_each_throttle_bit_has_exactly_one_word(bits: int) -> None:
    words = throttle_words(bits)
    assert len(words) == len(set(words)) == bits.bit_count()


def test_throttle_words_come_lowest_bit_first() -> None:
    assert throttle_words(0x44) == ("sw power cap", "hw thermal slowdown")
    assert throttle_words(0) == ()
