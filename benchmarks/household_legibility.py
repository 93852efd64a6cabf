"""Legibility of households: whether images show of which type things are, and in which state.

A small convolutional network learns from crops of first-person images in rooms of the
split ``train``, each with a mask of the pixels that are asked about. In the rooms of ``test`` it
then says type and state of what the agent looks at. Things lie in any place where one looks down
on them, in any of their states; fixtures are switched and opened at random.

    python benchmarks/household_legibility.py
    python benchmarks/household_legibility.py --contrast low
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import tyro
from common import print_table
from legibility import JITTERED, Net, cut, jittered, trained

from clevrskills.suites.asgardbench.drawing.house import HouseScene, state_of
from clevrskills.suites.asgardbench.models.catalogue import STATES, THINGS
from clevrskills.suites.asgardbench.models.model import State
from clevrskills.suites.asgardbench.models.surfaces import Contrast
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.sight import LEAST_PX
from clevrskills.suites.asgardbench.rules.slots import free_slots
from clevrskills.suites.asgardbench.rules.world import Entity, World
from clevrskills.suites.asgardbench.tasks.rooms import BATHROOMS, KITCHENS, LIVING_ROOMS, room

CROP_PX = 48
TEST = (*KITCHENS, *BATHROOMS, *LIVING_ROOMS)
TRAIN = (*range(31, 61), *range(431, 441), *range(231, 241))
BASES = ("CounterTop", "DiningTable", "SideTable", "CoffeeTable", "TVStand", "SinkBasin")
THINGS_IN_ROOM = 30
SHOWN = ("dirty", "cooked", "filled", "open", "on", "sprayed")


@dataclass
class HouseholdArgs:
    """What is looked at."""

    learn: int = 700
    """Images that are learned from."""
    images: int = 250
    """Images in which things are named."""
    epochs: int = 16
    """How often the crops are gone through."""
    contrast: Contrast = "high"
    """How strongly states show."""
    size: int = 1024
    """Width and height of the images, in pixels."""
    seed: int = 0


@dataclass
class Found:
    """A crop (4, 48, 48) uint8 with its mask, its scale, and what it shows."""

    pixels: np.ndarray
    scale: float
    kind: str
    state: str


def told(entity: Entity) -> str:
    """The state of an entity in words."""
    state = state_of(entity)
    words = [str(v) if isinstance(v, str) else k for k, v in vars(state).items() if v]
    return " ".join(words) or "plain"


def furnished(label: int, rng: np.random.Generator) -> World:
    """A room with things in it, all in random states."""
    made = room(label)
    bases = [f for f in made.fixtures if f.type in BASES]
    there: dict[str, list[tuple[str, int]]] = {f.id: [] for f in bases}
    placed = []
    for kind in rng.permutation([*THINGS])[:THINGS_IN_ROOM].tolist():
        for n in rng.permutation(len(bases)).tolist():
            base = bases[n]
            slots = free_slots(base, base.model, kind, there[base.id])
            if slots:
                slot = slots[int(rng.integers(min(len(slots), 8)))]
                there[base.id].append((kind, slot))
                placed.append(Placed(kind, kind, base.id, slot))
                break
    world = World(made, placed)
    for entity in world.entities.values():
        states = (State(), *STATES.get(entity.type, ()))
        state = states[int(rng.integers(len(states)))]
        for name in SHOWN:
            value = getattr(state, name)
            setattr(entity, name, (value or "") if name == "filled" else value)
    return world


def crops(args: HouseholdArgs, labels: tuple[int, ...], count: int, seed: int) -> Iterator[Found]:
    """What is looked at, and the things that stand by it."""
    rng = np.random.default_rng(seed)
    scene = HouseScene(args.contrast, args.size)
    taken = 0
    asked: Counter[str] = Counter()
    while taken < count:
        label = labels[int(rng.integers(len(labels)))]
        world = furnished(label, rng)
        wanted = list(world.entities.values())
        rng.shuffle(wanted)  # type: ignore[arg-type]
        wanted.sort(key=lambda e: asked[e.type])  # rare types first
        for entity in wanted[:16]:
            world.look_at(entity)
            if not world.visible(entity):
                continue
            asked[entity.type] += 1
            image, taken = scene.image(world), taken + 1
            numbers, keys = scene.stage.segmentation()
            for other in world.entities.values():
                near = other is entity or (
                    other.type in THINGS and world.base(other) is world.base(entity)
                )
                if not near or not world.visible(other):
                    continue
                mask = np.isin(numbers, [n for n, key in keys.items() if key == other.id])
                rows, columns = np.nonzero(mask)
                if len(rows) < LEAST_PX * (args.size / 1024) ** 2:
                    continue
                seen = np.dstack([image, 255 * mask.astype(np.uint8)])
                pixels, scale = cut(seen, rows, columns, CROP_PX)
                yield Found(pixels, scale, other.type, told(other))


def batch(
    found: list[Found], kinds: list[str], states: list[str]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Pixels in [-1, 1], scales, types and states."""
    return (
        torch.from_numpy(np.stack([crop.pixels for crop in found])).float() / 127.5 - 1,
        torch.tensor([crop.scale for crop in found]),
        torch.tensor([kinds.index(crop.kind) for crop in found]),
        torch.tensor([states.index(crop.state) for crop in found]),
    )


