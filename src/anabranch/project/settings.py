"""The settings, parsed once at the edge into frozen values: options, then environment, then anabranch.toml, then defaults.

An unknown key is an error that names the nearest good one. Every value remembers where it came from.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from anabranch.errors import AnabranchError, Misused
from anabranch.pipeline.catalog import PIPELINES
from anabranch.project import messages
from anabranch.text.format import parse_duration_s
from anabranch.text.redact import shown
from anabranch.text.suggest import did_you_mean

FILE_NAME = "anabranch.toml"
ENV_PREFIX = "ANABRANCH_"
# A record as every command names it; partitions and offsets as large as Kafka's.
_RECORD = re.compile(r"[A-Za-z0-9._-]{1,249}:[0-9]{1,9}:[0-9]{1,18}")


def _duration(value: object) -> float:
    try:
        return parse_duration_s(str(value))
    except AnabranchError as error:
        raise ValueError(f"{error.text}; {'; '.join(error.remedies)}") from None


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone; write it like Europe/Paris or UTC") from None
    return name


def _record(text: str) -> str:
    if _RECORD.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a record; write it like visits:0:24 (topic, partition, offset)")
    return text


def _flat(value: object) -> object:
    """TOML reads `sasl.username = "x"` as a table in a table; a property is one dotted name with a text."""
    return {key: _text(leaf) for key, leaf in flatten(value)} if isinstance(value, Mapping) else value


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def flatten(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


Duration = Annotated[float, BeforeValidator(_duration)]
Properties = Annotated[dict[str, str], BeforeValidator(_flat)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Kafka(_Section):
    bootstrap_servers: str | None = None
    # Not in a repr: it may hold passwords.
    properties: Properties = Field(default={}, repr=False)


class Broker(_Section):
    port: int = Field(default=9094, ge=0, le=65535)


class Jars(_Section):
    ivy_settings: Path | None = None


class PipelineTopics(_Section):
    source: str | None = None
    sink: str | None = None


class PipelineSettings(_Section):
    trigger: Duration | None = None
    max_offsets: int | None = Field(default=None, ge=1)
    window: Duration | None = None
    watermark: Duration | None = None
    watermark_jump: Duration | None = Field(default=None, gt=0)
    future_tolerance: Duration | None = None
    # Records that are left out.
    skip: tuple[Annotated[str, AfterValidator(_record)], ...] = ()
    table: str | None = None
    topics: PipelineTopics = PipelineTopics()
    checkpoint: Path | None = None


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    kafka: Kafka = Kafka()
    broker: Broker = Broker()
    jars: Jars = Jars()
    spark: Properties = Field(default={}, repr=False)
    pipelines: dict[str, PipelineSettings] = {}


@dataclass(frozen=True)
class LoadedSettings:
    settings: Settings
    # Dotted key -> "anabranch.toml", "environment", "option"; a key that is not here has its default.
    origins: Mapping[str, str]

    def in_force(self) -> Iterator[tuple[str, str, str]]:
        """Key, value with secrets hidden, origin: of everything that is in force."""
        for key, value in flatten(self.settings.model_dump(mode="json")):
            yield key, shown(key, value), self.origins.get(key, "default")


def load_settings(project_dir: Path, options: Mapping[str, Any] | None = None) -> LoadedSettings:
    file = project_dir / FILE_NAME
    layers = [(FILE_NAME, _read_toml(file)), ("environment", _read_environment()), ("option", dict(options or {}))]
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, layer in layers:
        _merge(merged, layer)
        origins |= {key: origin for key, _ in flatten(layer)}
    _refuse_unknown_pipelines(merged, str(file))
    try:
        # model_validate, not Settings(...): the sources have been read above, each with its origin.
        return LoadedSettings(Settings.model_validate(merged), origins)
    except ValidationError as error:
        raise _explained(error, origins, file) from None


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise messages.SETTINGS_MALFORMED(file=str(file), reason=str(error)) from None


def _read_environment() -> dict[str, Any]:
    names = [name for name in os.environ if name.upper().startswith(ENV_PREFIX)]
    known = set(Settings.model_fields)
    for name in names:
        if (key := _first_key(name)) not in known:
            raise messages.UNKNOWN_VARIABLE(name=name, suggestion=did_you_mean(key, known))
    values = _parse_environment() if names else {}
    # A shell variable cannot have a dash: ANABRANCH_PIPELINES__VISITS_LOG__TRIGGER.
    if isinstance(pipelines := values.get("pipelines"), dict):
        values["pipelines"] = {name.replace("_", "-"): value for name, value in pipelines.items()}
    return values


def _parse_environment() -> dict[str, Any]:
    # Loaded only here: it brings asyncio along, a tenth of the time of a short command.
    from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

    class FromEnvironment(Settings, BaseSettings):
        model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, env_nested_delimiter="__", env_ignore_empty=True)

    return EnvSettingsSource(FromEnvironment)()


def _first_key(variable: str) -> str:
    return variable[len(ENV_PREFIX) :].split("__")[0].lower()


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, Mapping):
            _merge(below.setdefault(key, {}), value)
        else:
            below[key] = value


def _refuse_unknown_pipelines(tree: Mapping[str, Any], where: str) -> None:
    names = [pipeline.name for pipeline in PIPELINES]
    for name in tree.get("pipelines", {}):
        if name not in names:
            raise messages.UNKNOWN_SETTING(key=f"pipelines.{name}", where=where, suggestion=did_you_mean(name, names))


def _explained(error: ValidationError, origins: Mapping[str, str], file: Path) -> Misused:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path)
    origin = next((origins[o] for o in origins if o == key or o.startswith(f"{key}.")), FILE_NAME)
    where = str(file) if origin == FILE_NAME else f"the {origin}"
    if first["type"] == "extra_forbidden":
        return messages.UNKNOWN_SETTING(key=key, where=where, suggestion=did_you_mean(path[-1], _keys_at(path[:-1])))
    reason = first["msg"].removeprefix("Value error, ")
    return messages.SETTING_INVALID(key=key, where=where, reason=reason)


def _keys_at(path: list[str]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in path:
        if part in model.model_fields:
            field = model.model_fields[part].annotation
            is_section = isinstance(field, type) and issubclass(field, BaseModel)
            model = field if is_section else PipelineSettings  # type: ignore[assignment]
    return list(model.model_fields)
