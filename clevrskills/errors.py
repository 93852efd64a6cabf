"""Errors shown to users; the command line prints them as one line."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Self

__all__ = ["ClevrSkillsError"]


class ClevrSkillsError(Exception):
    """Base class of errors whose message says what was wrong and what is allowed."""


class DamagedError(ClevrSkillsError):
    """Error of recorded data that is missing, damaged or of the wrong kind."""

    @classmethod
    def of(cls, path: object, error: Exception) -> Self:
        """Return the error of a file that is missing, unreadable or damaged."""
        if isinstance(error, FileNotFoundError):
            return cls(f"{path} is missing")
        if isinstance(error, OSError) and error.strerror:  # without one it is about the content
            return cls(f"{path} cannot be read: {error.strerror}")
        return cls(f"{path} is damaged: {error!r}")


class UnknownNameError(ClevrSkillsError, KeyError):
    """Error of an unknown name; the message lists the allowed names and the closest match.

    Args:
        kind: Kind of name, e.g. "task".
        name: The unknown name.
        allowed: The known names; the closest match precedes a list longer than ``SHORT``.
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
    """Error of an unknown argument; the message has Python's wording, which libraries such as
    TorchRL look for.
    """


def check_arguments(given: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise :class:`UnknownArgumentError` if an argument name is not allowed."""
    names = sorted(allowed)
    for name in given:
        if name not in names:
            error = UnknownNameError("argument", name, names)
            raise UnknownArgumentError(f"{error} (unexpected keyword argument {name!r})")


def whole_number(name: str, value: Any, most: int | None = None) -> int:
    """Return an integer such as a seed or an index, from 0 to ``most``; numpy integers are
    accepted, booleans, text and fractions are not.

    Raises:
        ClevrSkillsError: The value is not such an integer.
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
    """Check that an argument has one of the types ``bool``, ``int``, ``float`` and ``str``; an
    ``int`` is a ``float``, a ``bool`` is neither.

    Raises:
        ClevrSkillsError: It has another type.
    """
    kind = type(value).__name__
    if kind not in kinds and (kind, "float" in kinds) != ("int", True):
        allowed = " or ".join(_KINDS[kind] for kind in kinds)
        raise ClevrSkillsError(f"{name}={value!r}; allowed: {allowed}")


def with_defaults(given: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return options completed by their defaults.

    Raises:
        UnknownArgumentError: Unknown option.
        ClevrSkillsError: An option has another type than its default.
    """
    check_arguments(given, defaults)
    for name, value in given.items():
        check_kind(name, value, type(defaults[name]).__name__)
    return {**defaults, **given}


class NameTakenError(ClevrSkillsError):
    """Error of a name that is registered twice.

    Args:
        kind: Kind of name, e.g. "task".
        name: The name.
        first: Place of the first definition.
        second: Place of the second definition.
    """

    def __init__(self, kind: str, name: str, first: str, second: str) -> None:
        super().__init__(
            f"{kind} {name!r} of {second}: {first} has one of that name; choose another name"
        )


@contextmanager
def errors_in(what: str) -> Iterator[None]:
    """Convert any error of external code to a :class:`ClevrSkillsError` that names ``what``."""
    try:
        yield
    except ClevrSkillsError:
        raise
    except Exception as error:
        raise ClevrSkillsError(f"{what}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """Return an exception as one line. Other errors than :class:`ClevrSkillsError` have their type
    and the last line in the user's files, or else the line that raised them.
    """
    text = " ".join(str(error).split())
    if isinstance(error, ClevrSkillsError):
        return text
    import traceback  # slow to import

    places = [(f.f_code.co_filename, line) for f, line in traceback.walk_tb(error.__traceback__)]
    own = [place for place in places if not place[0].startswith(_library_paths())]
    shown = "".join(f" ({Path(name).name}:{line})" for name, line in (own or places)[-1:])
    return f"{type(error).__name__}: {text}{shown}"


@cache
def _library_paths() -> tuple[str, ...]:
    """Return the path prefixes of code that is not the user's."""
    import sysconfig

    paths = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    return (*(f"{path}/" for path in (*paths, Path(__file__).parent)), "<")
