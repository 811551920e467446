"""The scorer's one error type."""


class ScorerError(Exception):
    """A head, an encoder or a data file that cannot be used; `str()` names the fault and the next step."""

    exit_status = 2
