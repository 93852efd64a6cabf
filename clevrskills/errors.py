"""Errors that a user can meet; the command line prints them as one line."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Self

__all__ = ["ClevrSkillsError"]


class ClevrSkillsError(Exception):
    """Base of all errors that tell the user what was wrong and what is allowed."""


class DamagedError(ClevrSkillsError):
    """Recorded data is missing, damaged, or not what was asked for."""

    @classmethod
    def of(cls, path: object, error: Exception) -> Self:
        """Return the error of a file: it is missing, is not allowed to be read, or is damaged."""
        if isinstance(error, FileNotFoundError):
            return cls(f"{path} is missing")
        if isinstance(error, OSError) and error.strerror:  # others are of its content
            return cls(f"{path} cannot be read: {error.strerror}")
        return cls(f"{path} is damaged: {error!r}")


class UnknownNameError(ClevrSkillsError, KeyError):
    """A name that no registry knows; the message has the allowed names, and the nearest one.

    Args:
        kind: What was looked up, e.g. "task".
        name: The name that was asked for.
        allowed: The names that exist; the nearest one stands before a long list of them.
    """

    SHORT = 12

    def __init__(self, kind: str, name: object, allowed: "list[str] | tuple[str, ...]") -> None:
        names = f"allowed: {', '.join(allowed) or '(none)'}"
        near = get_close_matches(str(name), [str(other) for other in allowed], n=1)
        hint = f"did you mean {near[0]}?" if near else ""
        first = hint and len(allowed) > self.SHORT
        advice = f"{hint} {names}" if first else "; ".join(filter(None, (names, hint)))
        self.message = f"unknown {kind} {name!r}; {advice}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class UnknownArgumentError(ClevrSkillsError, TypeError):
    """An argument that there is not. Libraries such as TorchRL try some, and go on without those of
    which a ``TypeError`` says so in Python's words.
    """


def check_arguments(given: Iterable[str], allowed: Iterable[str]) -> None:
    """Check names of arguments.

    Raises:
        UnknownArgumentError: One is not allowed.
    """
    names = sorted(allowed)
    for name in given:
        if name not in names:
            error = UnknownNameError("argument", name, names)
            raise UnknownArgumentError(f"{error} (unexpected keyword argument {name!r})")


def whole_number(name: str, value: Any, most: int | None = None) -> int:
    """Return a whole number from 0 to ``most``, such as a seed or an index: an ``int`` or what
    stands for one, as numpy's integers do, but no truth value, text or fraction.

    Raises:
        ClevrSkillsError: It is something else.
    """
    truth = isinstance(value, bool) or "bool" in str(getattr(value, "dtype", ""))
    try:
        number = -1 if truth else operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or (most is not None and number > most):
        end = "on" if most is None else f"to {most}"
        raise ClevrSkillsError(f"{name}={value!r}; allowed: whole numbers from 0 {end}")
    return number


_KINDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}


def check_kind(name: str, value: Any, *kinds: str) -> None:
    """Check that an argument is of one of the kinds ``bool``, ``int``, ``float`` and ``str``; whole
    numbers are numbers, truth values are not.

    Raises:
        ClevrSkillsError: It is of none.
    """
    kind = type(value).__name__
    if kind not in kinds and (kind, "float" in kinds) != ("int", True):
        allowed = " or ".join(_KINDS[kind] for kind in kinds)
        raise ClevrSkillsError(f"{name}={value!r}; allowed: {allowed}")


def with_defaults(given: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return options, of which those that are not given have their defaults.

    Raises:
        UnknownArgumentError: There is no such option.
        ClevrSkillsError: One is of another kind than its default.
    """
    check_arguments(given, defaults)
    for name, value in given.items():
        check_kind(name, value, type(defaults[name]).__name__)
    return {**defaults, **given}


class NameTakenError(ClevrSkillsError):
    """A name that a registry has already.

    Args:
        kind: What has the name, e.g. "task".
        name: The name.
        first: Where what has it is defined.
        second: Where it is defined again.
    """

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(
            f"{kind} {name!r} of {second}: {first} has one of that name; choose another name"
        )


@contextmanager
def errors_in(what: str) -> Iterator[None]:
    """Raise any error of somebody else's code as a :class:`ClevrSkillsError` that says what it was
    about.
    """
    try:
        yield
    except ClevrSkillsError:
        raise
    except Exception as error:
        raise ClevrSkillsError(f"{what}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """Return any exception in one line: errors for users as they are, others with their type and
    the last place in the user's files, or else the place where they were raised.
    """
    text = " ".join(str(error).split())
    if isinstance(error, ClevrSkillsError):
        return text
    import traceback  # takes longer than all else here

    places = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    own = [place for place in places if not place[0].startswith(_not_the_users())]
    shown = "".join(f" ({Path(name).name}:{line})" for name, line in (own or places)[-1:])
    return f"{type(error).__name__}: {text}{shown}"


@cache
def _not_the_users() -> tuple[str, ...]:
    """Return the beginnings of the paths of code that is not the user's."""
    import sysconfig

    paths = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    return (*(f"{path}/" for path in (*paths, Path(__file__).parent)), "<")
