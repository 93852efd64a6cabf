"""Small networks that find the objects of perturbed starts by sight: whether an episode that the
oracle solves can also be told by sight.

    python benchmarks/localizer.py
    python benchmarks/localizer.py --train 300 --epochs 2 --test 11   # a trial

They are shown the image of the base camera and, of one object, swatch and size; they say where in
the image the middle of the object is. With the place of the camera and the height of the object
that is a place on the table. The first sees the whole image, reduced to a quarter; the second, in
full, what is around the place that the first found. Of every cell both say whether it shows the
object, and where the middle is then; what most cells agree on is the answer.

They are trained on drawn episodes with one or several axes of what is seen, each at a level of its
own, and tested on kept frozen ones, axis by axis. Of objects with the same texture and size any
will do. Objects that are thrown at stand where a pixel is 5 cm of the table: they are not asked
for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import tan

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

IMAGE_PX, PART_PX, CELL_PX = 512, 128, 4
"""Height of images; of what a network is shown; of a cell of that."""
CELLS = PART_PX // CELL_PX
WHOLE = IMAGE_PX // PART_PX
"""Pixels of the image to one that the first network is shown."""
LARGE_PX = 90
"""What is so large in the image is shown to the second network at half its size."""
NEAR_M = 0.015
HOVERS_M = 0.25
"""A middle so high is of a thing that hovers."""
SAME_M = 0.005
"""Objects with the same texture look the same if their half extents differ by no more."""
CLOSE_LAB = 12.0
"""Distance of colors, in CIELAB, at which a pixel is half as much like a swatch."""
JITTER_PX = 24
"""How far the second network's part is off in training, at most."""
ALONE = 0.6
"""Share of the episodes trained on that one axis alone changes."""
MOST_VOTES = 400
SHIPPED = 20
"""Frozen episodes of each task whose verdicts are shipped."""


@dataclass
class Args:
    """How much is drawn."""

    train: int = 6000
    """Episodes that are trained on."""
    epochs: int = 14
    """How often the second network is shown each object of them; the first a quarter of that."""
    test: int = 33
    """Frozen episodes of each axis and level, of one task after the other."""
    batch: int = 16
    """Objects in a training step."""
    width: int = 24
    """Channels of the networks."""
    seed: int = 0
    """Of the networks and of the order."""


@dataclass(frozen=True)
class View:
    """The start of an episode as the base camera sees it.

    Attributes:
        image: (IMAGE_PX, IMAGE_PX, 3) uint8.
        numbers: What each pixel shows, (IMAGE_PX, IMAGE_PX) uint8.
        camera: The camera; its pixels are not those of the image.
    """

    image: np.ndarray
    numbers: np.ndarray
    camera: FixedCamera

    def pixels(self, places_m: np.ndarray) -> np.ndarray:
        """Where places (N, 3) are in the image, right and down, (N, 2)."""
        return self.camera.pixels(places_m) * (IMAGE_PX / self.camera.size_px)

    def ray(self, pixel: np.ndarray) -> np.ndarray:
        """The way from the camera (3,) to what is seen at a pixel, one metre ahead."""
        left, up, forward = self.camera.axes
        right, down = (pixel / (IMAGE_PX / 2) - 1) * tan(self.camera.fov_rad / 2)
        return np.asarray(forward - right * left - down * up)


