"""The event clock: an endless sequence of records from a recipe, whatever the events are. The same recipe gives the same bytes.

Pure. Its only randomness is `random.Random(seed).random()`, the one method whose sequence Python guarantees across versions.
All other arithmetic is in integers: no set order, no libm, no time zone. On the event clock, record n is at start + n spacings
plus a fraction of a spacing, so good records are in the order of their event times.

What an event is, an `EventMaker` knows: visits.py for the seeds' topic, events.py for the schema of any other. It is written
for speed (2.5 to 3.5 microseconds for a visit): one loop, local names, f-strings instead of a JSON encoder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple, Protocol

from anabranch.generator.recipe import Recipe, RecordKind

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
_DAY_S = 86_400
_YEAR_US = 365 * _DAY_S * SECOND_US
# The distance from the event clock: the smallest and the largest.
_DISTANCE_US: dict[RecordKind, tuple[int, int]] = {
    # Within the watermark of every pipeline of the seeds (10 minutes and more).
    "out-of-order": (-5 * SECOND_US, -5 * MINUTE_US),
    # Behind the watermark of every such pipeline (20 minutes at most): each drops it, and a reprocess corrects the results.
    "late": (-30 * MINUTE_US, -360 * MINUTE_US),
    # A century ahead of the event clock: ahead of the current time as well, even with an old start.
    "future": (100 * _YEAR_US, 200 * _YEAR_US),
}
# A duplicate is a retry: it follows soon after the first record.
RING_SIZE = 128
# Without a zone: all times of the generator are in UTC.
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
# The end of the calendar minus the largest distance of a future record: the records end there.
_END_US = int((datetime(9750, 1, 1) - _EPOCH).total_seconds()) * SECOND_US  # noqa: DTZ001

Chance = Callable[[], float]
# A named tuple's constructor is a Python function and takes twice as long.
new_tuple = tuple.__new__


class Made(NamedTuple):
    """A record to send."""

    key: bytes
    value: bytes
    kind: RecordKind
    # The event clock at this record, which is the event time of a good record.
    clock_us: int
    # What the ledger says of the event: the inside of a JSON object. What cannot be read from a bad value is null.
    # None: the inside of the value.
    facts: str | None


# What was drawn of one event: its key, and what its value has before and behind the text of the event time.
Event = tuple[bytes, str, str]


class EventMaker(Protocol):
    @property
    def draw(self) -> Callable[[int, int], Event]:
        """The next event, by the record's number and its event clock. Called once for each record, in order."""

    @property
    def tell(self) -> Callable[[bytes, str, str], str] | None:
        """The facts of a record, by its key, event time and value. None: its value says them."""

    def spoil(self, made: Made, fate: float) -> Made:
        """The record, broken in the way that `fate` (0 <= fate < 1) selects."""


def timeline(recipe: Recipe, random: Chance, maker: EventMaker) -> Iterator[Made]:
    """The records of a recipe, without an end before the year 9750."""
    kinds = list(zip(accumulate(recipe.shares().values()), recipe.shares(), strict=True))
    irregular_share = kinds[-1][0]
    draw, tell = maker.draw, maker.tell
    ring: deque[Made] = deque(maxlen=RING_SIZE)
    start_us = (recipe.start.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    spacing_us = round(recipe.spacing_s * SECOND_US)
    second_us, second_text = -SECOND_US, ""

    for number, base_us in enumerate(range(start_us, _END_US, spacing_us)):
        clock_us = base_us + int(random() * spacing_us)
        key, before, behind = draw(number, clock_us)
        if (fate := random()) < irregular_share:
            kind = next(kind for limit, kind in kinds if fate < limit)
            yield _irregular(kind, (key, before, behind), clock_us, maker, ring, random)
            continue
        if clock_us - second_us >= SECOND_US:
            second_us, second_text = _second(clock_us)
        event_time = f"{second_text}{clock_us - second_us:06d}Z"
        text = f"{before}{event_time}{behind}"
        facts = tell(key, event_time, text) if tell else None
        made: Made = new_tuple(Made, (key, text.encode(), "good", clock_us, facts))
        # Only good records: a duplicate repeats an event that was already counted.
        ring.append(made)
        yield made


def _irregular(kind: RecordKind, event: Event, clock_us: int, maker: EventMaker, ring: deque[Made], random: Chance) -> Made:
    """A record of another kind, in place of a good one."""
    if kind == "duplicate" and ring:
        earlier = ring[int(random() * len(ring))]
        return new_tuple(Made, (earlier.key, earlier.value, "duplicate", clock_us, earlier.facts))
    if kind == "duplicate":  # there is no record to repeat yet
        kind = "good"
    nearest_us, farthest_us = _DISTANCE_US.get(kind, (0, 0))
    event_us = clock_us + nearest_us + int(random() * (farthest_us - nearest_us))
    key, before, behind = event
    event_time = time_text(event_us)
    text = f"{before}{event_time}{behind}"
    facts = tell(key, event_time, text) if (tell := maker.tell) else None
    made: Made = new_tuple(Made, (key, text.encode(), kind, clock_us, facts))
    if kind == "good":
        ring.append(made)
    return maker.spoil(made, random()) if kind == "bad" else made


def time_text(time_us: int) -> str:
    second_us, text = _second(time_us)
    return f"{text}{time_us - second_us:06d}Z"


def _second(time_us: int) -> tuple[int, str]:
    """The start of the second that contains a time, and its text up to the decimal point."""
    seconds = time_us // SECOND_US
    days, of_day = divmod(seconds, _DAY_S)
    return seconds * SECOND_US, f"{day_text(days)}T{of_day // 3600:02d}:{of_day // 60 % 60:02d}:{of_day % 60:02d}."


def day_of(time_us: int) -> int:
    """As days since 1970."""
    return time_us // (_DAY_S * SECOND_US)


@lru_cache(maxsize=4096)
def day_text(days: int) -> str:
    return (_EPOCH + timedelta(days=days)).date().isoformat()
