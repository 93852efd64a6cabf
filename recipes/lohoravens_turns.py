"""Training turns for pick-and-place policies, drawn without an arm and much faster than with
`clevrskills generate`: color and height map, instruction, and pick and place.

For primitives, a drawn episode gives the initial scene with the task's sentence and the solver's
move. Then random instructions are drawn with the move of a perfect executor. One of them is
executed by moving the block to its target, and this repeats `--depth` times. The last instruction,
already satisfied, also gives an example of the end.

    python recipes/lohoravens_turns.py --level primitive --level seen --count 100 --out turns.npz
    clevrskills train --policy cliport --data turns.npz --out runs/actor
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import all_levels, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.lohoravens.env import LoHoRavensEnv
from clevrskills.suites.lohoravens.field import (
    AREAS,
    BESIDE_M,
    SIDE_WORDS,
    SIDES,
    FieldBody,
    FieldView,
)
from clevrskills.suites.lohoravens.interfaces.grammar import (
    FREE_AREA,
    Instruction,
    Phrase,
    Refused,
    parse,
)
from clevrskills.suites.lohoravens.interfaces.numbers import NOWHERE_PX, pixel_of
from clevrskills.suites.lohoravens.interfaces.words import move_of
from clevrskills.suites.lohoravens.move import Move
from clevrskills.suites.lohoravens.prompts.phrasing import picks_of
from clevrskills.suites.lohoravens.solver import next_move
from clevrskills.suites.lohoravens.solver.rehearsal import carry_out
from clevrskills.suites.lohoravens.tasks.base import RavensTask
from clevrskills.tasks.bank_files import read_banks

FIRST_SEED = 10_000_000
"""First seed, far from those of evaluations."""
REWORDED = 0.5
"""Share of instructions worded like the primitives, where possible."""
FREE_SHARE = 0.3
"""Weight of free areas as targets."""
TRIES = 10
"""Maximum number of drawn instructions per wanted one."""


def main() -> None:
    """Draw the turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--level", action="append", default=[], help="all tasks of a level")
    parser.add_argument("--count", type=int, default=1000, help="episodes of each task")
    parser.add_argument("--instructions", type=int, default=5, help="drawn for each image")
    parser.add_argument("--depth", type=int, default=2, help="images of each episode")
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    suite = load_suite("lohoravens")
    levels = all_levels(suite)
    tasks = [*args.tasks, *(key for key, level in levels.items() if level in args.level)]
    found: dict[str, list[Any]] = defaultdict(list)
    for task in tasks:
        split = next(iter(suite.tasks[task].splits))
        env: Any = suite.make(EnvConfig(task, split, cameras=("map",), look="flat"))
        for seed in range(args.seed, args.seed + args.count):
            try:
                episode = suite.draw(task, split, seed)
                env.reset(options={"episode": episode})
            except ClevrSkillsError:
                continue
            images = len(found["map"])
            add_episode(found, env, levels[task] == "primitive", args, seed)
            found["task"] += [task] * (len(found["map"]) > images)
        env.close()
    arrays = {name: np.array(values) for name, values in found.items()}
    np.savez_compressed(args.out, **arrays)
    print(f"{len(arrays['text'])} turns of {len(arrays['map'])} images in {args.out}")


def add_episode(
    found: dict[str, list[Any]],
    env: Any,
    is_primitive: bool,
    args: argparse.Namespace,
    seed: int,
) -> None:
    """Add the turns of an episode."""
    generator = np.random.default_rng(np.random.SeedSequence((args.seed, seed)))
    last = None
    for number in range(args.depth):
        turns: list[tuple[str, Move]] = []
        if is_primitive and not number:
            move = next_move(env.goal, env.world, env.goal_state)
            turns += [(env.prompt.plain(), move)] if move is not None else []
        turns += draw_instructions(env, args.instructions, generator)
        if not turns:
            return
        scene = len(found["map"])
        found["map"].append(env.capture()["map"])
        found["height"].append(env.look(("height",))["height"].astype(np.float16))
        for text, move in turns:
            action = [*pixel_of(move.pick), *pixel_of(move.place)]
            add_turn(found, scene, text, action)
        if last is not None:
            add_turn(found, scene, last, [NOWHERE_PX] * 6)
        last, move = turns[int(generator.integers(len(turns)))]
        carry_out(env.world, move)


def add_turn(found: dict[str, list[Any]], scene: int, text: str, action: list[int]) -> None:
    """Add a turn of an image."""
    for name, value in (("scene", scene), ("text", text), ("action", action)):
        found[name].append(value)


def draw_instructions(
    env: LoHoRavensEnv, count: int, generator: np.random.Generator
) -> list[tuple[str, Move]]:
    """Return instructions that fit the present scene, each with the move of a perfect executor.
    Blocks, bowls, zones, areas and sides are targets equally often, free areas rarely.

    Args:
        env: The environment.
        count: Maximum number of instructions.
        generator: Random generator.
    """
    scene = FieldView(env, env.memory.hidden_at_start)
    found: list[tuple[str, Move]] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        body = scene.movable[int(generator.integers(len(scene.movable)))]
        kinds = [options for options in _targets(body, scene) if options]
        shares = np.array([FREE_SHARE if options == [FREE_AREA] else 1.0 for options in kinds])
        target = kinds[int(generator.choice(len(kinds), p=shares / shares.sum()))]
        pick = _one([*picks_of(body, scene)], generator)
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


def _targets(body: FieldBody, scene: FieldView) -> Iterator[list[str]]:
    """Return the possible supports of an object, by kind."""
    others = [other for other in scene.bodies if other is not body and other.solid]
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
    """Return an instruction worded like the primitives, without held-out words; empty if they have
    no wording for it.
    """
    pick, place = instruction.pick, instruction.place
    fields = {"object": str(Phrase(pick.color, pick.kind, pick.size))}
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


if __name__ == "__main__":
    main()
