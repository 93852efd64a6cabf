"""Command line options defined by dataclasses, parsed with :mod:`argparse`.

Each field is an option; the string below it is its help. Base dataclasses, and fields whose type is
a dataclass, are option groups titled by the first words of their docstrings. ``T | None = None`` is
optional, ``Literal`` lists the choices, ``bool`` is a flag, ``tuple`` takes several values, and
``from_`` becomes ``--from``.
"""

import argparse
import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NoReturn,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

T = TypeVar("T")
Positional = Annotated[T, "positional"]
"""Positional argument."""
Repeated = Annotated[tuple[T, ...], "repeated"]
"""Option that takes one value and may be given several times."""

OPTIONS = "Options"
"""Title of the options outside all groups."""


def parse(kind: type[T], words: Sequence[str] | None = None, prog: str | None = None) -> T:
    """Parse a command line.

    Args:
        kind: Dataclass of the arguments.
        words: The arguments; ``None``: those of this process.
        prog: Name of the command.

    Raises:
        SystemExit: With code 2 on a wrong argument, with code 0 after the help page.
    """
    parser = _Parser(
        prog=prog,
        description=inspect.cleandoc(kind.__doc__ or ""),
        formatter_class=partial(_Formatter, max_help_position=28),
        add_help=False,
        allow_abbrev=False,
    )
    own = parser.add_argument_group(OPTIONS)
    _add_fields(parser, kind, {OPTIONS: own})
    own.add_argument("-h", "--help", action="help", help="Show this page.")
    given = [*(sys.argv[1:] if words is None else words)]
    # a misspelt option is named before the required one that it stands for is missed
    for word in takewhile("--".__ne__, given):
        if word.startswith("--") and word.partition("=")[0] not in parser.option_names:
            parser.refuse(word)
    found, unknown = parser.parse_known_intermixed_args(given)
    if unknown:
        parser.refuse(unknown[0])
    args: T = _build(kind, vars(found))
    return args


class _Parser(argparse.ArgumentParser):
    """Parser with one-line error messages."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')}\n")

    @property
    def option_names(self) -> list[str]:
        """Names of the options."""
        return [name for action in self._actions for name in action.option_strings]

    def refuse(self, word: str) -> NoReturn:
        """Exit with a message about an unknown argument."""
        near = get_close_matches(word.partition("=")[0], self.option_names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"`{self.prog} --help` lists what there is"
        self.error(f"unknown {'option' if word.startswith('-') else 'argument'} {word}; {hint}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Formatter of help pages whose usage line shows required and positional arguments only."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:
        asked = [action for action in actions if action.required or not action.option_strings]
        super().add_usage(usage, asked, groups, prefix)


def _add_fields(parser: argparse.ArgumentParser, kind: Any, groups: dict[str, Any]) -> None:
    """Add the fields of a dataclass to the parser's groups, which are keyed by title."""
    texts = _texts(kind)
    bases = [base for base in kind.__mro__[1:] if is_dataclass(base)]
    titles = {name: _title(base) for base in bases for name in base.__annotations__}
    for entry, hint in _fields(kind):
        if is_dataclass(hint):
            _add_fields(parser, hint, {OPTIONS: parser.add_argument_group(_title(hint))})
            continue
        title = titles.get(entry.name, OPTIONS)
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        _add_field(groups[title], entry, hint, texts.get(entry.name, ""))


def _add_field(group: Any, entry: "Field[Any]", hint: Any, text: str) -> None:
    hint, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    default, may_be_none = entry.default, False
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (inner for inner in get_args(hint) if inner is not NoneType)
        may_be_none = default is not None
    keywords: dict[str, Any] = {"default": argparse.SUPPRESS}
    several = get_origin(hint) is tuple
    if several:
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        keywords["choices"] = get_args(hint)
    elif hint is bool:
        keywords["action"] = argparse.BooleanOptionalAction if default else "store_true"
    else:
        keywords["type"] = _or_none(hint) if may_be_none else hint
        keywords["metavar"] = _METAVARS[hint] + ("|none" if may_be_none else "")
    if default not in (MISSING, None, (), "") and hint is not bool:
        shown = " ".join(map(str, default)) if several else default
        text += f" (default: {shown})"
    keywords["help"] = text.replace("%", "%%")
    if "positional" in marks:
        name = entry.name
        keywords["metavar"] = None if "choices" in keywords else name.upper()
        if several:
            keywords["nargs"] = "+" if default is MISSING else "*"
        elif default is not MISSING:
            keywords["nargs"] = "?"
        group.add_argument(name, **keywords)
        return
    if several:
        keywords |= {"action": "append"} if "repeated" in marks else {"nargs": "*"}
    if default is MISSING:
        keywords["required"] = True
    flag = f"--{entry.name.rstrip('_').replace('_', '-')}"
    group.add_argument(flag, dest=entry.name, **keywords)


_METAVARS = {str: "TEXT", int: "INT", float: "FLOAT", Path: "PATH"}


def _or_none(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a converter that also accepts ``none``."""

    def convert(text: str) -> Any:
        return None if text.lower() == "none" else kind(text)

    convert.__name__ = kind.__name__  # argparse names it in errors
    return convert


def _fields(kind: Any) -> Iterator[tuple["Field[Any]", Any]]:
    """Yield the fields of a dataclass with their types."""
    hints = get_type_hints(kind, include_extras=True)
    yield from ((entry, hints[entry.name]) for entry in fields(kind))


def _texts(kind: type) -> dict[str, str]:
    """Return the docstrings of the fields of a dataclass and its bases."""
    found = {}
    for base in filter(is_dataclass, reversed(kind.__mro__)):
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(node, ast.ClassDef)
        for line, below in pairwise(node.body):
            if isinstance(line, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(line.target, ast.Name)
                found[line.target.id] = " ".join(ast.literal_eval(below.value).split())
    return found


def _title(kind: Any) -> str:
    """Return the first words of a docstring."""
    return re.split("[.:;]", kind.__doc__)[0]


def _build(kind: Any, values: Mapping[str, Any]) -> Any:
    """Build a dataclass, and those of its groups, from values by name."""
    given: dict[str, Any] = {}
    for entry, hint in _fields(kind):
        if is_dataclass(hint):
            given[entry.name] = _build(hint, values)
        elif entry.name in values:
            value = values[entry.name]
            given[entry.name] = tuple(value) if isinstance(value, list) else value
    return kind(**given)
