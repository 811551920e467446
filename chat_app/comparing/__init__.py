"""Compare models, strategies and policies over a file of questions: the run, its journal, and the figures."""
