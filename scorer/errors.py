"""The scorer's one error type."""

from heard.errors import UserError


class ScorerError(UserError):
    """A head, an encoder or a data file that cannot be used; `str()` names the fault and the next step."""
