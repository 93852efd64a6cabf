"""Small network that finds the objects of perturbed starts by sight: whether an episode that the
oracle solves can also be told by sight.

    python benchmarks/localizer.py --train 1200 --test 33

It is shown the image of the base camera and, of one object, swatch and size; it says where in the
image the middle of the object is. With the place of the camera and the height of the object that is
a place on the table. It is trained on drawn episodes at all levels of the axes of what is seen, and
tested on kept frozen ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

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

SIZE_PX, SCALE, CELL_PX = 128, 2, 2
"""Height of the images that the network sees, that of those drawn in their pixels, and size of the
cells of its map in them.
"""
NEAR_M = 0.015
CLOSE_LAB = 12.0
"""Distance of colors, in CIELAB, at which a pixel is half as much like a swatch."""
SPREAD_PX = 1.5
"""Of the target around the middle of an object, in pixels of the image that it sees."""


@dataclass
class Args:
    """How much is drawn."""

    train: int = 1200
    """Episodes that are trained on."""
    epochs: int = 5
    """How often each object of them is shown."""
    test: int = 33
    """Frozen episodes of each axis and level, of one task after the other."""
    batch: int = 16
    """Objects in a training step."""
    seed: int = 0
    """Of the network and of the order."""


@dataclass(frozen=True)
class Sample:
    """One object of one start.

    Attributes:
        image: (H, W, 3) uint8.
        colors: Colors of its swatch in CIELAB, (4, 3).
        size_m: Half extents, (3,).
        middle_px: Where its middle is in the image, (2,).
        camera: The camera.
        place_m: Its middle in the world, (3,).
    """

    image: np.ndarray
    colors: np.ndarray
    size_m: np.ndarray
    middle_px: np.ndarray
    camera: FixedCamera
    place_m: np.ndarray


def samples(episode: EpisodeSpec) -> Iterator[Sample]:
    """The objects of the task that show at the start and are not held."""
    task = make_task(episode.task, **episode.task_args)
    setting, slots = task.setting, len(task.slots)
    present = [(k, body) for k, body in enumerate(episode.layout.bodies) if body]
    bodies = [body for _, body in present]
    view = start_view(episode, setting, bodies, episode.conditions)
    camera = episode.conditions.of(setting).cameras[setting.watch[0]]
    color = view.color[..., :3]
    height = len(color) // SCALE
    image = color.reshape(height, SCALE, -1, SCALE, 3).mean((1, 3)).astype(np.uint8)
    for number, (k, body) in enumerate(present):
        shown = int((view.segmentation == 1 + number).sum())
        if k >= slots or k == episode.layout.in_gripper or not body.texture or shown < LEAST_PX:
            continue
        place = np.array(body.pose[:3])
        middle = camera.pixels(place[None])[0] * SIZE_PX / camera.size_px
        if (middle > 1).all() and (middle < SIZE_PX - 2).all():
            size = np.array(body.geometry.half_extents)
            yield Sample(image, swatch_colors(body.texture), size, middle, camera, place)


def swatch_colors(name: str) -> np.ndarray:
    """Four colors of a texture, from dark to light, in CIELAB, (4, 3)."""
    pixels = np.asarray(texture(name), float).reshape(-1, 3)
    order = np.argsort(pixels.sum(1), kind="stable")
    return np.array([lab(part.mean(0)) for part in np.array_split(pixels[order], 4)])


def inputs(sample: Sample) -> np.ndarray:
    """What the network is shown, (C, H, W) float32."""
    image = sample.image
    seen = lab_of(image)
    apart = np.linalg.norm(seen[None] - sample.colors[:, None, None], axis=-1)  # (4, H, W)
    dull = seen.copy()
    dull[..., 0] *= 0.3
    mean = sample.colors.mean(0) * (0.3, 1.0, 1.0)
    hue = np.linalg.norm(dull - mean, axis=-1)
    like = np.stack([0.5 ** (apart.min(0) / CLOSE_LAB), 0.5 ** (hue / CLOSE_LAB)])
    rows = np.linspace(-1, 1, len(image))
    grid = np.stack(np.broadcast_arrays(rows[:, None], rows[None]))
    plain = np.broadcast_to(10 * sample.size_m[:, None, None], (3, *image.shape[:2]))
    parts = [image.transpose(2, 0, 1) / 255 - 0.5, like, grid, plain]
    return np.concatenate(parts).astype(np.float32)


def lab_of(image: np.ndarray) -> np.ndarray:
    """An image in CIELAB, each color looked up in steps of 8."""
    coarse = (image >> 3).astype(int)
    index = (coarse[..., 0] << 10) | (coarse[..., 1] << 5) | coarse[..., 2]
    known, back = np.unique(index, return_inverse=True)
    colors = np.stack([known >> 10, (known >> 5) & 31, known & 31], -1) * 8 + 4
    found: np.ndarray = np.array([lab(color.astype(float)) for color in colors])
    return found[back].reshape(image.shape)


class Localizer(nn.Module):
    """Where in an image an object is, as a map of logits, one of each cell."""

    def __init__(self, channels: int = 10 * CELL_PX**2, width: int = 16) -> None:
        super().__init__()

        def block(before: int, after: int) -> nn.Sequential:
            return nn.Sequential(
                *(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
                *(nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
            )

        self.first, self.second = block(channels, width), block(width, 2 * width)
        self.third, self.fourth = block(2 * width, 4 * width), block(4 * width, 4 * width)
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


def middle(logits: torch.Tensor) -> np.ndarray:
    """The middle of what is most likely, in pixels right and down, (2,)."""
    row, column = divmod(int(logits.argmax()), logits.shape[1])
    ys = torch.arange(max(0, row - 2), min(len(logits), row + 3))
    xs = torch.arange(max(0, column - 2), min(logits.shape[1], column + 3))
    share = logits[ys][:, xs].flatten().softmax(0).reshape(len(ys), len(xs))
    cell = [float((share.sum(0) * xs).sum()), float((share.sum(1) * ys).sum())]
    return CELL_PX * (np.array(cell) + 0.5)


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


def trained(found: list[Sample], args: Args) -> Localizer:
    """A network that was trained on samples."""
    torch.manual_seed(args.seed)
    generator, network = np.random.default_rng(args.seed), Localizer()
    steps = args.epochs * (len(found) // args.batch)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=max(1, steps))
    grid = CELL_PX * (torch.arange(SIZE_PX // CELL_PX) + 0.5)
    order: list[int] = []
    for _ in range(steps):
        if len(order) < args.batch:
            order = generator.permutation(len(found)).tolist()
        some = [found[order.pop()] for _ in range(args.batch)]
        logits = network(torch.from_numpy(np.stack([inputs(one) for one in some])))
        at = torch.tensor(np.array([one.middle_px for one in some]), dtype=torch.float32)
        across = (grid[None, None] - at[:, 0, None, None]) ** 2
        target = (-(across + (grid[None, :, None] - at[:, 1, None, None]) ** 2)) / (
            2 * SPREAD_PX**2
        )
        target = target.flatten(1).softmax(1)
        loss = -(target * logits.flatten(1).log_softmax(1)).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network.eval()


@torch.inference_mode()
def error_m(network: Localizer, sample: Sample) -> float:
    """How far off the network is on the table."""
    logits = network(torch.from_numpy(inputs(sample))[None])[0]
    pixel = middle(logits) * sample.camera.size_px / SIZE_PX
    found = place(sample.camera, pixel, sample.place_m[2])
    return float(np.linalg.norm(found - sample.place_m[:2]))


def main(args: Args) -> None:
    """Train, test and print."""
    torch.set_num_threads(1)
    suite, begin = load_suite(), time.process_time()
    tasks = list(suite.levels())
    axes = [name for name, axis in suite.axes().items() if axis.seen]
    conditions = [(name, k) for name in axes for k in range(1, 1 + len(suite.axes()[name].levels))]
    drawn: list[Sample] = []
    for k in range(args.train):
        name, level = conditions[k % len(conditions)]
        task, seed = tasks[k % len(tasks)], DEMONSTRATIONS.start + 500_000 + k
        try:
            made = suite.draw_perturbed(task, "train", seed, {name: level})
        except ClevrSkillsError:
            continue
        if isinstance(made, EpisodeSpec):
            drawn += samples(made)
    ready = time.process_time()
    network = trained(drawn, args)
    done = time.process_time()
    rows: list[list[object]] = []
    for number, (name, level) in enumerate(conditions):
        errors = []
        for k in range(args.test):
            task = tasks[(k + 7 * number) % len(tasks)]
            made = suite.perturb(suite.frozen(task, "train")[k // len(tasks)], {name: level})
            if isinstance(made, EpisodeSpec) and not hidden(made):
                errors += [error_m(network, sample) for sample in samples(made)]
        good = sum(error <= NEAR_M for error in errors)
        low, high = wilson(good, len(errors))
        share = f"{100 * good / max(1, len(errors)):.0f} [{100 * low:.0f}, {100 * high:.0f}]"
        rows.append([name, level, len(errors), share, f"{1e3 * np.median(errors):.1f}"])
    times = f"{ready - begin:.0f} s drawn, {done - ready:.0f} s trained on {len(drawn)} objects"
    columns = ["axis", "level", "objects", "within 1.5 cm, %", "median, mm"]
    print_table(f"Found by sight; CPU: {times}", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
