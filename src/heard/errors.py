"""The one base of every fault that whoever runs heard can mend."""


class UserError(Exception):
    """A fault of input or surroundings; `str()` is a plain sentence that names the fault and the next step.

    Commands print the sentence without a traceback and end with exit status 2.
    """
