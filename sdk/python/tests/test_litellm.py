"""LiteLLM against a stand-in for OpenAI, recorded by the real Evenhand."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Callable, Iterator, List

import pytest
from provider import provider
from servers import Evenhand, Stub, problem, until
from test_wrap import TOOLS, chat_agent, expected, gathered, recorded

import evenhand

litellm = pytest.importorskip("litellm")

from evenhand.litellm import EvenhandLogger  # noqa: E402

Make = Callable[..., evenhand.Client]


@pytest.fixture(autouse=True)
def no_callbacks() -> Iterator[None]:
    yield
    for name in dir(litellm):
        if name.endswith("callback") or name == "callbacks":
            kept = getattr(litellm, name)
            if isinstance(kept, list):
                kept[:] = [one for one in kept if not isinstance(one, EvenhandLogger)]


def complete(url: str, **more: Any) -> Any:
    return litellm.completion(model="openai/m", api_base=url, api_key="k", max_retries=0, **more)


@pytest.mark.parametrize("way", ["plain", "stream", "async", "async-stream"])
def test_litellm(way: str, shared_server: Evenhand, client: Make, stub: Callable[..., Stub]) -> None:
    c = client(shared_server.url)
    model = stub(provider)
    litellm.callbacks = [EvenhandLogger(client=c)]
    user = f"litellm-{way}"
    named = {"metadata": {"user_id": user, "session_id": "s"}, "api_base": model.url, "api_key": "k"}
    loop = asyncio.new_event_loop()

    def create(**given: Any) -> Any:
        given = {**given, **named, "model": "openai/m"}
        if way == "plain":
            return litellm.completion(**given).choices[0].message
        if way == "stream":
            return gathered(list(litellm.completion(**given, stream=True)))

        async def awaited() -> Any:
            if way == "async":
                return (await litellm.acompletion(**given)).choices[0].message
            return gathered([chunk async for chunk in await litellm.acompletion(**given, stream=True)])

        return loop.run_until_complete(awaited())

    chat_agent(create)

    def all_there() -> bool:
        # LiteLLM reports from threads and tasks of its own, which run while their loop does.
        loop.run_until_complete(asyncio.sleep(0.01))
        c.flush()
        return len(recorded(shared_server, user)) >= len(expected())

    until(all_there, 60, "all turns arrived")
    loop.close()
    assert recorded(shared_server, user) == expected()


def test_the_current_session_serves(shared_server: Evenhand, client: Make, stub: Callable[..., Stub]) -> None:
    c = client(shared_server.url)
    model = stub(provider)
    litellm.callbacks = [EvenhandLogger(client=c)]
    words: List[Any] = [{"role": "user", "content": "hello"}]
    complete(model.url, messages=words)
    with c.session("litellm-current", "s", finish=False):
        complete(model.url, messages=words, tools=TOOLS)
    until(lambda: c.flush() and len(recorded(shared_server, "litellm-current")) == 2, 20, "the call arrived")


def test_the_agent_goes_on(client: Make, stub: Any, caplog: pytest.LogCaptureFixture) -> None:
    c = client("http://127.0.0.1:1", strict=False, exit_timeout=0.1)
    litellm.callbacks = [EvenhandLogger("u", "s", client=c)]
    with caplog.at_level(logging.CRITICAL):
        answer = complete(stub(provider).url, messages=[{"role": "user", "content": "hello"}])
        assert answer.choices[0].message.content == "You said: hello"
        with pytest.raises(litellm.exceptions.InternalServerError):
            complete(stub(lambda request: problem(500, "broken")).url, messages=[{"role": "user", "content": "hello"}])
    until(lambda: c.stats().waiting > 0, 20, "the call was recorded")
