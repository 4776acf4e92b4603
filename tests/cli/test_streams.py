"""What a shell does to stdin, stdout and stderr: closes them, fills them, stops reading. No traceback, the right exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.harness import PATIENCE_S, Project


def shell(project: Project, line: str) -> tuple[int, str, str]:
    """`$A` stands for the command; the exit code is that of the last part of a pipe that failed."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line.replace("$A", f"{sys.executable} -m anabranch")],
        cwd=project.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "exit_code", "said"),
    [
        # Nobody can be told that nothing is written, but the exit code says it.
        ("$A config >&-", 1, "error[output-closed]"),
        ("$A config --json >&- 2>&-", 1, ""),
        ("$A run visits-log >&-", 1, "error[output-closed]"),
        ("$A config > /dev/full", 1, "error[system-refused]: No space left on device"),
        ("$A run nope 2>&-", 2, ""),
        ("$A run nope 2> /dev/full", 2, ""),
        ("$A rewind visits-log --to-batch 1 <&-", 2, "usage[cannot-prompt]"),
        ("$A pipelines <&- >&- 2>&-", 1, ""),
        # They have what they wanted.
        ("$A config | head -n 1", 0, ""),
        ("$A status | head -n 1", 0, "kafka: "),
        ("$A --help | true", 0, ""),
        ("env -u HOME $A config", 0, ""),
        ("TERM=nonsense $A config", 0, ""),
        ("LC_ALL=C $A config", 0, ""),
    ],
)
def test_a_shell_that_closes_or_fills_a_stream_gets_the_right_exit_code(
    project: Project, line: str, exit_code: int, said: str
) -> None:
    code, out, err = shell(project, line)
    assert (code, said in err) == (exit_code, True), (out, err)


def test_no_file_of_ours_gets_the_number_of_a_stream_that_was_closed(project: Project) -> None:
    """A file that got number 2 would hold whatever a library says on stderr."""
    (project.directory / "opens.py").write_text(
        "import os\nfrom anabranch.cli.output import open_standard_streams\nopen_standard_streams()\n"
        "os._exit(10 + os.open('file', os.O_CREAT | os.O_WRONLY))\n"
    )
    assert shell(project, f"{sys.executable} opens.py <&- >&- 2>&-")[0] > 12


def test_a_pipe_that_breaks_elsewhere_is_an_error(project: Project) -> None:
    """That of a JVM, for one: only a reader of our output that has gone is no error."""
    (project.directory / "breaks.py").write_text(
        "import sys\nfrom anabranch.cli import main\nfrom anabranch.project import settings\n"
        "def breaks(*_):\n    raise BrokenPipeError(32, 'Broken pipe')\n"
        "settings.read_settings = breaks\nsys.exit(main.run_command(['config']))\n"
    )
    code, _, err = shell(project, f"{sys.executable} breaks.py")
    assert (code, "error[system-refused]: Broken pipe" in err) == (1, True), err
