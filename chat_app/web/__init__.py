"""The server around the chat page: requests, pages, the JSON API, health and logs."""
