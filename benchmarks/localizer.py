"""Detector for perturbed initial scenes: can the objects be located in the image of an episode that
the oracle solves?

    python benchmarks/localizer.py
    python benchmarks/localizer.py --train 300 --epochs 2 --test 11   # a trial

The network gets a crop of the base camera's image and, for one object, its shape, texture swatch,
half extents and the height of its center of mass. With the camera pose, the image is rectified to
a chart on which objects have the same size everywhere. For every cell of the crop the network
predicts whether it shows the object, and the offset to the object's center. Crops cover the
workspace, then the positions that most cells vote for; the most confident vote is the answer.

It is trained on drawn episodes with one or several visual perturbation axes, each at its own level,
on crops around the object and around others, above all those with the same texture. It is tested on
the kept frozen episodes, axis by axis. Of objects with the same texture and size, any counts.
Targets of throws are left out: there, a pixel covers 5 cm of the table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from math import tan

import numpy as np
import torch
import tyro
from common import print_table
from torch import nn

from clevrskills.assets import shape, texture
from clevrskills.assets.palettes import lab
from clevrskills.core.episode import DEMONSTRATIONS
from clevrskills.core.geometry import rotate
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import Perturbable, load_suite, perturbed
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.perturbations.visibility import LEAST_PX, hidden, start_view
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.cameras import FixedCamera
from clevrskills.tasks import task as make_task

IMAGE_PX, SIDE_PX = 512, 513
"""Height of images, and height with a row outside."""
CELLS, CELL_PX = 32, 4
"""Cells of a crop in each direction; pixels of a cell, each the mean of 2 x 2 image points."""
COLORS, ALIKE, WHERE = 3, 6, 3
"""Features of a pixel (color, similarity to the swatch) and of a cell."""
OUTLINE = 8
"""Samples across the bounding box of a shape for its occupancy."""
FEATURES = 17 + 3 * OUTLINE**2
"""Object features of each crop."""
HALF_CELLS, CELL_M = 5.0, (0.006, 0.02)
"""Cells of the largest half extent of the object, within the limits of the cell size."""
NEAR_M = 0.015
HOVERS_M = 0.01
"""Height above the table from which an immovable object counts as hovering."""
LEVEL_M, AHEAD_M = 0.08, 0.7
"""Objects closer than this below the camera use an upright chart at this distance ahead of it."""
FAR_M = 2.0
"""Maximum distance given as a feature."""
SAME_M = 0.005
"""Maximum difference of half extents at which objects of one texture are indistinguishable."""
CLOSE_LAB = 12.0
"""CIELAB distance at which the similarity of a pixel to a swatch is one half."""
LEAST_OF_SWATCH = 0.004
"""Minimum share of a color in a swatch to count as one of its colors."""
X_M, Y_M = (-0.42, 0.08), (-0.4, 0.4)
"""Workspace that is searched."""
TILE, JITTER = 20, 13
"""Cells between crops of the workspace; maximum offset of crops in training."""
ELSEWHERE = 0.4
"""Share of training crops around another object."""
PLACES, APART = 3, 4
"""Candidate positions that get further crops, and their minimum distance in cells."""
AROUND = ((-3, 0), (3, 0), (0, -3), (0, 3))
"""Offsets of these crops in cells, each also mirrored."""
MOST_VOTES = 200
ALONE = 0.6
"""Share of training episodes perturbed along one axis only."""
SHIPPED = 20
"""Frozen episodes per task whose verdicts are shipped."""


@dataclass
class Args:
    """Sizes of training and test."""

    train: int = 8000
    """Training episodes; each takes a megabyte."""
    epochs: int = 32
    """Passes over their objects."""
    test: int = 33
    """Frozen episodes of each axis and level, taken from the tasks in turn."""
    batch: int = 16
    """Objects per training step."""
    width: int = 32
    """Channels of the network."""
    seed: int = 0
    """Seed of the network and of the order."""


@dataclass(frozen=True)
class View:
    """Initial scene of an episode, as seen by the base camera.

    Attributes:
        pixels: Red, green, blue and segment number, four bytes in one, of the image and of a
            row and a column outside of it, flat, (SIDE_PX * SIDE_PX,) uint32.
        camera: The camera; its pixel size differs from the image's.
    """

    pixels: np.ndarray
    camera: FixedCamera


def view_of(image: np.ndarray, numbers: np.ndarray, camera: FixedCamera) -> View:
    """Return the image (IMAGE_PX, IMAGE_PX, 3) and its segmentation."""
    pixels = np.zeros((SIDE_PX, SIDE_PX, 4), np.uint8)
    pixels[:-1, :-1, :3], pixels[:-1, :-1, 3] = image, numbers
    return View(pixels.view(np.uint32).ravel(), camera)


@dataclass(frozen=True)
class Crop:
    """Crop of a chart.

    Attributes:
        middle_m: Center, right and down on the chart, (2,).
        cell_m: Size of a cell.
        mirrored: Whether left and right are swapped.
    """

    middle_m: np.ndarray
    cell_m: float
    mirrored: bool = False

    def sides_m(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return evenly spaced points along the top and left sides, right and down on the chart."""
        steps = np.outer((np.arange(count) + 0.5) * (CELLS / count), (1.0, 1.0))
        right_m, down_m = self.spots_m(steps).astype(np.float32).T
        return right_m, down_m

    def cells(self, spots_m: np.ndarray) -> np.ndarray:
        """Return points of the chart (..., 2) in cells from the upper left corner."""
        return (spots_m - self.middle_m) / self._cell_m + CELLS / 2

    def spots_m(self, cells: np.ndarray) -> np.ndarray:
        """Return points in cells from the upper left corner (..., 2) on the chart."""
        return self.middle_m + (cells - CELLS / 2) * self._cell_m

    @property
    def _cell_m(self) -> np.ndarray:
        return np.array([-self.cell_m if self.mirrored else self.cell_m, self.cell_m])


