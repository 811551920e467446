"""Evaluation of heads: errors with seeds and spread, the card's tables, and texts spoilt on purpose."""
