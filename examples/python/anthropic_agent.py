"""A streamed answer of Anthropic's client."""

from anthropic import Anthropic

import evenhand

client = evenhand.wrap(Anthropic())

with evenhand.session("ada", "anthropic-1"):
    question = [{"role": "user", "content": "Where is my parcel?"}]
    with client.messages.stream(model="claude-sonnet-5", max_tokens=200, messages=question) as stream:
        for word in stream.text_stream:
            print(word, end="", flush=True)
    print()
