"""The packages and what each may import: ARCHITECTURE.md shows this table, and test_layers.py holds it."""

from __future__ import annotations

# From the lowest to the highest; a package may import itself and those named.
MAY_IMPORT: dict[str, str] = {
    "errors": "",
    "text": "errors",
    "storage": "errors",
    "checkpoint": "errors text storage",
    "pipeline": "errors text",
    "operations": "errors text storage checkpoint",
    "spark": "errors",
    "delta": "errors",
    "kafka": "errors text storage checkpoint spark",
    "generator": "errors pipeline kafka",
    "project": "errors text storage checkpoint pipeline operations spark delta kafka",
    "streaming": "errors text storage checkpoint pipeline operations spark delta kafka project",
    "rewind": "errors text storage checkpoint pipeline operations delta project streaming",
    "reprocess": "errors text storage checkpoint pipeline operations spark delta kafka project streaming",
    "audit": "errors text storage checkpoint pipeline operations delta kafka spark project streaming reprocess",
    "lateness": "errors text checkpoint pipeline delta project audit",
    "explanation": "errors text checkpoint pipeline spark delta project streaming reprocess audit",
    "repair": "errors text checkpoint pipeline operations delta project streaming reprocess audit",
    "recovery": "operations project rewind reprocess",
    "check": "errors text pipeline project streaming",
    "testing": "errors text pipeline spark project streaming",
    "cli": "errors text checkpoint pipeline operations generator project streaming rewind reprocess audit lateness"
    " explanation repair recovery check",
}
ADAPTERS = ("storage", "spark", "delta", "kafka")

# Decisions: they import only each other and these modules of the standard library, so they cannot look at anything.
PURE = (
    *("errors", "text/*", "*/messages"),
    *(
        f"checkpoint/{name}"
        for name in (
            "layout",
            "sources",
            "state",
            "checkpoint",
            "logged",
            "baseline",
            "restartable",
            "findings",
            "report",
            "timeline",
        )
    ),
    *(
        "pipeline/definition",
        "pipeline/schema",
        "pipeline/topic",
        *("pipeline/sinks", "pipeline/windows", "pipeline/lake", "pipeline/manifest"),
        "pipeline/catalog",
        "pipeline/builtin/visits",
    ),
    *("testing/event_time", "check/findings", "check/plan", "check/judge", "check/events", "check/shrink"),
    *("pipeline/builtin/session_fold", "pipeline/builtin/session_chunks", "operations/change", "operations/receipt"),
    *("rewind/target", "rewind/plan", "rewind/undo", "rewind/explain"),
    *(f"reprocess/{name}" for name in ("plan", "tally", "completeness", "staleness", "explain", "shown")),
    *(
        f"audit/{name}"
        for name in ("judge", "windows", "verdict", "follow", "concentration", "explain", "ranges", "tally", "summary")
    ),
    *("repair/plan", "delta/stored"),
    *(f"lateness/{name}" for name in ("reach", "curve", "report", "explain", "scale", "picture")),
    *(f"explanation/{name}" for name in ("window", "report", "build", "explain", "key")),
    *("delta/hours", "delta/written_rows", "delta/engine_errors", "kafka/properties", "kafka/embedded/configuration"),
    *(f"streaming/{name}" for name in ("result_headers", "failures", "lateness", "console_table", "run_progress", "startable")),
    *(f"generator/{name}" for name in ("recipe", "timeline", "visits", "events", "values", "words", "spoil", "pace")),
)
PURE_LIBRARY = {
    *("__future__", "base64", "bisect", "collections", "collections.abc", "dataclasses", "datetime", "difflib", "functools"),
    *("hashlib", "heapq", "itertools", "json", "math", "operator", "posixpath", "re", "string", "struct", "typing"),
    "zoneinfo",
}
# Seeded, and texts from paths: they look at nothing either.
PURE_EXCEPTIONS = {
    "check/events": {"random", "decimal"},
    "check/shrink": {"random"},
    "text/json_text": {"decimal"},
    "reprocess/shown": {"decimal"},
    "generator/visits": {"random"},
    "generator/events": {"random"},
    "kafka/embedded/configuration": {"pathlib"},
    "lateness/picture": {"svg", "html"},
}
# One place for each library.
ONLY_IN = {
    "pyspark": {
        *("spark/watch.py", "spark/rows.py"),
        *("streaming", "pipeline", "spark/session.py", "spark/beside.py", "spark/executors.py"),
        "checkpoint/state_reader.py",
        "project/load.py",
        *("reprocess/recompute.py", "audit", "testing/rows.py", "testing/session.py", "project/session.py", "check"),
        "explanation/by_key.py",
    },
    "confluent_kafka": {"kafka", "generator"},
    "deltalake": {"delta"},
    "pyarrow": {"delta"},
    "numpy": {"delta/counts.py", "lateness/tally.py", "explanation/tally.py"},
    "svg": {"lateness/picture.py"},
    "typer": {"cli"},
    "rich": {"cli"},
    "pydantic": {"project/settings.py", "project/setting_values.py", "storage/files.py"},
    "pydantic_core": {"project/settings.py"},
    "pydantic_settings": {"project/settings.py"},
    "filelock": {"spark/jars.py", "spark/scala_jar.py", "kafka/embedded"},
    "psutil": {"storage/lease.py", "project/doctor.py", "kafka/embedded"},
    "platformdirs": {"spark/jars.py"},
}
