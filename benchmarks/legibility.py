"""Legibility of images: whether what the base camera shows tells objects of a scene apart.

A small convolutional network learns shape and texture from crops of the starts of episodes of all
tasks and both splits. In other episodes it is then told which shapes and textures there are, and
says which object has which. Two ways: each object by itself gets the likeliest of those names; or
all names are given out at once, one to each object, as somebody does who looks at the whole scene.

    python benchmarks/legibility.py
    python benchmarks/legibility.py --size 128 --look flat
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
import tyro
from common import print_table
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.assets import shape_names, texture_names
from clevrskills.core.env_config import LOOKS, Look
from clevrskills.envs.scene_sampling import draw_scene
from clevrskills.sim.body import Body
from clevrskills.sim.render.trajectory_renderer import TrajectoryRenderer
from clevrskills.sim.robots.description import robot
from clevrskills.sim.setting import TABLETOP
from clevrskills.tasks import task, tasks

CROP_PX, MARGIN = 32, 1.25
CAMERA, ROBOT = "base_camera", "xarm6"
SPLITS = ("train", "test")
JITTERED = 8
"""How many jittered versions of a crop are looked at to name it."""
Trained = TypeVar("Trained", bound=nn.Module)
LEAST_PX = 12
"""Objects of which less is seen are hidden by others or the arm, and not asked for."""


@dataclass
class LegibilityArgs:
    """What is looked at."""

    scenes: int = 600
    """Scenes in which objects are named."""
    learn: int = 8000
    """Scenes that are learned from."""
    epochs: int = 20
    """How often these are gone through."""
    size: int = 256
    """Width and height of the images, in pixels."""
    look: Look = LOOKS[0]
    """How they look."""
    seed: int = 0
    """Of the first scene that is learned from."""


@dataclass
class Crop:
    """What the camera sees of one object.

    Attributes:
        pixels: (3, 32, 32) uint8.
        scale: Logarithm of the width of what was cut out, in shares of the image.
        shape: Index of its shape.
        texture: Index of its texture.
    """

    pixels: np.ndarray
    scale: float
    shape: int
    texture: int


class Net(nn.Module):
    """Logits of two properties of what crops show, such as shape and texture."""

    def __init__(self, first: int, second: int, size_px: int = CROP_PX, channels: int = 3) -> None:
        super().__init__()
        widths = (channels, 32, 64, 128, 192)
        self.body = nn.Sequential(
            *(
                layer
                for before, after in zip(widths, widths[1:], strict=False)
                for layer in (
                    nn.Conv2d(before, after, 3, padding=1, bias=False),
                    nn.BatchNorm2d(after),
                    nn.ReLU(),
                    nn.MaxPool2d(2),
                )
            ),
            nn.Flatten(),
        )
        features = widths[-1] * (size_px // 16) ** 2 + 1
        self.first, self.second = nn.Linear(features, first), nn.Linear(features, second)

    def forward(self, pixels: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """From (B, channels, size, size), in [-1, 1], and (B,)."""
        seen = torch.cat((self.body(pixels), scale[:, None]), dim=1)
        seen = functional.dropout(seen, 0.2, self.training)
        return self.first(seen), self.second(seen)


def scenes(args: LegibilityArgs, first: int, count: int) -> Iterator[list[Crop]]:
    """The crops of each scene, those of all tasks and splits in turn."""
    film = TrajectoryRenderer(
        (CAMERA,), ROBOT, args.size, setting=replace(TABLETOP, look=args.look)
    )
    qpos = np.array(robot(ROBOT).neutral_qpos, np.float32)
    pairs = [(key, split) for key in tasks() for split in SPLITS]
    for k in range(count):
        key, split = pairs[k % len(pairs)]
        drawn = draw_scene(task(key), first + k, split)
        bodies = [body for body in drawn.layout.bodies if body]
        film.open({"bodies": [body.to_json() for body in bodies]})
        poses = np.array([body.pose for body in bodies], np.float32)
        view = film.render(qpos, poses, {})[CAMERA]
        yield list(crops(bodies, view.color[..., :3], view.segmentation))


def crops(bodies: list[Body], image: np.ndarray, segmentation: np.ndarray) -> Iterator[Crop]:
    """What is seen of each textured object."""
    names, colours = shape_names(), texture_names()
    for k, body in enumerate(bodies):
        rows, columns = np.nonzero(segmentation == 1 + k)
        if len(rows) < LEAST_PX or body.texture is None or body.shape not in names or body.ghost:
            continue
        pixels, scale = cut(image, rows, columns)
        yield Crop(
            pixels,
            scale,
            names.index(body.shape),
            colours.index(body.texture),
        )


def cut(
    image: np.ndarray, rows: np.ndarray, columns: np.ndarray, size_px: int = CROP_PX
) -> tuple[np.ndarray, float]:
    """Square of an image (n, n, c) around pixels, (c, size, size) uint8, and the logarithm of its
    width in shares of the image.
    """
    middle = (rows.min() + rows.max()) / 2, (columns.min() + columns.max()) / 2
    half = MARGIN * max(int(np.ptp(rows)), int(np.ptp(columns)), 6) / 2
    size = len(image)
    theta = torch.tensor(
        [
            [2 * half / size, 0.0, (2 * middle[1] + 1) / size - 1],
            [0.0, 2 * half / size, (2 * middle[0] + 1) / size - 1],
        ]
    )
    grid = functional.affine_grid(theta[None].float(), [1, 3, size_px, size_px], False)
    pixels = torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32))[None]
    found = functional.grid_sample(pixels, grid, align_corners=False, padding_mode="border")[0]
    return found.round().byte().numpy(), float(np.log(half / size))


def batch(found: list[Crop]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pixels in [-1, 1], scales, shapes and textures."""
    return (
        torch.from_numpy(np.stack([crop.pixels for crop in found])).float() / 127.5 - 1,
        torch.tensor([crop.scale for crop in found]),
        torch.tensor([crop.shape for crop in found]),
        torch.tensor([crop.texture for crop in found]),
    )


