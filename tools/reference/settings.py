"""settings.md: every setting with its type, default and meaning; the defaults of each pipeline and of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import Pipeline
from anabranch.project.settings import PipelineSettings, Settings
from anabranch.spark.session import SETTINGS
from anabranch.text.format import format_duration
from tools.reference.markdown import code, table

# Setting -> type, meaning. A setting that is missing here, or gone from the code, fails the generation.
_MEANINGS = {
    "timezone": ("time zone", "Times without a zone, in events and on the command line, are in this zone."),
    "kafka.bootstrap_servers": ("text", "Your Kafka. Without it the project's own broker is used."),
    "kafka.properties": (
        "table",
        "Any property of a Kafka client, in librdkafka's or in Java's spelling; files are relative to the project's directory.",
    ),
    "broker.port": ("0 to 65535", "The port of the embedded broker; 0 uses a free one."),
    "jars.ivy_settings": ("path", "Your Ivy settings file, for jars behind a company mirror."),
    "pipelines": (
        "list of paths and modules",
        "The files that declare the pipelines of this project, and installed modules. Without it, those of the seeds.",
    ),
    "spark": ("table", "Any Spark setting, with or without the leading `spark.`."),
}
_PIPELINE_MEANINGS = {
    "trigger": ("duration", "How often a batch starts. Without it, or with 0, as soon as there is data."),
    "max_offsets": ("1 or more", "How many records a batch takes at most. Without it, all there are."),
    "window": ("duration above 0", "The length of a window. Only for pipelines that have one."),
    "watermark": ("duration", "The watermark delay. Only for pipelines that have one."),
    "watermark_jump": (
        "duration",
        "A watermark that would move further in one batch stops the query before that batch. Only with a watermark.",
    ),
    "future_tolerance": ("duration", "How much later than its record's Kafka timestamp an event may be."),
    "skip": ("list of TOPIC:PARTITION:OFFSET", "Records that are left out, with the problem `skipped`."),
    "table": ("path", "Write to this Delta table instead. Only for pipelines that append."),
    "topics.source": ("text", "The topic that it reads."),
    "topics.sink": ("text", "Write to this topic instead; also where `--to topic` sends."),
    "checkpoint": ("path", "The directory that holds its checkpoints, one below it for each sink."),
}

_INTRODUCTION = """\
# Settings

Settings come from defaults, then `anabranch.toml`, then the environment, then options of the command; the later one wins.
`anabranch config` shows what is in force and where each value comes from, with secrets hidden.
An unknown setting is an error that names the nearest known one.
Each source is checked by itself: what is wrong in the file is an error also where the environment overrides it.
`anabranch config` shows all that is wrong at once, each with its line, and what is in force without it.

In the environment a setting is `ANABRANCH_` and its name in capitals, with two underscores for each dot:
`ANABRANCH_KAFKA__BOOTSTRAP_SERVERS`, `ANABRANCH_PIPELINE__VISITS_LOG__TRIGGER`.
A table is given as JSON: `ANABRANCH_KAFKA__PROPERTIES='{"sasl.password": "..."}'`.

A duration is a number with its unit: `500ms`, `20s`, `10m`, `1h30m`, `2 days`; whole milliseconds, at most 100 years.
Relative paths start at the project's directory.
"""


def settings_page() -> str:
    general = dict(_fields(Settings))
    pipelines = dict(_fields(PipelineSettings))
    del general["pipeline"]
    return f"""{_INTRODUCTION}
{_table(general, _MEANINGS)}
## Settings of one pipeline

Each is `pipeline.NAME.SETTING`, in `anabranch.toml` a line below `[pipeline.NAME]`.
A window, watermark or number of shuffle partitions belongs to a checkpoint: another one on an existing checkpoint is refused.

{_table(pipelines, _PIPELINE_MEANINGS, "as below", prefix="pipelines.NAME.")}
The defaults of each pipeline:

{_pipelines()}
The checkpoints of a pipeline are in `.anabranch/checkpoints/NAME` by default.

## Spark settings

These are set unless `[spark]` or `--set` changes them; [spark-session.md](../internals/spark-session.md) gives the reasons.
The driver's memory is `1g` unless `spark.driver.memory` says otherwise.

{table(("setting", "value"), [(code(name), code(value)) for name, value in SETTINGS.items()])}
"""


def _fields(model: type[BaseModel], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name -> default."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _fields(field.annotation, f"{above}{name}.")
        else:
            yield f"{above}{name}", field.default


def _table(found: Mapping[str, Any], meanings: Mapping[str, tuple[str, str]], unset: str = "", prefix: str = "") -> str:
    assert found.keys() == meanings.keys(), f"describe {found.keys() ^ meanings.keys()} in tools/reference/settings.py"
    rows = [
        (
            code(prefix + name),
            meanings[name][0],
            code(str(default)) if default not in (None, {}, ()) else unset,
            meanings[name][1],
        )
        for name, default in found.items()
    ]
    return table(("setting", "type", "default", "meaning"), rows)


def _pipelines() -> str:
    times = ("trigger", "max_offsets", "window", "watermark", "future_tolerance")
    columns = ("pipeline", "source", "sink", "`--to topic`", *times)
    return table(columns, [_row(pipeline) for pipeline in BUILTIN.pipelines])


def _row(pipeline: Pipeline) -> tuple[str, ...]:
    times = (pipeline.window_s, pipeline.watermark_s, pipeline.future_tolerance_s)
    return (
        code(pipeline.name),
        code(pipeline.topic.name),
        code(pipeline.sink.describe()),
        code(pipeline.result_topic),
        "as data comes" if pipeline.trigger_s is None else format_duration(pipeline.trigger_s),
        "all" if pipeline.max_offsets is None else str(pipeline.max_offsets),
        *("none" if time_s is None else format_duration(time_s) for time_s in times),
    )