@dataclass(frozen=True)
class Chart:
    """Rectified image of a plane below a camera: objects on it have the same size everywhere, but
    keep their appearance. Points on it are in meters, right and down (2,).

    Attributes:
        camera: The camera.
        below_m: Distance below the camera; ``None``: upright, AHEAD_M ahead of the camera.
    """

    camera: FixedCamera
    below_m: float | None

    @cached_property
    def _forward(self) -> np.ndarray:
        """Return the camera's axis along the table and up, (2,)."""
        forward = self.camera.axes[2]
        return np.array([np.hypot(*forward[:2]), forward[2]], np.float32)

    def rows(self, down_m: np.ndarray) -> np.ndarray:
        """Return how far up and ahead of the camera points are, given down, (2, N) in meters."""
        if self.below_m is None:
            return np.stack([-down_m, np.full_like(down_m, AHEAD_M)])
        (along, up), away = self._forward, self.below_m * np.sinh(-down_m / self.below_m)
        return np.stack([-away * up - self.below_m * along, away * along - self.below_m * up])

    def ray(self, spot_m: np.ndarray) -> np.ndarray:
        """Return the vector from the camera to a point, (3,)."""
        left, up, forward = self.camera.axes
        ((height,), (ahead,)) = self.rows(spot_m[1:])
        return np.asarray(ahead * forward + height * up - spot_m[0] * left)

    def spots_m(self, places_m: np.ndarray) -> np.ndarray:
        """Project points of the world (N, 3) to the chart, (N, 2)."""
        left, up, forward = self.camera.axes
        rays = places_m - self.camera.eye_m
        if self.below_m is None:
            rays = rays * (AHEAD_M / (rays @ forward))[:, None]
            return np.stack([-rays @ left, -rays @ up], 1)
        rays = rays * (-self.below_m / rays[:, 2:])
        away = rays[:, :2] @ forward[:2] / self._forward[0]
        return np.stack([-rays @ left, -self.below_m * np.arcsinh(away / self.below_m)], 1)

    def pixels(self, crop: Crop, count: int) -> np.ndarray:
        """Return the view's pixel indices of a grid of points of a crop, (count, count)."""
        right_m, down_m = crop.sides_m(count)
        height, ahead = self.rows(down_m)
        scale = IMAGE_PX / 2 / (np.maximum(ahead, 0.05) * np.float32(tan(self.camera.fov_rad / 2)))
        down = (IMAGE_PX / 2 - height * scale).astype(np.int32)
        right = np.outer(scale, right_m).astype(np.int32) + IMAGE_PX // 2
        down[(ahead < 0.05) | (down < 0) | (down > IMAGE_PX)] = IMAGE_PX
        right[(right < 0) | (right > IMAGE_PX)] = IMAGE_PX
        return np.asarray((down * SIDE_PX)[:, None] + right)

    def where(self, crop: Crop) -> np.ndarray:
        """Return the viewing directions of the cells of a crop: sideways offset, elevation and
        distance, (CELLS, CELLS, WHERE).
        """
        right_m, down_m = crop.sides_m(CELLS)
        height, ahead = self.rows(down_m)
        steep = (height * self._forward[0] + ahead * self._forward[1])[:, None]
        away = np.sqrt(right_m**2 + (height**2 + ahead**2)[:, None])
        side = -right_m if crop.mirrored else right_m
        return np.stack([side / away, steep / away, np.minimum(away, FAR_M)], -1)


