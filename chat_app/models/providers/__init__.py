"""Model providers: each file here declares one as `PROVIDER`, and is discovered by itself.

No file here imports a client library at module level: it is imported only when one of its models is called.
"""

import importlib
import importlib.util
import pkgutil

from heard.chat_app.models.provider import Provider

_FOUND: list[Provider] = [
    importlib.import_module(f"{__name__}.{module.name}").PROVIDER for module in pkgutil.iter_modules(__path__)
]
PROVIDERS = {provider.name: provider for provider in _FOUND}
"""Every provider by its name in models.toml."""


def is_installed(name: str) -> bool:
    """Return whether the modules of a provider are installed. Imports none of them."""
    provider = PROVIDERS[name]
    return all(importlib.util.find_spec(module) is not None for module in (provider.module, *provider.extra_modules))


def import_client(name: str) -> None:
    """Import a provider's client library. Takes a second or more, so it is done before the first reply."""
    importlib.import_module(PROVIDERS[name].module)
