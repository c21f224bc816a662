"""``gputop capture``: all evidence of what goes on, in one file, before somebody restarts the job."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...probes.feeds.protocol import FeedError
from ...probes.model.sample import Sample
from ...probes.recording.block import Entry
from ...probes.recording.redaction import Redactor
from ...rules.catalogue import make_rules
from ...rules.engine import Engine
from ..console.ended_by_signals import EndedBySignals
from ..console.errors import UsageError
from ..console.exits import COULD_NOT_LOOK, INTERRUPTED, OK, complain
from ..console.output import say
from ..console.thresholds import thresholds
from ..drawing import format
from .capsule.archive import Archive, ArchiveError
from .capsule.contents import MANIFEST, README, RECORDING, Contents
from .capsule.job_evidence import add_flight_recorders, add_logs, add_memory_snapshots
from .capsule.live_look import LiveLook
from .capsule.pages import add_pages
from .capsule.past import Whole, entries_before, recording_that_goes_on
from .diagnose import has_ended, why_no_job
from .live import make_feed
from .recorded import opened

_GAP_SECONDS = 15.0
"""A recording that was thinned has a sample every ten seconds: less is no gap."""


def capture(options: Namespace) -> int:
    """Look, gather, write; returns the exit code."""
    if options.redact and options.memory_snapshot:
        raise UsageError("--memory-snapshot does not go with --redact: a pickle cannot be redacted")
    rules = thresholds(options.settings)
    archive: Archive | None = None
    try:
        with EndedBySignals():
            if options.before:
                opened(
                    options.before
                )  # whether it can be read is known before anything is waited for
            archive = Archive(Path(options.output), force=options.force)
            return _captured(archive, options, rules)
    except (ArchiveError, FeedError) as error:
        return complain(str(error), COULD_NOT_LOOK)
    except KeyboardInterrupt:
        return complain("interrupted: nothing is written", INTERRUPTED)
    finally:
        if archive is not None:
            archive.abandon()


def _captured(
    archive: Archive, options: Namespace, rules: Mapping[str, Mapping[str, float]]
) -> int:
    began = time.time()
    live = LiveLook(make_feed(options, once=False), Engine(make_rules(rules)), options)
    live.look()
    if not live.samples:
        raise FeedError("nothing came to look at")
    asked = live.asked
    if asked is not None and not live.jobs:
        raise FeedError(has_ended(asked) if asked.ended else why_no_job(asked, live.frame))
    if not options.before and options.scenario is None:
        options.before = recording_that_goes_on()
    before = entries_before(options.before, live.samples[0]) if options.before else []
    redactor = Redactor() if options.redact else None
    pids = [rank.pid for rank in live.ranks()]
    whole = Whole(before, live.samples, Engine(make_rules(rules)), redactor, pids)
    contents = Contents(whole.samples[-1].node, began, redacted=options.redact)
    _add_recording(contents, before, whole, options)
    add_pages(contents, whole, live, options, redactor)
    if options.scenario is None:
        _ask_ranks(contents, live, options, redactor)
    else:
        contents.notes.append("Nothing in it is real: it is of gputop's simulated node.")
    archive.add(README, contents.readme())
    archive.add(MANIFEST, contents.manifest())
    for part in contents.parts:
        archive.add(part.name, part.data, packed=part.name == RECORDING)
    size = format.quantity(float(archive.finish()), "bytes")
    if asked is not None and asked.ended:
        complain(f"{has_ended(asked)}: what was seen until then is in the capsule")
    missed = format.counted(len(contents.not_taken), "thing")
    say(
        f"{options.output}: {size}{f', without {missed} (its README says why)' if contents.not_taken else ''}"
    )
    return OK


def _add_recording(
    contents: Contents, before: Sequence[Entry], whole: Whole, options: Namespace
) -> None:
    """The samples, with an honest word on how much of the past is in them."""
    first, last = whole.samples[0].time_seconds, whole.samples[-1].time_seconds
    looked = f"a look of {format.duration(last - first)}"
    earlier = [entry for entry in before if isinstance(entry, Sample)]
    if earlier:
        span = format.duration(first - earlier[0].time_seconds)
        gap = first - earlier[-1].time_seconds
        hole = (
            f", of which the last {format.duration(gap)} are missing" if gap > _GAP_SECONDS else ""
        )
        contents.notes.append(f"It holds the {span} before from a recording{hole}, then {looked}.")
    elif options.before:
        contents.notes.append(f"It holds {looked}.")
        contents.miss("the ten minutes before", "the recording has nothing of them")
    else:
        contents.notes.append(f"It holds {looked}.")
        why = (
            "no recording goes on (gputop record NAME makes one), and none was named (--from NAME)"
        )
        contents.miss("the ten minutes before", why)
    about = "what was read, each second: gputop replay shows it as if it were now"
    contents.add(RECORDING, about, whole.recording())


def _ask_ranks(
    contents: Contents, live: LiveLook, options: Namespace, redactor: Redactor | None
) -> None:
    """What the ranks themselves tell, as long as they live."""
    ranks = live.ranks()
    if not ranks:
        contents.miss("stacks, logs and dumps of ranks", "no training job was seen")
        return
    add_flight_recorders(contents, ranks, redactor)
    if options.memory_snapshot:
        add_memory_snapshots(contents, ranks)
    if redactor is None:
        add_logs(contents, ranks)
    else:
        contents.miss("logs and lines of the kernel log", "--redact: free text cannot be redacted")
