"""Everything that can be done before a first run: fetch the jars, compile ours, build the class-data archive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

from anabranch.project.project import Project
from anabranch.spark.class_archive import archive_path, build_archive
from anabranch.spark.jars import JarSet, ensure_jars
from anabranch.spark.java import find_java
from anabranch.spark.scala_jar import ensure_scala_jar, is_compiled, session_jars

# The set, how many of its missing jars are here, of how many.
OnFetch = Callable[[str, int, int], None]


def fetch_jars(project: Project, progress: OnFetch) -> None:
    def fetch(jar_set: JarSet) -> None:
        ensure_jars(jar_set, project.ivy_settings, lambda done, total: progress(jar_set, done, total))

    # At once: each mostly waits for the network.
    with ThreadPoolExecutor() as pool:
        list(pool.map(fetch, get_args(JarSet)))


def needs_compiling() -> bool:
    return not is_compiled()


def compile_scala() -> None:
    ensure_scala_jar()


def needs_archive() -> bool:
    return not archive_path(find_java(), session_jars()).exists()


def build_class_archive() -> bool:
    """False: it could not be built. Everything works without it, only Spark starts slower."""
    return build_archive(find_java(), session_jars())
