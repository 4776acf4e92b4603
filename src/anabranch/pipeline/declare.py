"""What a user's file calls: topics, pipelines and sinks are declared here, and become frozen values. Nothing runs.

A declaration is recorded where one is being collected, that is, while a project's files are imported. Elsewhere, as in a test
that imports the same file, it has no effect but its value.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Literal, TypeVar

from anabranch.pipeline import messages
from anabranch.pipeline.definition import MOST_OFFSETS, Code, OutputMode, Pipeline, UnpackState
from anabranch.pipeline.sinks import Console, PrintBatch, Results, Sink, Table
from anabranch.pipeline.topic import Place, Topic, define_topic
from anabranch.text.format import parse_topic_name, parse_whole_ms_s

Transform = TypeVar("Transform", bound=Callable[..., Any])

# Where a decorated function keeps what was declared of it.
DECLARED = "__anabranch_pipeline__"


@dataclass
class Declarations:
    topics: list[Topic] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)


_collecting: list[Declarations] = []


@contextmanager
def collect() -> Iterator[Declarations]:
    """Everything that is declared in the block."""
    found = Declarations()
    _collecting.append(found)
    try:
        yield found
    finally:
        _collecting.remove(found)


def topic(
    name: str,
    *,
    schema: str,
    event_time: str,
    lake: str | None = None,
    aliases: Mapping[str, str] | None = None,
    integers_as_text: Sequence[str] = (),
) -> Topic:
    """Declare a Kafka topic of JSON objects.

    Args:
        name: The topic's name in Kafka.
        schema: The fields to read, as DDL: STRING, INT, BIGINT, DOUBLE, DECIMAL(p,s), BOOLEAN, TIMESTAMP, DATE, and STRUCT,
            ARRAY and MAP of them. A record that lacks a field that is NOT NULL, or has one of another type, has a problem.
            Keys that are not named are ignored.
        event_time: The TIMESTAMP field that says when an event happened.
        lake: The Delta table that keeps every raw record, relative to the project. With it comes the pipeline `NAME-lake`,
            which fills it; windows are recomputed from there.
        aliases: Field -> another key, read where the field's own is missing or null.
        integers_as_text: STRING fields that may come as integers; their digits are the text.
    """
    # The line that calls this.
    caller = sys._getframe(1)  # noqa: SLF001
    place = Place(caller.f_code.co_filename, caller.f_lineno)
    declared = define_topic(
        name,
        schema=schema,
        event_time=event_time,
        lake=lake,
        aliases=aliases,
        integers_as_text=integers_as_text,
        place=place,
    )
    if _collecting:
        _collecting[-1].topics.append(declared)
    return declared


def pipeline(
    *topics: Topic,
    to: Sink,
    window: str | tuple[str, str] | None = None,
    watermark: str | None = None,
    key: Sequence[str] = (),
    mode: OutputMode = "append",
    scope: Literal["stream", "batch"] = "stream",
    trigger: str | None = None,
    max_offsets: int | None = None,
    future_tolerance: str | None = "1h",
    recompute: Literal["windows", "none"] | None = None,
    float_tolerance: float = 0.0,
    unpack_state: UnpackState | None = None,
) -> Callable[[Transform], Transform]:
    """Declare that a function of frames is a pipeline. The function itself is returned unchanged.

    Its name is the pipeline's, with dashes for underscores; the first line of its docstring says what it does. It gets one
    DataFrame for each topic: decoded, without records that have a problem, with the watermark applied, and with a column
    `window` where a window is declared. It must not run an action, read a clock or change the session.

    Args:
        topics: What it reads, in the order of the function's parameters.
        to: Where results go: `results(topic)`, `table(path)` or `console()`.
        window: The length of its event-time windows, such as "5m"; ("10m", "5m") begins one every 5 minutes.
        watermark: How late an event may be, such as "10m".
        key: The columns by which results are grouped. Of one key, the latest result on a topic counts.
        mode: "append" emits a window once, when it is closed; "update" emits it whenever it changes.
        scope: "batch" applies the function to each batch by itself; nothing is kept from one to the next.
        trigger: How often a batch starts; without it, as soon as there is data.
        max_offsets: How many records of each topic a batch takes at most.
        future_tolerance: How much later than its record's Kafka timestamp an event may be; None: no limit.
        recompute: "windows", the default with one topic and a window: a result follows from the records of its window alone.
            "none": windows cannot be recomputed (free state, joins).
        float_tolerance: By how much DOUBLEs of two results may differ, relative to the greater one, and still be the same
            result to an audit, such as 1e-9. A sum of DOUBLEs depends on the order of its records.
        unpack_state: Makes rows for people of the keys and values of its state, for `anabranch checkpoint --state`.
    """

    options = _Options(
        *(
            topics,
            to,
            window,
            watermark,
            tuple(key),
            mode,
            scope,
            trigger,
            max_offsets,
            future_tolerance,
            recompute,
            float_tolerance,
            unpack_state,
        )
    )

    def declare(transform: Transform) -> Transform:
        _record(options.of(transform), transform)
        return transform

    return declare


def results(topic: str) -> Results:
    """Send results to a Kafka topic: one record for each, under the key of its grouping. It is created if it does not exist."""
    return Results(parse_topic_name(topic))


def table(path: str, *, partition_by: Sequence[str] = ()) -> Table:
    """Append results to a Delta table, each batch exactly once. The path is relative to the project."""
    if not path.strip():
        raise messages.SINK_NEEDS_TARGET(kind="table", target="PATH")
    return Table(path, tuple(partition_by))


def console(print_batch: PrintBatch | None = None) -> Console:
    """Print results: each batch as a table, or by a function that takes the batch and a function that writes text."""
    return Console(print_batch)


def declared_pipeline(transform: Callable[..., Any]) -> Pipeline:
    """What was declared of a function."""
    found = getattr(transform, DECLARED, None)
    if not isinstance(found, Pipeline):
        raise messages.NOT_DECLARED(name=getattr(transform, "__name__", repr(transform)))
    return found


def _record(declared: Pipeline, transform: Callable[..., Any]) -> None:
    if _collecting:
        _collecting[-1].pipelines.append(declared)
    setattr(transform, DECLARED, declared)


@dataclass(frozen=True)
class _Options:
    """What a decorator was called with."""

    topics: tuple[Topic, ...]
    to: Sink
    window: str | tuple[str, str] | None
    watermark: str | None
    key: tuple[str, ...]
    mode: OutputMode
    scope: str
    trigger: str | None
    max_offsets: int | None
    future_tolerance: str | None
    recompute: str | None
    float_tolerance: float
    unpack_state: UnpackState | None

    def of(self, transform: Callable[..., Any]) -> Pipeline:
        """The pipeline that a function is with them, or what is wrong with it."""
        function = _checked(transform, self.topics)
        name = function.__name__.replace("_", "-")
        length, slide = self.window if isinstance(self.window, tuple) else (self.window, None)
        declared = Pipeline(
            name=name,
            summary=(inspect.getdoc(function) or "").partition("\n")[0].rstrip("."),
            topics=self.topics,
            sink=self.to,
            result_topic=self.to.name if isinstance(self.to, Results) else function.__name__,
            output_mode=self.mode,
            trigger_s=_seconds(self.trigger),
            max_offsets=self.max_offsets,
            future_tolerance_s=_seconds(self.future_tolerance),
            window_s=_length_s(name, "window", length),
            slide_s=_length_s(name, "slide", slide),
            watermark_s=_seconds(self.watermark),
            grouping=self.key,
            per_batch=self.scope == "batch",
            float_tolerance=self.float_tolerance,
            place=Place(function.__code__.co_filename, function.__code__.co_firstlineno),
            code=Code(function, self.unpack_state),
        )
        _check(declared)
        return replace(declared, is_recomputable=self._is_recomputable(declared))

    def _is_recomputable(self, declared: Pipeline) -> bool:
        can_be = declared.window_s is not None and len(self.topics) == 1 and not declared.per_batch
        if self.recompute == "windows" and not can_be:
            raise messages.NOT_RECOMPUTABLE_BY_WINDOW(pipeline=declared.name)
        wanted = can_be and self.recompute != "none"
        if wanted and isinstance(self.to, Results) and "window" not in self.key:
            raise messages.KEY_LACKS_WINDOW(pipeline=declared.name)
        return wanted


def _check(declared: Pipeline) -> None:
    """Refuses what Spark would, later and in other words."""
    closes_windows = declared.output_mode == "append" and not declared.per_batch
    if declared.window_s is not None and declared.watermark_s is None and closes_windows:
        raise messages.WINDOW_WITHOUT_WATERMARK(pipeline=declared.name)
    if declared.slide_s is not None and declared.slide_s > (declared.window_s or 0):
        raise messages.SLIDE_TOO_LONG(pipeline=declared.name)
    if not 0 <= declared.float_tolerance < 1:
        raise messages.FLOAT_TOLERANCE_OUT_OF_RANGE(pipeline=declared.name, tolerance=declared.float_tolerance)
    if declared.per_batch and len(declared.topics) > 1:
        raise messages.BATCH_OF_SEVERAL(pipeline=declared.name, topics=list(declared.topic_names))
    if declared.max_offsets is not None and not 1 <= declared.max_offsets <= MOST_OFFSETS:
        raise messages.MAX_OFFSETS_OUT_OF_RANGE(pipeline=declared.name, max_offsets=declared.max_offsets)
    declared.check_sink(declared.sink)


def _checked(transform: Callable[..., Any], topics: tuple[Topic, ...]) -> FunctionType:
    """A function with one parameter for each topic."""
    name = getattr(transform, "__name__", type(transform).__name__)
    if not isinstance(transform, FunctionType) or not name.isidentifier():
        raise messages.NOT_A_FUNCTION(name=name)
    if not topics or not all(isinstance(one, Topic) for one in topics):
        raise messages.READS_NO_TOPIC(pipeline=name)
    parameters = inspect.signature(transform).parameters
    try:
        inspect.signature(transform).bind(*topics)
    except TypeError:
        names = [one.name for one in topics]
        raise messages.PARAMETERS_DIFFER(pipeline=name, topics=names, parameters=list(parameters)) from None
    return transform


def _seconds(text: str | None) -> float | None:
    return None if text is None else parse_whole_ms_s(text)


def _length_s(pipeline: str, what: str, text: str | None) -> float | None:
    length_s = _seconds(text)
    if length_s is not None and length_s <= 0:
        raise messages.LENGTH_NOT_POSITIVE(pipeline=pipeline, what=what)
    return length_s
