"""An agent with a tool, on OpenAI's client with Traceloop's SDK (OpenLLMetry). Needs requirements.txt."""

import os
from uuid import uuid4

# Nothing about this program goes to Traceloop itself, and there is nobody here for metrics.
os.environ["TRACELOOP_TELEMETRY"] = "false"
os.environ["TRACELOOP_METRICS_ENABLED"] = "false"

from openai import OpenAI
from opentelemetry import trace
from traceloop.sdk import Traceloop
from traceloop.sdk.instruments import Instruments

url, token = os.environ.get("EVENHAND_URL", "http://127.0.0.1:8700"), os.environ.get("EVENHAND_TOKEN")
Traceloop.init(
    app_name="weather-agent",
    resource_attributes={"service.version": "1.0"},
    api_endpoint=url,
    headers={"authorization": f"Bearer {token}"} if token else {},
    instruments={Instruments.OPENAI},
)
session = f"chat-{uuid4()}"
Traceloop.set_association_properties({"user_id": "ada", "session_id": session})

client = OpenAI()  # OPENAI_BASE_URL names another provider.
weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
messages = []
for question in ("Hello", "How is the weather?"):
    messages.append({"role": "user", "content": question})
    while True:
        answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=[weather]).choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            break
        for call in answer.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})

trace.get_tracer_provider().force_flush()  # Sends what is still in the batch.
print(session)
