"""What a person sees, and one turn of the conversation. Read `turn.py` first."""
