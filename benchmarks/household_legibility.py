"""Legibility of households: whether images show of which type things are, and in which state.

Small convolutional networks learn from crops of first-person images, as agents see them, in rooms
of the split ``train``; all but the pixels that are asked about is black. In the rooms of ``test``,
which they have never seen, they then say type and state, all together. Rooms are furnished anew
with things on tables, counters and in basins, and all that has states is in a random one in every
image.

Asked about is what a person could tell: what is seen by the rules, fills at least ``least`` pixels,
is no narrower than 16, is less than half hidden, and is whole in the image (or is the fixture that
is looked at); and whose state shows: 150 pixels of it would be others in the plain state. Coffee
does not show in a mug that is seen from the side.

    python benchmarks/household_legibility.py
    python benchmarks/household_legibility.py --contrast low
    python benchmarks/household_legibility.py --quick
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro
from common import print_table
from legibility import JITTERED, MARGIN, jittered, trained, uniform
from PIL import Image, ImageDraw
from torch import Tensor, nn

from clevrskills.suites.asgardbench.drawing.house import HouseScene, state_of
from clevrskills.suites.asgardbench.models.catalogue import STATES, THINGS
from clevrskills.suites.asgardbench.models.model import State
from clevrskills.suites.asgardbench.models.shapes import shape
from clevrskills.suites.asgardbench.models.surfaces import Contrast
from clevrskills.suites.asgardbench.rules.layout import Placed
from clevrskills.suites.asgardbench.rules.sight import FOCAL_PX, LEAST_PX
from clevrskills.suites.asgardbench.rules.slots import free_slots
from clevrskills.suites.asgardbench.rules.world import Entity, World
from clevrskills.suites.asgardbench.tasks.rooms import BATHROOMS, KITCHENS, LIVING_ROOMS, room

CROP_PX = 48
TEST = (*KITCHENS, *BATHROOMS, *LIVING_ROOMS)
TRAIN = (*range(31, 61), *range(431, 441), *range(231, 241))
BASES = ("CounterTop", "DiningTable", "SideTable", "CoffeeTable", "TVStand", "SinkBasin")
THINGS_IN_ROOM = 100
LOOKS_IN_ROOM = 20
SHOWN = ("dirty", "cooked", "filled", "open", "on", "sprayed")
SIZE_PX = 1024
NARROW_PX = 16
"""Width or height of what is seen from its edge, such as a newspaper from the side."""
CHANGED = 4
"""By how much, of 255, a pixel is another at the least."""


@dataclass
class HouseholdArgs:
    """What is looked at."""

    learn: int = 800
    """Images that are learned from."""
    images: int = 150
    """Images in which things are named."""
    epochs: int = 30
    """How often the crops are gone through."""
    networks: int = 3
    """How many networks learn; their answers are averaged."""
    contrast: Contrast = "high"
    """How strongly states show."""
    least: int = 600
    """Pixels of the image that a thing fills at the least."""
    quick: bool = False
    """Only a few images, to see that it runs."""
    cache: Path | None = None
    """Folder in which crops are kept from run to run; that of another drawing misleads."""
    sheet: Path | None = None
    """Image to write, of the crops that are taken for another."""
    out: Path | None = None
    """JSON file to write, of all that is printed."""
    seed: int = 0


@dataclass
class Found:
    """A crop (4, 48, 48) uint8 with its mask, its scale, and what it shows."""

    pixels: np.ndarray
    scale: float
    kind: str
    state: str


class Net(nn.Module):
    """Logits of the type, and of the type in its state: an open box is a class of its own, or the
    many things that are always plain would make everything likely to be.
    """

    def __init__(self, kinds: int, states: int) -> None:
        super().__init__()
        widths = (4, 24, 48, 96, 128)
        layers: list[nn.Module] = []
        for before, after in zip(widths, widths[1:], strict=False):
            first = before == widths[0]
            layers += [nn.Conv2d(before, after, 3, 2 if first else 1, 1, bias=False),
                       nn.BatchNorm2d(after), nn.ReLU()]  # fmt: skip
            layers += [] if first else [nn.MaxPool2d(2)]
        self.body = nn.Sequential(*layers, nn.Flatten())
        features = widths[-1] * (CROP_PX // 16) ** 2 + 1
        self.kind, self.state = nn.Linear(features, kinds), nn.Linear(features, states)

    def forward(self, pixels: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """From (B, 4, 48, 48), in [-1, 1], and (B,)."""
        with torch.autocast("cpu", torch.bfloat16):  # several times faster
            seen = self.body(pixels.contiguous(memory_format=torch.channels_last)).float()
        seen = torch.cat((seen, scale[:, None]), dim=1)
        seen = nn.functional.dropout(seen, 0.2, self.training)
        return self.kind(seen), self.state(seen)


def told(state: State) -> str:
    """A state in words."""
    words = [str(v) if isinstance(v, str) else k for k, v in vars(state).items() if v]
    return " ".join(words) or "plain"


def in_state(kind: str, state: str) -> str:
    """A type in a state, as one class."""
    return f"{kind}: {state}"


def furnished(label: int, rng: np.random.Generator) -> World:
    """A room with things in it."""
    made = room(label)
    bases = [f for f in made.fixtures if f.type in BASES]
    there: dict[str, list[tuple[str, int]]] = {f.id: [] for f in bases}
    placed = []
    kinds = [*rng.permutation([*THINGS]).tolist(), *rng.permutation([*THINGS]).tolist()]
    for k, kind in enumerate(kinds[:THINGS_IN_ROOM]):
        for n in rng.permutation(len(bases)).tolist():
            base = bases[n]
            slots = free_slots(base, base.model, kind, there[base.id])
            if slots:
                slot = slots[int(rng.integers(min(len(slots), 8)))]
                there[base.id].append((kind, slot))
                placed.append(Placed(f"{kind}_{k}", kind, base.id, slot))
                break
    return World(made, placed)


def shuffle_states(world: World, rng: np.random.Generator) -> None:
    """Put half of all into random ones of their states."""
    for entity in world.entities.values():
        if rng.random() < 0.5:
            continue
        states = (State(), *STATES.get(entity.type, ()))
        put_into(entity, states[int(rng.integers(len(states)))])


def put_into(entity: Entity, state: State) -> None:
    """Put an entity into a state."""
    for name in SHOWN:
        value = getattr(state, name)
        setattr(entity, name, (value or "") if name == "filled" else value)


def crops(args: HouseholdArgs, labels: tuple[int, ...], count: int, seed: int) -> Iterator[Found]:
    """What is seen in images of what has been looked at least."""
    rng = np.random.default_rng(seed)
    scene = HouseScene(args.contrast, SIZE_PX)
    taken, asked = 0, Counter[str]()
    while taken < count:
        world = furnished(labels[int(rng.integers(len(labels)))], rng)
        shuffle_states(world, rng)
        order = [[*world.entities.values()][k] for k in rng.permutation(len(world.entities))]
        for _ in range(min(LOOKS_IN_ROOM, count - taken)):
            shuffle_states(world, rng)
            entity = min(order, key=lambda e: asked[e.type])  # rare types first
            order.remove(entity)
            world.look_at(entity)
            asked[entity.type] += 1
            plain = world.copy()
            for each in plain.entities.values():
                put_into(each, State())
            other = scene.image(plain)
            least_px = scene.pixels(entity.id).sum() / 2
            image, taken = scene.image(world), taken + 1
            numbers, keys = scene.stage.segmentation()
            changed = np.abs(image.astype(np.int16) - other).max(-1) >= CHANGED
            if entity.type not in THINGS and scene.pixels(entity.id).sum() < least_px:
                continue  # something that is open hides it
            for found in seen_in(args, world, entity, image, numbers, keys, changed):
                asked[found.kind] += 1
                yield found


def seen_in(
    args: HouseholdArgs,
    world: World,
    looked_at: Entity,
    image: np.ndarray,
    numbers: np.ndarray,
    keys: dict[int, object],
    changed: np.ndarray,
) -> Iterator[Found]:
    """Crops of all in an image that is asked about."""
    last = SIZE_PX - 1
    counts = np.bincount(numbers.ravel())
    count = Counter[object]()
    for number in np.flatnonzero(counts).tolist():
        count[keys.get(number)] += int(counts[number])
    for entity in world.entities.values():
        if count[entity.id] < args.least:
            continue
        parts = [numbers == n for n, key in keys.items() if key == entity.id and n < len(counts)]
        mask = np.logical_or.reduce(parts)
        rows, columns = np.nonzero(mask)
        ends = rows.min(), rows.max(), columns.min(), columns.max()
        whole = ends[0] > 0 and ends[1] < last and ends[2] > 0 and ends[3] < last
        if entity is not looked_at or entity.type in THINGS:
            if not whole or count[entity.id] < 0.5 * silhouette_px(world, entity):
                continue
        state = state_of(entity)
        if state != State() and np.count_nonzero(mask & changed) < LEAST_PX:
            continue
        if world.visible(entity):
            pixels, scale = cut(image, mask, ends)
            yield Found(pixels, scale, entity.type, told(state))


def silhouette_px(world: World, entity: Entity) -> float:
    """Pixels that an entity would fill if nothing hid it."""
    fixture = world.fixtures.get(entity.id)
    if fixture is None:
        x, y, z, yaw, _ = world.pose(entity)
        made = shape(entity.type)
    else:
        x, y, z, yaw = fixture.x_m, fixture.y_m, fixture.z_m, fixture.yaw_rad
        made = shape(fixture.model, fixture.width_m)
    way = np.subtract((x, y, z), world.camera.eye)
    far = float(np.linalg.norm(way))
    c, s = np.cos(yaw), np.sin(yaw)
    own = np.abs([c * way[0] + s * way[1], c * way[1] - s * way[0], way[2]]) / far
    return float(np.linalg.norm(own * made.areas_m2)) * (FOCAL_PX / far) ** 2


def cut(
    image: np.ndarray, mask: np.ndarray, ends: tuple[int, int, int, int]
) -> tuple[np.ndarray, float]:
    """Square around what is asked about, (4, 48, 48) uint8, black outside it, and the logarithm of
    its width.
    """
    top, bottom, left, right = ends
    half = max(MARGIN * max(bottom - top, right - left) / 2, 4.0)
    y, x = (top + bottom) / 2, (left + right) / 2
    low = np.maximum(np.floor([y - half, x - half]), 0).astype(int)
    high = np.ceil([y + half, x + half]).astype(int) + 1
    part = np.s_[low[0] : high[0], low[1] : high[1]]
    alpha = 255 * mask[part].astype(np.uint8)
    # resizing weighs colors by alpha: what is around does not show
    seen = Image.fromarray(np.dstack([image[part] * (alpha[..., None] > 0), alpha]))
    box = (x - half - low[1], y - half - low[0], x + half - low[1], y + half - low[0])
    left, top, width = int(np.floor(box[0])), int(np.floor(box[1])), int(np.ceil(2 * half))
    square = seen.crop((left, top, left + width, top + width))
    small = square.resize((CROP_PX, CROP_PX), Image.Resampling.BOX)
    return np.asarray(small).transpose(2, 0, 1), float(np.log(half / SIZE_PX))


def kept(args: HouseholdArgs, name: str, labels: tuple[int, ...], count: int) -> list[Found]:
    """The crops of a set, from the cache if they are there."""
    seed = args.seed + (name == "test")
    path = args.cache and args.cache / f"{name}-{args.contrast}-{count}-{seed}-{args.least}.npz"
    if path and path.exists():
        data = np.load(path)
        columns = (data[key] for key in ("pixels", "scale", "kind", "state"))
        return [Found(p, float(s), str(k), str(t)) for p, s, k, t in zip(*columns, strict=True)]
    found = list(crops(args, labels, count, seed))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {key: [getattr(crop, key) for crop in found] for key in ("scale", "kind", "state")}
        np.savez(path, pixels=np.stack([crop.pixels for crop in found]), **about)
    return found


def shades(pixels: Tensor) -> Tensor:
    """Crops (B, 4, H, W) jittered, each color by itself too, half of them mirrored."""
    mirrored = torch.rand(len(pixels), 1, 1, 1) < 0.5
    pixels = torch.where(mirrored, pixels.flip(-1), pixels)
    return jittered(pixels) * (1 + 0.05 * uniform(len(pixels), 4, 1, 1))


def batch(found: list[Found], kinds: list[str], states: list[str]) -> tuple[Tensor, ...]:
    """Pixels in [-1, 1], scales, types, and types in their states."""
    return (
        torch.from_numpy(np.stack([crop.pixels for crop in found])).float() / 127.5 - 1,
        torch.tensor([crop.scale for crop in found]),
        torch.tensor([kinds.index(crop.kind) for crop in found]),
        torch.tensor([states.index(in_state(crop.kind, crop.state)) for crop in found]),
    )


def narrow(crop: Found) -> bool:
    """Whether what a crop shows is a narrow strip of the image."""
    mask = crop.pixels[3] > 127
    least = min(int(mask.any(axis).sum()) for axis in (0, 1))
    return least / CROP_PX * 2 * np.exp(crop.scale) * SIZE_PX < NARROW_PX


@torch.inference_mode()
def named(
    nets: list[Net], found: list[Found], kinds: list[str], states: list[str]
) -> list[tuple[str, str]]:
    """The type, and the state among those of the true type, that each crop is given."""
    pixels, scale, *_ = batch(found, kinds, states)
    seen = [net(shades(pixels), scale) for net in nets for _ in range(JITTERED)]
    kind, state = (torch.stack([s[k].softmax(-1) for s in seen]).mean(0) for k in (0, 1))
    answers = []
    for row, crop in enumerate(found):
        known = {
            in_state(crop.kind, s): s for s in ("plain", *map(told, STATES.get(crop.kind, ())))
        }
        likely = known[max({*known} & {*states}, key=lambda s: float(state[row, states.index(s)]))]
        answers.append((kinds[int(kind[row].argmax())], likely))
    return answers


def draw_sheet(path: Path, wrong: list[tuple[Found, tuple[str, str]]]) -> None:
    """Write an image of crops with what they are and what they are taken for."""
    size, across = 4 * CROP_PX, 6
    sheet = Image.new("RGB", (across * size, -(-len(wrong) // across) * (size + 26)), "white")
    pen = ImageDraw.Draw(sheet)
    for k, (crop, answer) in enumerate(wrong):
        x, y = k % across * size, k // across * (size + 26)
        picture = Image.fromarray(crop.pixels[:3].transpose(1, 2, 0))
        sheet.paste(picture.resize((size - 4, size - 4), Image.Resampling.BICUBIC), (x, y + 24))
        pen.text((x + 2, y), f"{crop.kind} {crop.state}", "black")
        pen.text((x + 2, y + 11), f"for {' '.join(answer)}", "red")
    sheet.save(path)


def main(args: HouseholdArgs) -> None:
    """Learn, look and print tables."""
    torch.set_num_threads(1)
    if args.quick:
        args = replace(args, learn=24, images=12, epochs=3)
    known = kept(args, "train", TRAIN, args.learn)
    kinds = sorted({crop.kind for crop in known})
    states = sorted({in_state(crop.kind, crop.state) for crop in known})
    found = [
        crop
        for crop in kept(args, "test", TEST, args.images)
        if in_state(crop.kind, crop.state) in states and not narrow(crop)
    ]
    nets = []
    for seed in range(args.networks):
        torch.manual_seed(seed)
        net = Net(len(kinds), len(states))
        nets.append(trained(net, batch(known, kinds, states), args.epochs, shades))
    answers = named(nets, found, kinds, states)
    several = np.array([crop.kind in STATES for crop in found])
    kind_right = np.array([a[0] == c.kind for c, a in zip(found, answers, strict=True)])
    state_right = np.array([a[1] == c.state for c, a in zip(found, answers, strict=True)])
    parts = (
        ("type", kind_right),
        ("state, of types that have several", state_right[several]),
        ("both", kind_right & state_right),
    )
    rows: list[list[object]] = [
        [what, len(right), f"{100 * right.mean():.1f}"] for what, right in parts
    ]
    title = f"contrast {args.contrast}; {len(kinds)} types; learned from {len(known)} crops"
    print_table(title, ["of", "crops", "% named rightly"], rows)
    wrong = [pair for pair in zip(found, answers, strict=True) if pair[1] != _truth(pair[0])]
    times: Counter[str] = Counter()
    for crop, (kind, state) in wrong:
        if kind != crop.kind:
            times[f"{crop.kind} for {kind}"] += 1
        if state != crop.state:
            times[f"{crop.kind}: {crop.state} for {state}"] += 1
    most: list[list[object]] = [list(each) for each in times.most_common(25)]
    print_table("taken for another", ["what, for what", "times"], most)
    if args.sheet:
        draw_sheet(args.sheet, wrong[:60])
    if args.out:
        about = {key: str(value) for key, value in asdict(args).items()}
        result = {"settings": about, "learned_from": len(known), "rows": rows, "wrong": times}
        args.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def _truth(crop: Found) -> tuple[str, str]:
    return crop.kind, crop.state


if __name__ == "__main__":
    main(tyro.cli(HouseholdArgs, description=__doc__))
