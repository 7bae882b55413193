"""Reads the messages of OpenAI (chat and responses) and Anthropic: dictionaries, or the objects of their packages."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional

from .conversation import Call, Message, Result

# Blocks that are no text are named, so that a transcript shows that there was something.
NAMED = {"image_url": "[image]", "image": "[image]", "input_image": "[image]", "input_audio": "[audio]",
         "file": "[file]", "input_file": "[file]", "document": "[document]"}  # fmt: skip


def plain(value: Any) -> Any:
    """Objects of the providers' packages as dictionaries."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        try:
            return dump(exclude_none=True, warnings=False)
        except TypeError:
            return dump()
    return value


def text_of(content: Any) -> str:
    """The text of a message's content, whatever its form."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = []
    for part in content if isinstance(content, (list, tuple)) else [content]:
        block = plain(part)
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            kind = str(block.get("type", ""))
            if isinstance(block.get("text"), str):
                parts.append(block["text"])
            elif isinstance(block.get("refusal"), str):
                parts.append(block["refusal"])
            elif kind in NAMED:
                parts.append(NAMED[kind])
    return "\n".join(part for part in parts if part)


def role_of(name: Any) -> str:
    role = str(name or "user").lower()
    return {"developer": "system", "human": "user", "ai": "assistant", "function": "tool"}.get(role, role)


def openai_chat(messages: Optional[Iterable[Any]]) -> List[Message]:
    return [openai_message(plain(one)) for one in messages or []]


def openai_message(message: Any) -> Message:
    role = role_of(message.get("role"))
    made = Message(role, text_of(message.get("content")) or str(message.get("refusal") or ""))
    for call in message.get("tool_calls") or []:
        call = plain(call)
        inner = call.get("function") or call.get("custom") or {}
        given = inner.get("arguments", inner.get("input"))
        made.calls.append(Call(str(call.get("id")), str(inner.get("name") or ""), given))
    if message.get("function_call"):
        old = plain(message["function_call"])
        made.calls.append(Call(str(old.get("name")), str(old.get("name")), old.get("arguments")))
    if role == "tool":
        known = str(message.get("tool_call_id") or message.get("name"))
        return Message("tool", results=[Result(known, made.text)])
    return made


def openai_input(given: Any) -> List[Message]:
    """The `input` of the responses interface."""
    if given is None:
        return []
    if isinstance(given, str):
        return [Message("user", given)]
    found = []
    for one in given:
        item = plain(one)
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            call = Call(str(item.get("call_id")), str(item.get("name")), item.get("arguments", item.get("input")))
            found.append(Message("assistant", calls=[call]))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            output = item.get("output")
            value = output if isinstance(output, str) else text_of(output)
            found.append(Message("tool", results=[Result(str(item.get("call_id")), value)]))
        elif kind == "message":
            found.append(Message(role_of(item.get("role")), text_of(item.get("content"))))
        else:
            # Reasoning and the provider's own tools stand between the assistant's words.
            found.append(Message("system"))
    return found


def openai_output(items: Iterable[Any]) -> Message:
    """The `output` of the responses interface."""
    made = Message("assistant")
    texts = []
    for one in openai_input(list(items)):
        if one.role == "assistant":
            texts.append(one.text)
            made.calls += one.calls
    made.text = "\n".join(text for text in texts if text)
    return made


def anthropic_chat(messages: Optional[Iterable[Any]]) -> List[Message]:
    return [anthropic_message(plain(one)) for one in messages or []]


def anthropic_message(message: Dict[str, Any]) -> Message:
    content = message.get("content")
    made = Message(role_of(message.get("role")), text_of(content))
    for one in content if isinstance(content, (list, tuple)) else []:
        block = plain(one)
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            made.calls.append(Call(str(block.get("id")), str(block.get("name")), block.get("input")))
        elif block.get("type") == "tool_result":
            value = text_of(block.get("content"))
            made.results.append(Result(str(block.get("tool_use_id")), value, bool(block.get("is_error"))))
    return made
