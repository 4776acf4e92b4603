"""json.md: what each command prints with --json."""

from __future__ import annotations

from anabranch.audit.verdict import Found, Late, Verdict
from anabranch.audit.windows import LateRecord
from anabranch.checkpoint.figures import Jump
from anabranch.checkpoint.report import BatchView, OperatorView
from anabranch.delta.lake import LakeState, Problem
from anabranch.explanation.report import (
    BatchShare,
    CorrectedBy,
    DroppedRecord,
    Emitted,
    Explanation,
    KeyResult,
    PartitionNews,
    Waits,
)
from anabranch.lateness.curve import DelayRow
from anabranch.lateness.report import Lateness
from anabranch.project.doctor import CheckResult
from anabranch.streaming.batch_list import BatchList, Operated, Totals
from anabranch.streaming.status import PipelineStatus
from tools.reference.dataclass_tables import fields_table

_INTRODUCTION = """\
# JSON output

`--json` prints one JSON document on stdout; `consume --json` prints one for each record, on a line of its own.
A later version may add fields.
Times are ISO-8601 in UTC.

## Errors

A command that fails prints one object with the field `error`, beside the text on stderr:

```json
{
  "error": {
    "code": "no-kafka",
    "params": {"directory": "/work/visits"},
    "text": "no Kafka: the broker of /work/visits is not running, and kafka.bootstrap_servers is not set",
    "remedies": ["anabranch broker start", "or set kafka.bootstrap_servers in anabranch.toml"],
    "exit_code": 1
  }
}
```

Match on `code` and `params`; the words may change.
[refusals.md](refusals.md) lists every code.

## Commands

| command | prints |
|---|---|
| `audit` | see below; with `--repair` as `repair` |
| `audits` | a list of audits, with the fields of [their format](formats.md#audit) |
| `broker status` | `running`, `address`, `pid`; the last two are null if no broker runs |
| `check` | `pipelines`, each with `pipeline`, `place`, `recomputable`, `findings`, `proof` (a note or null); see below |
| `checkpoint` | `path`, `query_id`, `formats`, `newest_batch`, `batches`, `operators`, `findings`; see below |
| `checkpoint --state` | `batch`, `rows`, `more` (whether `--limit` cut off rows) |
| `config` | a list of `key`, `value`, `from`; where settings are wrong, an object with `error`, `errors` and `settings` |
| `consume` | of each record: `topic`, `partition`, `offset`, `timestamp`, `key`, `value`, `headers` |
| `doctor` | a list of check results; see below |
| `explain` | see below |
| `generate` | `acknowledged`, `by_kind`, `seconds`, `records_per_second`, `first_event_time`, `last_event_time` |
| `history` | see below |
| `lake` | see below |
| `lateness` | see below |
| `operations` | a list of `id`, `kind`, `state`, `plan`, `receipt`; with an id, that one |
| `pipelines` | a list of pipelines, as this project's settings have them |
| `problems` | `counts` (problem -> number of records) and `records`; see below |
| `problems replay`, `repair` | `audit`, `plan` (as of `reprocess`; null: nothing to send), `sent`, `after` (the second audit) |
| `reprocess`, `rewind`, `undo` | the plan, with the fields of [its format](formats.md), before it is applied |
| `status` | `kafka` (its address, or why it is unreachable) and `pipelines`; see below |
| `topics` | a list of `topic` and `partitions`, each with `partition`, `earliest`, `end` |
"""


def json_page() -> str:
    return f"""{_INTRODUCTION}
## status: a pipeline

{fields_table(PipelineStatus)}
A jump:

{fields_table(Jump)}
`last_audit` is the newest audit: `id`, `at`, `windows`, `wrong`, `not_counted`, `completeness`; null: there is none.

{_audit()}
{_explain()}
{_history()}
{_lateness()}
## checkpoint

A batch has the fields below; a source has `kind`, `start`, `end` and `rows`.
`replay` and `replan` are objects of `possible`, `why_not` (a text or null) and `reasons` (a list of `code`, `params`, `text`).

{fields_table(BatchView)}
An operator has the fields below; `versions` is a list of two numbers, or empty.

{fields_table(OperatorView, without=("snapshots", "bytes"))}
A finding has `code`, `file`, `what`, `remedy` and `params`.

## check: a finding

`pipeline`, `level`, `file`, `line`, `code`, `params`, `text` and `remedies`.
The level is `finding`, or `warning`, which leaves the exit code at 0.

## lake

{fields_table(LakeState)}
## problems: a record

`value` is text: bytes that are no UTF-8 are written as `\\xNN`.

{fields_table(Problem)}
## doctor: a check

{fields_table(CheckResult)}
"""


def _audit() -> str:
    return f"""## audit

Two audits of the same pins print the same bytes.

| field | meaning |
|---|---|
| `pipeline` | the pipeline |
| `range` | `start` and `end` of the windows that were judged; null: none was |
| `since` | with `--since-last` the audit that it follows; null: all that was asked for was judged |
| `pinned` | `lake_version`, `topic_offsets`, `table_version`, `batches` (the first and the last), `code`, `watermark` |
| `verdict` | see below, and `completeness`, the share of the usable records that results count; null: there are no records |
| `windows` | the wrong results, the first 1,000; with `--all` also those that are right: see below |
| `balance` | `in_lake`, `counted`, `late`, `problems`, `remainder` |
| `late` | see below; null: no record was late |
| `notes` | a list of `code`, `params`, `text` |

The verdict:

{fields_table(Verdict)}
A result has `window` (`start`, `end`) and `class` instead of `start`, `end` and `verdict`:

{fields_table(Found)}
Late records:

{fields_table(Late)}
Each of them; times are `event_time`, `arrived`, `window_end` and `watermark`:

{fields_table(LateRecord)}"""


def _explain() -> str:
    return f"""## explain

{fields_table(Explanation)}
`closed_by` has `window_end`, `batch`, `watermark`, `record` and `event_time`, as in an audit.

A batch:

{fields_table(BatchShare)}
A late record:

{fields_table(DroppedRecord)}
What an open window waits for:

{fields_table(Waits)}
A partition:

{fields_table(PartitionNews)}
An operation that has sent results of the window:

{fields_table(CorrectedBy)}
The result of a key:

{fields_table(KeyResult)}
A result that was emitted:

{fields_table(Emitted)}"""


def _history() -> str:
    return f"""## history

{fields_table(BatchList)}
A line of kind `batch` has the fields of [a batch](formats.md#batch-history), and `jump` if it moved the watermark far.
One of kind `operation`:

{fields_table(Operated)}
The totals:

{fields_table(Totals)}"""


def _lateness() -> str:
    return f"""## lateness

{fields_table(Lateness)}
A delay:

{fields_table(DelayRow)}"""
