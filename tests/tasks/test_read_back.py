"""Sentences are read back: a reader of finished sentences finds the leaves; mutated ones differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import Formatter

import numpy as np
import pytest

from clevrskills.assets.tables import read_toml
from clevrskills.sim.prompt import Prompt
from clevrskills.suites.clevrskills.wording_checks import KEYSTEPS, draw_layout
from clevrskills.tasks import Task, stack_roles, task
from clevrskills.tasks.l1.neighbour import DIRECTIONS, SAID
from clevrskills.tasks.leaf_slots import NUMBERS, used_leaves
from tests.tasks.scenes import TASKS

NOVEL = ("novel_adjective", "novel_noun", "novel_adjective_noun")
"""Tasks whose objects are told by invented words; see ``test_novel.py``."""
READ = [key for key in TASKS if key not in NOVEL]
MUTATIONS = 200
SWAPS = (
    ("clockwise", "anti-clockwise"),
    ("on the left", "on the right"),
    ("on the side towards the robot", "on the side away from the robot"),
    (" on ", " under "),
    (" into ", " out of "),
    (" towards ", " away from "),
    (" then ", " before that "),
    (" first", " last"),
    ("bottom", "top"),
    ("without ", "by "),
    (" not ", " "),
    (" no ", " a "),
    ("neither ", "either "),
)
NEGATIONS = ("without", "not", "no", "neither")


@cache
def tables():
    files = sorted(Task.bank_folder.glob("*.toml"))
    return {key: table for path in files for key, table in read_toml(path).items()}


def templates(key) -> Iterator[str]:
    table = tables()[key]
    yield table["paper"]
    for part in ("seen", "held_out"):
        for lines in table[part].values():
            yield from (line for line in lines.splitlines() if line)


def phrases(layout) -> dict[str, str]:
    """Keys of what is there, by what it is called in any set of names; textures by theirs."""
    bodies = [b for b in layout.bodies if b]
    found = {f"the {b.called(k, bodies)}": b.key for b in bodies for k in range(5)}
    textures = {b.texture_called(k, bodies): f"tex:{b.texture}" for b in bodies for k in range(5)}
    return {**{t: key for t, key in textures.items() if t}, **found}


class Reader:
    """Reads the sentences of a task in a scene."""

    def __init__(self, key, layout) -> None:
        self.sources = tables()[key].get("leaves", {})
        self.slots = {*self.sources, *tables()[key].get("slots", [])}
        self.known = {text.lower(): key for text, key in phrases(layout).items()}
        longest = sorted(self.known, key=len, reverse=True)
        self.things = "(?:" + "|".join(map(re.escape, longest)) + ")"
        self.patterns = [re.compile(self.pattern(t) + r"\Z", re.I) for t in templates(key)]

    def pattern(self, template) -> str:
        out, seen = "", set()
        for text, slot, form, _ in Formatter().parse(template):
            out += re.escape(text)
            if slot is None:
                continue
            if slot in seen:
                out += rf"(?:the )?(?P={slot})" if slot in self.sources else re.escape(slot)
            elif slot in self.slots:
                seen.add(slot)
                out += f"(?P<{slot}>{self.of(slot, form)})"
            else:
                out += re.escape(slot)
        return out

    def of(self, slot, form="") -> str:
        source = self.sources.get(slot)
        if isinstance(source, dict):
            if "one" in source:
                return "|".join(re.escape(source[name]) for name in ("one", "several"))
            return ".+?"
        if slot == "direction":
            return "|".join(SAID.values())
        if slot == "turn":
            return r"\d+ degrees (?:anti-)?clockwise"
        if slot == "number":
            return "|".join(NUMBERS)
        return r"the scene at key-step \d+" if slot == "shown" else self.things

    def read(self, text) -> list[dict[str, object]]:
        """What a sentence says: slots with keys of bodies, words, and lists of those."""
        found = (pattern.match(text) for pattern in self.patterns)
        return [told for match in found if match and (told := self.told(match)) is not None]

    def told(self, match) -> dict[str, object] | None:
        said: dict[str, object] = {}
        for slot, words in match.groupdict().items():
            source = self.sources.get(slot)
            if isinstance(source, dict) and "each" in source:
                items = self.listed(words, source)
                if items is None:
                    return None
                said[slot] = items
            else:
                said[slot] = self.known.get(words.lower(), words.lower())
        return said

    def listed(self, words, source) -> list[str] | None:
        of = {name: self.element(source[name]) for name in ("first", "each") if name in source}
        between = self.plain(source.get("between", ", "))
        last = self.plain(source.get("last", source.get("between", " and ")))
        one = "|".join(of.values())
        separators = f"{re.escape(between)}|{re.escape(last)}"
        whole = re.compile(rf"(?:{one})(?:(?:{separators})(?:{one}))*\Z", re.I)
        if not whole.match(words):
            return None
        named = re.compile(rf"{self.things}|key-step \d+", re.I)
        return [self.known.get(m[0].lower(), m[0].lower()) for m in named.finditer(words)]

    def plain(self, text) -> str:
        return re.sub(r"\{(\w+)\}", r"\1", text)

    def element(self, template) -> str:
        out = ""
        for text, slot, *_ in Formatter().parse(template):
            out += re.escape(text)
            if slot == "keystep":
                out += r"the scene at key-step \d+"
            elif slot in ("in", "into", "on"):
                out += slot
            elif slot is not None:
                out += self.things
        return out


def truth(made, layout) -> dict[str, object]:
    """What each slot of the task's sentences means, from the leaves themselves."""
    leaves = used_leaves(made.goal(stack_roles([layout])))
    alike = [leaf for leaf in leaves if type(leaf) is type(leaves[0])]

    def key(leaf, name, k=0):
        return layout.slot(int(getattr(leaf, name).reshape(1, -1)[0, k])).key

    found: dict[str, object] = {}
    for slot, source in tables()[made.key].get("leaves", {}).items():
        if isinstance(source, dict):
            if "one" in source:
                found[slot] = source["one" if len(alike) == 1 else "several"]
                continue
            of = [(0, alike[0], source.get("first", ""))]
            of += [(k + 1, leaf, source["each"]) for k, leaf in enumerate(alike)]
            names = []
            for step, leaf, text in of:
                for name in re.findall(r"\{(\w+)(?::\w+)?\}", text):
                    if name == "keystep":
                        names.append(f"key-step {step}")
                    elif name not in ("in", "into", "on"):
                        names.append(key(leaf, name))
            found[slot] = names[::-1] if source.get("reverse") else names
        elif source == "count":
            found[slot] = NUMBERS[len(alike)]
        elif source == "objects.count":
            found[slot] = NUMBERS[int((leaves[0].objects[0] >= 0).sum())]
        elif source == "keystep":
            found[slot] = f"the scene at key-step {len(alike)}"
        elif source == "turn":
            found[slot] = next(s["turn"] for leaf in leaves if (s := leaf.said()))
        else:
            number, _, name = source.partition(".") if source[0] in "-01" else ("", "", source)
            name = name.partition(".")[0]
            one = leaves[int(number)] if number else next(x for x in leaves if hasattr(x, name))
            found[slot] = key(one, name)
    if "direction" in tables()[made.key].get("slots", []):
        here, there = (layout.body(name).pose[:2] for name in ("first", "second"))
        way = np.subtract(there, here)
        found["direction"] = SAID[max(DIRECTIONS, key=lambda d: way @ np.array(DIRECTIONS[d]))]
    return found


