"""The installer shows what the real pip is at, fails with pip's own reason, and ends it with itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

import psutil
import pytest

from tests.support.harness import PATIENCE_S, Running
from tests.support.terminal import Terminal
from tools.install import phase_of

ROOT = Path(__file__).parents[2]
# A package whose build needs nothing: its backend is beside it.
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
BACKEND = """
import os
from zipfile import ZipFile

def build_wheel(directory, settings=None, metadata=None):
    {act}
    name = "tiny-1.0-py3-none-any.whl"
    with ZipFile(os.path.join(directory, name), "w") as wheel:
        wheel.writestr("tiny.py", "")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return name

def prepare_metadata_for_build_wheel(directory, settings=None):
    os.mkdir(os.path.join(directory, "tiny-1.0.dist-info"))
    with open(os.path.join(directory, "tiny-1.0.dist-info", "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
    return "tiny-1.0.dist-info"
"""


def command(directory: Path, act: str = "pass") -> list[str]:
    package = directory / "tiny"
    package.mkdir()
    (package / "pyproject.toml").write_text(PROJECT)
    (package / "backend.py").write_text(BACKEND.replace("{act}", act))
    pip = ["--no-index", "--no-build-isolation", "--no-cache-dir", "--target", str(directory / "target"), str(package)]
    return [sys.executable, "tools/install.py", str(directory / "install.log"), *pip]


def test_on_a_terminal_one_line_shows_what_is_built_and_installed(tmp_path: Path) -> None:
    terminal = Terminal(command(tmp_path), ROOT)
    terminal.await_text(rb"\r +\d+ s  .*\x1b\[K")
    assert terminal.await_end() == 0, terminal.shown
    assert b"Installed in " in terminal.shown
    assert (tmp_path / "target" / "tiny.py").exists()
    log = (tmp_path / "install.log").read_text()
    assert "Building wheel for tiny" in log
    assert "Successfully installed tiny-1.0" in log
    # pip's scratch is gone.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["install.log", "target", "tiny"]


def test_a_failure_shows_pips_own_reason_and_where_the_rest_is(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path, 'raise RuntimeError("the moon is in the wrong place")'),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "pip failed after" in done.stdout
    assert "Failed building wheel for tiny" in done.stdout or "failed-wheel-build" in done.stdout, done.stdout
    assert str(tmp_path / "install.log") in done.stdout
    assert "the moon is in the wrong place" in (tmp_path / "install.log").read_text()


def _await_death(process: psutil.Process) -> None:
    """Who reaps it, and when, is the machine's affair."""
    deadline_s = monotonic() + PATIENCE_S
    with suppress(psutil.NoSuchProcess):
        while process.status() != psutil.STATUS_ZOMBIE:
            assert monotonic() < deadline_s


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_lasts_is_named_again_and_ctrl_c_ends_pip_and_all_it_started(tmp_path: Path, number: int) -> None:
    os.mkfifo(tmp_path / "never")
    waits = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); open({str(tmp_path / 'never')!r}).read()"
    installing = Running(
        subprocess.Popen(
            command(tmp_path, waits), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )
    )
    installing.await_line(r"^ +\d+ s  building a wheel of tiny$")
    if number == signal.SIGINT:
        # It hangs: that is seen, though pip itself says nothing.
        installing.await_line(r"^ +\d+ s  building a wheel of tiny$")
    # Opened only when the build has opened its end.
    never = os.open(tmp_path / "never", os.O_WRONLY)
    builder = psutil.Process(int((tmp_path / "pid").read_text()))
    installing.process.send_signal(number)
    assert installing.await_end() == 130
    assert "Interrupted by SIG" in "\n".join(installing.out)
    _await_death(builder)
    os.close(never)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Collecting pyspark==4.2.0 (from anabranch)", "looking for pyspark==4.2.0"),
        ("Obtaining file:///home/me/anabranch", "looking for anabranch"),
        ("  Downloading pyspark-4.2.0.tar.gz (450.1 MB)", "fetching pyspark 4.2.0"),
        ("  Downloading mirror/path/rich-15.0.0-py3-none-any.whl.metadata (18 kB)", "fetching rich 15.0.0"),
        ("  Using cached numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (16.9 MB)", "taking numpy 2.4.6 from pip's cache"),
        ("  Preparing metadata (setup.py): started", "preparing metadata"),
        ("  Building wheel for pyspark (setup.py): started", "building a wheel of pyspark"),
        ("  Building editable for anabranch (pyproject.toml): started", "building anabranch"),
        ("Installing collected packages: py4j, pyspark", "installing 2 packages"),
    ],
)
def test_each_line_of_pip_that_begins_something_is_understood(line: str, text: str) -> None:
    phase = phase_of(line + "\n")
    assert phase is not None
    assert phase.text == text


def test_a_line_that_begins_nothing_changes_nothing() -> None:
    assert phase_of("  Building wheel for pyspark (setup.py): finished with status 'done'") is None
    assert phase_of("Requirement already satisfied: rich in /somewhere") is None
