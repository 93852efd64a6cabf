"""Errors that a user can meet; the command line prints them as one line."""

from pathlib import Path


class ClevrSkillsError(Exception):
    """Base of all errors that tell the user what was wrong and what is allowed."""


class DamagedError(ClevrSkillsError):
    """Recorded data is missing, damaged, or not what was asked for."""


class UnknownNameError(ClevrSkillsError, KeyError):
    """A name that no registry knows.

    Args:
        kind: What was looked up, e.g. "task".
        name: The name that was asked for.
        allowed: The names that exist.
    """

    def __init__(self, kind: str, name: object, allowed: "list[str] | tuple[str, ...]") -> None:
        self.message = f"unknown {kind} {name!r}; allowed: {', '.join(allowed)}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


def one_line(error: BaseException) -> str:
    """Any exception in one line: errors for users as they are, others with their type and the place
    where they were raised.
    """
    text = " ".join(str(error).split())
    if isinstance(error, ClevrSkillsError):
        return text
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace else ""
    return f"{type(error).__name__}: {text}{place}"
