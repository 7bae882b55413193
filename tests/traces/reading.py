"""Reads back what a server stores, through its interface."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List

import httpx
from servers import Evenhand

#: Nobody is verified on this machine: loading certificates would take longer than most requests.
HOW: Dict[str, Any] = {"timeout": 60, "verify": False}


def sessions(server: Evenhand) -> Iterator[Dict[str, Any]]:
    """Every session, page by page."""
    query: Dict[str, Any] = {"limit": 200}
    with httpx.Client(base_url=server.url, **HOW) as client:
        while True:
            page = client.get("/api/sessions", params=query).raise_for_status().json()
            yield from page["sessions"]
            if page["next_cursor"] is None:
                return
            query["cursor"] = page["next_cursor"]


def told(server: Evenhand) -> Dict[tuple[str, str], List[Dict[str, Any]]]:
    """Role, content and tools of the turns of every session, by user and session."""
    found = {}
    with httpx.Client(base_url=server.url, **HOW) as client:
        for one in sessions(server):
            user, session = one["user_id"], one["session_id"]
            whole = client.get(f"/api/sessions/{user}/{session}").raise_for_status().json()
            names = ("role", "content", "tools_used")
            assert (user, session) not in found
            found[user, session] = [{name: turn[name] for name in names} for turn in whole["interactions"]]
    return found
