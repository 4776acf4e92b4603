"""The settings, parsed once at the edge into frozen values: options, then environment, then anabranch.toml, then defaults.

An unknown key is an error that names the nearest good one. Every value remembers where it came from. Each source is checked
by itself: what is wrong in the file is wrong also where the environment overrides it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anabranch.errors import Misused
from anabranch.pipeline.definition import MOST_OFFSETS
from anabranch.project import messages
from anabranch.project.catalog_file import KnownPipelines, read_known
from anabranch.project.setting_values import (
    Addresses,
    Duration,
    Length,
    Location,
    Number,
    Properties,
    Record,
    Text,
    TopicName,
    Zone,
    flatten,
)
from anabranch.project.settings_file import FILE_NAME, read_settings_file
from anabranch.text.redact import shown
from anabranch.text.suggest import did_you_mean

ENV_PREFIX = "ANABRANCH_"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Kafka(_Section):
    bootstrap_servers: Addresses | None = None
    # Not in a repr: it may hold passwords.
    properties: Properties = Field(default={}, repr=False)


class Broker(_Section):
    port: Number = Field(default=9094, ge=0, le=65535)


class Jars(_Section):
    ivy_settings: Location | None = None


class PipelineTopics(_Section):
    source: TopicName | None = None
    sink: TopicName | None = None


class PipelineSettings(_Section):
    trigger: Duration | None = None
    max_offsets: Number | None = Field(default=None, ge=1, le=MOST_OFFSETS)
    window: Length | None = None
    watermark: Duration | None = None
    watermark_jump: Length | None = None
    future_tolerance: Duration | None = None
    # Records that are left out.
    skip: tuple[Record, ...] = ()
    table: Text | None = None
    topics: PipelineTopics = PipelineTopics()
    checkpoint: Location | None = None


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    timezone: Zone = "UTC"
    kafka: Kafka = Kafka()
    broker: Broker = Broker()
    jars: Jars = Jars()
    spark: Properties = Field(default={}, repr=False)
    # The files and modules that declare pipelines. None: those of the seeds.
    pipelines: tuple[Text, ...] = ()
    # Of each pipeline, by its name.
    pipeline: dict[str, PipelineSettings] = {}


@dataclass(frozen=True)
class LoadedSettings:
    settings: Settings
    # Dotted key -> "anabranch.toml", "environment", "option"; a key that is not here has its default.
    origins: Mapping[str, str]
    # The pipelines that they declare.
    known: KnownPipelines
    # What is wrong and therefore left out of the settings. `load_settings` gives none that has any.
    errors: Sequence[Misused] = ()

    def in_force(self) -> Iterator[tuple[str, str, str]]:
        """Key, value with secrets hidden, origin: of everything that is in force."""
        for key, value in flatten(self.settings.model_dump(mode="json")):
            yield key, shown(key, value), self.origins.get(key, "default")


def load_settings(project_dir: Path, options: Mapping[str, Any] | None = None) -> LoadedSettings:
    loaded = read_settings(project_dir, options)
    if loaded.errors:
        raise loaded.errors[0]
    return loaded


def read_settings(project_dir: Path, options: Mapping[str, Any] | None = None) -> LoadedSettings:
    """All that can be understood, and everything that cannot."""
    file = read_settings_file(project_dir)
    variables, errors = _read_environment()
    errors = [*file.errors, *errors]

    def in_file(path: Sequence[str]) -> str:
        line = file.line_of(path) or (file.line_of(["pipelines", *path[1:]]) if path[:1] == ["pipeline"] else None)
        return f"{file.path}, line {line}" if line else str(file.path)

    sources: list[tuple[str, Mapping[str, Any], Callable[[Sequence[str]], str]]] = [
        (FILE_NAME, file.tree, in_file),
        ("environment", variables, lambda _path: "the environment"),
        ("option", options or {}, lambda _path: "the option"),
    ]
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    places: list[tuple[Mapping[str, Any], Callable[[Sequence[str]], str]]] = []
    for origin, tree, place in sources:
        understood, wrong = _understood(_with_sections(tree), place)
        errors += wrong
        _merge(merged, understood)
        origins |= {key: origin for key, _ in flatten(understood)}
        places.append((understood.get("pipeline", {}), place))
    # model_validate, not Settings(...): the sources have been read above, each with its origin.
    settings = Settings.model_validate(merged)
    known = read_known(project_dir, settings.pipelines)
    if (names := known.names) is not None:
        errors += [_unknown_pipeline(name, place, names) for own, place in places for name in own if name not in names]
        kept = {name: value for name, value in settings.pipeline.items() if name in names}
        settings = settings.model_copy(update={"pipeline": kept})
    return LoadedSettings(settings, origins, known, errors)


def _with_sections(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """0.2.0 had the settings of a pipeline in [pipelines.NAME]: they are read as [pipeline.NAME]."""
    if not isinstance(old := tree.get("pipelines"), Mapping):
        return tree
    sections: dict[str, Any] = {}
    _merge(sections, old)
    _merge(sections, tree.get("pipeline", {}))
    return {**{name: value for name, value in tree.items() if name != "pipelines"}, "pipeline": sections}


def _unknown_pipeline(name: str, place: Callable[[Sequence[str]], str], known: Collection[str]) -> Misused:
    where = place(["pipeline", name])
    return messages.UNKNOWN_SETTING(key=f"pipeline.{name}", where=where, suggestion=did_you_mean(name, known))


def _understood(tree: Mapping[str, Any], place: Callable[[Sequence[str]], str]) -> tuple[Mapping[str, Any], list[Misused]]:
    """The tree without what is wrong in it, and what that is."""
    errors: list[Misused] = []
    while True:
        try:
            Settings.model_validate(tree)
        except ValidationError as error:
            for one in error.errors():
                path = [str(part) for part in one["loc"] if part != "[key]"]
                errors.append(_explained(one["type"], one["msg"], path, place(".".join(path).split("."))))
                tree = _without(tree, ".".join(path))
        else:
            return tree, errors


def _without(tree: Mapping[str, Any], wrong: str, above: str = "") -> dict[str, Any]:
    """A property's name has dots of its own, so keys are compared as they are written."""
    kept: dict[str, Any] = {}
    for name, value in tree.items():
        key = f"{above}{name}"
        is_above = wrong.startswith(f"{key}.")
        # A list is left out as a whole.
        if key == wrong or (is_above and not isinstance(value, Mapping)):
            continue
        kept[name] = _without(value, wrong, f"{key}.") if is_above else value
    return kept


