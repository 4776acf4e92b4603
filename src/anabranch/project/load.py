"""Imports the files that declare a project's pipelines: those that anabranch.toml names, and installed entry points.

Only commands that compute do this. Nothing is imported because it is in the current directory: a file is imported by the path
that names it, its directory comes behind all others on the module path, and its modules reach Spark's workers by value.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from anabranch.errors import AnabranchError, Misused
from anabranch.pipeline.catalog import Catalog, catalog_of
from anabranch.pipeline.declare import DECLARED, Declarations, collect
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.topic import Topic
from anabranch.project import messages

GROUP = "anabranch.pipelines"


def installed_entry_points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP))


def import_pipelines(directory: Path, named: Sequence[str]) -> tuple[Catalog, dict[str, str]]:
    """The catalog with its code; and each file of the user's that it is from, with its hash."""
    before = set(sys.modules)
    with collect() as found, _session_blocked():
        imported = [_import(directory, one) for one in (*named, *(point.module for point in installed_entry_points()))]
    for module, _ in imported:
        _add_declared(found, module)
    files = [file for _, file in imported]
    modules = [sys.modules[name] for name in sys.modules.keys() - before]
    own = list(_of_user(modules, {file.parent for file in files if file is not None}))
    _ship_by_value(own)
    hashes = {str(module.__file__): _hash(Path(str(module.__file__))) for module in own}
    shared = [digest for file, digest in hashes.items() if Path(file) not in files]
    try:
        catalog = catalog_of(found.topics, (_with_hash(pipeline, hashes, shared) for pipeline in found.pipelines))
    except Misused as error:
        raise messages.PIPELINES_WRONG(where=str(directory), what=error.reason, ways=list(error.remedies)) from None
    if not catalog.pipelines:
        raise messages.NO_PIPELINES(files=list(named))
    return catalog, dict(sorted(hashes.items()))


def hash_of(file: str) -> str | None:
    """None: it is not there, or cannot be read."""
    try:
        return _hash(Path(file))
    except OSError:
        return None


def _hash(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def _with_hash(pipeline: Pipeline, hashes: dict[str, str], shared: Iterable[str]) -> Pipeline:
    """Its own file, and the modules that pipelines share: another file of pipelines may change without a word."""
    assert pipeline.place is not None
    own = hashes.get(pipeline.place.file) or _hash(Path(pipeline.place.file))
    return replace(pipeline, source_hash=sha256("".join((own, *sorted(shared))).encode()).hexdigest())


def _of_user(modules: Iterable[ModuleType], directories: set[Path]) -> Iterator[ModuleType]:
    """Those that lie beside the files that are named."""
    for module in modules:
        file = getattr(module, "__file__", None)
        if file is None or "site-packages" in Path(file).parts:
            continue
        if any(Path(file).is_relative_to(directory) for directory in directories):
            yield module


def ship_beside(file: Path) -> None:
    """Modules that are imported already, by a test: the file's own and those beside it."""
    _ship_by_value(_of_user(list(sys.modules.values()), {file.parent}))


def _ship_by_value(modules: Iterable[ModuleType]) -> None:
    """A worker gets what it needs of them with the function that it runs; it could not import them."""
    from pyspark import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _add_declared(found: Declarations, module: ModuleType) -> None:
    """What a module has that was imported before: its declarations were not collected now."""
    for value in vars(module).values():
        declared = getattr(value, DECLARED, value)
        if isinstance(declared, Pipeline) and not declared.takes_problems and declared not in found.pipelines:
            found.pipelines.append(declared)
        elif isinstance(declared, Topic) and declared not in found.topics:
            found.topics.append(declared)


def _import(directory: Path, named: str) -> tuple[ModuleType, Path | None]:
    """The module, and the file if it was named by its path."""
    if not (named.endswith(".py") or "/" in named):
        with _told(named, {named}):
            return importlib.import_module(named), None
    path = (directory / named).resolve()
    if not path.is_file():
        raise messages.PIPELINES_FILE_MISSING(file=str(path))
    if path.suffix != ".py":
        raise messages.PIPELINES_NOT_PYTHON(file=str(path))
    name = path.stem
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded, path
    if loaded is not None or not name.isidentifier():
        raise messages.MODULE_NAME_TAKEN(file=str(path), name=name)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _told(str(path), {str(path)}):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module, path


@contextmanager
def _told(what: str, own: set[str]) -> Iterator[None]:
    """What goes wrong in a user's file, as a sentence with its line."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except SyntaxError as error:
        raise messages.PIPELINES_SYNTAX(file=error.filename or what, line=error.lineno or 0, reason=error.msg) from None
    except AnabranchError as error:
        where = _place(error, own) or what
        raise messages.PIPELINES_WRONG(where=where, what=error.reason, ways=list(error.remedies)) from None
    except ModuleNotFoundError as error:
        raise messages.PIPELINES_IMPORT(where=_place(error, own) or what, module=error.name, python=sys.executable) from None
    except BaseException as error:
        kind, text = type(error).__name__, str(error).partition("\n")[0]
        if "SparkSession should be created first" in text:
            raise messages.PIPELINES_NEED_SPARK(where=_place(error, own) or what) from None
        raise messages.PIPELINES_RAISED(where=_place(error, own) or what, kind=kind, text=text) from None


def _place(error: BaseException, own: set[str]) -> str | None:
    """The innermost line of the user's."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in own]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


@contextmanager
def _session_blocked() -> Iterator[None]:
    """A file that declares pipelines starts no Spark and changes no setting of it: the command does that."""
    from pyspark import SparkContext
    from pyspark.sql.conf import RuntimeConfig
    from pyspark.sql.session import SparkSession

    blocked: list[tuple[Any, str]] = [
        (SparkContext, "__init__"),
        (SparkSession.Builder, "getOrCreate"),
        (SparkSession.Builder, "create"),
        (RuntimeConfig, "set"),
        (RuntimeConfig, "unset"),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name in blocked]
    for owner, name in blocked:
        setattr(owner, name, _refuse(f"{owner.__qualname__}.{name}"))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _refuse(what: str) -> Any:
    def refuse(*_arguments: Any, **_named: Any) -> NoReturn:
        raise messages.SESSION_BLOCKED(what=what)

    return refuse