@dataclass(frozen=True)
class Sample:
    """One object of one initial scene.

    Attributes:
        view: Scene in which to find it.
        shape: Name of its shape.
        texture: Name of its texture.
        size_m: Half extents, (3,).
        places_m: Centers of mass of the object and of those that are indistinguishable, (N, 3).
        hovers: Whether it hovers.
        shown_as: Their segment numbers in the view.
        others_m: Centers of mass of other objects, preferably of the same texture, (M, 3).
        name: Task and body.
    """

    view: View
    shape: str
    texture: str
    size_m: np.ndarray
    places_m: np.ndarray
    hovers: bool
    shown_as: tuple[int, ...]
    others_m: np.ndarray
    name: str

    @property
    def cell_m(self) -> float:
        """Return the cell size for this object, which makes all objects about equally large."""
        return float(np.clip(self.size_m.max() / HALF_CELLS, *CELL_M))

    @cached_property
    def chart(self) -> Chart:
        """Return the chart at the height of the object's center."""
        below_m = self.view.camera.eye_m[2] - self.places_m[:, 2]
        return Chart(self.view.camera, below_m[0] if below_m.min() > LEVEL_M else None)

    def off_m(self, spot_m: np.ndarray) -> float:
        """Return the distance of a point on the chart from the nearest center, at the height of
        that center; for hovering objects, of its line of sight, since one image has no depth.
        """
        ray, off_m = self.chart.ray(spot_m), []
        for middle in self.places_m - self.view.camera.eye_m:
            level = not self.hovers and ray[2] < 0
            along = middle[2] / ray[2] if level else middle @ ray / (ray @ ray)
            off_m.append(float(np.linalg.norm(along * ray - middle)))
        return min(off_m)

    def features(self, crop: Crop) -> np.ndarray:
        """Return the object features, (FEATURES,) float32: size, swatch and shape."""
        features = [100 * crop.cell_m, self.chart.below_m is None, *self.size_m / crop.cell_m / 5]
        swatch = swatch_colors(self.texture).ravel() / 50
        return np.concatenate([features, swatch, outlines(self.shape)], dtype=np.float32)

    def inputs(self, crop: Crop) -> tuple[np.ndarray, np.ndarray]:
        """Return the input and the target of the network.

        The input is (CELLS, CELLS, channels) float32: color and similarity to the swatch of all
        pixels of a cell, and its viewing direction. The target is (3, CELLS, CELLS) float32: the
        share of a cell that shows the object or one like it, and the offset of its center, right
        and down, in cells.
        """
        count = CELLS * CELL_PX
        points = self.view.pixels[self.chart.pixels(crop, 2 * count)][..., None].view(np.uint8)
        pixels = np.empty((count, count, COLORS + ALIKE), np.uint8)
        for k in range(COLORS):
            rows = points[::2, :, k].astype(np.uint16) + points[1::2, :, k]
            pixels[..., k] = (rows[:, ::2] + rows[:, 1::2]) >> 2
        pixels[..., COLORS:] = np.take(_alike(self.texture), _steps(pixels[..., :COLORS]), axis=0)
        cells = pixels.reshape(CELLS, CELL_PX, CELLS, CELL_PX, -1).transpose(0, 2, 1, 3, 4)
        cells = cells.reshape(CELLS, CELLS, -1)
        shown = np.empty((CELLS, CELLS, cells.shape[-1] + WHERE), np.float32)
        np.multiply(cells, np.float32(1 / 255), out=shown[..., :-WHERE])
        shown[..., -WHERE:] = self.chart.where(crop)
        parts = points[::2, ::2, 3].reshape(CELLS, CELL_PX, CELLS, CELL_PX)
        shares = np.stack([(parts == number).mean((1, 3)) for number in self.shown_as])
        middles = crop.cells(self.chart.spots_m(self.places_m))
        away = middles[shares.argmax(0)].transpose(2, 0, 1) - _cells()
        return shown, np.concatenate([shares.max(0)[None], away], dtype=np.float32)

    def tiles(self) -> list[Crop]:
        """Return crops that cover the workspace at the object's height."""
        corners = np.array([(*corner, self.places_m[0, 2]) for corner in product(X_M, Y_M)])
        spots, step_m = self.chart.spots_m(corners), TILE * self.cell_m
        low, high = spots.min(0), spots.max(0)
        counts = np.ceil((high - low) / step_m).astype(int)
        first = (low + high - (counts - 1) * step_m) / 2
        return [Crop(first + step_m * np.array(k), self.cell_m) for k in np.ndindex(*counts)]


