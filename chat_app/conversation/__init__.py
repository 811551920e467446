"""One turn of a conversation, from the message to the stored reply. Read `turn.py` first."""
