"""An HTTP error response with a plain sentence."""


class RefusedCall(Exception):
    """A refused request: an HTTP status and a plain sentence, which never repeats the caller's text."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence
