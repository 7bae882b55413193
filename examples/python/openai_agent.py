"""An agent with a tool, on OpenAI's client. Every turn and tool is recorded."""

import json

from openai import OpenAI

import evenhand

client = evenhand.wrap(OpenAI())
weather = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}

with evenhand.session("ada", "openai-1") as s:
    messages = [{"role": "user", "content": "How is the weather?"}]
    while True:
        answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=[weather]).choices[0].message
        messages.append(answer)
        if not answer.tool_calls:
            break
        for call in answer.tool_calls:
            print("calling", call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "sunny"})
    print(answer.content)
