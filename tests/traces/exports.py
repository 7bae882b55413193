"""Files as other tools export them: conversations of two calls of a model, with one tool.

    python tests/traces/exports.py FORMAT TRACES > FILE

Every format tells the same: in session-N, user-(N % 50) asks where an order is, the agent looks it up and answers.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterator, List

BEGIN = datetime(2026, 1, 10, tzinfo=timezone.utc)
RESULT = "on its way"


class Trace:
    """One session: its user, times and turns."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.user, self.session = f"user-{number % 50}", f"session-{number}"
        # Two calls of two seconds each, a second apart.
        self.times = [BEGIN + timedelta(seconds=10 * number + second) for second in (0, 2, 3, 5)]
        self.question, self.answer = f"Where is order {number}?", f"Order {number} is {RESULT}."
        function = {"name": "look_up", "arguments": json.dumps({"order": number})}
        calls = [{"id": f"call-{number}", "type": "function", "function": function}]
        ask = {"role": "user", "content": self.question}
        wants = {"role": "assistant", "content": None, "tool_calls": calls}
        result = {"role": "tool", "tool_call_id": f"call-{number}", "content": RESULT}
        answer = {"role": "assistant", "content": self.answer}
        system = {"role": "system", "content": "Be kind."}
        #: History and answer of each call.
        self.calls = [([system, ask], wants), ([system, ask, wants, result], answer)]

    def time(self, index: int) -> str:
        return self.times[index].isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def turns(self) -> List[Dict[str, Any]]:
        tool = {"arguments": {"order": self.number}, "result": RESULT}
        used = [{"tool_name": "look_up", "tool_data": tool, "status": "success"}]
        return [
            {"role": "User", "content": self.question, "tools_used": []},
            {"role": "Assistant", "content": "", "tools_used": used},
            {"role": "Assistant", "content": self.answer, "tools_used": []},
        ]


def langfuse(trace: Trace) -> Iterator[Dict[str, Any]]:
    """A trace with its observations, as `GET /api/public/traces/{id}` answers."""
    n = trace.number
    observations = [
        {
            "id": f"generation-{n}-{call}", "traceId": f"trace-{n}", "type": "GENERATION", "name": "chat",
            "startTime": trace.time(2 * call), "endTime": trace.time(2 * call + 1), "model": "gpt-5",
            "parentObservationId": None, "input": history, "output": answer, "level": "DEFAULT",
            "usageDetails": {"input": 50, "output": 20, "total": 70}, "costDetails": {"total": 0.001},
        }
        for call, (history, answer) in enumerate(trace.calls)
    ]  # fmt: skip
    yield {
        "id": f"trace-{n}", "timestamp": trace.time(0), "name": "support", "userId": trace.user,
        "sessionId": trace.session, "release": "v7", "input": trace.question, "output": trace.answer,
        "totalCost": 0.002, "latency": 5.0, "observations": observations, "scores": [],
    }  # fmt: skip


def langsmith(trace: Trace) -> Iterator[Dict[str, Any]]:
    """The runs of a trace, as the client's `list_runs` gives them: the root first."""
    n = trace.number
    metadata = {"user_id": trace.user, "thread_id": trace.session, "ls_model_name": "gpt-5"}
    shared = {"trace_id": f"root-{n}", "session_id": "project", "error": None, "extra": {"metadata": metadata}}
    yield {
        **shared, "id": f"root-{n}", "parent_run_id": None, "run_type": "chain", "name": "agent",
        "start_time": trace.time(0), "end_time": trace.time(3), "inputs": {"question": trace.question},
        "outputs": {"answer": trace.answer}, "total_tokens": 140,
    }  # fmt: skip
    for call, (history, answer) in enumerate(trace.calls):
        yield {
            **shared, "id": f"run-{n}-{call}", "parent_run_id": f"root-{n}", "run_type": "llm", "name": "ChatOpenAI",
            "start_time": trace.time(2 * call), "end_time": trace.time(2 * call + 1), "inputs": {"messages": history},
            "outputs": {"choices": [{"index": 0, "message": answer}]}, "prompt_tokens": 50, "completion_tokens": 20,
            "total_tokens": 70, "total_cost": "0.001",
        }  # fmt: skip


