"""A refusal that a program gets, with its HTTP status."""


class RefusedCall(Exception):
    """A call that gets an HTTP status and a plain sentence; never the caller's own text."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
