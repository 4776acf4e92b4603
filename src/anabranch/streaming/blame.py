"""Which line of a user's file ended a query, and with which error: one sentence instead of a Java stack trace.

Python names its frames, Spark the line that built the expression (call_sites.py); of an expression written as SQL it quotes
the text, which is looked for in the pipeline's file.
"""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import Failed
from anabranch.pipeline.definition import Pipeline
from anabranch.streaming import messages
from anabranch.streaming.failures import FAILURES, Cause
from anabranch.text.exceptions import summary_of

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_CALL_SITE = re.compile(r"was called from\n(.+):(\d+)$", re.M)
_SQL = re.compile(r"^== SQL.*==\n(.+)$", re.M)
# Spark's error class, and its sentence.
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ([^\n]+)")
# They say that something ended the query; what it was is inside.
_WRAPPERS = ("STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR")
_WORKER = "An exception was thrown from the Python worker"
_RAISED = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$")


@dataclass(frozen=True)
class UserError:
    # FILE:LINE
    where: str
    # Spark's error class, or a Python exception's.
    kind: str
    sentence: str


def blame(pipeline: Pipeline, error: BaseException | str) -> UserError | None:
    """None: no line of the pipeline's own files is part of it."""
    if pipeline.place is None:
        return None
    text = str(error)
    where = _called_from(pipeline, text) or _frame(pipeline, error) or _quoted(pipeline, text)
    return UserError(where, *kind_and_sentence(error)) if where else None


def failure_of(pipeline: Pipeline, cause: Cause, error: Exception | str, log: str) -> Failed:
    """What is said of a query that ended."""
    about = {"pipeline": pipeline.name, "log": log}
    # What is raised while a plan is built quotes the plan, and in it options that look like other causes.
    is_users = cause == "other" or isinstance(error, Exception)
    if is_users and (users := blame(pipeline, error)) is not None:
        return messages.TRANSFORM_FAILED(**about, **vars(users))
    return FAILURES.get(cause, messages.QUERY_FAILED)(**about, reason=summary_of(str(error)))


def is_of_query(pipeline: Pipeline, error: Exception) -> bool:
    """Whether it ends that query only: it is Spark's, or the pipeline's own. Otherwise it is ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return isinstance(error, Py4JError | PySparkException) or blame(pipeline, error) is not None


def is_of_user(pipeline: Pipeline, file: str) -> bool:
    """Beside the file that declares the pipeline, and not installed."""
    assert pipeline.place is not None
    path = Path(file)
    return path.is_relative_to(Path(pipeline.place.file).parent) and "site-packages" not in path.parts


def _called_from(pipeline: Pipeline, text: str) -> str | None:
    found = [f"{file}:{line}" for file, line in _CALL_SITE.findall(text) if is_of_user(pipeline, file)]
    return found[-1] if found else None


def _frame(pipeline: Pipeline, error: BaseException | str) -> str | None:
    """The innermost frame of the user's."""
    if isinstance(error, str):
        frames = _FRAME.findall(error)
    else:
        own = traceback.extract_tb(error.__traceback__)
        frames = [(frame.filename, str(frame.lineno)) for frame in own] + _FRAME.findall(str(error))
    found = [f"{file}:{line}" for file, line in frames if is_of_user(pipeline, file)]
    return found[-1] if found else None


def _quoted(pipeline: Pipeline, text: str) -> str | None:
    """The line that has the SQL which Spark quotes; the pipeline's function where that is not one line."""
    found = _SQL.search(text)
    if found is None or pipeline.place is None:
        return None
    lines = Path(pipeline.place.file).read_text(encoding="utf-8", errors="replace").splitlines()
    having = [number for number, line in enumerate(lines, 1) if found[1].strip() in line]
    return f"{pipeline.place.file}:{having[0] if len(having) == 1 else pipeline.place.line}"


def kind_and_sentence(error: BaseException | str) -> tuple[str, str]:
    """Spark's error class, or a Python exception's; and what it says, in one line."""
    text = str(error)
    if _WORKER in text:
        return _raised_in_worker(text)
    conditions = [(kind, sentence) for kind, sentence in _CONDITION.findall(text) if kind not in _WRAPPERS]
    if conditions:
        kind, sentence = conditions[-1]
        return kind, _without_state(sentence)
    if isinstance(error, str):
        return _raised_in_driver(text)
    return type(error).__name__, _without_state(summary_of(text))


def _raised_in_worker(text: str) -> tuple[str, str]:
    """The last line of the worker's trace that is not indented."""
    lines = text.rpartition(_WORKER)[2].partition("=== Streaming Query ===")[0].splitlines()
    for line in reversed([line for line in lines[2:] if line and not line[0].isspace()]):
        if raised := _RAISED.match(line):
            return raised[1].rpartition(".")[2], _without_state(raised[2] or "")
    return "PythonException", summary_of(text)


def _raised_in_driver(text: str) -> tuple[str, str]:
    """A Python exception under a batch of its own: the line behind the last frame."""
    behind = text.rpartition('File "')[2].partition("\n\n")[0].splitlines()[1:]
    for line in behind:
        if line and not line[0].isspace() and (raised := _RAISED.match(line)):
            return raised[1].rpartition(".")[2], _without_state(raised[2] or "")
    return "error", summary_of(text)


def _without_state(sentence: str) -> str:
    return re.sub(r"(?: SQLSTATE: \w+)+;?\s*$", "", sentence).strip().rstrip(".;")
