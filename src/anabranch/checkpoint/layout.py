"""The layout of a Structured Streaming checkpoint: what its names mean, and what `metadata`, `offsets/N` and `commits/N` say.

Decides by names, sizes and texts alone. Parsing never throws on what a disk may hold: a text that is no log entry is None.
Which source wrote an offset, and from where to where a batch read, is decided in sources.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

# Directory (relative, "" is the checkpoint itself) -> name -> size in bytes; -1: not measured.
Listing = Mapping[str, Mapping[str, int]]

StateKind = Literal["delta", "snapshot", "changelog", "zip"]
# A version loads from its base, or from the version before it and its changes.
CHANGES: frozenset[StateKind] = frozenset({"delta", "changelog"})
BASES: frozenset[StateKind] = frozenset({"snapshot", "zip"})

_STATE_FILE = re.compile(r"(0|[1-9][0-9]{0,17})(?:_([0-9a-zA-Z-]{1,64}))?\.(delta|snapshot|changelog|zip)")
_BATCH = re.compile(r"0|[1-9][0-9]{0,17}")

# Offsets of a Kafka source: topic -> partition -> offset, the end of the batch, exclusive.
KafkaOffsets = Mapping[str, Mapping[int, int]]
# Format 2 of the state: operator -> partition -> the ids of its stores. They name the state version N+1 of commits/N.
StateIds = Mapping[int, tuple[frozenset[str], ...]]

# The first line of a fence: no Spark knows that version, so no query can start on the log (docs/internals/rewinding.md).
FENCE = "v99999"
# What a hostile disk may make json and int throw.
_NOT_A_VALUE = (TypeError, ValueError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class LogFiles:
    """A directory whose files are named by numbers: offsets, commits, sources/<i>, _metadata/v2."""

    directory: str
    sizes: Mapping[int, int]
    # Of a file source: an entry that stands for all before it.
    compacts: Mapping[int, int] = field(default_factory=dict)

    def path(self, number: int) -> str:
        return f"{self.directory}/{number}" if number in self.sizes else f"{self.directory}/{number}.compact"

    def __contains__(self, number: int) -> bool:
        return number in self.sizes

    @cached_property
    def newest(self) -> int | None:
        return max(self.sizes, default=None)


class StateFile(NamedTuple):
    """`V.delta`, `V.snapshot`, `V.changelog`, `V.zip`; in format 2 `V_<uuid>.changelog` and `.zip`, else the id is empty."""

    version: int
    id: str
    kind: StateKind

    @property
    def name(self) -> str:
        return f"{self.version}_{self.id}.{self.kind}" if self.id else f"{self.version}.{self.kind}"


@dataclass(frozen=True)
class StoreFiles:
    """The files of one state store: of one operator, in one partition, under one name."""

    operator: int
    partition: int
    name: str
    directory: str
    # Version -> its files.
    versions: Mapping[int, tuple[StateFile, ...]]
    sizes: Mapping[str, int]
    # Of RocksDB: what the zips name.
    ssts: Mapping[str, int]
    logs: Mapping[str, int]

    @property
    def label(self) -> str:
        store = "" if self.name == "default" else f" store {self.name}"
        return f"operator {self.operator} partition {self.partition}{store}"

    def path(self, file: StateFile) -> str:
        return f"{self.directory}/{file.name}"

    @property
    def bytes(self) -> int:
        return sum(size for held in (self.sizes, self.ssts, self.logs) for size in held.values() if size > 0)


def is_number(name: str) -> bool:
    return _BATCH.fullmatch(name) is not None


def log_files(listing: Listing, directory: str) -> LogFiles:
    names = listing.get(directory, {})
    # The plain check first: a log of 10,000 batches has 20,000 names.
    sizes = {int(name): size for name, size in names.items() if name.isdecimal() and is_number(name)}
    compacts = [name.removesuffix(".compact") for name in names if name.endswith(".compact")]
    return LogFiles(directory, sizes, {int(name): names[f"{name}.compact"] for name in compacts if is_number(name)})


def children_of(listing: Listing) -> Mapping[str, list[str]]:
    """Directory -> the names of the directories in it."""
    found: dict[str, list[str]] = {}
    for path in sorted(listing):
        parent, _, name = path.rpartition("/")
        if path:
            found.setdefault(parent, []).append(name)
    return found


def numbers_in(names: Iterable[str]) -> list[int]:
    """Those that are numbers: sources, operators, partitions."""
    return sorted(int(name) for name in names if is_number(name))


def stores_of(listing: Listing, children: Mapping[str, list[str]], operator: int) -> Iterator[StoreFiles]:
    for partition in numbers_in(children.get(f"state/{operator}", ())):
        directory = f"state/{operator}/{partition}"
        named = [name for name in children.get(directory, ()) if name not in ("SSTs", "logs", "_metadata")]
        for name in named:
            yield _store(listing, operator, partition, name, f"{directory}/{name}")
        own = _store(listing, operator, partition, "default", directory)
        if own.versions or not named:
            yield own


def _store(listing: Listing, operator: int, partition: int, name: str, directory: str) -> StoreFiles:
    sizes = {file: size for file, size in listing.get(directory, {}).items() if not file.startswith(".")}
    versions: dict[int, tuple[StateFile, ...]] = {}
    for file in sizes:
        if (parsed := parse_state_name(file)) is not None:
            same = versions.get(parsed.version)
            versions[parsed.version] = (parsed,) if same is None else (*same, parsed)
    ssts, logs = listing.get(f"{directory}/SSTs", {}), listing.get(f"{directory}/logs", {})
    return StoreFiles(operator, partition, name, directory, versions, sizes, ssts, logs)


# Cached: each of tens of thousands of names is parsed two or three times.
@lru_cache(maxsize=1 << 17)
def parse_state_name(name: str) -> StateFile | None:
    found = _STATE_FILE.fullmatch(name)
    return None if found is None else StateFile(int(found[1]), found[2] or "", found[3])  # type: ignore[arg-type]


def is_temporary(name: str) -> bool:
    """`.<name>.<uuid>.tmp` and its checksum: Spark writes there first and renames."""
    return name.startswith(".") and (name.endswith((".tmp", ".tmp.crc")))


@dataclass(frozen=True)
class OffsetRange:
    """What a partition retains: the half-open range of offsets [earliest, end)."""

    earliest: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.earliest


# Topic -> partition -> what it retains.
RetainedOffsets = Mapping[str, Mapping[int, OffsetRange]]


@dataclass(frozen=True)
class OffsetEntry:
    """offsets/N: written before batch N runs. One text per source, in plan order; None where a source had nothing yet."""

    watermark_ms: int
    timestamp_ms: int
    conf: Mapping[str, str]
    sources: tuple[str | None, ...]
    # Version 2 names its sources; version 1 knows them by their place.
    source_ids: tuple[str, ...] = ()
    version: int = 1


@dataclass(frozen=True)
class CommitEntry:
    """commits/N: written after the sink has finished batch N."""

    next_watermark_ms: int
    state_ids: StateIds = field(default_factory=dict)
    version: int = 1


def parse_offsets(text: str) -> OffsetEntry | None:
    version, _, rest = text.partition("\n")
    head, *lines = rest.split("\n")
    about = json_object(head)
    if version not in ("v1", "v2") or about is None:
        return None
    lines = [line for line in lines if line]
    # Version 2: sourceId:json.
    named = [line.partition(":")[::2] for line in lines] if version == "v2" else [("", line) for line in lines]
    try:
        return OffsetEntry(
            watermark_ms=int(about.get("batchWatermarkMs", 0)),
            timestamp_ms=int(about.get("batchTimestampMs", 0)),
            conf={str(name): str(value) for name, value in about.get("conf", {}).items()},
            sources=tuple(None if source == "-" else source for _, source in named),
            source_ids=tuple(name for name, _ in named) if version == "v2" else (),
            version=int(version[1:]),
        )
    except _NOT_A_VALUE:
        return None


def parse_commit(text: str) -> CommitEntry | None:
    version, _, rest = text.partition("\n")
    about = json_object(rest)
    if version not in ("v1", "v2") or about is None:
        return None
    try:
        ids = about.get("stateUniqueIds") or {}
        return CommitEntry(
            int(about.get("nextBatchWatermarkMs", 0)),
            {int(operator): tuple(frozenset(map(str, stores)) for stores in held) for operator, held in ids.items()},
            int(version[1:]),
        )
    except _NOT_A_VALUE:
        return None


def parse_query_id(text: str) -> str | None:
    """`metadata`: the id of the query, kept over restarts."""
    found = (json_object(text) or {}).get("id")
    return found if isinstance(found, str) and found else None


def parse_kafka_offsets(source: str | None) -> KafkaOffsets | None:
    """`{"visits":{"0":0,"1":3}}`; None for the offsets of another kind of source."""
    topics = json_object(source or "")
    if not topics:
        return None
    try:
        return {topic: {int(partition): int(offset) for partition, offset in ends.items()} for topic, ends in topics.items()}
    except _NOT_A_VALUE:
        return None


def json_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def kafka_offsets(texts: Sequence[str | None]) -> KafkaOffsets:
    """Of the Kafka sources among these, together."""
    found: dict[str, dict[int, int]] = {}
    for text in texts:
        for topic, held in (parse_kafka_offsets(text) or {}).items():
            found.setdefault(topic, {}).update(held)
    return found


def log_offset(source: str | None) -> int | None:
    """`{"logOffset":7}`: the last entry of sources/<i> that belongs to the batch. None for another kind."""
    found = (json_object(source or "") or {}).get("logOffset")
    return found if isinstance(found, int) else None


def parse_initial(text: str) -> str:
    """sources/<i>/0 of Kafka and rate: a line with its version, then the offsets (for Spark 2.1 a NUL is in front of it)."""
    return text.lstrip("\0").partition("\n")[2].strip()