def agrees(told, meant, layout) -> bool:
    """Whether what was read is so; a texture stands for the body that has it."""
    textures = {b.key: f"tex:{b.texture}" for b in layout.bodies if b}

    def same(read, true):
        if isinstance(true, list):
            return len(read) == len(true) and all(map(same, read, true))
        return read == true or read == textures.get(true)

    return all(same(read, meant[slot]) for slot, read in told.items())


def plain(wording, layout) -> str:
    bodies = (*filter(None, layout.bodies), *layout.examples)
    return Prompt(wording.text, bodies, KEYSTEPS, names=(wording.names,)).plain()


def check(key, seeds) -> None:
    made = task(key)
    for seed in seeds:
        layout = draw_layout(made, seed, ("train", "test")[seed % 2])
        reader, meant = Reader(key, layout), truth(made, layout)
        for wording in made.wordings(layout):
            text = plain(wording, layout)
            told = reader.read(text)
            assert told, text
            assert all(agrees(one, meant, layout) for one in told), (text, told, meant)


@pytest.mark.parametrize("key", READ)
def test_a_finished_sentence_says_the_leaves(key):
    check(key, range(2))


@pytest.mark.slow
@pytest.mark.parametrize("key", READ)
def test_finished_sentences_of_many_seeds_say_the_leaves(key):
    check(key, range(200))


def mutated(text, layout, generator) -> str | None:
    """A sentence with objects swapped, another direction, order, number, or a negation dropped."""
    names = [n for n in phrases(layout) if n.startswith("the ")]
    there = [n for n in names if re.search(rf"\b{re.escape(n)}\b", text, re.I)]
    kind = generator.integers(3)
    if kind == 0 and there:
        old = there[generator.integers(len(there))]
        own = phrases(layout)[old]
        others = [n for n in names if phrases(layout)[n] != own]
        if others:
            new = others[generator.integers(len(others))]
            pattern = rf"\b{re.escape(old)}\b|\b{re.escape(new)}\b"
            swap = {old.lower(): new, new.lower(): old}
            return re.sub(pattern, lambda m: swap[m[0].lower()], text, flags=re.I)
    if kind == 1:
        number = rf"\b(?:{'|'.join(NUMBERS[2:-1])})\b|\d+(?= degrees)|(?<=key-step )\d+"
        numbers = re.findall(number, text)
        if numbers:
            old = numbers[generator.integers(len(numbers))]
            step = int(generator.choice([-1, 1]))
            new = str(int(old) + step) if old.isdigit() else NUMBERS[NUMBERS.index(old) + step]
            return re.sub(rf"\b{old}\b", new, text)
    for old, new in generator.permutation(SWAPS).tolist():
        if re.search(rf"(?<![\w-]){old.strip()}\b", text) and old in text:
            return text.replace(old, new)
        if new in text and new.strip() and old.strip() not in NEGATIONS:
            return text.replace(new, old)
    return None


@pytest.mark.parametrize("key", READ)
def test_mutated_sentences_are_found(key):
    made, generator, done = task(key), np.random.default_rng(1), 0
    for seed in range(30):
        layout = draw_layout(made, seed, ("train", "test")[seed % 2])
        reader, meant = Reader(key, layout), truth(made, layout)
        for wording in made.wordings(layout):
            text = plain(wording, layout)
            wrong = mutated(text, layout, generator)
            if wrong is None or wrong.lower() == text.lower():
                continue
            told = reader.read(wrong)
            assert not told or not all(agrees(one, meant, layout) for one in told), (text, wrong)
            done += 1
            if done == MUTATIONS:
                return