@torch.inference_mode()
def named(net: Net, found: list[Found], kinds: list[str], states: list[str]) -> list[list[str]]:
    """The type, and the state among those of the true type, that each crop is given."""
    pixels, scale, _, _ = batch(found, kinds, states)
    seen = [net(jittered(pixels), scale) for _ in range(JITTERED)]
    kind, state = (torch.stack([s[k].softmax(-1) for s in seen]).mean(0) for k in (0, 1))
    answers = []
    for row, crop in enumerate(found):
        allowed = {crop.state, "plain", *(known_states(crop.kind))}
        likely = max(allowed & {*states}, key=lambda s: float(state[row, states.index(s)]))
        answers.append([kinds[int(kind[row].argmax())], likely])
    return answers


def known_states(kind: str) -> set[str]:
    """The states in which a type is drawn, in words."""
    return {
        " ".join(str(v) if isinstance(v, str) else k for k, v in vars(s).items() if v)
        for s in STATES.get(kind, ())
    }


def main(args: HouseholdArgs) -> None:
    """Learn, look and print tables."""
    torch.set_num_threads(1)
    known = list(crops(args, TRAIN, args.learn, args.seed))
    kinds = sorted({crop.kind for crop in known})
    states = sorted({crop.state for crop in known})
    found = [
        crop
        for crop in crops(args, TEST, args.images, args.seed + 1)
        if crop.kind in kinds and crop.state in states
    ]
    torch.manual_seed(0)
    net = Net(len(kinds), len(states), CROP_PX, 4)
    net = trained(net, batch(known, kinds, states), args.epochs)
    answers = named(net, found, kinds, states)
    wrong: Counter[str] = Counter()
    right = np.zeros(3, int)
    stateful = 0
    for crop, (kind, state) in zip(found, answers, strict=True):
        has = crop.kind in STATES
        stateful += has
        right += [kind == crop.kind, has and state == crop.state, (kind, state) ==
                  (crop.kind, crop.state)]  # fmt: skip
        if kind != crop.kind:
            wrong[f"{crop.kind} for {kind}"] += 1
        if state != crop.state:
            wrong[f"{crop.kind}: {crop.state} for {state}"] += 1
    total = len(found)
    title = f"{args.size} px, contrast {args.contrast}; {len(kinds)} types"
    title += f"; learned from {len(known)} crops"
    rows: list[list[object]] = [
        ["type", total, f"{100 * right[0] / total:.1f}"],
        ["state, of types that have several", stateful, f"{100 * right[1] / stateful:.1f}"],
        ["both", total, f"{100 * right[2] / total:.1f}"],
    ]
    print_table(title, ["of", "crops", "% named rightly"], rows)
    most: list[list[object]] = [list(each) for each in wrong.most_common(25)]
    print_table("taken for another", ["what, for what", "times"], most)


if __name__ == "__main__":
    main(tyro.cli(HouseholdArgs, description=__doc__))
