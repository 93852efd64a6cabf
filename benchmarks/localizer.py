"""Small networks that find the objects of perturbed starts by sight: whether an episode that the
oracle solves can also be told by sight.

    python benchmarks/localizer.py
    python benchmarks/localizer.py --train 300 --epochs 2 --test 11   # a trial

They are shown the image of the base camera and, of one object, swatch and size; they say where in
the image the middle of the object is. With the place of the camera and the height of the object
that is a place on the table. The first sees the whole image, coarsely; the second, in full, what
is around the place that the first found. They are trained on drawn episodes with all axes of what
is seen at once, each at a level of its own, and tested on kept frozen ones, axis by axis. Of
objects with the same texture, any will do. Objects that are thrown at stand where a pixel is 5 cm
of the table; they are not asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import torch
import tyro
from common import print_table
from torch import nn

from clevrskills.assets import texture
from clevrskills.assets.tints import lab
from clevrskills.core.episode import DEMONSTRATIONS
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import load_suite
from clevrskills.envs.axes.visibility import LEAST_PX, hidden, start_view
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.cameras import FixedCamera
from clevrskills.tasks import task as make_task

WHOLE_PX, AROUND_PX = 64, 64
"""Height of the image that the first network sees, and of the part that the second sees."""
NEAR_M = 0.015
CLOSE_LAB = 12.0
"""Distance of colors, in CIELAB, at which a pixel is half as much like a swatch."""
JITTER_PX = 8
"""How far the second network's part is off in training, at most."""


@dataclass
class Args:
    """How much is drawn."""

    train: int = 3000
    """Episodes that are trained on."""
    epochs: int = 10
    """How often each object of them is shown."""
    test: int = 33
    """Frozen episodes of each axis and level, of one task after the other."""
    batch: int = 16
    """Objects in a training step."""
    seed: int = 0
    """Of the networks and of the order."""