def jittered(pixels: Tensor) -> Tensor:
    """Crops (B, 3, H, W) a little moved, stretched, brighter or darker."""
    count = len(pixels)
    theta = torch.zeros(count, 2, 3)
    theta[:, 0, 0] = 1 + 0.12 * uniform(count)
    theta[:, 1, 1] = theta[:, 0, 0] * (1 + 0.03 * uniform(count))
    theta[:, :, 2] = 0.1 * uniform(count, 2)
    grid = functional.affine_grid(theta, list(pixels.shape), False)
    moved = functional.grid_sample(pixels, grid, align_corners=False, padding_mode="border")
    return moved * (1 + 0.15 * uniform(count, 1, 1, 1))


def uniform(*shape: int) -> Tensor:
    """Random numbers from -1 to 1."""
    return 2 * torch.rand(*shape) - 1


def learn(found: list[Crop], epochs: int) -> Net:
    """A network that knows the crops."""
    torch.manual_seed(0)
    return trained(Net(len(shape_names()), len(texture_names())), batch(found), epochs)


def trained(
    net: Trained,
    known: tuple[Tensor, ...],
    epochs: int,
    jitter: Callable[[Tensor], Tensor] = jittered,
) -> Trained:
    """The network, after it has learned from pixels, scales and the two properties."""
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=5e-3)
    pixels, scale, first, second = known
    steps = epochs * -(-len(pixels) // 128)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(pixels)).split(128):
            firsts, seconds = net(jitter(pixels[rows]), scale[rows])
            loss = functional.cross_entropy(firsts, first[rows])
            loss = loss + functional.cross_entropy(seconds, second[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


@torch.inference_mode()
def named(net: Net, found: list[Crop]) -> np.ndarray:
    """How many objects of a scene have their shape, their texture, and both named rightly, (2, 3):
    each by itself, and all at once.
    """
    pixels, scale, *truth = batch(found)
    seen = [net(jittered(pixels), scale) for _ in range(JITTERED)]
    right = np.zeros((2, 3, len(found)), bool)
    for k, names in enumerate(truth):
        likely = torch.stack([logits[k].softmax(-1) for logits in seen]).mean(0)[:, names].log()
        right[0, k] = (names[likely.argmax(1)] == names).numpy()
        right[1, k] = (names[linear_sum_assignment(-likely)[1]] == names).numpy()
    right[:, 2] = right[:, :2].all(1)
    return right.sum(-1)


def main(args: LegibilityArgs) -> None:
    """Learn, look and print a table."""
    torch.set_num_threads(1)
    known = [crop for scene in scenes(args, args.seed, args.learn) for crop in scene]
    net = learn(known, args.epochs)
    total, right = 0, np.zeros((2, 3), int)
    for scene in scenes(args, args.seed + args.learn, args.scenes):
        if scene:
            total += len(scene)
            right += named(net, scene)
    rows: list[list[object]] = [
        [what, *(f"{100 * count / total:.1f}" for count in right[:, k].tolist())]
        for k, what in enumerate(("shape", "texture", "both"))
    ]
    title = f"{args.scenes} scenes, {args.size} px, {args.look}; learned from {len(known)} objects"
    columns = [f"% of {total} objects named rightly", "each by itself", "all at once"]
    print_table(title, columns, rows)


if __name__ == "__main__":
    main(tyro.cli(LegibilityArgs, description=__doc__))
