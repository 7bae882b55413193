"""Spans in any order, late and more than once: every turn is stored once, in the order in which it was said.

SPANS (default 1000) is their number, ten in a session. With TEST_POSTGRES_URL (scripts/with-postgres), on PostgreSQL
too. How long sending took is printed, not asserted; the measurement is this test with a release build and nothing else:

    SPANS=10000 BINARY=… FSYNC=on scripts/with-postgres PYTHON -m pytest -s tests/traces/test_spans.py
"""

from __future__ import annotations

import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterator, List

import httpx
import pytest
from reading import told
from servers import BINARY, Evenhand

trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

SPANS = int(os.environ.get("SPANS", "1000"))
POSTGRES = os.environ.get("TEST_POSTGRES_URL", "")
QUESTIONS = 5
CALLS = 2 * QUESTIONS
BATCH = 500
SENDERS = 4
BEGIN = 1_760_000_000
RESULT = {"arrives": "tomorrow"}


def part(role: str, kind: str, **fields: Any) -> Dict[str, Any]:
    return {"role": role, "parts": [{"type": kind, **fields}]}


class Session:
    """Five questions, each answered by two calls of a model: one that asks for a tool, one with its result."""

    def __init__(self, number: int) -> None:
        self.user, self.name = f"user-{number % 100}", f"session-{number}"
        self.number = number
        self.turns: List[Dict[str, Any]] = []
        self.calls = list(self.converse())

    def converse(self) -> Iterator[List[Any]]:
        """History and answer of each call."""
        history: List[Any] = []
        for question in range(QUESTIONS):
            asked, said = f"Where is order {question} of {self.number}?", f"Order {question} arrives tomorrow."
            call, arguments = f"call-{question}", {"order": question}
            history = [*history, part("user", "text", content=asked)]
            wants = part("assistant", "tool_call", id=call, name="look_up", arguments=arguments)
            yield [history, wants]
            history = [*history, wants, part("tool", "tool_call_response", id=call, response=RESULT)]
            answer = part("assistant", "text", content=said)
            yield [history, answer]
            history = [*history, answer]
            data = {"arguments": arguments, "result": RESULT}
            tool = {"tool_name": "look_up", "tool_data": data, "status": "success"}
            self.turns += [
                {"role": "User", "content": asked, "tools_used": []},
                {"role": "Assistant", "content": "", "tools_used": [tool]},
                {"role": "Assistant", "content": said, "tools_used": []},
            ]

    def spans(self) -> Iterator[Any]:
        """Five seconds from one call to the next, of which it takes two. Every question is a trace."""
        for number, (history, answer) in enumerate(self.calls):
            span = trace_service.ExportTraceServiceRequest().resource_spans.add().scope_spans.add().spans.add()
            span.trace_id = (1 + self.number * CALLS + number // 2).to_bytes(16, "big")
            span.span_id = (1 + self.number * CALLS + number).to_bytes(8, "big")
            span.name = "chat gpt-5"
            start = BEGIN + self.number * 60 + number * 5
            span.start_time_unix_nano, span.end_time_unix_nano = start * 10**9, (start + 2) * 10**9
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps(history),
                "gen_ai.output.messages": json.dumps([answer]),
                "user.id": self.user,
                "session.id": self.name,
            }
            for key, value in attributes.items():
                span.attributes.add(key=key).value.string_value = value
            yield span


def batches(spans: List[Any]) -> List[bytes]:
    """Requests as an exporter sends them."""
    made = []
    for first in range(0, len(spans), BATCH):
        request = trace_service.ExportTraceServiceRequest()
        of_service = request.resource_spans.add()
        of_service.resource.attributes.add(key="service.name").value.string_value = "shop"
        of_service.scope_spans.add().spans.extend(spans[first : first + BATCH])
        made.append(request.SerializeToString())
    return made


def send(server: Evenhand, bodies: List[bytes]) -> float:
    """Sends requests, several at a time; returns the seconds it took."""
    headers = {"content-type": "application/x-protobuf"}
    with httpx.Client(timeout=300) as client, ThreadPoolExecutor(SENDERS) as senders:

        def post(body: bytes) -> None:
            answer = client.post(f"{server.url}/v1/traces", content=body, headers=headers).raise_for_status()
            assert answer.content == b"", "nothing was rejected"

        began = time.monotonic()
        list(senders.map(post, bodies))
        return time.monotonic() - began


def cpu_seconds(server: Evenhand) -> float:
    assert server.process is not None
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Evenhand]:
    if not BINARY:
        pytest.skip("BINARY names no binary")
    if request.param == "postgres" and not POSTGRES:
        pytest.skip("TEST_POSTGRES_URL names no server")
    made = Evenhand(tmp_path, POSTGRES if request.param == "postgres" else "").start()
    yield made
    made.stop()


def test_once_and_in_order(engine: Evenhand, request: pytest.FixtureRequest) -> None:
    chance = random.Random(7)
    sessions = [Session(number) for number in range(SPANS // CALLS)]
    spans = [span for session in sessions for span in session.spans()]
    chance.shuffle(spans)
    late, in_time = batches(spans[: SPANS // 20]), batches(spans[SPANS // 20 :])

    before = cpu_seconds(engine)
    first = send(engine, in_time)
    after = cpu_seconds(engine)
    again = [*late, *late, *in_time]
    chance.shuffle(again)
    repeated = send(engine, again)
    number = SPANS - SPANS // 20
    print(
        f"\n{request.node.callspec.id}: {number} spans, {sum(map(len, in_time)) / 1e6:.1f} MB, in {first:.2f} s:"
        f" {number / first:.0f} spans/s, {1e6 * (after - before) / number:.0f} µs of the server's processors each;"
        f" the late ones and all again in {repeated:.2f} s"
    )
    assert told(engine) == {(session.user, session.name): session.turns for session in sessions}
