"""A vLLM server, which speaks OpenAI's protocol at an address of one's own."""

from dataclasses import replace

from heard.chat_app.models.providers import openai

PROVIDER = replace(openai.PROVIDER, name="vllm", url=None)
