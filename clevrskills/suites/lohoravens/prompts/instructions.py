"""Instructions of a scene, drawn at random, with the pick and the place that a perfect actor makes
of them: what actors learn from beside demonstrations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.interfaces.grammar import (
    FREE_AREA,
    Instruction,
    Phrase,
    Refused,
    parse,
)
from clevrskills.suites.lohoravens.interfaces.words import move_of
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.prompts.phrasing import picks_of
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.suites.lohoravens.things import (
    AREAS,
    BESIDE_M,
    SIDE_WORDS,
    SIDES,
    Scene,
    Thing,
)
from clevrskills.tasks.bank_files import read_banks

REWORDED = 0.5
"""Share of instructions that are said in the words of the primitives, of those that can be."""
FREE_SHARE = 0.3
"""How often a free area is the target, beside others."""
TRIES = 10
"""How often as many instructions are drawn as are to be found, at most."""


def draw_instructions(
    env: LoHoRavensEnv, count: int, generator: np.random.Generator
) -> list[tuple[str, Move]]:
    """Instructions that fit the scene as it is, each with what a perfect actor does. Blocks, bowls,
    zones, areas and sides are targets equally often, free areas seldom.

    Args:
        env: The environment.
        count: How many, at most.
        generator: What they are drawn from.
    """
    scene = Scene(env, env.memory.hidden_at_start)
    found: list[tuple[str, Move]] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        thing = scene.movable[int(generator.integers(len(scene.movable)))]
        kinds = [options for options in _targets(thing, scene) if options]
        shares = np.array([FREE_SHARE if options == [FREE_AREA] else 1.0 for options in kinds])
        target = kinds[int(generator.choice(len(kinds), p=shares / shares.sum()))]
        pick = _one([*picks_of(thing, scene)], generator)
        text = f"pick up the {pick} and place it on the {_one(target, generator)}"
        instruction = parse(text)
        assert instruction is not None
        try:
            move = move_of(instruction, scene)
        except Refused:
            continue
        words = reworded(instruction, generator) if generator.random() < REWORDED else ""
        found.append((words or text, move))
    return found


def _targets(thing: Thing, scene: Scene) -> Iterator[list[str]]:
    """What a thing can be placed on, of each kind."""
    others = [other for other in scene.things if other is not thing and other.solid]
    blocks = [other for other in others if other.movable]
    yield [FREE_AREA]
    yield [f"{area} area" for area in AREAS]
    for kind in ("bowl", "zone"):
        yield [other.name for other in others if other.kind == kind]
    yield [name for o in blocks for name in (o.name, f"{o.size} {o.name}")]
    yield [
        f"{side} side of the {o.color} block" for o in blocks if o.kind == "block" for side in SIDES
    ]


def _one(options: Sequence[str], generator: np.random.Generator) -> str:
    return options[int(generator.integers(len(options)))]


def reworded(instruction: Instruction, generator: np.random.Generator) -> str:
    """An instruction in the words of the primitives, none of those held out; empty: they have none
    for it.
    """
    pick, place = instruction.pick, instruction.place
    fields = {"thing": str(Phrase(pick.color, pick.kind, pick.size))}
    if isinstance(place, Phrase):
        of, fields["target"] = "color", str(place)
    elif place.of is not None:
        of, fields["other"], fields["side"] = "side", str(place.of), SIDE_WORDS[place.side]
        fields["distance"] = f"{100 * BESIDE_M:.0f} cm"
    elif place.area in AREAS:
        of, fields["target"] = "area", place.area
    else:
        return ""
    if pick.at in AREAS:
        fields["source"] = pick.at
    bank = read_banks(RavensTask.bank_folder)[f"pick_place_{of}"]
    texts = [
        text
        for _, text, held_out in bank.sentences()
        if not held_out and ("{source}" in text) == ("source" in fields)
    ]
    if not texts or (pick.at and pick.at not in AREAS):
        return ""
    text = _one(texts, generator).format_map(fields)
    return text[:1].upper() + text[1:]
