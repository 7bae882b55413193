"""Answers that a real server gives rarely, from a server that gives them at once."""

from __future__ import annotations

import email.utils
import logging
import threading
import time
from typing import Any, Callable, Dict, List

import pytest
from servers import Answer, Request, Stub, problem, script, until

import evenhand

Make = Callable[..., evenhand.Client]
MakeStub = Callable[[Callable[[Request], Answer]], Stub]


def contents(request: Request) -> List[str]:
    return [turn["content"] for turn in request.body["interaction_data_list"]]


@pytest.mark.parametrize(
    "failure",
    [
        problem(429, "rate_limited", headers={"retry-after": "1"}),
        problem(503, "unavailable", headers={"retry-after": "1"}),
        problem(503, "unavailable", headers={"retry-after": email.utils.formatdate(time.time() + 3600)}),
        problem(500, "internal"),
        problem(401, "unauthenticated"),
        (502, {}, "a proxy's page"),
        (404, {}, "a proxy's page"),
        (400, {}, "a proxy's page"),
    ],
    ids=["429", "503", "503-date", "500", "401", "502", "404", "400"],
)
def test_later_is_tried_again_with_the_same_request(failure: Answer, stub: MakeStub, client: Make) -> None:
    wait = failure[1].get("retry-after", "")
    if not wait.isdigit() and wait:
        failure = (failure[0], {"retry-after": email.utils.formatdate(time.time() + 2)}, failure[2])
    server = stub(script(failure))
    c = client(server.url)
    began = time.monotonic()
    c.session("u", "s").user("hello")
    assert c.flush(20)
    first, second = server.published()
    assert first.body == second.body and first.body["request_id"]
    assert not wait or time.monotonic() - began > 0.5
    assert c.stats().dropped == 0


def test_too_large_is_split_into_the_same_halves(stub: MakeStub, client: Make) -> None:
    def answer(request: Request) -> Answer:
        if request.path == "/health/live" or len(request.body["interaction_data_list"]) == 1:
            return 200, {}, {}
        return problem(413, "body_too_large")

    server = stub(answer)
    c = client(server.url)
    with c.session("u", "s") as s:
        for number in range(4):
            s.user(str(number))
    assert c.flush()
    taken = [request for request in server.published() if len(request.body["interaction_data_list"]) == 1]
    assert [contents(request) for request in taken] == [["0"], ["1"], ["2"], ["3"]]
    assert [bool(request.body.get("session_finished")) for request in taken] == [False, False, False, True]
    whole = server.published()[0].body["request_id"]
    assert [request.body["request_id"] for request in taken] == [whole + end for end in ("aa", "ab", "ba", "bb")]


def test_a_turn_too_large_alone_is_dropped(stub: MakeStub, client: Make) -> None:
    server = stub(script(problem(413, "body_too_large")))
    c = client(server.url)
    c.session("u", "s").user("huge")
    assert c.flush()
    assert c.stats().dropped == 1 and len(server.published()) == 1


def test_refused_parts_are_left_out(stub: MakeStub, client: Make) -> None:
    errors = [
        {"pointer": "/source", "code": "wrong_format", "detail": ""},
        {"pointer": "/interaction_data_list/0/user_action", "code": "unknown_word", "detail": ""},
    ]
    server = stub(script(problem(422, "invalid_input", errors)))
    c = client(server.url)
    c.session("u", "s", source="NOT ALLOWED").user("hello", user_action="dance")
    assert c.flush()
    first, second = (request.body for request in server.published())
    assert first["source"] == "NOT ALLOWED" and "source" not in second
    assert "user_action" not in second["interaction_data_list"][0]
    assert contents(server.published()[1]) == ["hello"] and first["request_id"] == second["request_id"]


@pytest.mark.parametrize("code", ["subject_erased", "subject_erasing", "predates_erasure"])
def test_a_person_who_was_forgotten_stays_so(code: str, stub: MakeStub, client: Make) -> None:
    server = stub(script(problem(409, code)))
    c = client(server.url)
    c.session("u", "s").user("hello")
    assert c.flush()
    assert c.stats().dropped == 1 and len(server.published()) == 1


