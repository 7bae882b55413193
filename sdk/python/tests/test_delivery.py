"""Delivery to the real server: everything arrives, and once, whatever is stopped meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

from servers import Evenhand, until

import evenhand

Make = Callable[..., evenhand.Client]
# The server is away that long; the minute of the issue is AWAY_SECONDS=60.
AWAY = float(os.environ.get("AWAY_SECONDS", "10"))


def arrived(server: Evenhand, user: str) -> Counter[str]:
    return Counter(turn["content"] for turn in server.turns(user))


def once(names: Any) -> Counter[str]:
    return Counter(dict.fromkeys(names, 1))


def test_a_session_arrives_and_is_judged(shared_server: Evenhand, client: Make) -> None:
    c = client(shared_server.url)
    with c.session("judged", "s", source="web", agent_version="v7") as s:
        s.user("Where is my parcel?")
        s.assistant("It arrives on Tuesday.", tools=["look_up_order", {"tool_name": "map", "tool_data": {"x": 1}}])
    c.outcome("s", "success", user="judged", label="sold", value=2.5, metadata={"order": 7})
    assert c.flush()
    found = until(lambda: (one := shared_server.session("judged", "s")) and one["is_success"] is not None and one)
    assert (found["source"], found["agent_version"], found["interaction_count"]) == ("web", "v7", 2)
    turns = shared_server.turns("judged")
    assert [turn["role"] for turn in turns] == ["User", "Assistant"]
    assert [tool["tool_name"] for tool in turns[1]["tools_used"]] == ["look_up_order", "map"]
    [outcome] = shared_server.post("/api/get_session_outcomes", {"session_ids": ["s"]})["session_outcomes"]
    assert (outcome["outcome"], outcome["value"]) == ("success", 2.5)


def test_turns_are_batched_in_order(shared_server: Evenhand, client: Make) -> None:
    c = client(shared_server.url, batch_turns=7, batch_seconds=5)
    s = c.session("batched", "s")
    for number in range(50):
        s.user(f"turn {number}")
    assert c.flush()
    assert [turn["content"] for turn in shared_server.turns("batched")] == [f"turn {n}" for n in range(50)]
    assert shared_server.session("batched", "s")["request_count"] == 8  # type: ignore[index]


def test_a_thousand_turns_while_the_server_is_away(server: Evenhand, client: Make) -> None:
    c = client(server.url, batch_turns=20)
    sessions = [c.session("away", f"s{number}") for number in range(10)]
    names = []
    began = time.monotonic()
    slowest = 0.0
    for number in range(1000):
        if number == 100:
            server.stop(signal.SIGKILL)
        called = time.monotonic()
        sessions[number % 10].user(f"turn {number}")
        slowest = max(slowest, time.monotonic() - called)
        names.append(f"turn {number}")
    took = time.monotonic() - began
    until(lambda: c.stats().last_error, 20, "the client noticed")
    until(lambda: time.monotonic() - began >= AWAY, AWAY + 5, "the server was away long enough")
    server.start()
    assert c.flush(60)
    assert arrived(server, "away") == once(names)
    assert c.stats().dropped == 0 and c.stats().waiting == 0
    print(f"1,000 turns recorded in {took:.2f} s, the slowest call {slowest * 1000:.1f} ms; server away {AWAY:.0f} s")


PUBLISHER = """
import sys, evenhand
url, spool, user = sys.argv[1:]
client = evenhand.Client(url, spool=spool, batch_seconds=0.02, batch_turns=10)
s = client.session(user, "s")
number = 0
while True:
    s.user(f"turn {number}")
    print(number, flush=True)
    number += 1
