"""A repair by an audit of earlier is refused where what that saw no longer holds; last of all, since it takes things away."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from anabranch.kafka.admin import KafkaAdmin
from tests.repair.repairs import FIREFOX, NAME, Repairs
from tests.support.audits import DAY
from tests.support.remedies import paste, shell_command

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

SEVEN = ("--from", f"{DAY}T07:00", "--to", f"{DAY}T07:05")


@pytest.fixture(scope="module")
def found(repairs: Repairs) -> str:
    """An audit that has found a window wrong."""
    repairs.spoil(FIREFOX[7], value=None)
    return repairs.audit(*SEVEN)


@pytest.fixture(scope="module")
def lake(repairs: Repairs) -> Path:
    return repairs.project.directory / ".anabranch" / "lake" / "visits"


def test_other_rules_than_the_audit_had_are_refused(repairs: Repairs, found: str) -> None:
    repairs.configure(f'skip = ["{repairs.source}:0:1"]')
    said = repairs.refused("audit-outdated", "--audit", found, "--yes")
    # It asks for a new audit; here only for what it finds.
    assert (
        paste(repairs.project, shell_command(said, f"anabranch repair {NAME}").partition("   ")[0] + " --dry-run").returncode
        == 0
    )
    repairs.configure()


def test_a_lake_that_has_lost_records_is_refused(repairs: Repairs, found: str, lake: Path) -> None:
    table = DeltaTable(lake)
    version = table.version()
    table.delete(f"event_time >= '{DAY}T07:00:00Z' AND event_time < '{DAY}T07:02:00Z'")
    said = repairs.refused("inputs-stale", "--audit", found, "--yes")
    assert "the lake has 1 record of these windows, it had 3" in said
    # What was lost is named when the new plan is made.
    repairs.refused("lake-incomplete", *SEVEN, "--yes")
    DeltaTable(lake).restore(version)


def test_where_the_lake_of_then_was_cleaned_up_a_new_audit_is_asked_for(repairs: Repairs, found: str, lake: Path) -> None:
    table = DeltaTable(lake)
    rows, hours = table.to_pyarrow_table(), table.metadata().partition_columns
    # The same rows in new files, as a compaction leaves them.
    write_deltalake(table, rows, mode="overwrite", partition_by=hours)
    DeltaTable(lake).vacuum(0, dry_run=False, enforce_retention_duration=False)
    said = repairs.refused("audit-outdated", "--audit", found, "--yes")
    assert repairs.repair_as_told(said)[0] in (0, 4)


def test_a_topic_of_results_that_was_recreated_is_refused(repairs: Repairs) -> None:
    repairs.spoil(FIREFOX[7], value=None)
    found, admin = repairs.audit(*SEVEN), KafkaAdmin(repairs.kafka)
    repairs.project.ok("topics", "delete", repairs.topic, "--yes")
    admin.create(repairs.topic, 3)
    admin.find(repairs.topic)
    said = repairs.refused("inputs-stale", "--audit", found, "--yes")
    assert "the result topic was deleted and recreated" in said
    # All of it is missing now: the remedy is of the audit's window.
    assert repairs.repair_as_told(said) == (0, False)
    assert {one.key_text for one in repairs.results()} == {FIREFOX[7], FIREFOX[7].replace("Firefox", "Opera")}
