"""Validated tables in TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, TypeVar

from clevrskills.errors import ClevrSkillsError, UnknownNameError

Value = TypeVar("Value")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the data of a TOML file.

    Raises:
        ClevrSkillsError: The file is not valid TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClevrSkillsError(f"{path} is not valid TOML: {error}") from error


def check_table(
    where: str, table: Any, kinds: Mapping[str, type], optional: Collection[str] = ()
) -> None:
    """Check the types of the entries of a table.

    Args:
        where: Location of the table, for messages.
        table: The table.
        kinds: Type of each entry.
        optional: Entries that may be missing.

    Raises:
        ClevrSkillsError: It is not a table, or an entry is missing, unknown or of another type.
    """
    if not isinstance(table, dict):
        raise ClevrSkillsError(f"{where} must be a table, not {table!r}")
    for name, value in table.items():
        if name not in kinds:
            raise UnknownNameError(f"entry of {where}", name, [*kinds])
        if not isinstance(value, kinds[name]):
            kind = kinds[name].__name__
            raise ClevrSkillsError(f"{where}.{name} must be a {kind}, not {value!r}")
    for name in kinds:
        if name not in table and name not in optional:
            raise ClevrSkillsError(f"{where}.{name} is missing")


def check_slots(
    where: str,
    text: str,
    slots: Sequence[str],
    forms: Sequence[str] = (),
    words: Collection[str] = (),
) -> None:
    """Check the fields of a template of :meth:`str.format`.

    Args:
        where: Location of the text, for messages.
        text: The template.
        slots: Allowed names, also capitalized.
        forms: Allowed format specifications.
        words: Other allowed names.

    Raises:
        ClevrSkillsError: The template is invalid, or has another name or format.
    """
    try:
        parts = [*Formatter().parse(text)]
    except ValueError as error:
        raise ClevrSkillsError(f"{where}: {error}") from error
    for _, slot, form, _ in parts:
        names = {slot, slot[:1].lower() + slot[1:]} if slot else {slot}
        if slot is not None and names.isdisjoint((*slots, *words)):
            raise UnknownNameError(f"slot in {where}", slot, [*slots])
        if form and form not in forms:
            raise UnknownNameError(f"form of {{{slot}}} in {where}", form, [*forms])


@cache
def read_rows(path: Path, kind: type[Value], length: int) -> Mapping[str, tuple[Value, ...]]:
    """Return the rows of a TOML file by name, each with ``length`` values of a type.

    Raises:
        ClevrSkillsError: The file is not valid TOML, or a row has other values.
    """
    rows = read_toml(path)
    for name, row in rows.items():
        if not isinstance(row, list) or [type(value) for value in row] != [kind] * length:
            raise ClevrSkillsError(
                f"{path}: {name} must be {length} values of type {kind.__name__}, not {row!r}"
            )
    return {name: tuple(row) for name, row in rows.items()}


def read_texts(path: Path, slots: Mapping[str, Sequence[str]]) -> Mapping[str, str]:
    """Return the texts of a TOML file, given the allowed fields of each.

    Raises:
        ClevrSkillsError: A text is missing or unknown, or has another field.
    """
    return _texts(path, tuple((name, tuple(names)) for name, names in slots.items()))


@cache
def _texts(path: Path, slots: tuple[tuple[str, tuple[str, ...]], ...]) -> Mapping[str, str]:
    texts = read_toml(path)
    check_table(str(path), texts, dict.fromkeys(dict(slots), str))
    for name, names in slots:
        check_slots(f"{path}: {name}", texts[name], names)
    return texts
