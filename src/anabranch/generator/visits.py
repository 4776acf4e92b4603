"""The seeded visits: an endless fold over a recipe. The same recipe gives the same records, byte for byte.

Pure. Its only chance is `random.Random(seed).random()`, the one method whose sequence Python promises to keep over
versions, and whole numbers: no set order, no libm, no zone. Record n stands at start + n spacings on the event clock,
plus a part of a spacing, so that good records are in the order of their event times.

It is written for speed (2.5 to 3.5 microseconds a record): one loop, local names, f-strings instead of a JSON encoder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, count
from random import Random
from typing import NamedTuple

from anabranch.generator.recipe import Kind, Recipe
from anabranch.generator.spoil import spoil

ENTRY_PAGES = ("index", "home", "main")
PAGES = (
    *ENTRY_PAGES,
    *("contact", "about", "categories"),
    *(f"category_{n}" for n in range(1, 21)),
    *(f"page_{n}" for n in range(1, 21)),
)
# Repeated by how common each is: counts by browser that are all alike would hide a mistake.
BROWSERS = ("Chrome",) * 6 + ("Safari",) * 2 + ("Firefox",) * 2 + ("Edge",)

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
_YEAR_US = 365 * 24 * 60 * MINUTE_US
# How far from the event clock: from the nearest to the farthest.
_AWAY_US: dict[Kind, tuple[int, int]] = {
    # Within every watermark (10 minutes and more).
    "out-of-order": (-5 * SECOND_US, -5 * MINUTE_US),
    # Behind every watermark (20 minutes at most): each pipeline drops it, or has to be repaired.
    "late": (-30 * MINUTE_US, -360 * MINUTE_US),
    # A century ahead of the event clock, and so ahead of any day on which an old start is sent.
    "future": (100 * _YEAR_US, 200 * _YEAR_US),
}
# A duplicate is a retry: it comes soon after the first.
RING_SIZE = 128
# Visitors come back: so many different users for each visit that is open.
USERS_PER_VISITOR = 10
_EPOCH = datetime(1970, 1, 1)
# The calendar's end less the farthest future: there the records end.
_END_US = int((datetime(9750, 1, 1) - _EPOCH).total_seconds()) * SECOND_US


Chance = Callable[[], float]
# A named tuple's own constructor is a Python call and takes twice as long.
_new_tuple = tuple.__new__


class Made(NamedTuple):
    """A record to send; its event fields are None where a bad value does not show them."""

    key: bytes
    value: bytes
    kind: Kind
    # Where the event clock stood; the event time of a good record.
    clock_us: int
    event_id: str | None
    visit_id: str | None
    user_id: str | None
    event_time: str | None
    page: str | None
    browser: str | None


def visits(recipe: Recipe) -> Iterator[Made]:
    """The records of a recipe, without end (until the year 9750)."""
    random = Random(recipe.seed).random
    kinds = list(zip(accumulate(recipe.shares().values()), recipe.shares(), strict=True))
    odd_share = kinds[-1][0]
    visitors, prefix = recipe.visitors, f"{recipe.seed}_"
    new_visits = _new_visits(prefix, visitors * USERS_PER_VISITOR, random)
    open_visits = [next(new_visits) for _ in range(visitors)]
    ring: deque[Made] = deque(maxlen=RING_SIZE)
    start_us = (recipe.start.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    spacing_us = round(recipe.spacing_s * SECOND_US)
    pages, page_count = PAGES, len(PAGES)
    second_us, second_text = -SECOND_US, ""

    for number, base_us in enumerate(range(start_us, _END_US, spacing_us)):
        clock_us = base_us + int(random() * spacing_us)
        place = int(random() * visitors)
        visit = open_visits[place]
        page = pages[int(random() * page_count)] if visit.opened else visit.entry_page
        visit.opened += 1
        if visit.opened == visit.length:
            open_visits[place] = next(new_visits)
        if (fate := random()) < odd_share:
            kind = next(kind for limit, kind in kinds if fate < limit)
            yield _odd(kind, visit, f"{prefix}{number}", page, clock_us, ring, random)
            continue
        if clock_us - second_us >= SECOND_US:
            second_us, second_text = _second(clock_us)
        made = _made("good", visit, f"{prefix}{number}", page, clock_us, f"{second_text}{clock_us - second_us:06d}Z")
        # The ring takes good records only: a duplicate is an event that has counted already.
        ring.append(made)
        yield made


@dataclass(slots=True)
class _Visit:
    key: bytes
    visit_id: str
    user_id: str
    browser: str
    entry_page: str
    length: int
    # The parts of the value that stay the same from page to page.
    who_json: str
    browser_json: str
    opened: int = 0


def _new_visits(prefix: str, users: int, random: Chance) -> Iterator[_Visit]:
    for number in count():
        visit_id = f"{prefix}{number}"
        user_id = f"user_{int(random() * users)}"
        browser = BROWSERS[int(random() * len(BROWSERS))]
        entry_page = ENTRY_PAGES[int(random() * len(ENTRY_PAGES))]
        # 2 to 31 pages, most visits short: a product of two chances leans towards the small ones.
        length = 2 + int(30 * random() * random())
        who_json = f'"visit_id":"{visit_id}","user_id":"{user_id}","event_time":"'
        yield _Visit(visit_id.encode(), visit_id, user_id, browser, entry_page, length, who_json, f'","browser":"{browser}"}}')


def _made(kind: Kind, visit: _Visit, event_id: str, page: str, clock_us: int, event_time: str) -> Made:
    # Every part is of letters, digits and _ - : . alone, so nothing needs a JSON escape.
    value = f'{{"event_id":"{event_id}",{visit.who_json}{event_time}","page":"{page}{visit.browser_json}'.encode()
    return _new_tuple(
        Made,
        (visit.key, value, kind, clock_us, event_id, visit.visit_id, visit.user_id, event_time, page, visit.browser),
    )


def _odd(kind: Kind, visit: _Visit, event_id: str, page: str, clock_us: int, ring: deque[Made], random: Chance) -> Made:
    """The record that comes instead of a good one."""
    if kind == "duplicate" and ring:
        key, value, _, _, *fields = ring[int(random() * len(ring))]
        return _new_tuple(Made, (key, value, "duplicate", clock_us, *fields))
    if kind == "duplicate":  # nothing to repeat yet: a first one is needed
        kind = "good"
    nearest_us, farthest_us = _AWAY_US.get(kind, (0, 0))
    event_us = clock_us + nearest_us + int(random() * (farthest_us - nearest_us))
    second_us, second_text = _second(event_us)
    made = _made(kind, visit, event_id, page, clock_us, f"{second_text}{event_us - second_us:06d}Z")
    if kind == "good":
        ring.append(made)
    return _spoiled(made, random) if kind == "bad" else made


def _spoiled(made: Made, random: Chance) -> Made:
    value, readable = spoil(made.value, random())
    if readable:
        return made._replace(value=value, event_time=None)
    return Made(made.key, value, "bad", made.clock_us, None, None, None, None, None, None)


def _second(time_us: int) -> tuple[int, str]:
    """The whole second of a time, and as text up to the point."""
    seconds = time_us // SECOND_US
    days, of_day = divmod(seconds, 86_400)
    return seconds * SECOND_US, f"{_day_text(days)}T{of_day // 3600:02d}:{of_day // 60 % 60:02d}:{of_day % 60:02d}."


@lru_cache(maxsize=4096)
def _day_text(days: int) -> str:
    return (_EPOCH + timedelta(days=days)).date().isoformat()
