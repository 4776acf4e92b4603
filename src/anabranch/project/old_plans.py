"""Plans and receipts of version 0.1.0 in the formats of this one. Its sentences are kept as they were."""

from __future__ import annotations

from typing import Any

from anabranch.operations.messages import RECORDED_TEXT


def plan(old: dict[str, Any]) -> dict[str, Any]:
    if old["kind"] == "reprocess":
        return _reprocess(old)
    fields = {name: value for name, value in old.items() if name not in ("kind", "shift")}
    if "notes" in fields:
        fields["notes"] = [_recorded(note) for note in fields["notes"]]
    return {"format": 1, "kind": old["kind"], "change": _change(old["shift"]), **fields}


def receipt(old: dict[str, Any]) -> dict[str, Any]:
    outcome = {"taken back": "rolled back"}.get(old.get("outcome", "done"), old.get("outcome", "done"))
    return {
        "format": 1,
        "kind": "receipt",
        "at": old["at"],
        "outcome": outcome,
        "files": old.get("files"),
        "verified": [{"what": _recorded(what), "holds": holds} for what, holds in old.get("verified", [])],
        "acknowledged": old.get("acknowledged"),
        "planned": old.get("planned"),
        "by": old.get("by"),
    }


def _reprocess(old: dict[str, Any]) -> dict[str, Any]:
    inputs = {**old["ground"], "records": old["ground"]["visits"]}
    del inputs["visits"]
    fields = {name: value for name, value in old.items() if name not in ("kind", "ground")}
    return {"format": 1, "kind": "reprocess", **fields, "inputs": inputs}


def _change(shift: dict[str, Any]) -> dict[str, Any]:
    return {**shift, "sink": _sink(shift["sink"])}


def _sink(old: dict[str, Any]) -> dict[str, Any]:
    match old["kind"]:
        case "take out" | "put back":
            rows = old["rows"]
            about = {
                "table": rows["table"],
                "rows": rows["count"],
                "newest": rows["newest"],
                "set_back_to": rows["set_back_to"],
            }
            effects = [{"code": code, "params": about} for code in ("rows-deleted", "rows-restored")]
            action = "take back" if old["kind"] == "take out" else "put back"
            first, second = effects if action == "take back" else reversed(effects)
            return {"kind": "table", "action": action, "effect": first, "undo_effect": second, "params": rows}
        case _:
            left = {"code": "sink-was-left", "params": {}}
            return {"kind": "none", "action": "leave", "effect": _recorded(old["words"]), "undo_effect": left, "params": {}}


def _recorded(text: str) -> dict[str, Any]:
    return {"code": RECORDED_TEXT.code, "params": {"text": text}}
