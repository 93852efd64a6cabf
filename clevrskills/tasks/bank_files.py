"""TOML files with banks of wordings, one table per task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from clevrskills.assets.tables import check_slots, check_table, read_toml
from clevrskills.core.goal.predicate import PREDICATES
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.tasks.bank import FORMS, STYLES, Sentences, WordingSet
from clevrskills.tasks.leaf_slots import COUNTS, NUMBERS, check_source

_SENTENCES = dict.fromkeys(STYLES, str)
_BANK = {"like": str, "slots": list, "leaves": dict, "paper": str, "seen": dict, "held_out": dict}


@cache
def read_banks(folder: Path) -> Mapping[str, WordingSet]:
    """Return the banks in the TOML files of a folder by key.

    The entries of a bank are ``paper``, ``seen``, ``held_out`` and ``leaves`` of
    :class:`~clevrskills.tasks.bank.WordingSet`, and ``slots``, the names of the slots filled by the
    task, such as invented words. Further slots are those of ``leaves`` and the ``goal_words`` of
    predicates. Missing entries are taken from an earlier bank of the same file, named by ``like``.

    Raises:
        ClevrSkillsError: A file is not valid TOML, or an entry is missing, unknown, of the wrong
            type or has an unknown slot.
    """
    banks: dict[str, WordingSet] = {}
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


def _bank(where: str, table: Mapping[str, Any]) -> WordingSet:
    check_table(where, table, _BANK, optional=_BANK.keys() - {"paper"})
    parts = {name: table.get(name, {}) for name in ("seen", "held_out")}
    leaves = table.get("leaves", {})
    for slot, source in leaves.items():
        check_source(f"{where}.leaves.{slot}", source)
    texts = {f"{where}.paper": table["paper"]}
    for name, part in parts.items():
        check_table(f"{where}.{name}", part, _SENTENCES, optional=STYLES)
        texts |= {f"{where}.{name}.{style}": text for style, text in part.items()}
    words = {*NUMBERS, *chain(*COUNTS.values())}
    words.update(word for predicate in PREDICATES.values() for word in predicate.goal_words)
    for entry, text in texts.items():
        check_slots(entry, text, [*leaves, *table.get("slots", [])], FORMS, words)
    sentences = {name: Sentences(**part) for name, part in parts.items()}
    return WordingSet(table["paper"], **sentences, leaves=leaves)