def test_an_id_that_was_used_has_arrived(stub: MakeStub, client: Make) -> None:
    server = stub(script(problem(409, "request_id_reused")))
    c = client(server.url)
    c.session("u", "s").user("hello")
    assert c.flush()
    assert (c.stats().delivered, c.stats().dropped) == (1, 0)


@pytest.mark.parametrize("hours", [-5, 5])
def test_times_are_the_servers(hours: int, stub: MakeStub, client: Make) -> None:
    """The server's clock differs from this machine's by hours: turns are dated by the server's."""
    offset = hours * 3600

    def answer(request: Request) -> Answer:
        return 200, {"date": email.utils.formatdate(time.time() + offset, usegmt=True)}, {}

    server = stub(answer)
    c = client(server.url)
    with c.session("u", "s") as s:
        s.user("hello")
        s.outcome("success")
    assert c.flush()
    body = server.published()[0].body
    for told in (body["created_at"], body["interaction_data_list"][0]["created_at"]):
        assert abs(told - time.time() - offset) < 30
    [outcome] = [request.body for request in server.requests if request.path == "/api/session_outcome"]
    assert abs(outcome["occurred_at"] - time.time() - offset) < 30


def test_a_clock_that_jumped_costs_only_the_times(stub: MakeStub, client: Make) -> None:
    errors = [
        {"pointer": "/created_at", "code": "in_the_future", "detail": ""},
        {"pointer": "/interaction_data_list/0/created_at", "code": "in_the_future", "detail": ""},
    ]
    server = stub(script(problem(422, "invalid_input", errors)))
    c = client(server.url)
    c.session("u", "s").user("hello", at=time.time() + 7200)
    assert c.flush()
    second = server.published()[1].body
    assert "created_at" not in second and second["interaction_data_list"] == [{"role": "User", "content": "hello"}]


def slow(request: Request, release: threading.Event) -> Answer:
    release.wait(30)
    return 200, {}, {}


def test_a_slow_server_holds_nobody_up(stub: MakeStub, client: Make) -> None:
    release = threading.Event()
    server = stub(lambda request: slow(request, release))
    c = client(server.url, timeout=0.3, exit_timeout=0.3, strict=False)
    began = time.monotonic()
    with c.session("u", "s") as s:
        found = s.search("tea", timeout=0.3)
        s.user("hello")
    assert time.monotonic() - began < 2
    assert not found and found.error == "ReadTimeout" and found.text() == ""
    until(lambda: c.stats().last_error == "ReadTimeout", what="the delivery timed out")
    release.set()
    assert c.flush(20)
    sent = server.published()
    assert len(sent) >= 1 and all(request.body == sent[0].body for request in sent)


def test_nothing_raises_into_the_agent(client: Make, caplog: pytest.LogCaptureFixture) -> None:
    c = client("http://127.0.0.1:1", strict=False, exit_timeout=0.1)

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with caplog.at_level(logging.CRITICAL), c.session("", "") as s:
        s.user("no user")
        s.user(Odd())  # type: ignore[arg-type]
        s.assistant("x", tools=[7])  # type: ignore[list-item]
        s.outcome("wonderful")
        assert not s.search("tea")
    assert c.stats().delivered == 0


def test_strict_raises(client: Make) -> None:
    c = client("http://127.0.0.1:1", exit_timeout=0.1)
    with pytest.raises(ValueError):
        c.outcome("s", "wonderful")
    with pytest.raises(ValueError):
        c.session("", "s").user("x")
    with pytest.raises(Exception, match="refused"):
        c.search("tea")


def test_values_the_server_cannot_take(stub: MakeStub, client: Make) -> None:
    server = stub(script())
    c = client(server.url)
    cyclic: Dict[str, Any] = {"bytes": b"x", "nan": float("nan"), "set": {1}, "nul": "a\0b"}
    cyclic["self"] = cyclic
    c.session("u", "s").assistant("half \ud800 and \0", tools=[{"tool_name": "t", "tool_data": cyclic}])
    c.session("u", "s").user("x" * 1_000_001)
    assert c.flush()
    turns = [turn for request in server.published() for turn in request.body["interaction_data_list"]]
    assert turns[0]["content"] == "half ? and \ufffd"
    assert turns[0]["tools_used"][0]["tool_data"]["nan"] is None
    assert len(turns[1]["content"]) == 1_000_000
