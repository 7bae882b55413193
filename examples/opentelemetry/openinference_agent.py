"""An agent with a tool, on OpenAI's client with OpenInference's instrumentation. Needs requirements.txt."""

import os
from uuid import uuid4

from openai import OpenAI
from openinference.instrumentation import using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

url, token = os.environ.get("EVENHAND_URL", "http://127.0.0.1:8700"), os.environ.get("EVENHAND_TOKEN")
headers = {"authorization": f"Bearer {token}"} if token else {}
tracing = TracerProvider(resource=Resource.create({"service.name": "weather-agent", "service.version": "1.0"}))
tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces", headers=headers)))
OpenAIInstrumentor().instrument(tracer_provider=tracing)

session = f"chat-{uuid4()}"
client = OpenAI()  # OPENAI_BASE_URL names another provider.
weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
messages = []
with using_attributes(user_id="ada", session_id=session):
    for question in ("Hello", "How is the weather?"):
        messages.append({"role": "user", "content": question})
        while True:
            made = client.chat.completions.create(model="gpt-5", messages=messages, tools=[weather])
            answer = made.choices[0].message
            messages.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})

tracing.shutdown()  # Sends what is still in the batch.
print(session)
