"""A checkpoint as a value: what its directory lists, and what its files say.

Made from a listing and from contents that are read on request: a checkpoint of 10,000 batches is shown without reading all of
them. What can be rewound to is decided in restartable.py, what is wrong with it in findings.py. Knows no disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from anabranch.checkpoint.layout import (
    FENCE,
    CommitEntry,
    KafkaOffsets,
    Listing,
    LogFiles,
    OffsetEntry,
    StoreFiles,
    children_of,
    kafka_offsets,
    log_files,
    numbers_in,
    parse_commit,
    parse_initial,
    parse_offsets,
    parse_query_id,
    stores_of,
)
from anabranch.checkpoint.sources import SourceRange, source_range
from anabranch.checkpoint.state import (
    MOST_PARTITIONS,
    OperatorMetadata,
    Trouble,
    parse_operator_metadata,
    why_not_loaded,
)


class Contents(Protocol):
    """What the files of a listing hold. The same question gets the same answer, or the checkpoint would not be a value."""

    def size(self, path: str) -> int:
        """0: it is not there."""

    def text(self, path: str) -> str | None:
        """None: it cannot be read."""

    def zip_metadata(self, path: str) -> str | None:
        """The entry `metadata` of a zip; None: it cannot be read, or there is none."""

    def fits_checksum(self, path: str) -> bool | None:
        """Whether a file is what its `.<name>.crc` was made of; None: there is none to compare with."""


@dataclass(frozen=True)
class Operator:
    """A stateful operator: its stores, and what was written down about it."""

    id: int
    stores: tuple[StoreFiles, ...]
    # `_metadata/metadata`; None where there is none.
    metadata_file: str | None
    # `_metadata/v2/<batch>`.
    metadata_log: LogFiles


@dataclass(frozen=True)
class Checkpoint:
    path: str
    # All names that this directory has, resolved and as given: v2 operator metadata holds absolute paths.
    locations: tuple[str, ...]
    listing: Listing
    contents: Contents = field(repr=False)
    # Without the fence.
    offsets: LogFiles
    commits: LogFiles
    sources: Mapping[int, LogFiles]
    operators: tuple[Operator, ...]
    # The fence and the journals of an operation that did not finish.
    fence: str | None
    journals: tuple[str, ...]
    # Directories that could not be listed.
    unreadable: tuple[str, ...]
    _seen: dict[object, object] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def batches(self) -> list[int]:
        return sorted(self.offsets.sizes)

    @property
    def newest(self) -> int | None:
        return self.batches[-1] if self.batches else None

    @property
    def next_batch(self) -> int:
        """The batch that a start would run: the newest again unless it is committed."""
        if self.newest is None:
            return 0
        committed = self.commits.newest
        return self.newest + 1 if committed is not None and committed >= self.newest else self.newest

    @cached_property
    def query_id(self) -> str | None:
        return parse_query_id(self.contents.text("metadata") or "") if "metadata" in self.listing.get("", {}) else None

    def offset_entry(self, batch: int) -> OffsetEntry | None:
        """None: it is not there, or it is no entry."""
        key = ("offsets", batch)
        if key not in self._seen:
            text = self.contents.text(self.offsets.path(batch)) if batch in self.offsets else None
            self._seen[key] = parse_offsets(text) if text is not None else None
        return self._seen[key]  # type: ignore[return-value]

    def commit_entry(self, batch: int) -> CommitEntry | None:
        key = ("commits", batch)
        if key not in self._seen:
            text = self.contents.text(self.commits.path(batch)) if batch in self.commits else None
            self._seen[key] = parse_commit(text) if text is not None else None
        return self._seen[key]  # type: ignore[return-value]

    def source_log(self, place: int, texts: Sequence[str | None]) -> LogFiles | None:
        """sources/<i> of the source at a place of the offsets: one read twice (a self-join) has two places, one log."""
        numbers = sorted(self.sources)
        distinct = list(dict.fromkeys(texts))
        if len(numbers) < len(texts) and len(distinct) == len(numbers):
            return self.sources[numbers[distinct.index(texts[place])]]
        return self.sources.get(place)

    def initial(self, place: int, texts: Sequence[str | None]) -> str | None:
        """Where a source that is not made of files began; it is kept as its entry 0."""
        log = self.source_log(place, texts)
        text = self.contents.text(log.path(0)) if log is not None and 0 in log else None
        return None if text is None else parse_initial(text)

    def ranges(self, batch: int) -> tuple[SourceRange, ...]:
        """From where to where the batch reads each source."""
        entry, before = self.offset_entry(batch), self.offset_entry(batch - 1)
        if entry is None:
            return ()
        starts = _by_source(before)
        found = []
        for place, end in enumerate(entry.sources):
            start = starts.get(entry.source_ids[place] if entry.source_ids else str(place))
            is_first = start is None and (batch == 0 or before is not None)
            found.append(source_range(end, start, self.initial(place, entry.sources), is_first=is_first))
        return tuple(found)

    def start_of(self, batch: int) -> KafkaOffsets:
        """Where a batch begins to read Kafka: at the end of the batch before it; batch 0 where its sources began."""
        if batch == 0:
            entry = self.offset_entry(0)
            texts = entry.sources if entry else ("",)
            return kafka_offsets([self.initial(place, texts) for place in range(len(texts))])
        return self.end_of(batch - 1)

    def end_of(self, batch: int | None) -> KafkaOffsets:
        """Up to where a batch reads Kafka, exclusive; None: there is no such batch."""
        entry = self.offset_entry(batch) if batch is not None else None
        return kafka_offsets(entry.sources if entry else ())

    def operator_metadata(self, operator: Operator, batch: int | None = None) -> OperatorMetadata | None:
        """As it holds at the start of `batch` (without one: now); None: there is none, or it cannot be read."""
        path = self.operator_metadata_path(operator, batch)
        if path is None:
            return None
        if path not in self._seen:
            self._seen[path] = parse_operator_metadata(self.contents.text(path) or "")
        return self._seen[path]  # type: ignore[return-value]

    def operator_metadata_path(self, operator: Operator, batch: int | None = None) -> str | None:
        if not operator.metadata_log.sizes:
            return operator.metadata_file
        written = [b for b in operator.metadata_log.sizes if batch is None or b < batch]
        return operator.metadata_log.path(max(written)) if written else None

    def missing_stores(self, operator: Operator) -> list[tuple[int, str]]:
        """Partition and store of which there should be a directory and is none.

        Checkpoints before Spark 3.5 do not write down how many there are; there only a gap in the numbers tells.
        """
        key = ("missing", operator.id)
        if key not in self._seen:
            held = {(store.partition, store.name) for store in operator.stores}
            metadata = self.operator_metadata(operator)
            last = max((partition for partition, _ in held), default=-1)
            counts = metadata.stores if metadata else dict.fromkeys((name for _, name in held), min(last + 1, MOST_PARTITIONS))
            expected = {(partition, name) for name, count in counts.items() for partition in range(count)}
            self._seen[key] = sorted(expected - held)
        return self._seen[key]  # type: ignore[return-value]

    def state_trouble(self, store: StoreFiles, version: int) -> Trouble | None:
        """Why this version of the store does not load; None: it does."""
        known = self._seen.setdefault(("state", store.directory), {})
        return why_not_loaded(store, version, self._ids_of, self.contents.zip_metadata, known)  # type: ignore[arg-type]

    def _ids_of(self, store: StoreFiles, version: int) -> frozenset[str] | None:
        if not any(file.id for file in store.versions.get(version, ())):
            return frozenset({""})
        commit = self.commit_entry(version - 1)
        if commit is None:
            return None
        partitions = commit.state_ids.get(store.operator, ())
        return partitions[store.partition] if store.partition < len(partitions) else frozenset({""})


def _by_source(entry: OffsetEntry | None) -> dict[str, str | None]:
    """By its name in version 2 of the log, by its place in version 1."""
    if entry is None:
        return {}
    return dict(zip(entry.source_ids or map(str, range(len(entry.sources))), entry.sources, strict=True))


def assemble_checkpoint(
    path: str, listing: Listing, contents: Contents, locations: tuple[str, ...] = (), unreadable: tuple[str, ...] = ()
) -> Checkpoint:
    children = children_of(listing)
    offsets = log_files(listing, "offsets")
    fence = _fence(offsets, contents)
    if fence is not None:
        offsets = LogFiles("offsets", {batch: size for batch, size in offsets.sizes.items() if batch != fence})
    return Checkpoint(
        path=path,
        locations=locations or (path,),
        listing=listing,
        contents=contents,
        offsets=offsets,
        commits=log_files(listing, "commits"),
        sources={i: log_files(listing, f"sources/{i}") for i in numbers_in(children.get("sources", ()))},
        operators=tuple(_operators(listing, children)),
        fence=None if fence is None else f"offsets/{fence}",
        journals=tuple(f"_rewind/{name}" for name in sorted(listing.get("_rewind", {})) if name.startswith("journal")),
        unreadable=unreadable,
    )


def _fence(offsets: LogFiles, contents: Contents) -> int | None:
    newest = offsets.newest
    if newest is None:
        return None
    text = contents.text(offsets.path(newest)) or ""
    return newest if text.partition("\n")[0].strip() == FENCE else None


def _operators(listing: Listing, children: Mapping[str, list[str]]) -> Iterator[Operator]:
    for operator in numbers_in(children.get("state", ())):
        directory = f"state/{operator}/_metadata"
        file = f"{directory}/metadata" if "metadata" in listing.get(directory, {}) else None
        stores = tuple(stores_of(listing, children, operator))
        yield Operator(operator, stores, file, log_files(listing, f"{directory}/v2"))