"""


def publish_until_killed(url: str, spool: Path, user: str, count: int) -> int:
    """The number of turns that were recorded before kill -9."""
    command = [sys.executable, "-c", PUBLISHER, url, str(spool), user]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    last = -1
    for line in process.stdout:
        last = int(line)
        if last >= count:
            break
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split("\n")
    process.wait()
    said = [int(line) for line in rest[:-1] if line]
    return max([last, *said]) + 1


def test_a_killed_process_loses_and_doubles_nothing(shared_server: Evenhand, client: Make, tmp_path: Path) -> None:
    recorded = publish_until_killed(shared_server.url, tmp_path / "spool", "killed", 400)
    c = client(shared_server.url)
    assert c.flush(60)
    found = arrived(shared_server, "killed")
    # The turn whose call was being killed may be there or not; all before it are, and each once.
    assert found in (once(f"turn {n}" for n in range(recorded)), once(f"turn {n}" for n in range(recorded + 1)))


def test_a_killed_process_with_the_server_away(server: Evenhand, client: Make, tmp_path: Path) -> None:
    server.stop()
    recorded = publish_until_killed(server.url, tmp_path / "spool", "both", 100)
    server.start()
    assert client(server.url).flush(60)
    found = arrived(server, "both")
    assert found in (once(f"turn {n}" for n in range(recorded)), once(f"turn {n}" for n in range(recorded + 1)))


def test_a_living_process_keeps_its_spool(shared_server: Evenhand, client: Make, tmp_path: Path) -> None:
    first = client(shared_server.url, batch_seconds=60)
    s = first.session("alive", "s")
    s.user("mine")
    assert client(shared_server.url).flush()
    assert shared_server.session("alive", "s") is None
    s.user("mine too")
    assert first.flush()
    assert arrived(shared_server, "alive") == once(["mine", "mine too"])


def test_duplicate_delivery(shared_server: Evenhand, client: Make, tmp_path: Path) -> None:
    """A batch whose answer was lost is sent again from the spool, as after a crash between answer and removal."""
    left = tmp_path / "spool" / "1-left"
    left.mkdir(parents=True)
    turn = {"role": "User", "content": "only once", "created_at": int(time.time())}
    body = {"request_id": "f" * 32, "user_id": "twice", "session_id": "s", "interaction_data_list": [turn]}
    shared_server.post("/api/publish_interaction", body)
    name = f"0000000000001-000001-{'f' * 32}.json"
    (left / name).write_text(json.dumps({"path": "/api/publish_interaction", "body": body}))
    c = client(shared_server.url)
    assert c.flush()
    assert arrived(shared_server, "twice") == once(["only once"])
    assert not left.exists() and c.stats().waiting == 0


def test_a_wrong_key_keeps_everything(server: Evenhand, client: Make, tmp_path: Path) -> None:
    key = server.key("agent")
    wrong = client(server.url, api_key="eh_agent_" + "x" * 43, exit_timeout=0.2, strict=False)
    with wrong.session("keyed", "s") as s:
        s.user("hello")
        assert s.search("anything").error
    until(lambda: (wrong.stats().last_error or "").startswith("401"), what="the key was refused")
    assert wrong.stats().dropped == 0
    wrong.close()
    right = client(server.url, api_key=key)
    assert right.flush()
    server.headers = {"Authorization": f"Bearer {key}"}
    assert arrived(server, "keyed") == once(["hello"])


def test_the_spool_is_bounded(server: Evenhand, client: Make, tmp_path: Path) -> None:
    server.stop()
    c = client(server.url, max_spool_bytes=100_000, batch_turns=10, exit_timeout=0.1)
    s = c.session("bounded", "s")
    for number in range(1000):
        s.user(f"turn {number} " + "x" * 1000)
    used = sum(file.stat().st_size for file in (tmp_path / "spool").rglob("*") if file.is_file())
    assert used <= 110_000
    stats = c.stats()
    assert stats.dropped > 800 and stats.waiting_bytes <= 100_000
    server.start()
    assert c.flush(60)
    # Turns that were taken are kept: the oldest.
    kept = 1000 - stats.dropped
    assert [turn["content"].split()[1] for turn in server.turns("bounded")] == [str(n) for n in range(kept)]
    s.user("there is room again")
    assert c.flush()
    assert "there is room again" in arrived(server, "bounded")


def test_a_forked_child_delivers_its_own(shared_server: Evenhand, client: Make) -> None:
    c = client(shared_server.url, batch_seconds=60)
    s = c.session("forked", "s")
    s.user("of the parent")
    child = os.fork()
    if child == 0:
        s.user("of the child")
        os._exit(0 if c.flush(20) else 1)
    ended = until(lambda: (found := os.waitpid(child, os.WNOHANG)) != (0, 0) and found, 60, "the child ended")
    assert ended == (child, 0)
    assert arrived(shared_server, "forked") == once(["of the child"])
    assert c.flush()
    assert arrived(shared_server, "forked") == once(["of the parent", "of the child"])


def test_without_a_writable_spool_memory_serves(shared_server: Evenhand, client: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for spool in (tmp_path / "file" / "spool", False):
        c = client(shared_server.url, spool=spool)
        c.session("memory", f"s{bool(spool)}").user("hello")
        assert c.flush()
    assert sum(arrived(shared_server, "memory").values()) == 2


def test_an_outcome_before_its_session(shared_server: Evenhand, client: Make) -> None:
    c = client(shared_server.url)
    c.outcome("early", "failure", user="early")
    until(lambda: c.delivery.aside, what="the outcome was set aside")
    c.session("early", "early").user("hello")
    assert c.flush(20)
    [outcome] = shared_server.post("/api/get_session_outcomes", {"session_ids": ["early"]})["session_outcomes"]
    assert outcome["outcome"] == "failure"


def test_a_damaged_file_does_not_stop_the_others(shared_server: Evenhand, client: Make, tmp_path: Path) -> None:
    left = tmp_path / "spool" / "1-left"
    left.mkdir(parents=True)
    (left / f"0000000000001-000001-{'e' * 32}.json").write_text("")
    (left / f"0000000000001-000002-{'e' * 32}.open").write_bytes(b"\x00\x00\n{")
    c = client(shared_server.url)
    c.session("damaged", "s").user("goes on")
    assert c.flush()
    assert arrived(shared_server, "damaged") == once(["goes on"])
