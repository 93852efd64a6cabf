"""Errors that a user can meet; the command line prints them as one line."""


class ClevrSkillsError(Exception):
    """Base of all errors that tell the user what was wrong and what is allowed."""


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
