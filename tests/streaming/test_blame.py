"""A user's line and one sentence, from the texts that Spark 4.2.0 gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.topic import Place
from anabranch.streaming.blame import UserError, blame, failure_of

_HEAD = """\
[STREAM_FAILED] Query [id = 1] terminated with exception: [FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: Traceback:
  File "/venv/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
"""
_TAIL = """
 SQLSTATE: 39000 SQLSTATE: XXKST
=== Streaming Query ===
Logical Plan:
~Project [failOnDataLoss -> true]
"""
_DIVIDED = (
    "pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. Use `try_divide`."
    " SQLSTATE: 22012\n"
)


def test_an_expression_is_named_by_the_line_that_built_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    pipeline = replace(VISITS_COUNTER, place=Place(str(file), 1))
    text = f'{_HEAD}{_DIVIDED}== DataFrame ==\n"__truediv__" was called from\n{file}:25\n{_TAIL}'
    assert blame(pipeline, text) == UserError(f"{file}:25", "DIVIDE_BY_ZERO", "Division by zero. Use `try_divide`")
    failed = failure_of(pipeline, "other", text, "run.log")
    assert failed.code == "transform-failed"
    assert "\n" not in failed.text


def test_an_expression_of_sql_is_looked_for_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def one(visits):\n    x = 1\n    return visits.selectExpr('1/a')\n", encoding="utf-8")
    pipeline = replace(VISITS_COUNTER, place=Place(str(file), 1))
    text = f"{_HEAD}{_DIVIDED}== SQL (line 1, position 1) ==\n{{}}\n^^^\n{_TAIL}"
    found = [blame(pipeline, text.format(sql)) for sql in ("1/a", "1/b")]
    assert [one.where for one in found if one] == [f"{file}:3", f"{file}:1"]


def test_a_udf_is_named_by_its_innermost_line_and_what_it_raised(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    pipeline = replace(VISITS_COUNTER, place=Place(str(file), 1))
    text = (
        f"{_HEAD}pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:\n"
        f'Traceback (most recent call last):\n  File "{file}", line 28, in bad\n    raise ValueError("no two")\n'
        f"ValueError: no two{_TAIL}"
    )
    assert blame(pipeline, text) == UserError(f"{file}:28", "ValueError", "no two")


def test_what_no_line_of_the_users_is_part_of_is_not_blamed_on_them(tmp_path: Path) -> None:
    pipeline = replace(VISITS_COUNTER, place=Place(str(tmp_path / "mine.py"), 1))
    text = f"{_HEAD}java.io.IOException: No space left on device{_TAIL}"
    assert blame(pipeline, text) is None
    assert failure_of(pipeline, "other", text, "run.log").code == "query-failed"