def _steps(colors: np.ndarray) -> np.ndarray:
    """Return the indices of colors (..., 3) uint8 in steps of 8."""
    steps = (colors >> 3).astype(np.int32)
    return np.asarray((steps[..., 0] << 10) + (steps[..., 1] << 5) + steps[..., 2])


@cache
def _cells() -> np.ndarray:
    """Return the centers of cells, right and down, in cells, (2, CELLS, CELLS)."""
    rows, columns = np.mgrid[:CELLS, :CELLS] + 0.5
    return np.stack([columns, rows]).astype(np.float32)


def samples(episode: EpisodeSpec) -> Iterator[Sample]:
    """Return the objects of the task that are within reach, visible and not held."""
    task = make_task(episode.task, **episode.task_args)
    setting, slots = task.setting, len(task.slots)
    present = [(k, body) for k, body in enumerate(episode.layout.bodies) if body]
    bodies = [body for _, body in present]
    drawn = start_view(episode, setting, bodies, episode.conditions, IMAGE_PX)
    camera = episode.conditions.of(setting).cameras[setting.watch[0]]
    view = view_of(drawn.color[..., :3], drawn.segmentation, camera)
    least = LEAST_PX * (IMAGE_PX / view.camera.size_px) ** 2
    sizes = [np.array(body.geometry.half_extents) for body in bodies]
    poses = torch.tensor([body.pose for body in bodies], dtype=torch.float64)
    centers = torch.tensor(np.stack([body.geometry.center_of_mass for body in bodies]))
    middles_m = (poses[:, :3] + rotate(poses[:, 3:], centers)).numpy()
    for number, (k, body) in enumerate(present):
        shown = int((drawn.segmentation == 1 + number).sum())
        if k >= slots or k == episode.layout.in_gripper or not body.texture or shown < least:
            continue
        alike = [
            n
            for n, other in enumerate(bodies)
            if n != number
            and other.texture == body.texture
            and np.abs(sizes[n] - sizes[number]).max() < SAME_M
        ]
        places_m = middles_m[[number, *alike]]
        rest = [n for n in range(len(bodies)) if n != number and n not in alike]
        same = [n for n in rest if bodies[n].texture == body.texture] or rest
        others_m = middles_m[same]
        middle = view.camera.pixels(places_m[:1])[0] * (IMAGE_PX / view.camera.size_px)
        inside = (middle > 4).all() and (middle < IMAGE_PX - 4).all()
        if inside and setting.workspace.contains(*body.pose[:2]):
            shown_as = tuple(1 + n for n in (number, *alike))
            name = f"{episode.task} {body.key}"
            kind = body.shape, body.texture, sizes[number]
            hovers = body.static and body.pose[2] - sizes[number][2] > HOVERS_M
            yield Sample(view, *kind, places_m, hovers, shown_as, others_m, name)


