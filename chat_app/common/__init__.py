"""Shared by all rooms, importing none of them: settings, identity, texts, background work."""
