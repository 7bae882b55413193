"""A LangGraph agent; the thread is the session."""

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from evenhand.langchain import EvenhandCallbackHandler


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return "sunny"


model = ChatOpenAI(model="gpt-5").bind_tools([weather])
graph = StateGraph(MessagesState)
graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
graph.add_node("tools", ToolNode([weather]))
graph.add_edge(START, "model")
graph.add_conditional_edges("model", tools_condition)
graph.add_edge("tools", "model")

config = {
    "callbacks": [EvenhandCallbackHandler(source="graph")],
    "configurable": {"thread_id": "thread-1"},
    "metadata": {"user_id": "ada"},
}
answer = graph.compile().invoke({"messages": [HumanMessage("How is the weather?")]}, config)
print(answer["messages"][-1].content)
