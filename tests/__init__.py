"""Tests, room by room. A package, because a library we use installs a `tests` of its own."""
