"""LangChain's chat model and a LangGraph agent against a stand-in for OpenAI, recorded by the real Evenhand."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Callable

import pytest
from provider import provider
from servers import Evenhand, Stub
from test_wrap import expected, recorded

import evenhand

pytest.importorskip("langchain_core")
langchain_openai = pytest.importorskip("langchain_openai")
graphs = pytest.importorskip("langgraph.graph")
checkpoints = pytest.importorskip("langgraph.checkpoint.memory")
prebuilt = pytest.importorskip("langgraph.prebuilt")

from langchain_core.messages import HumanMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

from evenhand.langchain import EvenhandCallbackHandler  # noqa: E402

Make = Callable[..., evenhand.Client]


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return "sunny"


def agent(model: Stub, **more: Any) -> Any:
    """A model and its tools in a loop, with a memory by thread."""
    bound = langchain_openai.ChatOpenAI(model="m", api_key="k", base_url=model.url, **more).bind_tools([weather])

    async def call(state: Any, config: Any) -> Any:
        return {"messages": [await bound.ainvoke(state["messages"], config)]}

    def call_now(state: Any, config: Any) -> Any:
        return {"messages": [bound.invoke(state["messages"], config)]}

    from langchain_core.runnables import RunnableLambda

    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("model", RunnableLambda(call_now, call))
    graph.add_node("tools", prebuilt.ToolNode([weather]))
    graph.add_edge(graphs.START, "model")
    graph.add_conditional_edges("model", prebuilt.tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpoints.MemorySaver())


@pytest.mark.parametrize("way", ["invoke", "stream", "ainvoke", "streaming-model"])
def test_langgraph(way: str, shared_server: Evenhand, client: Make, stub: Callable[..., Stub]) -> None:
    c = client(shared_server.url)
    handler = EvenhandCallbackHandler(client=c, source="graph")
    graph = agent(stub(provider), **({"streaming": True} if way == "streaming-model" else {}))
    user = f"graph-{way}"
    config: Any = {
        "callbacks": [handler],
        "configurable": {"thread_id": "thread-1"},
        "metadata": {"user_id": user},
    }
    for question in ("hello", "How is the weather?"):
        given = {"messages": [HumanMessage(question)]}
        if way == "ainvoke":
            asyncio.run(graph.ainvoke(given, config))
        elif way == "stream":
            list(graph.stream(given, config))
        else:
            graph.invoke(given, config)
    assert c.flush()
    assert recorded(shared_server, user) == expected()
    assert shared_server.session(user, "thread-1")["source"] == "graph"  # type: ignore[index]


def test_langchain_chat_model(shared_server: Evenhand, client: Make, stub: Callable[..., Stub]) -> None:
    c = client(shared_server.url)
    handler = EvenhandCallbackHandler("chain", "s", client=c)
    model = langchain_openai.ChatOpenAI(model="m", api_key="k", base_url=stub(provider).url, callbacks=[handler])
    assert model.invoke("hello").content == "You said: hello"
    assert "".join(str(part.content) for part in model.stream("hello again")) == "You said: hello again"
    assert c.flush()
    assert [turn[1] for turn in recorded(shared_server, "chain")] == [
        "hello", "You said: hello", "hello again", "You said: hello again",
    ]  # fmt: skip


def test_the_current_session_serves(shared_server: Evenhand, client: Make, stub: Callable[..., Stub]) -> None:
    c = client(shared_server.url)
    model = langchain_openai.ChatOpenAI(
        model="m", api_key="k", base_url=stub(provider).url, callbacks=[EvenhandCallbackHandler(client=c)]
    )
    model.invoke("nobody's words")
    with c.session("current", "s"):
        model.invoke("hello")
        asyncio.run(model.ainvoke("hello again"))
    assert c.flush()
    assert [turn[1] for turn in recorded(shared_server, "current")][::2] == ["hello", "hello again"]


def test_the_agent_goes_on_without_evenhand(client: Make, stub: Any, caplog: pytest.LogCaptureFixture) -> None:
    c = client("http://127.0.0.1:1", strict=False, exit_timeout=0.1)
    graph = agent(stub(provider))
    config: Any = {
        "callbacks": [EvenhandCallbackHandler("u", "s", client=c)],
        "configurable": {"thread_id": "t"},
    }
    with caplog.at_level(logging.CRITICAL):
        answer = graph.invoke({"messages": [HumanMessage("How is the weather?")]}, config)
    assert answer["messages"][-1].content == "It is sunny."
    assert c.stats().waiting > 0
