"""Makes values that the server takes: JSON, without NUL, halves of characters, or texts that are too long."""

from __future__ import annotations

import math
from typing import Any, Mapping

MAX_TEXT = 1_000_000
CUT = "\n[cut]"


def text(value: Any) -> str:
    found = value if isinstance(value, str) else str(value)
    if "\0" in found:
        found = found.replace("\0", "\ufffd")
    try:
        found.encode("utf-8")
    except UnicodeEncodeError:
        found = found.encode("utf-8", "replace").decode("utf-8")
    # The server counts characters.
    return found if len(found) <= MAX_TEXT else found[: MAX_TEXT - len(CUT)] + CUT


def json_value(value: Any, depth: int = 0) -> Any:
    """The value as JSON; objects that JSON does not know become their text."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return text(value)
    if depth > 30:
        return text(repr(value))
    if isinstance(value, Mapping):
        return {text(key): json_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(inner, depth + 1) for inner in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return json_value(dump(), depth + 1)
    return text(value)


def tool(value: Any) -> dict[str, Any]:
    """A tool as the server reads it, from its name alone or from its parts."""
    if isinstance(value, str):
        return {"tool_name": text(value)}
    made: dict[str, Any] = dict(json_value(value))
    data = made.get("tool_data")
    if data is not None and not isinstance(data, dict):
        made["tool_data"] = {"value": data}
    return made
