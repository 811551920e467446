"""How the chat talks, measured: set messages said to it as people say them, and the replies judged."""
