"""What is said about audits, explanations and late records."""

from __future__ import annotations

from anabranch.errors import misuse, note, refusal

NEVER_RAN = refusal(
    "nothing-to-audit", "{pipeline} has not finished a batch: there is nothing to audit", "anabranch run {pipeline}"
)
ROWS_WITHOUT_WINDOW = refusal(
    "rows-without-window",
    "{pipeline} cannot be audited: the rows of {table} have no column `window`, so none says of which window it is",
    "keep the column `window` in what the pipeline's function returns",
)
NO_RESULT_TABLE = refusal(
    "no-result-table", "{pipeline} cannot be audited: its table {table} does not exist", "anabranch run {pipeline}"
)
BATCHES_TAKEN_BACK = refusal(
    "batches-taken-back",
    "batches of {pipeline} were taken back while the audit read them: what it found no longer holds",
    "anabranch audit {pipeline}",
)
UNKNOWN_AUDIT = misuse("unknown-audit", "there is no audit {audit!r}", "{suggestion}", "anabranch audits   lists them")
AUDIT_UNREADABLE = note("audit-unreadable", "audit {audit} cannot be read: {why}")
LAKE_DIFFERS = refusal(
    "lake-differs",
    "the lake cannot be relied on to judge {pipeline}: by what was stored it holds {in_lake:,} records of these windows, and"
    " {counted:,} + {late:,} + {problems:,} with problems were found when they were read by today's rules",
    "was the event_time of topic {topic} another field when the lake was written? Its hours are of that field then: set"
    ' table = "PATH" in [pipeline.{lake}] of anabranch.toml, then anabranch run {lake} --until-caught-up writes a new lake',
)
RULES_CHANGED = note(
    "rules-changed",
    "the rules have changed since the lake was written: {stored:#record} of these windows had problems then, {now:,} have"
    " problems now",
)
JUDGED_AGAIN = note("judged-again", "all windows were judged again, since {audit} no longer tells which are right: {why}")
OTHER_CODE_SINCE = note("other-code-since", "the code or the settings have changed")
REWOUND_SINCE = note("rewound-since", "batches were taken back, or restored")
LAKE_IS_BEHIND = note(
    "lake-is-behind", "the lake has not yet what the last {batches:#batch/batches} of the stream read: judged is what it has"
)
MAY_HAVE_EXPIRED = note(
    "results-may-have-expired",
    "partition {partition} of {topic} retains nothing before offset {first}: a result that is missing may have expired there",
)
IN_SEVERAL_PARTITIONS = note(
    "results-in-several-partitions",
    "of {results:#key} {topic} holds results in several partitions, since some were added to it: the one with the newest time"
    " was taken for the latest",
)
RAN_OTHER_CODE = note(
    "ran-other-code",
    "{batches:#batch/batches} of these ran with other code or settings than today's: where results differ, that may be why",
)