@dataclass(frozen=True)
class Sample:
    """One object of one start.

    Attributes:
        view: Where it is to be found.
        colors: Colors of its swatch in CIELAB, (4, 3).
        size_m: Half extents, (3,).
        places_m: Its middle in the world, and those of all that look the same, (N, 3).
        shown_as: Their numbers in the view.
        name: Task and body.
    """

    view: View
    colors: np.ndarray
    size_m: np.ndarray
    places_m: np.ndarray
    shown_as: tuple[int, ...]
    name: str

    @cached_property
    def middles_px(self) -> np.ndarray:
        """Where the middles are in the image, right and down, (N, 2)."""
        return self.view.pixels(self.places_m)

    @cached_property
    def shows_px(self) -> np.ndarray:
        """Where the middles of what shows of them are in the image, right and down, (N, 2)."""
        spots = (np.argwhere(self.view.numbers == number)[:, ::-1] for number in self.shown_as)
        return np.array([spot.mean(0) + 0.5 if len(spot) else [-IMAGE_PX] * 2 for spot in spots])

    def seen_m(self, pixel: np.ndarray, which: int) -> np.ndarray:
        """The place (3,) that is seen at a pixel: at the height of a middle above the table; if
        that hovers, where the line of sight is nearest to it, as no image tells its distance.
        """
        ray, eye = self.view.ray(pixel), np.asarray(self.view.camera.eye_m)
        middle = self.places_m[which] - eye
        level = self.places_m[which, 2] < HOVERS_M and ray[2] < 0
        along = middle[2] / ray[2] if level else middle @ ray / (ray @ ray)
        return np.asarray(eye + along * ray)

    def off_m(self, pixel: np.ndarray, shows_px: np.ndarray) -> tuple[float, float]:
        """How far the place that is seen at a pixel is from the nearest middle, and that at another
        from the nearest middle of what shows.
        """
        middles, shows = [], []
        for which, place in enumerate(self.places_m):
            middles.append(float(np.linalg.norm(self.seen_m(pixel, which) - place)))
            truly = self.seen_m(self.shows_px[which], which)
            shows.append(float(np.linalg.norm(self.seen_m(shows_px, which) - truly)))
        return min(middles), min(shows)

    def shown(self, corner: np.ndarray, zoom: int) -> np.ndarray:
        """What a network is shown of the part of the image with an upper left corner, (channels,
        CELLS, CELLS) float32: colors, and how alike the swatch they are, of all pixels of a cell;
        size, swatch and part.
        """
        pixels = _part(self.view.image, corner, zoom).mean((1, 3))  # (PART_PX, PART_PX, 3)
        seen = _lab_of_colors()[tuple(pixels.astype(int).transpose(2, 0, 1) >> 3)]
        apart = np.stack([np.square(seen - color).sum(-1) for color in self.colors])
        weights = np.array((0.3, 1.0, 1.0), np.float32)
        hue = np.square((seen - self.colors.mean(0)) * weights).sum(-1)
        alike = 0.5 ** (np.sqrt([*apart, apart.min(0), hue]) / CLOSE_LAB)
        each = np.concatenate([pixels.transpose(2, 0, 1) / 255 - 0.5, alike])
        cells = each.reshape(len(each), CELLS, CELL_PX, CELLS, CELL_PX).transpose(0, 2, 4, 1, 3)
        middle = corner + zoom * PART_PX / 2
        told = np.concatenate(
            [
                self.size_px(middle) / zoom / 40,
                self.colors.ravel() / 50,
                [zoom, 2 * self.view.camera.axes[2][2]],
                middle / (IMAGE_PX / 2) - 1,
            ]
        )
        around = np.broadcast_to(told[:, None, None], (len(told), CELLS, CELLS))
        return np.concatenate([cells.reshape(-1, CELLS, CELLS), around]).astype(np.float32)

    def target(self, corner: np.ndarray, zoom: int) -> np.ndarray:
        """What is to be said of each cell, (3, CELLS, CELLS) float32: how much of it shows the
        object or one like it, and how far its middle is, right and down, in cells.
        """
        numbers = _part(self.view.numbers, corner, zoom * CELL_PX)
        shares = np.stack([(numbers == number).mean((1, 3)) for number in self.shown_as])
        middles = (self.middles_px - corner) / (zoom * CELL_PX)
        away = middles[shares.argmax(0)].transpose(2, 0, 1) - _cells()
        return np.concatenate([shares.max(0)[None], away]).astype(np.float32)

    def size_px(self, about_px: np.ndarray) -> np.ndarray:
        """Its half extents (3,) in pixels of the image, about, if it is at its height there."""
        ray, eye = self.view.ray(about_px), self.view.camera.eye_m
        ahead_m = np.clip((self.places_m[0, 2] - eye[2]) / min(ray[2], -0.01), 0.3, 2.5)
        pixel_m = ahead_m * tan(self.view.camera.fov_rad / 2) / (IMAGE_PX / 2)
        return np.asarray(self.size_m / pixel_m)

    def around(self, about_px: np.ndarray) -> tuple[np.ndarray, int]:
        """Upper left corner (2,) and zoom of what the second network sees around a pixel: twice as
        much of what is large.
        """
        zoom = 1 if 2 * self.size_px(about_px).max() < LARGE_PX else 2
        corner = np.round(about_px).astype(int) - zoom * PART_PX // 2
        return corner.clip(0, IMAGE_PX - zoom * PART_PX), zoom


def _part(image: np.ndarray, corner: np.ndarray, size_px: int) -> np.ndarray:
    """A part of an image in squares of some pixels, (squares, size, squares, size, ...)."""
    left, top = corner
    count = PART_PX if image.ndim == 3 else CELLS
    rows = image[top : top + count * size_px, left : left + count * size_px]
    return rows.reshape(count, size_px, count, size_px, *image.shape[2:])


