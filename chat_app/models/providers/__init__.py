"""Who serves models: each file here declares one provider as `PROVIDER`, and is found by itself.

No file here imports a client library at its head: one is loaded only where one of its models is called.
"""

import importlib
import importlib.util
import pkgutil

from heard.chat_app.models.provider import Provider

_FOUND: list[Provider] = [
    importlib.import_module(f"{__name__}.{module.name}").PROVIDER for module in pkgutil.iter_modules(__path__)
]
PROVIDERS = {provider.name: provider for provider in _FOUND}
"""Every provider by the name that models.toml has for it."""


def is_installed(name: str) -> bool:
    """Whether the package of a provider is there. Imports nothing."""
    provider = PROVIDERS[name]
    return all(importlib.util.find_spec(module) is not None for module in (provider.module, *provider.beside))


def load_client(name: str) -> None:
    """Import what calls to this provider need. It takes a second or more, so it is done before the first reply."""
    importlib.import_module(PROVIDERS[name].module)
