"""Legibility of images: whether what the base camera shows tells objects of a scene apart.

A small convolutional network learns shape and texture from crops of the starts of episodes of all
tasks and both splits. In other episodes it then names each object among those of its own scene:
right if both its shape and its texture are what it takes for the likeliest of those present.

    python benchmarks/legibility.py
    python benchmarks/legibility.py --size 128 --look flat
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
import tyro
from common import print_table
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

CROP_PX, MARGIN = 40, 1.25
CAMERA, ROBOT = "base_camera", "xarm6"
SPLITS = ("train", "test")
LEAST_PX = 12
"""Objects of which less is seen are hidden by others or the arm, and not asked for."""


@dataclass
class LegibilityArgs:
    """What is looked at."""

    scenes: int = 600
    """Scenes in which objects are named."""
    learn: int = 6000
    """Scenes that are learned from."""
    epochs: int = 14
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
        pixels: (3, 40, 40) uint8.
        scale: Logarithm of the width of what was cut out, in shares of the image.
        shape: Index of its shape.
        texture: Index of its texture.
    """

    pixels: np.ndarray
    scale: float
    shape: int
    texture: int


class Net(nn.Module):
    """Logits of the shape and of the texture of what crops show."""

    def __init__(self, shapes: int, textures: int) -> None:
        super().__init__()
        widths = (3, 32, 64, 128, 192)
        self.body = nn.Sequential(
            *(
                layer
                for before, after in zip(widths, widths[1:], strict=False)
                for layer in (
                    nn.Conv2d(before, after, 3, padding=1),
                    nn.BatchNorm2d(after),
                    nn.ReLU(),
                    nn.MaxPool2d(2),
                )
            ),
            nn.Flatten(),
        )
        features = widths[-1] * (CROP_PX // 16) ** 2 + 1
        self.shape, self.texture = nn.Linear(features, shapes), nn.Linear(features, textures)

    def forward(self, pixels: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """From (B, 3, 40, 40) uint8 and (B,)."""
        seen = torch.cat((self.body(pixels.float() / 127.5 - 1), scale[:, None]), dim=1)
        return self.shape(seen), self.texture(seen)


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
        middle = (rows.min() + rows.max()) / 2, (columns.min() + columns.max()) / 2
        half = MARGIN * max(int(np.ptp(rows)), int(np.ptp(columns)), 6) / 2
        size = len(image)
        theta = torch.tensor(
            [
                [2 * half / size, 0.0, (2 * middle[1] + 1) / size - 1],
                [0.0, 2 * half / size, (2 * middle[0] + 1) / size - 1],
            ]
        )
        grid = functional.affine_grid(theta[None].float(), [1, 3, CROP_PX, CROP_PX], False)
        pixels = torch.from_numpy(image.transpose(2, 0, 1).astype(np.float32))[None]
        cut = functional.grid_sample(pixels, grid, align_corners=False, padding_mode="border")[0]
        yield Crop(
            cut.round().byte().numpy(),
            float(np.log(half / size)),
            names.index(body.shape),
            colours.index(body.texture),
        )


def batch(found: list[Crop]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pixels, scales, shapes and textures."""
    return (
        torch.from_numpy(np.stack([crop.pixels for crop in found])),
        torch.tensor([crop.scale for crop in found]),
        torch.tensor([crop.shape for crop in found]),
        torch.tensor([crop.texture for crop in found]),
    )


def learn(found: list[Crop], epochs: int) -> Net:
    """A network that knows the crops."""
    torch.manual_seed(0)
    net = Net(len(shape_names()), len(texture_names()))
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3, weight_decay=1e-3)
    steps = epochs * -(-len(found) // 128)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    pixels, scale, shape, texture = batch(found)
    for _ in range(epochs):
        for rows in torch.randperm(len(found)).split(128):
            shapes, textures = net(pixels[rows], scale[rows])
            loss = functional.cross_entropy(shapes, shape[rows])
            loss = loss + functional.cross_entropy(textures, texture[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval()


@torch.inference_mode()
def named(net: Net, found: list[Crop]) -> tuple[int, int, int]:
    """How many objects of a scene have their shape, their texture, and both named rightly."""
    pixels, scale, shape, texture = batch(found)
    shapes, textures = net(pixels, scale)
    of_shape, of_texture = shape.unique(), texture.unique()
    right_shape = of_shape[shapes[:, of_shape].argmax(1)] == shape
    right_texture = of_texture[textures[:, of_texture].argmax(1)] == texture
    both = right_shape & right_texture
    return int(right_shape.sum()), int(right_texture.sum()), int(both.sum())


def main(args: LegibilityArgs) -> None:
    """Learn, look and print a table."""
    torch.set_num_threads(1)
    known = [crop for scene in scenes(args, args.seed, args.learn) for crop in scene]
    net = learn(known, args.epochs)
    total, right = 0, np.zeros(3, int)
    for scene in scenes(args, args.seed + args.learn, args.scenes):
        if scene:
            total += len(scene)
            right += named(net, scene)
    rows = [
        [what, total, f"{100 * count / total:.1f}"]
        for what, count in zip(("shape", "texture", "both"), right.tolist(), strict=True)
    ]
    title = f"{args.scenes} scenes, {args.size} px, {args.look}; learned from {len(known)} objects"
    print_table(title, ["named rightly among those of its scene", "objects", "%"], rows)


if __name__ == "__main__":
    main(tyro.cli(LegibilityArgs, description=__doc__))