@cache
def swatch_colors(name: str) -> np.ndarray:
    """Return four colors of a texture, from dark to light, in CIELAB, (4, 3)."""
    pixels = np.asarray(texture(name), float).reshape(-1, 3)
    order = np.argsort(pixels.sum(1), kind="stable")
    return np.array([lab(part.mean(0)) for part in np.array_split(pixels[order], 4)], np.float32)


@cache
def outlines(name: str) -> np.ndarray:
    """Return the silhouettes of a shape from above, from the left and from the front,
    (3 * OUTLINE * OUTLINE,).
    """
    found = shape(name)
    steps = (np.arange(OUTLINE) + 0.5) / (OUTLINE / 2) - 1
    points = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1) * found.half_extents
    inside = [(points @ part[:, :3].T <= part[:, 3]).all(-1) for part in found.planes]
    solid = np.any(inside, 0)
    return np.concatenate([solid.any(axis).ravel() for axis in (2, 1, 0)])


@cache
def _alike(name: str) -> np.ndarray:
    """Return the similarity of colors in steps of 8 to a texture: to its four colors, to the
    nearest of its own colors, and to the nearest in hue, (32 * 32 * 32, ALIKE) uint8.
    """
    colors, steps = _lab_of_colors(), _steps(np.asarray(texture(name)).reshape(-1, 3))
    own = colors[np.bincount(steps, minlength=len(colors)) >= LEAST_OF_SWATCH * len(steps)]
    hue = np.array((0.3, 1.0, 1.0), np.float32)
    near = [_apart(colors * each, own * each).min(1, keepdims=True) for each in (1, hue)]
    apart = np.concatenate([_apart(colors, swatch_colors(name)), *near], 1)
    return np.asarray(255 * 0.5 ** (apart / CLOSE_LAB), np.uint8)


