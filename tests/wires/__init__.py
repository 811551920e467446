"""The streaming protocols of the providers, by hand from their public references, and the scripts that all can play."""

from tests.wires.anthropic_wire import AnthropicWire
from tests.wires.google_wire import GoogleWire
from tests.wires.ollama_wire import OllamaWire
from tests.wires.openai_wire import OpenAIWire
from tests.wires.wire import Wire

WIRES: dict[str, Wire] = {
    "openai": OpenAIWire("openai"),
    "vllm": OpenAIWire("vllm"),
    "anthropic": AnthropicWire(),
    "google": GoogleWire(),
    "ollama": OllamaWire(),
}
"""By the provider's name in models.toml."""