@dataclass(frozen=True)
class Sample:
    """One object of one start.

    Attributes:
        image: (H, W, 3) uint8.
        colors: Colors of its swatch in CIELAB, (4, 3).
        size_m: Half extents, (3,).
        camera: The camera.
        places_m: Its middle in the world, and those of all with the same texture, (N, 3).
        name: Task and body.
    """

    image: np.ndarray
    colors: np.ndarray
    size_m: np.ndarray
    camera: FixedCamera
    places_m: np.ndarray
    name: str

    @cached_property
    def middles_px(self) -> np.ndarray:
        """Where the middles are in the image, right and down, (N, 2)."""
        return self.camera.pixels(self.places_m)

    @cached_property
    def whole(self) -> np.ndarray:
        """What the first network is shown, (10, WHOLE_PX, WHOLE_PX) float16: the most alike pixel
        of each cell, the mean of the rest.
        """
        found = features(self.image, self)
        cells = found.reshape(len(found), WHOLE_PX, -1, WHOLE_PX, len(self.image) // WHOLE_PX)
        shown = cells.mean((2, 4))
        shown[3:5] = cells[3:5].max((2, 4))
        return np.asarray(shown, np.float16)

    def around(self, middle_px: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the second network is shown, (12, AROUND_PX, AROUND_PX), and its corner (2,)."""
        most = len(self.image) - AROUND_PX
        corner = (np.round(middle_px).astype(int) - AROUND_PX // 2).clip(0, most)
        left, top = corner
        part = self.image[top : top + AROUND_PX, left : left + AROUND_PX]
        place_px = np.broadcast_to(
            (corner / most - 0.5)[:, None, None], (2, AROUND_PX, AROUND_PX)
        ).astype(np.float32)
        return np.concatenate([features(part, self), place_px]), corner


def samples(episode: EpisodeSpec) -> Iterator[Sample]:
    """The objects of the task within reach that show at the start and are not held."""
    task = make_task(episode.task, **episode.task_args)
    setting, slots = task.setting, len(task.slots)
    present = [(k, body) for k, body in enumerate(episode.layout.bodies) if body]
    bodies = [body for _, body in present]
    view = start_view(episode, setting, bodies, episode.conditions)
    camera = episode.conditions.of(setting).cameras[setting.watch[0]]
    image = np.ascontiguousarray(view.color[..., :3])
    for number, (k, body) in enumerate(present):
        shown = int((view.segmentation == 1 + number).sum())
        if k >= slots or k == episode.layout.in_gripper or not body.texture or shown < LEAST_PX:
            continue
        alike = [o for _, o in present if o is not body and o.texture == body.texture]
        places_m = np.array([one.pose[:3] for one in (body, *alike)])
        middle = camera.pixels(places_m[:1])[0]
        inside = (middle > 2).all() and (middle < len(image) - 2).all()
        if inside and setting.workspace.contains(*body.pose[:2]):
            size, colors = np.array(body.geometry.half_extents), swatch_colors(body.texture)
            yield Sample(image, colors, size, camera, places_m, f"{episode.task} {body.key}")


def swatch_colors(name: str) -> np.ndarray:
    """Four colors of a texture, from dark to light, in CIELAB, (4, 3)."""
    pixels = np.asarray(texture(name), float).reshape(-1, 3)
    order = np.argsort(pixels.sum(1), kind="stable")
    return np.array([lab(part.mean(0)) for part in np.array_split(pixels[order], 4)], np.float32)


@cache
def _lab_of_colors() -> np.ndarray:
    """Colors in steps of 8 in CIELAB, (32, 32, 32, 3)."""
    steps = 8.0 * np.arange(32) + 4.0
    colors = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1)
    found = np.array([lab(color) for color in colors.reshape(-1, 3)], np.float32)
    return found.reshape(32, 32, 32, 3)


def features(image: np.ndarray, sample: Sample) -> np.ndarray:
    """What is shown of an image (H, W, 3) when an object is looked for, (10, H, W) float32."""
    coarse = image >> 3
    seen = _lab_of_colors()[coarse[..., 0], coarse[..., 1], coarse[..., 2]]
    apart = np.min([np.square(seen - color).sum(-1) for color in sample.colors], 0)  # (H, W)
    weights = np.array((0.3, 1.0, 1.0), np.float32)
    hue = np.square((seen - sample.colors.mean(0)) * weights).sum(-1)
    rows = np.linspace(-1, 1, len(image))
    found = np.empty((10, *image.shape[:2]), np.float32)
    found[:3] = image.transpose(2, 0, 1) / np.float32(255) - np.float32(0.5)
    found[3:5] = 0.5 ** (np.sqrt([apart, hue]) / CLOSE_LAB)
    found[5:7] = np.broadcast_arrays(rows[:, None], rows[None])
    found[7:] = 10 * sample.size_m[:, None, None]
    return found


CELL_PX = 2


class Localizer(nn.Module):
    """Where in what it is shown an object is, as a map of logits, one of each cell."""

    def __init__(self, channels: int, width: int = 24) -> None:
        super().__init__()

        def block(before: int, after: int) -> nn.Sequential:
            return nn.Sequential(
                *(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
                *(nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
            )

        self.first = block(channels * CELL_PX**2, width)
        self.second, self.third = block(width, 2 * width), block(2 * width, 4 * width)
        self.fourth = block(4 * width, 4 * width)
        self.up_third, self.up_second = block(8 * width, 2 * width), block(4 * width, width)
        self.up_first = block(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)
        self.down, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(nn.functional.pixel_unshuffle(x, CELL_PX))
        second = self.second(self.down(first))
        third = self.third(self.down(second))
        y = self.up(self.fourth(self.down(third)))
        y = self.up(self.up_third(torch.cat([y, third], 1)))
        y = self.up(self.up_second(torch.cat([y, second], 1)))
        found: torch.Tensor = self.out(self.up_first(torch.cat([y, first], 1)))[:, 0]
        return found


def middles(logits: torch.Tensor, near: int | None = None) -> torch.Tensor:
    """Middles (B, 2) of what is likely, in cells right and down.

    Args:
        logits: (B, H, W).
        near: Only what is so near to the likeliest cell counts.
    """
    count, rows, columns = logits.shape
    ys, xs = torch.arange(rows)[:, None] + 0.5, torch.arange(columns)[None] + 0.5
    if near is not None:
        best = logits.flatten(1).argmax(1)
        off_y = (ys[None] - 0.5 - (best // columns)[:, None, None]).abs()
        off_x = (xs[None] - 0.5 - (best % columns)[:, None, None]).abs()
        logits = logits.masked_fill((off_y > near) | (off_x > near), -1e9)
    share = logits.flatten(1).softmax(1).reshape(count, rows, columns)
    return torch.stack([(share * xs).sum((1, 2)), (share * ys).sum((1, 2))], 1)


def place(camera: FixedCamera, pixel: np.ndarray, height_m: float) -> np.ndarray:
    """The place (2,) at a height that is seen at a pixel of the camera, by Newton's method."""
    found = np.array([-0.2, 0.0])
    steps = np.array([[0.0, 0.0], [1e-4, 0.0], [0.0, 1e-4]])
    for _ in range(12):
        points = np.column_stack([found + steps, np.full(3, height_m)])
        at, right, left = camera.pixels(points)
        slope = np.stack([right - at, left - at], 1) / 1e-4
        try:
            step = np.linalg.solve(slope, pixel - at)
        except np.linalg.LinAlgError:
            break
        found = found + step.clip(-0.1, 0.1)
    return found


Shown = Callable[[Sample, np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""Gives what a network is shown of a sample, and where the middles are in it, in its pixels."""


def show_whole(sample: Sample, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """For the first network."""
    return sample.whole, sample.middles_px * WHOLE_PX / len(sample.image)


def show_around(sample: Sample, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """For the second one, somewhat off."""
    off = generator.uniform(-JITTER_PX, JITTER_PX, 2)
    part, corner = sample.around(sample.middles_px[0] + off)
    return part, sample.middles_px - corner


def loss_of(logits: torch.Tensor, middles_px: Sequence[np.ndarray]) -> torch.Tensor:
    """Cross-entropy with what is within about a cell of the middles, each (N, 2), and how many
    cells the likeliest place is off the nearest one.
    """
    grid = torch.arange(logits.shape[-1]) + 0.5
    found = middles(logits, near=3)
    targets, off = [], []
    for place, each in zip(found, middles_px, strict=True):
        at = torch.from_numpy(each / CELL_PX).float()
        across = (grid[None, None] - at[:, 0, None, None]) ** 2
        apart = across + (grid[None, :, None] - at[:, 1, None, None]) ** 2
        targets.append((-0.5 * apart).logsumexp(0).flatten().softmax(0))
        off.append((place - at).abs().clamp(max=4).sum(1).amin())
    likely = logits.flatten(1).log_softmax(1)
    entropy = -(torch.stack(targets) * likely).sum(1).mean()
    return entropy + 0.5 * torch.stack(off).mean()


def train(network: Localizer, found: Sequence[Sample], shown: Shown, args: Args) -> Localizer:
    """Train a network on samples."""
    generator = np.random.default_rng(args.seed)
    steps = args.epochs * (len(found) // args.batch)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=max(1, steps))
    order: list[int] = []
    for _ in range(steps):
        if len(order) < args.batch:
            order = generator.permutation(len(found)).tolist()
        pairs = [shown(found[order.pop()], generator) for _ in range(args.batch)]
        logits = network(torch.from_numpy(np.stack([x for x, _ in pairs])).float())
        loss = loss_of(logits, [at for _, at in pairs])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network.eval()


@torch.inference_mode()
def error_m(coarse: Localizer, fine: Localizer, sample: Sample) -> float:
    """How far off the networks are on the table, of the nearest one with the texture."""
    logits = coarse(torch.from_numpy(sample.whole)[None].float())
    about = CELL_PX * middles(logits, near=2)[0].numpy() * len(sample.image) / WHOLE_PX
    part, corner = sample.around(about)
    pixel = CELL_PX * middles(fine(torch.from_numpy(part)[None]), near=3)[0].numpy() + corner
    return min(
        float(np.linalg.norm(place(sample.camera, pixel, at[2]) - at[:2])) for at in sample.places_m
    )


def main(args: Args) -> None:
    """Train, test and print."""
    torch.set_num_threads(1)
    suite, begin = load_suite(), time.process_time()
    tasks = list(suite.levels())
    axes = {name: len(axis.levels) for name, axis in suite.axes().items() if axis.seen}
    drawn: list[Sample] = []
    for k in range(args.train):
        task, seed = tasks[k % len(tasks)], DEMONSTRATIONS.start + 500_000 + k
        generator = np.random.default_rng((args.seed, k))
        levels = {name: int(generator.integers(0, 1 + most)) for name, most in axes.items()}
        try:
            made = suite.draw_perturbed(task, "train", seed, levels)
        except ClevrSkillsError:
            continue
        if isinstance(made, EpisodeSpec):
            drawn += samples(made)
    ready = time.process_time()
    torch.manual_seed(args.seed)
    coarse = train(Localizer(10), drawn, show_whole, args)
    fine = train(Localizer(12), drawn, show_around, args)
    done = time.process_time()
    print(f"{ready - begin:.0f} CPU-s drawn, {done - ready:.0f} CPU-s trained", flush=True)
    rows: list[list[object]] = []
    for level in range(1, 1 + max(axes.values())):
        for name in (name for name, most in axes.items() if level <= most):
            errors = {}
            for k in range(args.test):
                task = tasks[(k + 7 * len(rows)) % len(tasks)]
                made = suite.perturb(suite.frozen(task, "train")[k // len(tasks)], {name: level})
                if isinstance(made, EpisodeSpec) and not hidden(made):
                    for one in samples(made):
                        errors[f"{one.name} {k}"] = error_m(coarse, fine, one)
            good = sum(error <= NEAR_M for error in errors.values())
            low, high = wilson(good, len(errors))
            share = f"{100 * good / max(1, len(errors)):.0f} [{100 * low:.0f}, {100 * high:.0f}]"
            median = f"{1e3 * np.median(list(errors.values())):.1f}"
            rows.append([name, level, len(errors), share, median])
            missed = (f"{key} {1e3 * off:.0f} mm" for key, off in errors.items() if off > NEAR_M)
            print(name, level, share, "missed:", ", ".join(missed), flush=True)
    columns = ["axis", "level", "objects", "within 1.5 cm, %", "median, mm"]
    print_table(f"Found by sight; trained on {len(drawn)} objects", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
