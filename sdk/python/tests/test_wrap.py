"""The real packages of OpenAI and Anthropic against a stand-in for their servers, recorded by the real Evenhand."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Callable, Dict, List

import pytest
from provider import provider
from servers import Evenhand, Stub, problem

import evenhand

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

Make = Callable[..., evenhand.Client]

TOOLS: List[Any] = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
RESPONSE_TOOLS: List[Any] = [{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}]
ANTHROPIC_TOOLS: List[Any] = [{"name": "weather", "input_schema": {"type": "object"}}]


@pytest.fixture
def model(stub: Callable[..., Stub]) -> Stub:
    return stub(provider)


def recorded(server: Evenhand, user: str) -> List[Any]:
    """Role, text and tools of what arrived."""
    return [
        (
            turn["role"],
            turn["content"],
            [(tool["tool_name"], tool["tool_data"], tool["status"]) for tool in turn["tools_used"]],
        )
        for turn in server.turns(user)
    ]


def expected(status: str = "success") -> List[Any]:
    """A greeting, then a question that needs the tool."""
    tool = ("weather", {"arguments": {"city": "Oslo"}, "result": "sunny"}, status)
    return [
        ("User", "hello", []),
        ("Assistant", "You said: hello", []),
        ("User", "How is the weather?", []),
        ("Assistant", "", [tool]),
        ("Assistant", "It is sunny.", []),
    ]


def chat_agent(create: Callable[..., Any]) -> None:
    """A loop as agents have it: the history grows, objects of the package are put back into it."""
    history: List[Any] = [{"role": "system", "content": "Be short."}]
    for question in ("hello", "How is the weather?"):
        history.append({"role": "user", "content": question})
        while True:
            message = create(model="m", messages=history, tools=TOOLS)
            history.append(message)
            calls = message["tool_calls"] if isinstance(message, dict) else message.tool_calls
            if not calls:
                break
            for call in calls:
                known = call["id"] if isinstance(call, dict) else call.id
                history.append({"role": "tool", "tool_call_id": known, "content": "sunny"})


def gathered(chunks: List[Any]) -> Dict[str, Any]:
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    calls: Dict[int, Dict[str, Any]] = {}
    for chunk in chunks:
        for part in chunk.choices[0].delta.tool_calls or []:
            call = calls.setdefault(
                part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            )
            call["id"] += part.id or ""
            call["function"]["name"] += part.function.name or ""
            call["function"]["arguments"] += part.function.arguments or ""
    return {"role": "assistant", "content": text, "tool_calls": list(calls.values()) or None}


@pytest.mark.parametrize("way", ["plain", "stream", "stream-next", "helper", "async", "async-stream", "raw"])
def test_openai_chat(way: str, shared_server: Evenhand, client: Make, model: Stub) -> None:
    c = client(shared_server.url)
    user = f"openai-chat-{way}"
    session = c.session(user, "s")
    kind = openai.AsyncOpenAI if way.startswith("async") else openai.OpenAI
    wrapped = evenhand.wrap(kind(api_key="k", base_url=model.url, max_retries=0), session)
    assert isinstance(wrapped, kind)
    loop = asyncio.new_event_loop()

    def create(**given: Any) -> Any:
        completions = wrapped.chat.completions
        if way == "plain":
            return completions.create(**given).choices[0].message
        if way == "raw":
            return completions.with_raw_response.create(**given).parse().choices[0].message
        if way == "stream":
            with completions.create(**given, stream=True) as stream:
                assert isinstance(stream, openai.Stream) and stream.response.status_code == 200
                return gathered(list(stream))
        if way == "stream-next":
            stream = completions.create(**given, stream=True)
            return gathered([next(stream), *stream])
        if way == "helper":
            with completions.stream(**given) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
                calls = [{"id": call.id, "type": "function", "function": {"name": call.function.name,
                          "arguments": call.function.arguments}} for call in message.tool_calls or []]  # fmt: skip
                return {"role": "assistant", "content": message.content, "tool_calls": calls or None}

        async def awaited() -> Any:
            if way == "async":
                return (await completions.create(**given)).choices[0].message
            return gathered([chunk async for chunk in await completions.create(**given, stream=True)])

        return loop.run_until_complete(awaited())

    chat_agent(create)
    session.finish()
    loop.close()
    assert c.flush()
    found = recorded(shared_server, user)
    if way == "raw":
        # Raw answers are not read: only what was asked is known.
        assert [turn for turn in found if turn[0] == "User"] == [expected()[0], expected()[2]]
    else:
        assert found == expected()


@pytest.mark.parametrize("way", ["plain", "stream", "async", "async-stream"])
def test_openai_responses(way: str, shared_server: Evenhand, client: Make, model: Stub) -> None:
    c = client(shared_server.url)
    user = f"openai-responses-{way}"
    kind = openai.AsyncOpenAI if way.startswith("async") else openai.OpenAI
    wrapped = evenhand.wrap(kind(api_key="k", base_url=model.url, max_retries=0))

    async def create(**given: Any) -> Any:
        answer = wrapped.responses.create(model="m", tools=RESPONSE_TOOLS, stream=way.endswith("stream"), **given)
        if way == "plain":
            return answer
        if way == "stream":
            return list(answer)[-1].response
        if way == "async":
            return await answer
        return [event async for event in await answer][-1].response

    async def agent() -> None:
        await create(input="hello")
        history: List[Any] = [{"role": "user", "content": "How is the weather?"}]
        answer = await create(input=history)
        history += answer.output
        history.append({"type": "function_call_output", "call_id": answer.output[0].call_id, "output": "sunny"})
        await create(input=history)

    with c.session(user, "s"):
        asyncio.run(agent())
    assert c.flush()
    assert recorded(shared_server, user) == expected()


@pytest.mark.parametrize("way", ["plain", "stream", "manager", "async", "async-stream", "async-manager"])
def test_anthropic(way: str, shared_server: Evenhand, client: Make, model: Stub) -> None:
    c = client(shared_server.url)
    user = f"anthropic-{way}"
    kind = anthropic.AsyncAnthropic if way.startswith("async") else anthropic.Anthropic
    wrapped = evenhand.wrap(kind(api_key="k", base_url=model.url, max_retries=0))
    assert isinstance(wrapped, kind)

    async def create(history: List[Any]) -> List[Any]:
        given = {"model": "m", "max_tokens": 9, "messages": history, "tools": ANTHROPIC_TOOLS}
        if way == "manager":
            with wrapped.messages.stream(**given) as stream:
                return list(stream.get_final_message().content)
        if way == "async-manager":
            async with wrapped.messages.stream(**given) as stream:
                return list((await stream.get_final_message()).content)
        if way == "plain":
            return list(wrapped.messages.create(**given).content)
        if way == "async":
            return list((await wrapped.messages.create(**given)).content)
        if way == "stream":
            events = list(wrapped.messages.create(**given, stream=True))
        else:
            events = [event async for event in await wrapped.messages.create(**given, stream=True)]
        tools = [event.content_block for event in events if event.type == "content_block_start"]
        if tools[0].type == "tool_use":
            return [{"type": "tool_use", "id": tools[0].id, "name": "weather", "input": {"city": "Oslo"}}]
        return [
            {
                "type": "text",
                "text": "".join(event.delta.text for event in events if event.type == "content_block_delta"),
            }
        ]

    async def agent() -> None:
        history: List[Any] = []
        for question in ("hello", "How is the weather?"):
            history.append({"role": "user", "content": question})
            content = await create(history)
            history.append({"role": "assistant", "content": content})
        call = content[0]["id"] if isinstance(content[0], dict) else content[0].id
        result = {"type": "tool_result", "tool_use_id": call, "content": "sunny", "is_error": way == "plain"}
        history.append({"role": "user", "content": [result]})
        await create(history)

    with c.session(user, "s"):
        asyncio.run(agent())
    assert c.flush()
    assert recorded(shared_server, user) == expected("error" if way == "plain" else "success")


def test_the_agent_goes_on_without_evenhand(client: Make, model: Stub, caplog: pytest.LogCaptureFixture) -> None:
    c = client("http://127.0.0.1:1", strict=False, exit_timeout=0.1)
    with caplog.at_level(logging.CRITICAL), c.session("u", "s") as s:
        wrapped = evenhand.wrap(openai.OpenAI(api_key="k", base_url=model.url, max_retries=0), s)
        answer = wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
    assert answer.choices[0].message.content == "You said: hello"
    assert c.stats().waiting > 0


def test_errors_of_the_provider_are_the_providers(client: Make, stub: Any, shared_server: Evenhand) -> None:
    broken = stub(lambda request: problem(500, "broken"))
    c = client(shared_server.url)
    session = c.session("provider-error", "s")
    wrapped = evenhand.wrap(openai.OpenAI(api_key="k", base_url=broken.url, max_retries=0), session)
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
    assert c.flush()
    # The second attempt at the same words is not a second turn.
    assert recorded(shared_server, "provider-error") == [("User", "hello", [])]


def test_without_a_session_nothing_is_recorded(client: Make, model: Stub) -> None:
    wrapped = evenhand.wrap(openai.OpenAI(api_key="k", base_url=model.url))
    assert wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}]).choices


def test_a_stream_closed_early_is_recorded_as_far_as_it_came(
    client: Make, model: Stub, shared_server: Evenhand
) -> None:
    c = client(shared_server.url)
    session = c.session("closed-early", "s")
    wrapped = evenhand.wrap(openai.OpenAI(api_key="k", base_url=model.url), session)
    stream = wrapped.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}], stream=True)
    next(stream), next(stream)
    stream.close()
    assert c.flush()
    assert recorded(shared_server, "closed-early") == [("User", "hello", []), ("Assistant", "You", [])]


def test_other_clients_are_refused() -> None:
    with pytest.raises(TypeError, match="openai and anthropic"):
        evenhand.wrap(object())
