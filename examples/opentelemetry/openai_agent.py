"""An agent with a tool, on OpenAI's client with OpenTelemetry's own instrumentation. Needs requirements.txt."""

import os
from uuid import uuid4

# Without these two, spans carry no messages.
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "span_only"

from openai import OpenAI
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

session = f"chat-{uuid4()}"


class OwnerProcessor(SpanProcessor):
    """Writes user and session on every span. A server with many users takes them from the context of the request."""

    def on_start(self, span, parent_context=None):
        span.set_attributes({"user.id": "ada", "session.id": session})


url, token = os.environ.get("EVENHAND_URL", "http://127.0.0.1:8700"), os.environ.get("EVENHAND_TOKEN")
headers = {"authorization": f"Bearer {token}"} if token else {}
tracing = TracerProvider(resource=Resource.create({"service.name": "weather-agent", "service.version": "1.0"}))
tracing.add_span_processor(OwnerProcessor())
tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces", headers=headers)))
OpenAIInstrumentor().instrument(tracer_provider=tracing)

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

tracing.shutdown()  # Sends what is still in the batch.
print(session)
