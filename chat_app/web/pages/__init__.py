"""The pages around the chat: notice and consent, crisis help, a person's own data, the scorer.

They work without JavaScript.
"""
