"""A stand-in for OpenAI and Anthropic: calls the tool `weather` when asked about it, else repeats what it was told."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Tuple

from servers import Answer, Request

ARGUMENTS = '{"city": "Oslo"}'


def sse(events: List[Any], named: bool = False, end: str = "") -> List[str]:
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return [*lines, end]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or [])


def reply(last: str, tool_result: Any) -> Tuple[str, bool]:
    """The text, and whether it is a call of the tool."""
    if tool_result is not None:
        return f"It is {tool_result}.", False
    return ("", True) if "weather" in last else (f"You said: {last}", False)


def chat(body: Dict[str, Any]) -> Any:
    last = body["messages"][-1]
    text, calls = reply(text_of(last["content"]), text_of(last["content"]) if last["role"] == "tool" else None)
    function = {"name": "weather", "arguments": ARGUMENTS}
    tools = [{"id": "call_1", "type": "function", "function": function}] if calls else None
    base = {"id": "c1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        message = {"role": "assistant", "content": text or None, "tool_calls": tools}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    deltas: List[Dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if calls:
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        for half in (ARGUMENTS[:5], ARGUMENTS[5:]):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": half}}]})
    deltas += [{"content": part} for part in (text[:3], text[3:]) if part]
    chunks = [
        {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
    return sse([*chunks, {**base, "object": "chat.completion.chunk", "choices": [end]}], end="data: [DONE]\n\n")


def responses(body: Dict[str, Any]) -> Any:
    given = body["input"]
    last = {"role": "user", "content": given} if isinstance(given, str) else given[-1]
    result = last.get("output") if last.get("type") == "function_call_output" else None
    text, calls = reply(text_of(last.get("content")), result)
    if calls:
        item = {"type": "function_call", "id": "f1", "call_id": "call_1", "name": "weather", "arguments": ARGUMENTS,
                "status": "completed"}  # fmt: skip
    else:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content}
    whole = {"id": "r1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed",
             "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    if not body.get("stream"):
        return whole
    events: List[Dict[str, Any]] = [
        {"type": "response.created", "sequence_number": 0, "response": {**whole, "output": []}}
    ]
    if text:
        events += [
            {"type": "response.output_text.delta", "sequence_number": number, "item_id": "m1", "output_index": 0,
             "content_index": 0, "delta": part, "logprobs": []}
            for number, part in enumerate((text[:3], text[3:]), 1)
        ]  # fmt: skip
    events.append({"type": "response.output_item.done", "sequence_number": 8, "output_index": 0, "item": item})
    return sse([*events, {"type": "response.completed", "sequence_number": 9, "response": whole}], named=True)


def anthropic(body: Dict[str, Any]) -> Any:
    last = body["messages"][-1]["content"]
    results = [] if isinstance(last, str) else [part for part in last if part["type"] == "tool_result"]
    text, calls = reply(text_of(last), text_of(results[0]["content"]) if results else None)
    tool = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}
    content = [tool] if calls else [{"type": "text", "text": text}]
    whole = {"id": "m1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
             "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
             "usage": {"input_tokens": 1, "output_tokens": 1}}  # fmt: skip
    if not body.get("stream"):
        return whole
    events: List[Dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": []}}]
    if calls:
        events.append({"type": "content_block_start", "index": 0, "content_block": {**tool, "input": {}}})
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in (ARGUMENTS[:5], ARGUMENTS[5:])]
    else:
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        deltas = [{"type": "text_delta", "text": part} for part in (text[:3], text[3:])]
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return sse(events, named=True)


def provider(request: Request) -> Answer:
    if request.path.endswith("/chat/completions"):
        return 200, {}, chat(request.body)
    if request.path.endswith("/responses"):
        return 200, {}, responses(request.body)
    if request.path.endswith("/messages"):
        return 200, {}, anthropic(request.body)
    return 404, {}, {"error": {"message": request.path}}