def _apart(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the distances of colors (N, 3) from others (M, 3), (N, M)."""
    return np.stack([np.linalg.norm(some - other, axis=1) for other in others], 1)


@cache
def _lab_of_colors() -> np.ndarray:
    """Return colors in steps of 8 in CIELAB, (32 * 32 * 32, 3) float32."""
    steps = 8.0 * np.arange(32) + 4.0
    colors = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), -1).reshape(-1, 3)
    return np.array([lab(color) for color in colors], np.float32)


def _batch(
    crops: Sequence[tuple[Sample, Crop, np.ndarray]],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the inputs of crops, (N, channels, CELLS, CELLS) in channels-last memory, and the
    object features, (N, FEATURES).
    """
    features = np.stack([sample.features(crop) for sample, crop, _ in crops])
    shown = torch.from_numpy(np.stack([shown for *_, shown in crops]))
    return shown.permute(0, 3, 1, 2), torch.from_numpy(features)


class Localizer(nn.Module):
    """U-Net that predicts for each cell whether it shows the object, and its center's offset."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()

        def block(before: int, after: int) -> nn.Sequential:
            return nn.Sequential(
                *(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()),
                *(nn.Conv2d(after, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()),
            )

        self.first = block(channels, width)
        self.second, self.third = block(width, 2 * width), block(2 * width, 4 * width)
        self.fourth = block(4 * width, 4 * width)
        self.up_third, self.up_second = block(8 * width, 2 * width), block(4 * width, width)
        self.up_first = block(2 * width, width)
        self.out = nn.Conv2d(width, 3, 1)
        self.width = width
        self.features = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 17 * width))
        self.down, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        of_all, deep = self.features(features)[..., None, None].split(
            [self.width, 16 * self.width], 1
        )
        deep = deep.chunk(4, 1)
        first = self.first(x) + of_all
        second = self.second(self.down(first))
        third = self.third(self.down(second)) * (1 + deep[0]) + deep[1]
        y = self.up(self.fourth(self.down(third)) * (1 + deep[2]) + deep[3])
        y = self.up(self.up_third(torch.cat([y, third], 1)))
        y = self.up(self.up_second(torch.cat([y, second], 1)))
        output: torch.Tensor = self.out(self.up_first(torch.cat([y, first], 1)))
        return output

    @torch.inference_mode()
    def votes(self, sample: Sample, crops: Sequence[Crop]) -> tuple[np.ndarray, np.ndarray]:
        """Return the confidence (N,) and the predicted center on the chart (N, 2) of the most
        confident cells of some crops.
        """
        with torch.autocast("cpu", torch.bfloat16):
            output = self(*_batch([(sample, crop, sample.inputs(crop)[0]) for crop in crops]))
        output = output.float().numpy()
        weights = np.square(1 / (1 + np.exp(-output[:, 0]))).ravel()
        cells = np.moveaxis(_cells() + output[:, 1:], 1, -1)
        spots = np.stack([crop.spots_m(each) for crop, each in zip(crops, cells, strict=True)])
        likely = np.argsort(-weights)[:MOST_VOTES]
        return weights[likely], spots.reshape(-1, 2)[likely]

    def spot_m(self, sample: Sample) -> np.ndarray:
        """Return the predicted center on the chart (2,): of the positions with most votes in the
        workspace, the one with the highest confidence in further crops.
        """
        weights, votes = self.votes(sample, sample.tiles())
        best, found = -1.0, np.zeros(2)
        for _ in range(PLACES):
            place, _ = _agreed(weights, votes, sample.cell_m)
            weights = weights * (np.linalg.norm(votes - place, axis=1) > APART * sample.cell_m)
            crops = [
                Crop(place + np.array(step) * sample.cell_m, sample.cell_m, mirrored)
                for step, mirrored in product(AROUND, (False, True))
            ]
            spot, sure = _agreed(*self.votes(sample, crops), sample.cell_m)
            if sure > best:
                best, found = sure, spot
        return found


def _agreed(weights: np.ndarray, votes: np.ndarray, cell_m: float) -> tuple[np.ndarray, float]:
    """Return the position (2,) that most votes (N, 2) agree on, and their total confidence."""

    def near(place: np.ndarray) -> np.ndarray:
        apart = np.square((votes - place[..., None, :]) / cell_m).sum(-1)
        return np.asarray(weights * np.exp(-apart / 8))

    found = votes[near(votes).sum(1).argmax()]
    for _ in range(10):
        found = np.average(votes, 0, near(found) + 1e-9)
    return found, float(np.average(near(found), weights=weights + 1e-9))


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of the cells that show the object, plus the error of their predicted
    centers, of each and of the mean, in cells.
    """
    share, away = target[:, 0], target[:, 1:]
    entropy = nn.functional.binary_cross_entropy_with_logits(output[:, 0], share)
    total = share.sum((1, 2)) + 1e-3
    off = (output[:, 1:] - away).clamp(-15, 15) * share[:, None]
    each = off.abs().sum((1, 2, 3)) / total
    mean = (off.sum((2, 3)) / total[:, None]).abs().sum(1)
    return 5 * entropy + 0.2 * each.mean() + 0.4 * mean.mean()


def sample_crop(sample: Sample, generator: np.random.Generator) -> Crop:
    """Return a training crop near the object or near another one."""
    away = generator.uniform(-JITTER, JITTER, 2) * generator.random() * sample.cell_m
    about = sample.places_m[:1]
    if len(sample.others_m) and generator.random() < ELSEWHERE:
        about = sample.others_m[generator.integers(len(sample.others_m))][None]
    return Crop(
        sample.chart.spots_m(about)[0] + away, sample.cell_m, bool(generator.random() < 0.5)
    )


def train(found: Sequence[Sample], args: Args) -> Localizer:
    """Train a network on samples."""
    generator = np.random.default_rng(args.seed)
    network = Localizer(found[0].inputs(sample_crop(found[0], generator))[0].shape[-1], args.width)
    steps = args.epochs * (len(found) // args.batch)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=max(1, steps))
    order: list[int] = []
    for _ in range(steps):
        if len(order) < args.batch:
            order = generator.permutation(len(found)).tolist()
        batch = [found[order.pop()] for _ in range(args.batch)]
        crops = [sample_crop(sample, generator) for sample in batch]
        inputs = [sample.inputs(crop) for sample, crop in zip(batch, crops, strict=True)]
        shown, target = zip(*inputs, strict=True)
        with torch.autocast("cpu", torch.bfloat16):
            output = network(*_batch([*zip(batch, crops, shown, strict=True)]))
        loss = loss_of(output.float(), torch.from_numpy(np.stack(target)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network.eval()


def levels_of(generator: np.random.Generator, axes: Mapping[str, int]) -> dict[str, int]:
    """Draw one axis, or each with probability one half, at some level."""
    on = generator.random(len(axes)) < 0.5
    if generator.random() < ALONE:
        on = np.arange(len(axes)) == generator.integers(len(axes))
    return {
        name: int(generator.integers(1, 1 + most)) if used else 0
        for (name, most), used in zip(axes.items(), on, strict=True)
    }


def row_of(axis: str, level: object, off_m: Sequence[float]) -> list[object]:
    """Return a row of the table: the number of objects found."""
    off = np.array(off_m)
    low, high = wilson(int((off <= NEAR_M).sum()), len(off))
    share = f"{100 * (off <= NEAR_M).mean():.1f} [{100 * low:.0f}, {100 * high:.0f}]"
    return [axis, level, len(off), share, f"{1e3 * np.median(off):.1f}"]


def main(args: Args) -> None:
    """Train, test and print."""
    torch.set_num_threads(1)
    suite, begin = load_suite(), time.process_time()
    assert isinstance(suite, Perturbable)
    tasks = list(suite.tasks)
    axes = {name: len(axis.levels) for name, axis in suite.axes().items() if axis.visual}
    drawn: list[Sample] = []
    for k in range(args.train):
        task, seed = tasks[k % len(tasks)], DEMONSTRATIONS.start + 500_000 + k
        levels = levels_of(np.random.default_rng((args.seed, k)), axes)
        try:
            made = suite.perturb(suite.draw(task, "train", seed, wording=None), levels)
        except ClevrSkillsError:
            continue
        if isinstance(made, EpisodeSpec):
            drawn += samples(made)
    ready = time.process_time()
    torch.manual_seed(args.seed)
    network = train(drawn, args)
    done = time.process_time()
    print(f"{ready - begin:.0f} CPU-s drawn, {done - ready:.0f} CPU-s trained", flush=True)
    rows: list[list[object]] = []
    everything: list[float] = []
    tested = [("none", 0), *((n, k) for k in range(1, 6) for n, most in axes.items() if k <= most)]
    for name, level in tested:
        off_m: dict[str, float] = {}
        for k in range(args.test):
            task, number = tasks[k % len(tasks)], k // len(tasks) + len(rows) % SHIPPED
            clean = suite.frozen(task, "train")[number]
            made = perturbed(suite, clean, {name: level} if level else {})
            if isinstance(made, EpisodeSpec) and not hidden(made):
                for one in samples(made):
                    off_m[f"{one.name} {number}"] = one.off_m(network.spot_m(one))
        rows.append(row_of(name, level, list(off_m.values())))
        everything += off_m.values()
        missed = (f"{key} {1e3 * off:.0f} mm" for key, off in off_m.items() if off > NEAR_M)
        print(*rows[-1], "missed:", ", ".join(missed), flush=True)
    rows.append(row_of("all", "", everything))
    columns = ["axis", "level", "objects", "within 1.5 cm, %", "median, mm"]
    print_table(f"Found by sight; trained on {len(drawn)} objects", columns, rows)
    print(f"{time.process_time() - done:.0f} CPU-s tested")


if __name__ == "__main__":
    main(tyro.cli(Args))
