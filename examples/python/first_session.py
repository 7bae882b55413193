"""A session, what was learned about the user, and how it ended."""

import evenhand

with evenhand.session("ada", "chat-1", source="web", agent_version="v1") as s:
    s.user("Where is my parcel?")
    found = s.search("parcel")  # empty when nothing fits, and when Evenhand is away
    prompt = f"Answer the customer.\n{found.text()}"
    s.assistant("It arrives on Tuesday.", tools=[{"tool_name": "look_up_order", "tool_data": {"order": 7}}])

evenhand.outcome("chat-1", "success", label="delivered", value=19.5)
print("delivered" if evenhand.flush() else "kept for later", evenhand.stats())
