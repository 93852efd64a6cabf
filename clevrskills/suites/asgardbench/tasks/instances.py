"""Instances: the 108 of the published table, in new layouts, and drawn variants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.asgardbench.rules.catalogue import catalogue
from clevrskills.suites.asgardbench.tasks.rooms import TRAIN, room
from clevrskills.tasks.bank import Wording, WordingSet
from clevrskills.tasks.bank_files import read_banks


@dataclass(frozen=True)
class Variant:
    """Parameters of an instance within its family."""

    label: int  # label of the room
    objects: tuple[str, ...] = ()  # types that the instruction names
    dirty: tuple[str, ...] = ()  # types that start dirty
    food: str = ""  # type that is sliced, in ``distribute``
    coffee: bool = False  # whether the mug holds coffee at the start
    published_n: int = 0  # length of the published solution; 0: none

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Variant:
        """Construct a variant from the data of :func:`dataclasses.asdict`."""
        lists = {key: tuple(data[key]) for key in ("objects", "dirty")}
        return cls(**{**data, **lists})

    @property
    def name(self) -> str:
        """Name of the variation: ``clean``, the dirty types, or ``has_coffee``."""
        return "has_coffee" if self.coffee else "+".join(self.dirty) or "clean"


def _read(text: str) -> list[Variant]:
    """Parse the variants of a line, ``label objects[n]``; ``*`` marks dirty types."""
    found = []
    for entry in text.split(";"):
        head, _, length = entry.strip().rstrip("]").partition("[")
        label, *names = head.split()
        coffee, food = "coffee" in names, next((n[1:] for n in names if n[0] == "/"), "")
        names = [n for n in names if n != "coffee" and n[0] != "/"]
        # ** marks dirty types that the instruction does not name
        dirty = tuple(n.rstrip("*") for n in names if n.endswith("*"))
        objects = tuple(n.rstrip("*") for n in names if not n.endswith("**"))
        found.append(Variant(int(label), objects, dirty, food, coffee, int(length)))
    return found


TABLE: dict[str, Sequence[Variant]] = {
    key: _read(text)
    for key, text in {
        "coffee": "13[51]; 19[44]; 26[40]; 12 Mug**[38]; 14 Mug**[43]; 7 Mug**[38];"
        "12 coffee[25]; 28 coffee[35]; 3 coffee[31]",
        "cook_potato": "12[15]; 18[12]; 5[14]; 11 Bowl**[44]; 21 Bowl**[44]; 28 Bowl**[37]",
        "cook_egg": "13[14]; 26[12]; 2[12]; 10 Pan**[51]; 13 Pan**[34]; 5 Pan**[29];"
        "11 Plate**[34]; 23 Plate**[47]; 28 Plate**[40];"
        "13 Pan** Plate**[62]; 28 Pan** Plate**[63]; 5 Pan** Plate**[50]",
        "cook_toast": "20[15]; 26[13]; 2[18]; 22 Plate**[70]; 25 Plate**[36]; 3 Plate**[53]",
        "cook_potato_slice": "11[19]; 19[20]; 20[17]; 16 Pan**[52]; 20 Pan**[54]; 7 Pan**[44];"
        "16 Plate**[46]; 23 Plate**[40]; 26 Plate**[44];"
        "14 Pan** Plate**[69]; 20 Pan** Plate**[67]; 28 Pan** Plate**[62]",
        "put_away_food": "13 Bread Tomato Potato[17]; 14 Apple Egg[11]; 19 Apple Bread[12]",
        "put_away_dishes": "1 Cup Plate[10]; 28 Bowl Pot Mug Plate[16]; 28 Pot Mug[9];"
        "28 Bowl* Plate[20]; 3 Cup Bowl* Pot Mug[37]; 6 Bowl* Plate[31];"
        "11 Cup* Mug Plate[23]; 23 Cup* Bowl Plate[26]; 2 Cup* Bowl Pot Mug[27];"
        "18 Cup Bowl Mug* Plate[43]; 1 Bowl Mug* Plate[29]; 22 Pot Mug*[38];"
        "16 Bowl Plate*[18]; 16 Cup Pot Mug Plate*[41]; 28 Cup Plate*[28]",
        "put_away_silverware": "11 Spoon Fork[11]; 4 ButterKnife Fork Ladle Knife[22];"
        "6 Spoon Fork Spatula[17]",
        "distribute": "11 /Apple Bowl* Pot[26]; 19 /Apple Bowl[11]; 11 /Apple Plate* Pot[35];"
        "28 /Apple Plate* Pot[34]; 13 /Apple Plate Bowl[18]; 18 /Apple Plate Bowl[14];"
        "25 /Apple Plate[9]; 15 /Apple Plate Pot[12]; 1 /Apple Plate Pot[17];"
        "25 /Lettuce Plate* Pan[41]; 20 /Lettuce Plate* Pan Pot[48]; 2 /Lettuce Plate* Pot[34];"
        "1 /Lettuce Plate Bowl[17]; 20 /Lettuce Plate Pan[13]; 28 /Lettuce Plate Pan Pot[20];"
        "21 /Lettuce Plate Pot[16]; 4 /Lettuce Pot*[42]; 7 /Lettuce Pot[7];"
        "10 /Tomato Bowl*[36]; 26 /Tomato Bowl*[29]; 18 /Tomato Bowl Pot[12];"
        "10 /Tomato Plate* Bowl[46]; 22 /Tomato Plate* Bowl Pot[43]; 3 /Tomato Plate Bowl*[42];"
        "12 /Tomato Plate[6]; 23 /Tomato Plate Pot[15]; 1 /Tomato Pot[11]",
        "set_table": "11[81]; 15[65]; 4[74]; 19 Mug**[107]; 20 Mug**[94]; 7 Mug**[97];"
        "11 coffee[54]; 4 coffee[59]; 7 coffee[69]",
        "clean_mirror": "406[10]; 408[8]; 427[11]",
        "turn_on_tv": "202[4]; 203[4]; 212[4]",
    }.items()
}
"""Instances of each family, in the published order, with the published n."""


@dataclass(frozen=True)
class Family:
    """Family of instances."""

    room: str = "kitchen"  # kind of the rooms
    # placeholders of the instructions, besides objects and food
    slots: Mapping[str, str] = field(default_factory=dict)
    named: str = ""  # class of the objects that the instructions name; empty: any
    clears_table: bool = False  # whether a dining table must be cleared
    dirty: tuple[str, ...] = ()  # fixtures that start dirty
    sanity: int = 0  # number of episodes in the split ``sanity``


FAMILIES: Mapping[str, Family] = {key: Family() for key in TABLE} | {
    "put_away_food": Family(
        slots={"what": "food", "place": "the fridge", "doing": "wants to eat"}, named="Food"
    ),
    "put_away_silverware": Family(
        slots={"what": "cutlery", "place": "a drawer", "doing": "wants to cook"}, named="Silverware"
    ),
    "set_table": Family(clears_table=True),
    "clean_mirror": Family("bathroom", dirty=("Mirror_1",)),
    "turn_on_tv": Family("living", sanity=2),
}
"""Families by name."""


def banks() -> Mapping[str, WordingSet]:
    """Return the instructions of each family."""
    return read_banks(Path(__file__).parents[1] / "wordings")


def wordings(task: str, variant: Variant) -> Sequence[Wording]:
    """Return the instructions of an instance, the held-out ones last."""
    slots = {"objects": ", ".join(variant.objects), "food": variant.food, **FAMILIES[task].slots}
    found = []
    for style, text, held_out in banks()[task].sentences():
        filled = text.format(**slots)
        found.append(Wording(filled[0].upper() + filled[1:], style, held_out))
    return found


def read_sentence(text: str) -> tuple[str, Variant]:
    """Return the family and the named objects of an instruction.

    Raises:
        ClevrSkillsError: The instruction is none of the :func:`wordings`.
    """
    for task, pattern in _patterns():
        found = pattern.fullmatch(text.strip())
        if found is None:
            continue
        slots = found.groupdict()
        objects = tuple(slots["objects"].split(", ")) if "objects" in slots else ()
        named = FAMILIES[task].named
        if named and objects[0] not in catalogue().classes[named]:
            continue
        return task, Variant(0, objects, food=slots.get("food", ""))
    raise ClevrSkillsError(f"{text!r} is not a known instruction of the household")


@cache
def _patterns() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the family and pattern of each instruction."""
    found = []
    for task, bank in banks().items():
        slots = {"objects": "{objects}", "food": "{food}", **FAMILIES[task].slots}
        for _, text, _ in bank.sentences():
            text = text.format(**slots)
            pattern = re.escape(text[0].upper() + text[1:])
            pattern = pattern.replace(r"\{objects\}", "(?P<objects>[A-Za-z, ]+)", 1)
            pattern = pattern.replace(r"\{food\}", r"(?P<food>\w+)", 1)
            found.append((task, re.compile(pattern)))
    return found


def draw_variant(task: str, rng: np.random.Generator) -> Variant:
    """Draw a variant of the table in a training room; the dirty dish, if any, is independent of the
    named objects.
    """
    table = TABLE[task]
    base, other = (table[int(k)] for k in rng.integers(len(table), size=2))
    labels: Sequence[int] = TRAIN[FAMILIES[task].room]
    if FAMILIES[task].clears_table:
        labels = [k for k in labels if any(f.type == "DiningTable" for f in room(k).fixtures)]
    label = int(labels[int(rng.integers(len(labels)))])
    dirty = base.dirty
    if base.objects:
        dirty = (base.objects[int(rng.integers(len(base.objects)))],) if other.dirty else ()
    return Variant(label, base.objects, dirty, base.food, base.coffee)
