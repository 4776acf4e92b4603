"""What generated values look like: words and ranges, by the words that a field's name is made of. Few, so that groups repeat.

The first of a list are the most common. Only letters, digits and `_ - . / @`: nothing needs a JSON escape, and all is ASCII.
"""

from __future__ import annotations

import re
from typing import TypeVar

from anabranch.generator.visits import BROWSERS, PAGES

T = TypeVar("T")


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


def _each(words: str, value: T) -> dict[str, T]:
    return dict.fromkeys(words.split(), value)


_PEOPLE = _list("Ada Ben Chloe Dan Emma Farid Greta Hugo Ines Jonas Kira Leo Mara Nils Olga Paul Quinn Rosa Sam Tara Vera Will")
_PRODUCTS = _list("book lamp chair desk pen mug bag shoe shirt clock phone cable")
_CITIES = _list("Berlin Paris London Madrid Rome Vienna Oslo Warsaw Lisbon Prague")
_DEVICES = ("desktop", "phone", "tablet")
_STATES = ("new", "open", "done", "failed")
_SOURCES = ("web", "app", "shop", "partner")
_ACTIONS = ("view", "click", "search", "add", "buy")
_LANGUAGES = ("en", "de", "fr", "es", "it")
_SENTENCES = ("all good", "as agreed", "please call back", "left at the door")

TEXTS: dict[str, tuple[str, ...]] = {
    **_each("customer user person name buyer seller author owner client employee driver player", _PEOPLE),
    **_each("product item article sku", _PRODUCTS),
    **_each("city town place location", _CITIES),
    **_each("country nation", ("DE", "FR", "GB", "US", "ES", "IT", "PL", "SE")),
    "currency": ("EUR", "USD", "GBP", "CHF", "SEK"),
    **_each("status state result outcome", _STATES),
    **_each("page url uri path link referrer referer", PAGES),
    **_each("browser agent", tuple(dict.fromkeys(BROWSERS))),
    **_each("device platform", _DEVICES),
    **_each("channel source origin medium", _SOURCES),
    **_each("action event type kind", _ACTIONS),
    **_each("language locale lang", _LANGUAGES),
    **_each("level severity", ("INFO", "WARN", "ERROR", "DEBUG")),
    "method": ("GET", "POST", "PUT", "DELETE"),
    **_each("color colour", ("black", "white", "red", "blue", "green")),
    "size": ("M", "L", "S", "XL"),
    "unit": ("kg", "m", "s"),
    **_each("email mail", tuple(f"{name.lower()}@mail.test" for name in _PEOPLE)),
    "phone": tuple(f"555-01{n:02d}" for n in range(40)),
    "ip": tuple(f"192.0.2.{n}" for n in range(1, 41)),
    **_each("message text comment description note reason", _SENTENCES),
}

# The least and the most.
_MONEY = (1, 500)
_PART = (0, 1)
_FEW = (1, 10)
NUMBERS: dict[str, tuple[int, int]] = {
    **_each("amount price total revenue cost fee sum value payment subtotal salary turnover", _MONEY),
    "cent": (100, 50_000),
    **_each("balance delta change difference", (-500, 500)),
    **_each("quantity qty count number item unit piece", _FEW),
    **_each("ratio rate share probability discount tax fraction", _PART),
    **_each("percent percentage humidity score battery", (0, 100)),
    **_each("rating star", (1, 5)),
    "age": (18, 90),
    "year": (1990, 2025),
    **_each("latitude lat", (-90, 90)),
    **_each("longitude lon lng", (-180, 180)),
    "temperature": (-10, 40),
    **_each("duration latency elapsed ms millis", (1, 2000)),
    **_each("byte size length", (100, 100_000)),
}
ANY_NUMBER = (0, 1000)
# Of a MAP.
KEYS = ("source", "campaign", "variant", "test")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# They say less than what stands before them: a product_name is a product.
_VAGUE = ("name", "code", "type", "kind", "number", "value", "text")


def words_of(name: str) -> list[str]:
    """Of `customerId` and `customer_ids` alike: customer, id."""
    return [_singular(word.lower()) for word in _WORD.findall(name)]


def known_word(words: list[str], known: dict[str, tuple[str, ...]] | dict[str, tuple[int, int]]) -> str | None:
    """The last word that is known; a vague one only where no other is."""
    clear = [word for word in words if word not in _VAGUE]
    return next((word for word in (*reversed(clear), *reversed(words)) if word in known), None)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