@cache
def _cells() -> np.ndarray:
    """Middles of cells, right and down, in cells, (2, CELLS, CELLS)."""
    rows, columns = np.mgrid[:CELLS, :CELLS] + 0.5
    return np.stack([columns, rows]).astype(np.float32)


def samples(episode: EpisodeSpec) -> Iterator[Sample]:
    """The objects of the task within reach that show at the start and are not held."""
    task = make_task(episode.task, **episode.task_args)
    setting, slots = task.setting, len(task.slots)
    present = [(k, body) for k, body in enumerate(episode.layout.bodies) if body]
    bodies = [body for _, body in present]
    drawn = start_view(episode, setting, bodies, episode.conditions, IMAGE_PX)
    view = View(
        np.ascontiguousarray(drawn.color[..., :3]),
        drawn.segmentation.astype(np.uint8),
        episode.conditions.of(setting).cameras[setting.watch[0]],
    )
    least = LEAST_PX * (IMAGE_PX / view.camera.size_px) ** 2
    sizes = [np.array(body.geometry.half_extents) for body in bodies]
    for number, (k, body) in enumerate(present):
        shown = int((view.numbers == 1 + number).sum())
        if k >= slots or k == episode.layout.in_gripper or not body.texture or shown < least:
            continue
        alike = [
            n
            for n, other in enumerate(bodies)
            if n != number
            and other.texture == body.texture
            and np.abs(sizes[n] - sizes[number]).max() < SAME_M
        ]
        places_m = np.array([bodies[n].pose[:3] for n in (number, *alike)])
        middle = view.pixels(places_m[:1])[0]
        inside = (middle > 4).all() and (middle < IMAGE_PX - 4).all()
        if inside and setting.workspace.contains(*body.pose[:2]):
            shown_as = tuple(1 + n for n in (number, *alike))
            colors, name = swatch_colors(body.texture), f"{episode.task} {body.key}"
            yield Sample(view, colors, sizes[number], places_m, shown_as, name)


@cache
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


class Localizer(nn.Module):
    """Of each cell, whether it shows an object, as a logit, and how far the object's middle is."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()

        def block(before: int, after: int) -> nn.Sequential:
            return nn.Sequential(
                *(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
                *(nn.Conv2d(after, after, 3, padding=1), nn.GroupNorm(4, after), nn.ReLU()),
            )

        self.first = block(channels, width)
        self.second, self.third = block(width, 2 * width), block(2 * width, 4 * width)
        self.fourth = block(4 * width, 4 * width)
        self.up_third, self.up_second = block(8 * width, 2 * width), block(4 * width, width)
        self.up_first = block(2 * width, width)
        self.out = nn.Conv2d(width, 3, 1)
        self.down, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        second = self.second(self.down(first))
        third = self.third(self.down(second))
        y = self.up(self.fourth(self.down(third)))
        y = self.up(self.up_third(torch.cat([y, third], 1)))
        y = self.up(self.up_second(torch.cat([y, second], 1)))
        said: torch.Tensor = self.out(self.up_first(torch.cat([y, first], 1)))
        return said

    @torch.inference_mode()
    def middle(
        self, sample: Sample, corner: np.ndarray, zoom: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where in the image (2,) most cells of a part say that the middle is, and the middle (2,)
        of what these say to show the object.
        """
        said = self(torch.from_numpy(sample.shown(corner, zoom))[None])[0].numpy()
        weights = np.square(1 / (1 + np.exp(-said[0].ravel())))
        likely = np.argsort(-weights)[:MOST_VOTES]
        weights, votes = weights[likely], (_cells() + said[1:]).reshape(2, -1).T[likely]

        def agreed(place: np.ndarray) -> np.ndarray:
            near = np.exp(-np.square(votes - place[..., None, :]).sum(-1) / 8)
            return np.asarray(weights * near)

        found = votes[agreed(votes).sum(1).argmax()]
        for _ in range(10):
            found = np.average(votes, 0, agreed(found))
        cells, size_px = _cells().reshape(2, -1).T[likely], zoom * CELL_PX
        shows = np.average(cells, 0, agreed(found))
        return corner + found * size_px, corner + shows * size_px


