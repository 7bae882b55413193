"""LiteLLM; the user and the session go along in the metadata of a call."""

import litellm

from evenhand.litellm import EvenhandLogger

litellm.callbacks = [EvenhandLogger()]

answer = litellm.completion(
    model="openai/gpt-5",
    messages=[{"role": "user", "content": "Where is my parcel?"}],
    metadata={"user_id": "ada", "session_id": "litellm-1"},
)
print(answer.choices[0].message.content)
