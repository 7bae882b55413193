"""The official client of the Model Context Protocol calls every tool over stdio and over HTTP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from servers import BINARY, ENVIRONMENT, Evenhand

EXAMPLE = Path(__file__).parents[2] / "examples" / "mcp" / "tools.py"


def walk(server: Evenhand, token: str) -> subprocess.CompletedProcess[str]:
    names = {"BINARY": BINARY, "EVENHAND_URL": server.url, "EVENHAND_TOKEN": token}
    command = [sys.executable, str(EXAMPLE)]
    return subprocess.run(command, env={**ENVIRONMENT, **names}, capture_output=True, text=True, timeout=120)


def test_every_tool_works_both_ways(server: Evenhand) -> None:
    token = server.key("dashboard")
    done = walk(server, token)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("stdio ") for line in lines) == 8, done.stdout
    assert sum(line.startswith("http ") for line in lines) == 8, done.stdout
    server.headers = {"authorization": f"Bearer {token}"}
    for way in ("stdio", "http"):
        turns = server.get(f"/api/sessions/ada/chat-over-{way}")["interactions"]
        assert [turn["content"] for turn in turns][:2] == ["Where is my parcel?", "It arrives on Tuesday."]


def test_a_key_that_may_not_read_is_told_so(server: Evenhand) -> None:
    server.key("dashboard")
    done = walk(server, server.key("publish"))
    assert done.returncode == 1, done.stdout + done.stderr
    refused = {line.split(":")[0] for line in done.stdout.splitlines() if "FAILED 403 forbidden" in line}
    assert {"stdio overview", "http overview", "stdio session", "http session"} <= refused, done.stdout
    assert "stdio publish_turns" not in refused
