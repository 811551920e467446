"""The chat page on Chainlit: rendering replies, the settings panel, and reopening conversations from the history."""
