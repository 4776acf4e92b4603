"""Files on a local disk have the permissions that Hadoop's own file system would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("mode", ["644", "600", "755", "077", "1777"])
def test_a_file_has_the_permissions_that_hadoop_itself_would_give(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    jvm: Any = spark._jvm
    permission = jvm.org.apache.hadoop.fs.permission.FsPermission(mode)
    modes = []
    for kind in ("org.apache.hadoop.fs.LocalFileSystem", "anabranch.LocalFiles"):
        made = tmp_path / kind
        made.touch()
        files = _file_system(jvm, spark, kind)
        files.setPermission(jvm.org.apache.hadoop.fs.Path(str(made)), permission)
        modes.append(made.stat().st_mode)
    assert modes[0] == modes[1]
    assert oct(modes[1]).endswith(mode)


def test_the_session_uses_it(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "new" / "file"))
    files = path.getFileSystem(spark._jsc.sc().hadoopConfiguration())
    assert files.getClass().getName() == "anabranch.LocalFiles"
    files.create(path).close()
    assert sorted(one.name for one in (tmp_path / "new").iterdir()) == [".file.crc", "file"]


def _file_system(jvm: Any, spark: SparkSession, kind: str) -> Any:
    files = jvm.java.lang.Class.forName(kind).newInstance()
    files.initialize(jvm.java.net.URI("file:///"), spark._jsc.sc().hadoopConfiguration())
    return files