def flattened(prefix: str, messages: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Messages as the attributes of OpenInference."""
    flat: Dict[str, Any] = {}
    for index, message in enumerate(messages):
        one = f"{prefix}.{index}.message"
        flat[f"{one}.role"] = message["role"]
        if message["content"] is not None:
            flat[f"{one}.content"] = message["content"]
        if "tool_call_id" in message:
            flat[f"{one}.tool_call_id"] = message["tool_call_id"]
        for place, call in enumerate(message.get("tool_calls", [])):
            tool = f"{one}.tool_calls.{place}.tool_call"
            flat[f"{tool}.id"] = call["id"]
            flat[f"{tool}.function.name"] = call["function"]["name"]
            flat[f"{tool}.function.arguments"] = call["function"]["arguments"]
    return flat


def phoenix(trace: Trace) -> Iterator[Dict[str, Any]]:
    """The spans of a trace, as `GET /v1/projects/{id}/spans` answers."""
    n = trace.number
    identity = {"user.id": trace.user, "session.id": trace.session}

    def span(name: str, parent: Any, kind: str, first: int, last: int, attributes: Dict[str, Any]) -> Dict[str, Any]:
        return {
            "name": "step", "context": {"trace_id": f"trace-{n}", "span_id": f"{name}-{n}"}, "span_kind": kind,
            "parent_id": parent, "start_time": trace.time(first), "end_time": trace.time(last), "status_code": "OK",
            "attributes": {"openinference.span.kind": kind, **identity, **attributes}, "events": [],
        }  # fmt: skip

    ends = {"input.value": trace.question, "output.value": trace.answer}
    yield span("agent", None, "AGENT", 0, 3, ends)
    for call, (history, answer) in enumerate(trace.calls):
        counted = {"llm.model_name": "gpt-5", "llm.token_count.prompt": 50, "llm.token_count.completion": 20}
        said = {**flattened("llm.input_messages", history), **flattened("llm.output_messages", [answer])}
        yield span(f"call-{call}", f"agent-{n}", "LLM", 2 * call, 2 * call + 1, {**counted, **said})


def openai(trace: Trace) -> Iterator[Dict[str, Any]]:
    """Requests with their responses, as in the two files of a batch joined by `custom_id`."""
    for call, (history, answer) in enumerate(trace.calls):
        identity = {"user_id": trace.user, "session_id": trace.session}
        body = {"model": "gpt-5", "messages": history, "metadata": identity}
        created = int(trace.times[2 * call].timestamp())
        usage = {"prompt_tokens": 50, "completion_tokens": 20, "total_tokens": 70}
        choice = {"index": 0, "message": answer, "finish_reason": "stop" if answer["content"] else "tool_calls"}
        response = {"id": f"chatcmpl-{trace.number}-{call}", "object": "chat.completion", "created": created,
                    "model": "gpt-5", "choices": [choice], "usage": usage}  # fmt: skip
        yield {
            "id": f"batch_req_{trace.number}_{call}", "custom_id": f"{trace.number}-{call}",
            "request": {"method": "POST", "url": "/v1/chat/completions", "body": body},
            "response": {"status_code": 200, "body": response}, "error": None,
        }  # fmt: skip


def jsonl(trace: Trace) -> Iterator[Dict[str, Any]]:
    """A turn per line."""
    for turn, at in zip(trace.turns(), (0, 2, 3)):
        yield {"user_id": trace.user, "session_id": trace.session, "created_at": trace.time(at), **turn}


FORMATS: Dict[str, Callable[[Trace], Iterator[Dict[str, Any]]]] = {
    made.__name__: made for made in (langfuse, langsmith, phoenix, openai, jsonl)
}


def lines(form: str, traces: int) -> Iterator[str]:
    for number in range(traces):
        for record in FORMATS[form](Trace(number)):
            yield json.dumps(record) + "\n"


if __name__ == "__main__":
    sys.stdout.writelines(lines(sys.argv[1], int(sys.argv[2])))
