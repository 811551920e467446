"""The crisis check, and the hand-off to people. The words it looks for are files in `prompts/safety/`."""