def _explained(kind: str, reason: str, path: list[str], where: str) -> Misused:
    key = ".".join(path)
    if kind == "extra_forbidden":
        return messages.UNKNOWN_SETTING(key=key, where=where, suggestion=did_you_mean(path[-1], _keys_at(path[:-1])))
    if kind in ("model_type", "dict_type"):
        reason = f"it is a section; write [{key}] and its settings below"
    if kind == "tuple_type":
        reason = f'it is a list; write {key} = ["..."]'
    return messages.SETTING_INVALID(key=key, where=where, reason=reason.removeprefix("Value error, "))


def _read_environment() -> tuple[dict[str, Any], list[Misused]]:
    names = [name for name in os.environ if name.upper().startswith(ENV_PREFIX)]
    known = set(Settings.model_fields)
    errors = [
        messages.UNKNOWN_VARIABLE(name=name, suggestion=did_you_mean(key, known))
        for name in names
        if (key := _first_key(name)) not in known
    ]
    if not names:
        return {}, errors
    try:
        values = _parse_environment()
    except ValueError as error:
        # Of pydantic-settings, which names the section and no variable.
        section = re.findall(r'field "(\w+)"', str(error))
        wrong = [name for name in names if _first_key(name) in section] or names
        return {}, [*errors, messages.VARIABLE_MALFORMED(names=wrong, example=wrong[0])]
    # A shell variable cannot have a dash: ANABRANCH_PIPELINE__VISITS_LOG__TRIGGER.
    if isinstance(pipelines := values.get("pipeline"), dict):
        values["pipeline"] = {name.replace("_", "-"): value for name, value in pipelines.items()}
    return values, errors


def _parse_environment() -> dict[str, Any]:
    # Loaded only here: it brings asyncio along, a tenth of the time of a short command.
    from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

    class FromEnvironment(Settings, BaseSettings):
        model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter="__", env_ignore_empty=True)

    source = EnvSettingsSource(FromEnvironment)
    # As in the file: what 0.2.0 called pipelines is pipeline now, unless it is a list of files.
    source.env_vars = {_present_name(name, value): value for name, value in source.env_vars.items()}
    return source()


def _present_name(variable: str, value: str | None) -> str:
    old, name = "anabranch_pipelines", variable.lower()
    is_section = name.startswith(f"{old}__") or (name == old and (value or "").lstrip().startswith("{"))
    return "anabranch_pipeline" + variable[len(old) :] if is_section else variable


def _first_key(variable: str) -> str:
    return variable[len(ENV_PREFIX) :].split("__")[0].lower()


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, Mapping):
            _merge(below.setdefault(key, {}), value)
        else:
            below[key] = value


def _keys_at(path: list[str]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in path:
        if part in model.model_fields:
            field = model.model_fields[part].annotation
            is_section = isinstance(field, type) and issubclass(field, BaseModel)
            model = field if is_section else PipelineSettings  # type: ignore[assignment]
    return list(model.model_fields)
