"""Decides from the server's answer about a batch: delivered, later, never, or again with less in it."""

from __future__ import annotations

import copy
from typing import Any, Dict, List, Optional, Tuple

from .spool import Entry
from .wire import ApiError

PUBLISH = "/api/publish_interaction"
NEEDED = {"user_id", "session_id", "interaction_data_list"}
# Statuses that say nothing about the request itself.
LATER = {401, 403, 405, 408, 425, 429}


def transient(error: ApiError) -> bool:
    """Whether the same request may succeed later. An answer without a code did not come from the server itself."""
    return error.status in LATER or error.status >= 500 or not error.code


def without_refused_parts(entry: Entry, error: ApiError) -> Optional[Entry]:
    """The request without the fields the server named, or None when nothing useful is left."""
    changed = Entry(copy.deepcopy(dict(entry)))
    body: Dict[str, Any] = changed["body"]
    if error.code in ("experiment_unknown", "experiment_arm_mismatch"):
        had = [body.pop(name, None) for name in ("retrieval_experiment_id", "retrieval_experiment_arm")]
        return changed if any(had) else None
    if error.code != "invalid_input" or entry["path"] != PUBLISH:
        return None
    removed = False
    for one in error.errors:
        parts = str(one.get("pointer", "")).split("/")[1:]
        if len(parts) >= 3 and parts[0] == "interaction_data_list" and parts[1].isdigit():
            turns: List[Dict[str, Any]] = body["interaction_data_list"]
            index = int(parts[1])
            removed = (index < len(turns) and turns[index].pop(parts[2], None) is not None) or removed
        elif len(parts) >= 1 and parts[0] not in NEEDED:
            removed = body.pop(parts[0], None) is not None or removed
    return changed if removed else None


def halves(entry: Entry, name: str) -> Optional[List[Tuple[str, Entry]]]:
    """Two requests for one that is too large. Their ids follow from its id, so that splitting again gives the same."""
    turns = entry["body"].get("interaction_data_list", []) if entry["path"] == PUBLISH else []
    if len(turns) < 2:
        return None
    middle = len(turns) // 2
    made = []
    for letter, part in (("a", turns[:middle]), ("b", turns[middle:])):
        body = {**entry["body"], "interaction_data_list": part, "request_id": entry["body"]["request_id"] + letter}
        if letter == "a":
            body.pop("session_finished", None)
        made.append((name + letter, Entry({"path": entry["path"], "body": body})))
    return made
