"""Makes a counter-example small: leaves out events as long as it remains one. Pure, but for the test that it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anabranch.check.events import Batches, Event, count_events


def shrink(batches: Batches, fails: Callable[[Batches], bool], most_tries: int) -> Batches:
    """One or two events are enough for most; if not, halves are left out, then smaller parts, then single events.

    After so many tries it stays as it is.
    """
    tries = 0
    for few in _few(batches):
        tries += 1
        if count_events(few) < count_events(batches) and fails(few):
            batches = few
            break
    size = max(1, count_events(batches) // 2)
    while size >= 1:
        start = 0
        while start < count_events(batches):
            smaller = _without(batches, start, start + size)
            tries += 1
            if count_events(smaller) and fails(smaller):
                batches = smaller
            else:
                start += size
            if tries >= most_tries:
                return batches
        size //= 2
    return batches


def _few(batches: Batches) -> Iterator[Batches]:
    """One event, and pairs that came far from each other or next to each other, each in a batch of its own."""
    events = [event for batch in batches for event in batch]
    if len(events) > 1:
        first, second, middle, last = events[0], events[1], events[len(events) // 2], events[-1]
        yield ((first,),)
        yield from (((one,), (other,)) for one, other in ((first, last), (first, second), (first, middle), (middle, last)))


def keep(batches: Batches, wanted: Callable[[Event], bool]) -> Batches:
    kept = (tuple(event for event in batch if wanted(event)) for batch in batches)
    return tuple(batch for batch in kept if batch)


def _without(batches: Batches, start: int, end: int) -> Batches:
    """Batches that have no events any more go too."""
    numbered: list[list[Event]] = []
    number = 0
    for batch in batches:
        numbered.append([])
        for event in batch:
            if not start <= number < end:
                numbered[-1].append(event)
            number += 1
    return tuple(tuple(batch) for batch in numbered if batch)
