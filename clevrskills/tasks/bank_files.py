"""Files of banks: the sentences of tasks in TOML, one table a task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from clevrskills.assets.tables import check_slots, check_table, read_toml
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.tasks.bank import FORMS, STYLES, Bank, Sentences

_SENTENCES = dict.fromkeys(STYLES, str)
_BANK = {"like": str, "slots": list, "paper": str, "seen": dict, "held_out": dict}


@cache
def read_banks(folder: Path) -> Mapping[str, Bank]:
    """Return the banks in the TOML files of a folder by their keys.

    The entries of a bank are ``paper``, ``seen`` and ``held_out`` as of
    :class:`~clevrskills.tasks.bank.Bank`, and ``slots``, the names in braces that its sentences
    may have. What it lacks it takes from the earlier bank of its file that ``like`` names.

    Raises:
        ClevrSkillsError: A file is no TOML, or an entry is missing, unknown, of a wrong type, or
            has an unknown slot.
    """
    banks: dict[str, Bank] = {}
    for path in sorted(folder.glob("*.toml")):
        complete: dict[str, Mapping[str, Any]] = {}
        for key, table in read_toml(path).items():
            where = f"{path}: {key}"
            if key in banks:
                raise ClevrSkillsError(f"{where} is in another file of the folder too")
            check_table(where, table, _BANK, optional=_BANK)
            if (like := table.get("like")) is not None:
                if like not in complete:
                    raise UnknownNameError(f"earlier bank in {where}.like", like, [*complete])
                table = {**complete[like], **table}
            complete[key], banks[key] = table, _bank(where, table)
    return banks


def _bank(where: str, table: Mapping[str, Any]) -> Bank:
    check_table(where, table, _BANK, optional=_BANK.keys() - {"paper"})
    parts = {name: table.get(name, {}) for name in ("seen", "held_out")}
    texts = {f"{where}.paper": table["paper"]}
    for name, part in parts.items():
        check_table(f"{where}.{name}", part, _SENTENCES, optional=STYLES)
        texts |= {f"{where}.{name}.{style}": text for style, text in part.items()}
    for entry, text in texts.items():
        check_slots(entry, text, table.get("slots", []), FORMS)
    return Bank(table["paper"], **{name: Sentences(**part) for name, part in parts.items()})