def loss_of(said: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of which cells show the object; how far off those say that the middle is, each
    and on the mean, in cells.
    """
    share, away = target[:, 0], target[:, 1:]
    entropy = nn.functional.binary_cross_entropy_with_logits(said[:, 0], share)
    total = share.sum((1, 2)) + 1e-3
    off = (said[:, 1:] - away).clamp(-15, 15) * share[:, None]
    each = off.abs().sum((1, 2, 3)) / total
    mean = (off.sum((2, 3)) / total[:, None]).abs().sum(1)
    return 3 * entropy + 0.2 * each.mean() + 0.4 * mean.mean()


def train(found: Sequence[Sample], whole: bool, epochs: int, args: Args) -> Localizer:
    """Train the first network on samples, or the second."""
    generator = np.random.default_rng(args.seed)
    nothing = np.zeros(2, int)
    network = Localizer(len(found[0].shown(nothing, WHOLE)), args.width)
    steps = epochs * (len(found) // args.batch)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=max(1, steps))
    order: list[int] = []
    for _ in range(steps):
        if len(order) < args.batch:
            order = generator.permutation(len(found)).tolist()
        shown, target = [], []
        for sample in (found[order.pop()] for _ in range(args.batch)):
            about = sample.middles_px[0] + generator.uniform(-JITTER_PX, JITTER_PX, 2)
            corner, zoom = (nothing, WHOLE) if whole else sample.around(about)
            shown.append(sample.shown(corner, zoom))
            target.append(sample.target(corner, zoom))
        with torch.autocast("cpu", torch.bfloat16):
            said = network(torch.from_numpy(np.stack(shown)))
        loss = loss_of(said.float(), torch.from_numpy(np.stack(target)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return network.eval()


def errors_m(coarse: Localizer, fine: Localizer, sample: Sample) -> tuple[float, float]:
    """How far off the networks are, of the nearest one that looks the same: of its middle, and of
    the middle of what shows of it.
    """
    about, shows = coarse.middle(sample, np.zeros(2, int), WHOLE)
    for _ in range(2):
        about, shows = fine.middle(sample, *sample.around(about))
    return sample.off_m(about, shows)


def levels_of(generator: np.random.Generator, axes: Mapping[str, int]) -> dict[str, int]:
    """One axis, or each of them as likely as not, at some level."""
    on = generator.random(len(axes)) < 0.5
    if generator.random() < ALONE:
        on = np.arange(len(axes)) == generator.integers(len(axes))
    return {
        name: int(generator.integers(1, 1 + most)) if used else 0
        for (name, most), used in zip(axes.items(), on, strict=True)
    }


def main(args: Args) -> None:
    """Train, test and print."""
    torch.set_num_threads(1)
    suite, begin = load_suite(), time.process_time()
    tasks = list(suite.levels())
    axes = {name: len(axis.levels) for name, axis in suite.axes().items() if axis.seen}
    drawn: list[Sample] = []
    for k in range(args.train):
        task, seed = tasks[k % len(tasks)], DEMONSTRATIONS.start + 500_000 + k
        levels = levels_of(np.random.default_rng((args.seed, k)), axes)
        try:
            made = suite.draw_perturbed(task, "train", seed, levels)
        except ClevrSkillsError:
            continue
        if isinstance(made, EpisodeSpec):
            drawn += samples(made)
    ready = time.process_time()
    torch.manual_seed(args.seed)
    coarse = train(drawn, True, (args.epochs + 3) // 4, args)
    fine = train(drawn, False, args.epochs, args)
    done = time.process_time()
    print(f"{ready - begin:.0f} CPU-s drawn, {done - ready:.0f} CPU-s trained", flush=True)
    rows: list[list[object]] = []
    tested = [("none", 0), *((n, k) for k in range(1, 6) for n, most in axes.items() if k <= most)]
    for name, level in tested:
        errors: dict[str, tuple[float, float]] = {}
        for k in range(args.test):
            task, number = tasks[k % len(tasks)], k // len(tasks) + len(rows) % SHIPPED
            made = suite.perturb(
                suite.frozen(task, "train")[number], {name: level} if level else {}
            )
            if isinstance(made, EpisodeSpec) and not hidden(made):
                for one in samples(made):
                    errors[f"{one.name} {number}"] = errors_m(coarse, fine, one)
        middles, shows = np.array(list(errors.values())).T
        rows.append([name, level, len(errors)])
        for off in (middles, shows):
            low, high = wilson(int((off <= NEAR_M).sum()), len(off))
            share = 100 * (off <= NEAR_M).mean()
            rows[-1] += [f"{share:.0f} [{100 * low:.0f}, {100 * high:.0f}]"]
            rows[-1] += [f"{1e3 * np.median(off):.1f}"]
        missed = (f"{key} {1e3 * off:.0f} mm" for key, (off, _) in errors.items() if off > NEAR_M)
        print(*rows[-1], "missed:", ", ".join(missed), flush=True)
    columns = ["axis", "level", "objects"]
    columns += ["within 1.5 cm, %", "median, mm", "of what shows, %", "median, mm"]
    print_table(f"Found by sight; trained on {len(drawn)} objects", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
