"""The seeds' events: visits of a site, each of several pages, for a recipe's timeline. Pure, and the same on every Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from anabranch.generator.recipe import Recipe
from anabranch.generator.spoil import spoil, time_faults, unreadable_faults
from anabranch.generator.timeline import Chance, Event, Made, new_tuple, timeline

ENTRY_PAGES = ("index", "home", "main")
PAGES = (
    *ENTRY_PAGES,
    *("contact", "about", "categories"),
    *(f"category_{n}" for n in range(1, 21)),
    *(f"page_{n}" for n in range(1, 21)),
)
# Repeated by how common each is: if all counts by browser were equal, a mistake would not show.
BROWSERS = ("Chrome",) * 6 + ("Safari",) * 2 + ("Firefox",) * 2 + ("Edge",)
# Users return: the number of different users for each open visit.
USERS_PER_VISITOR = 10
# A seed's bad records are the same bytes for good: none is added, none moves.
FAULTS = (*time_faults("event_time"), *unreadable_faults("page"))


def visits(recipe: Recipe) -> Iterator[Made]:
    """The records of a recipe, without an end before the year 9750."""
    random = Random(recipe.seed).random
    return timeline(recipe, random, _Visits(recipe, random))


@dataclass(slots=True)
class _Visit:
    key: bytes
    entry_page: str
    length: int
    # The parts of the value that are the same for every page.
    who_json: str
    browser_json: str
    opened: int = 0


class _Visits:
    def __init__(self, recipe: Recipe, random: Chance) -> None:
        self.draw = _drawing(recipe, random)
        self.tell = None

    def spoil(self, made: Made, fate: float) -> Made:
        spoiled = spoil(made.value, FAULTS, fate)
        facts = (_TIME if spoiled.is_readable else _ANY_FIELD).sub(r"\1null", made.value[1:-1].decode())
        return new_tuple(Made, (made.key, spoiled.value, made.kind, made.clock_us, facts))


def _drawing(recipe: Recipe, random: Chance) -> Callable[[int, int], Event]:
    """Pages of visits that are open at once. A function of local names: a method would look up each of them."""
    visitors, prefix = recipe.visitors, f"{recipe.seed}_"
    new_visits = _new_visits(prefix, visitors * USERS_PER_VISITOR, random)
    open_visits = [next(new_visits) for _ in range(visitors)]
    pages, page_count = PAGES, len(PAGES)

    def draw(number: int, _clock_us: int) -> Event:
        place = int(random() * visitors)
        visit = open_visits[place]
        page = pages[int(random() * page_count)] if visit.opened else visit.entry_page
        visit.opened += 1
        if visit.opened == visit.length:
            open_visits[place] = next(new_visits)
        # Every part consists of letters, digits and _ - : . only, so nothing needs a JSON escape.
        return visit.key, f'{{"event_id":"{prefix}{number}",{visit.who_json}', f'","page":"{page}{visit.browser_json}'

    return draw


_TIME = re.compile(r'("event_time":)"[^"]*"')
_ANY_FIELD = re.compile(r'(:)"[^"]*"')


def _new_visits(prefix: str, users: int, random: Chance) -> Iterator[_Visit]:
    for number in count():
        visit_id = f"{prefix}{number}"
        user_id = f"user_{int(random() * users)}"
        browser = BROWSERS[int(random() * len(BROWSERS))]
        entry_page = ENTRY_PAGES[int(random() * len(ENTRY_PAGES))]
        # 2 to 31 pages. A product of two random numbers tends to be small, so most visits are short.
        length = 2 + int(30 * random() * random())
        who_json = f'"visit_id":"{visit_id}","user_id":"{user_id}","event_time":"'
        yield _Visit(visit_id.encode(), entry_page, length, who_json, f'","browser":"{browser}"}}')
