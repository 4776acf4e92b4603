"""Topics that hold visits open: first each is opened, then batches of pages at visits chosen by chance, and none ends.

What the pages of such a batch need of the state, at the least: of each touched visit its id, pages and timer, packed in columns
and compressed as Spark compresses its changelog.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from random import Random

from anabranch.generator.recipe import Recipe
from anabranch.generator.timeline import Made
from anabranch.generator.visits import visits
from anabranch.pipeline.builtin.session_chunks import Chunk, to_columns

SIZES = (10_000, 100_000, 1_000_000)
ROWS_A_BATCH = 50_000
# A snapshot of RocksDB falls into so many batches: Spark makes one for every ten at most.
MEASURED_BATCHES = 12
# Of the smallest size too, the JVM is warm.
_WARM_BATCHES = 4
# Odd, so that different numbers give different ids: 16 digits that do not compress as a row of numbers would.
_SPREAD = 0x9E3779B97F4A7C15
_TIMER_MS = 1_756_969_200_000


def topic_of(size: int) -> str:
    return f"visits_open_{size}"


def records_of(size: int) -> int:
    return size + (_WARM_BATCHES + MEASURED_BATCHES) * ROWS_A_BATCH


def open_visits(size: int) -> Iterator[Made]:
    """Event time hardly moves."""
    for number, made in zip(_numbers(size), visits(Recipe(seed=1, spacing_s=1e-6)), strict=False):
        old, new = f'"visit_id":"{made.key.decode()}"', f'"visit_id":"{_visit_id(number)}"'
        yield made._replace(value=made.value.replace(old.encode(), new.encode()), key=_visit_id(number).encode())


@cache
def needed_bytes(size: int) -> int:
    """Of the first batch; chance makes the others alike."""
    return _packed_bytes([*dict.fromkeys(islice(_chosen(size), ROWS_A_BATCH))])


def _packed_bytes(numbers: Sequence[int]) -> int:
    import pyarrow as pa

    chance = Random(1)
    chunk = Chunk([*map(_visit_id, numbers)], [chance.randint(1, 9) for _ in numbers], [_TIMER_MS] * len(numbers))
    visit_ids, pages, timers_ms = to_columns(chunk)
    return len(pa.compress(visit_ids.encode() + pages + timers_ms, codec="lz4", asbytes=True))


def _numbers(size: int) -> Iterator[int]:
    return chain(range(size), _chosen(size))


def _chosen(size: int) -> Iterator[int]:
    chance = Random(size)
    return (int(chance.random() * size) for _ in range(records_of(size) - size))


def _visit_id(number: int) -> str:
    return f"{(number * _SPREAD + 1) % 2**64:016x}"
