"""Personas, strategies, guidance and safety texts as files, and the code that reads them."""
