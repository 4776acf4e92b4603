"""State as a checkpoint keeps it: whether a version of a store loads, and what is written down about an operator.

Decides as Spark does: from the newest base at or below the version, then change by change (docs/internals/checkpoints.md).
A base whose files are not all there is not replaced by an older one: Spark does not either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from anabranch.checkpoint import messages
from anabranch.checkpoint.layout import BASES, CHANGES, StateFile, StoreFiles, json_object
from anabranch.errors import Reason

# The ids that a version of a store may have by its commit; None: the commit is gone, any file of that version will do.
IdsOf = Callable[[StoreFiles, int], frozenset[str] | None]
# What a zip's own `metadata` entry says; None: it cannot be read.
ZipText = Callable[[str], str | None]
# No query shuffles into more; a larger number is garbage, and must not be counted up to.
MOST_PARTITIONS = 100_000


@dataclass(frozen=True)
class Trouble:
    """Why a version does not load: the file, and what is wrong with it."""

    code: Literal["state-missing", "state-torn", "sst-missing", "no-base"]
    file: str
    version: int
    what: Reason


@dataclass(frozen=True)
class OperatorMetadata:
    """What Spark wrote down about a stateful operator (since 3.5)."""

    name: str
    # Store -> the number of its partitions.
    stores: Mapping[str, int]
    # Version 2 only; absolute, so a copied checkpoint names files of the original.
    schema_paths: tuple[str, ...] = ()


def why_not_loaded(
    store: StoreFiles, version: int, ids_of: IdsOf, zip_text: ZipText, known: dict[int, Trouble | None]
) -> Trouble | None:
    """None: it loads. `known` keeps what was found for the versions passed on the way down."""
    passed: list[int] = []
    at, found = version, None
    while at > 0:
        if at in known:
            found = known[at]
            break
        passed.append(at)
        found, is_base = _look_at(store, at, ids_of(store, at), zip_text)
        if found is not None or is_base:
            break
        at -= 1
    known.update(dict.fromkeys(passed, found))
    return _as_seen_from(version, store, found)


def _look_at(store: StoreFiles, version: int, ids: frozenset[str] | None, zip_text: ZipText) -> tuple[Trouble | None, bool]:
    """What is wrong with the files of this version, and whether the way down ends here."""
    files = [file for file in store.versions.get(version, ()) if ids is None or file.id in ids]
    for kinds in (BASES, CHANGES):
        for file in files:
            if file.kind in kinds:
                return _torn(store, file) or (
                    _zip_trouble(store, file, zip_text) if file.kind == "zip" else None
                ), kinds is BASES
    return _missing(store, version, ids), False


def _missing(store: StoreFiles, version: int, ids: frozenset[str] | None) -> Trouble:
    others = store.versions.get(version, ())
    if others and ids:
        named = " or ".join(sorted(f"{version}_{one}.*" if one else f"{version}.*" for one in ids))
        what = messages.VERSION_OTHER_ID(version=version, found=others[0].name, commit=version - 1, named=named)
    else:
        what = messages.VERSION_MISSING(version=version)
    return Trouble("state-missing", f"{store.directory}/{version}.*", version, what)


def _as_seen_from(version: int, store: StoreFiles, trouble: Trouble | None) -> Trouble | None:
    """A gap below a version that is there means that its changes have nothing to stand on."""
    if trouble is None or trouble.code != "state-missing" or (at := trouble.version) == version or store.versions.get(at):
        return trouble
    what = messages.BASE_MISSING(version=at, after=at + 1)
    return Trouble("no-base", f"{store.directory}/{at}.*", at, what)


def _torn(store: StoreFiles, file: StateFile) -> Trouble | None:
    if store.sizes.get(file.name, 0) == 0:
        return Trouble("state-torn", store.path(file), file.version, messages.FILE_EMPTY(name=file.name))
    return None


def _zip_trouble(store: StoreFiles, file: StateFile, zip_text: ZipText) -> Trouble | None:
    text = zip_text(store.path(file))
    named = parse_zip_metadata(text) if text is not None else None
    if named is None:
        return Trouble("state-torn", store.path(file), file.version, messages.ZIP_TORN(name=file.name))
    for folder, held, wanted in (("SSTs", store.ssts, named[0]), ("logs", store.logs, named[1])):
        for name, size in wanted.items():
            if name not in held:
                path = f"{store.directory}/{folder}/{name}"
                return Trouble("sst-missing", path, file.version, messages.ZIP_LACKS(name=file.name, needed=f"{folder}/{name}"))
            if size >= 0 and held[name] >= 0 and held[name] != size:
                path = f"{store.directory}/{folder}/{name}"
                what = messages.ZIP_SIZE(name=file.name, needed=f"{folder}/{name}", wanted=size, found=held[name])
                return Trouble("state-torn", path, file.version, what)
    return None


def parse_zip_metadata(text: str) -> tuple[dict[str, int], dict[str, int]] | None:
    """The SSTs and the log files that a RocksDB zip needs beside it, with their sizes (-1: not said)."""
    about = json_object(text.partition("\n")[2])
    if about is None:
        return None
    try:
        return _named(about, "sstFiles", "dfsSstFileName"), _named(about, "logFiles", "dfsLogFileName")
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError):
        return None


def _named(about: Mapping[str, Any], field: str, name: str) -> dict[str, int]:
    return {str(file[name]): int(file.get("sizeBytes", -1)) for file in about.get(field) or ()}


def parse_operator_metadata(text: str) -> OperatorMetadata | None:
    """`_metadata/metadata` (v1) or `_metadata/v2/<batch>`; None for anything else."""
    version, _, rest = text.partition("\n")
    about = json_object(rest)
    if version not in ("v1", "v2") or about is None:
        return None
    try:
        stores = about["stateStoreInfo"]
        partitions = {str(store["storeName"]): int(store["numPartitions"]) for store in stores}
        if not all(0 < count <= MOST_PARTITIONS for count in partitions.values()):
            return None
        return OperatorMetadata(
            name=str(about["operatorInfo"]["operatorName"]),
            stores=partitions,
            schema_paths=tuple(str(path) for store in stores for path in store.get("stateSchemaFilePaths") or ()),
        )
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError):
        return None
