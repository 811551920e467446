"""The chat page on Chainlit: what is drawn, what a person chooses, and what is drawn again from the history."""
