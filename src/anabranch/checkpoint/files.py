"""What the names in a checkpoint mean: which files are batches, which hold state, which are of no use to Spark.

Decides by names and sizes alone; no content is looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

# Directory (relative, "" is the checkpoint itself) -> name -> size in bytes; -1: not measured.
Listing = Mapping[str, Mapping[str, int]]

StateKind = Literal["delta", "snapshot", "changelog", "zip"]
# A version loads from its base, or from the version before it and its changes.
CHANGES: frozenset[StateKind] = frozenset({"delta", "changelog"})
BASES: frozenset[StateKind] = frozenset({"snapshot", "zip"})

_STATE_FILE = re.compile(r"(0|[1-9][0-9]{0,17})(?:_([0-9a-zA-Z-]{1,64}))?\.(delta|snapshot|changelog|zip)")
_BATCH = re.compile(r"0|[1-9][0-9]{0,17}")


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
