"""Raters that stand where the scorer's head stands: a language model as judge, asked for numbers."""
