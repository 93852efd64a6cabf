"""Networks of perception: object, target, skill and angle of the next subgoal, with positions.

One convolutional trunk encodes the scene and the images of the prompt. A small transformer reads
the prompt and makes a query for each of two roles, the object that is acted on and the target; the
answer is a heat map over cells of the scene. A second network refines positions in crops of
the full image; a third one estimates the pose of the end effector in a key-step image.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clevrskills.baselines.batch import Prompts
from clevrskills.baselines.policies.compact.skills import SKILL_NAMES
from clevrskills.baselines.policies.layers import mlp, transformer_encoder, transformer_layer
from clevrskills.sim.cameras import FixedCamera

SIZE_PX = 256
"""Width and height of the base image."""
HEIGHT_PX, WIDTH_PX = 208, SIZE_PX
"""Rows and columns of the base image that are used; below them is only the edge of the table."""
TOP_PX, BOTTOM_PX = 32, 192
"""Rows of the base image that the reader gets, the last one exclusive; they contain all objects and
goals of the training scenes."""
STRIDE_PX = 4
ROLES = 2
"""Roles of a subgoal: the object that is acted on, and the target."""
FRAMES = 3
"""Images of a scene: the present one, the first one of the episode, a key-step."""
ANGLES = 24
"""Bins of the angle of a subgoal, of 15 degrees each."""
COUNTS = 10
"""Distinct counts of completed subgoals; higher counts share the last."""
CROP_PX = 64
FAR_M = 1.5
"""Greatest depth of the table; also that of pixels without table."""
NEARNESS_UNIT = 1 / 6
POSE_UNIT_M = 0.1
_POOL = 4
State = Sequence[Tensor]
"""Number of completed subgoals, whether something is held, and whether there is a key-step image, 0
or 1, each (n,)."""


class Calibration(nn.Module):
    """Pinhole model of a fixed camera: maps world points to pixels and back.

    Depth is expressed as nearness, 1 - depth / depth of the table behind the point. For points
    above the table it is the height as a share of the camera's height; unlike the height it also
    determines the depth of points at the height of the camera.

    Args:
        camera: The camera.
    """

    axes: Tensor
    eye: Tensor

    def __init__(self, camera: FixedCamera) -> None:
        super().__init__()
        left, up, forward = camera.axes
        self.half_px = camera.size_px / 2
        scale = np.tan(camera.fov_rad / 2)
        axes = np.stack([-left * scale, -up * scale, forward])
        self.register_buffer("axes", torch.tensor(axes, dtype=torch.float32), persistent=False)
        eye = torch.tensor(camera.eye_m, dtype=torch.float32)
        self.register_buffer("eye", eye, persistent=False)

    def pixels(self, points: Tensor) -> Tensor:
        """Return right and down in the image (..., 2) of world points (..., 3) in meters."""
        # no matrix products, which mixed precision would round
        along = ((points - self.eye)[..., None, :] * self.axes).sum(-1)
        tangent = along[..., :2] / (self.axes[:2] ** 2).sum(-1)
        return self.half_px * (1 + tangent / along[..., 2:])

    def points(self, pixels: Tensor, nearness: Tensor) -> Tensor:
        """Return the world points (..., 3) of pixels (..., 2) of a nearness (...)."""
        ray, table_m = self._rays(pixels)
        return self.eye + ray * ((1 - nearness) * table_m)[..., None]

    def nearness(self, points: Tensor) -> Tensor:
        """Return the nearness (...) of world points (..., 3)."""
        depth_m = ((points - self.eye) * self.axes[2]).sum(-1)
        return 1 - depth_m / self._rays(self.pixels(points))[1]

    def _rays(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Return rays (..., 3) of pixels, of depth 1, and the depth (...) of the table on them."""
        ray = self.axes[2] + ((pixels / self.half_px - 1)[..., None] * self.axes[:2]).sum(-2)
        return ray, (self.eye[2] / (-ray[..., 2]).clamp(min=self.eye[2] / FAR_M))


def _stem(after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, after, 5, 2, 2), nn.ReLU(True))


def _convolution(before: int, after: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    layer = nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(layer, nn.GroupNorm(8, after), nn.ReLU(True))


def _convolutions(channels: Sequence[int], strides: Sequence[int]) -> list[nn.Sequential]:
    sizes = zip(pairwise(channels), strides, strict=True)
    return [_convolution(before, after, stride=stride) for (before, after), stride in sizes]


class Trunk(nn.Module):
    """Features of an image at a quarter of its resolution.

    Args:
        channels: Channels at half, a quarter and an eighth of the resolution.
        width: Channels of the features.
    """

    def __init__(self, channels: Sequence[int], width: int) -> None:
        super().__init__()
        stem, fine, coarse = channels
        self.stem = nn.Sequential(_stem(stem), _convolution(stem, fine, stride=2))
        self.fine = nn.ModuleList(_convolution(fine, fine) for _ in range(2))
        self.down = _convolution(fine, coarse, stride=2)
        self.coarse = nn.ModuleList(_convolution(coarse, coarse) for _ in range(2))
        self.up, self.side = nn.Conv2d(coarse, width, 1), nn.Conv2d(fine, width, 1)
        self.out = nn.Sequential(nn.ReLU(True), nn.Conv2d(width, width, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Map images (N, 3, H, W) in [0, 1] -> features (N, width, H / 4, W / 4)."""
        x = self.stem(images * 2 - 1)
        for layer in self.fine:
            x = x + layer(x)
        y = self.down(x)
        for layer in self.coarse:
            y = y + layer(y)
        size = (x.shape[-2], x.shape[-1])
        return self.out(self.side(x) + functional.interpolate(self.up(y), size=size))


class SceneMaps(NamedTuple):
    """Maps of n images of scenes.

    Attributes:
        features: Features, (n, D, h, w).
        cells: Embedding of the content of each cell, (n, D, h, w).
        geometry: Offset of an object's center from that of the cell, right and down, in cells; its
            nearness in units of :data:`NEARNESS_UNIT`; logit of the cell containing the center of a
            body; (n, 4, h, w).
    """

    features: Tensor
    cells: Tensor
    geometry: Tensor

    def similarity(self, queries: Tensor) -> Tensor:
        """Return the cosine similarity of unit queries (n, k, D) and each cell, (n, k, h, w)."""
        cells = self.cells.flatten(2)
        length = torch.linalg.vector_norm(cells, dim=1, keepdim=True, dtype=torch.float32)
        product = (queries.to(cells.dtype) @ cells).float() / length.clamp(min=1e-6)
        return product.unflatten(2, self.cells.shape[2:])


class Answer(NamedTuple):
    """Predictions for n scenes and prompts.

    Attributes:
        maps: Logits of the cell of each role's object, (n, ROLES, h, w).
        geometry: Geometry of these cells, see :class:`SceneMaps`, (n, ROLES, 4, h, w).
        pointed: Logits of the tokens of the prompt whose image shows each role's object, the first
            one for none, (n, ROLES, 1 + L).
        skill: Logits of the skill of the next subgoal, (n, skills).
        angle: Logits of the bins of its angle, (n, ANGLES).
    """

    maps: Tensor
    geometry: Tensor
    pointed: Tensor
    skill: Tensor
    angle: Tensor

    def pixels(self, corner: Tensor) -> tuple[Tensor, Tensor]:
        """Return pixels (n, ROLES, 2) and nearness (n, ROLES) of each role's object: the weighted
        mean of the predictions of the best cell and its neighbors.

        Args:
            corner: Pixel of the upper left corner of the images, (n, 2).
        """
        *_, h, w = self.maps.shape
        best = self.maps.flatten(2).argmax(-1)
        rows, columns = neighbors(best // w, best % w, h, w)
        cells = rows * w + columns  # (n, ROLES, 9)
        share = self.maps.flatten(2).gather(2, cells).softmax(-1)[..., None]
        predicted = self.geometry.flatten(3).gather(3, cells[:, :, None].expand(-1, -1, 4, -1))
        predicted = predicted.transpose(2, 3)
        at = torch.stack([columns, rows], -1) + 0.5 + predicted[..., :2]
        pixels = STRIDE_PX * (at * share).sum(2) + corner[:, None]
        return pixels, NEARNESS_UNIT * (predicted[..., 2] * share[..., 0]).sum(2)


def neighbors(row: Tensor, column: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Return rows and columns of cells (...) with their eight neighbors, (..., 9)."""
    step = torch.tensor([-1, 0, 1], device=row.device)
    rows = (row[..., None] + step.repeat_interleave(3)).clamp(0, height - 1)
    return rows, (column[..., None] + step.repeat(3)).clamp(0, width - 1)


class PromptReading(NamedTuple):
    """Encoding of n prompts of L tokens.

    Attributes:
        images: Embedding of the image at each token, 0 at words, (n, L, D).
        role: Embedding of each role, (n, ROLES, D).
        whole: Embedding of the whole prompt, (n, D).
        pointed: See :class:`Answer`.
        skill: See :class:`Answer`.
    """

    images: Tensor
    role: Tensor
    whole: Tensor
    pointed: Tensor
    skill: Tensor


class Reader(nn.Module):
    """Predictor of the next subgoal: its object, target, skill and angle.

    Args:
        words: Size of the vocabulary.
        length: Maximum number of tokens of a prompt.
        channels: Channels of the trunk at half, a quarter and an eighth of the resolution.
        width: Width of the embeddings, D.
        layers: Layers of the transformer, at least two.
    """

    def __init__(
        self, words: int, length: int, channels: Sequence[int], width: int, layers: int
    ) -> None:
        super().__init__()
        self.length, self.width = length, width
        self.trunk = Trunk(channels, width)
        self.attention = nn.Conv2d(width, 1, 1)
        self.object = mlp(2 * width, 2 * width, width, activation=nn.ReLU)
        self.cell = nn.Conv2d(width, width, 1)
        self.geometry = nn.Sequential(
            nn.Conv2d(width + 2, width, 1), nn.ReLU(True), nn.Conv2d(width, 4, 1)
        )
        self.words = nn.Embedding(words, width)
        self.position = nn.Parameter(0.02 * torch.randn(length + ROLES + 1, width))
        self.role = nn.Parameter(0.02 * torch.randn(ROLES + 1, width))
        self.count, self.holding = nn.Embedding(COUNTS, width), nn.Embedding(2, width)
        self.has_key = nn.Embedding(2, width)
        layer = transformer_layer(width, 4, 3 * width) | {"activation": "relu"}
        self.transformer = transformer_encoder(layer, layers)
        self.point, self.key, self.said = (nn.Linear(width, width) for _ in range(3))
        self.look, self.frame = nn.Linear(width, width), nn.Linear(width, FRAMES)
        self.skill = mlp(width, 96, len(SKILL_NAMES), activation=nn.ReLU)
        self.angle = mlp(width, 96, ANGLES, activation=nn.ReLU)
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.scene, self.scene_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.mix = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mixed = mlp(width, 3 * width, width, activation=nn.ReLU)
        pooled = ((BOTTOM_PX - TOP_PX) // STRIDE_PX // _POOL) * (WIDTH_PX // STRIDE_PX // _POOL)
        self.scene_position = nn.Parameter(0.02 * torch.randn(pooled, width))
        self.scene_frame = nn.Parameter(0.02 * torch.randn(FRAMES, width))
        nn.init.normal_(self.words.weight, std=0.02)
        for embedding in (self.count, self.holding, self.has_key):
            nn.init.normal_(embedding.weight, std=0.1)

    def encode_scenes(self, images: Tensor, corner: Tensor) -> SceneMaps:
        """Return the maps of images (n, 3, H, W) in [0, 1] whose upper left corner is a pixel
        (n, 2) of the whole image.
        """
        features = self.trunk(images)
        n, _, h, w = features.shape
        steps = [STRIDE_PX * (torch.arange(k, device=images.device) + 0.5) for k in (w, h)]
        across = (corner[:, :1] + steps[0]) / (WIDTH_PX / 2) - 1
        down = (corner[:, 1:] + steps[1]) / (WIDTH_PX / 2) - 1
        grid = torch.stack([across[:, None].expand(n, h, w), down[:, :, None].expand(n, h, w)], 1)
        located = torch.cat([functional.relu(features), grid.to(features.dtype)], 1)
        return SceneMaps(features, self.cell(features), self.geometry(located).float())

    def embed(self, images: Tensor) -> Tensor:
        """Return embeddings (n, D) of images of single objects (n, 3, 64, 64) in [0, 1]."""
        features = self.trunk(images)
        share = self.attention(features).float().flatten(2).softmax(-1)
        features = features.float().flatten(2)
        pooled = torch.cat([(features * share).sum(-1), features.amax(-1)], -1)
        embedding: Tensor = self.object(pooled)
        return embedding.float()

    def forward(
        self, maps: SceneMaps, frames: Tensor, prompts: Prompts, shown: Tensor, state: State
    ) -> Answer:
        """Return the predictions for the next subgoal.

        Args:
            maps: Maps of N images, each of one scene.
            frames: Indices of the present, the first and the key-step image of each scene,
                (n, FRAMES).
            prompts: The prompts, truncated to ``length`` tokens.
            shown: Embeddings of their images, (M, D).
            state: See :data:`State`.
        """
        read = self.read(prompts, shown, state, (maps.features, frames))
        role, share = read.role, read.pointed.softmax(-1)
        query = share[..., 1:] @ functional.normalize(read.images, dim=-1)
        query = query + share[..., :1] * self.said(role) + 0.3 * torch.tanh(self.look(role))
        query = functional.normalize(query, dim=-1).float()
        share = self.frame(role).softmax(-1).float()
        present = torch.eye(FRAMES, device=role.device)[:1].expand(len(role), -1)
        share = torch.stack([present, share[:, 1]], 1)  # the object is found in the present image
        logits, geometry = self._locate(maps, frames, query, share)
        angle = self.angle(read.whole).float()
        return Answer(logits, geometry, read.pointed.float(), read.skill, angle)

    def read(
        self, prompts: Prompts, shown: Tensor, state: State, scene: Sequence[Tensor] = ()
    ) -> PromptReading:
        """Return the encoding of prompts; ``scene``: features and frames of images, see
        :meth:`forward`.
        """
        tokens, mask, index = prompts.first(self.length)
        n, long = tokens.shape
        shows = index >= 0
        images = shown.new_zeros(n, long, self.width)
        images[shows] = shown[index[shows]]
        count, holding, has_key = state
        known = self.count(count) + self.holding(holding) + self.has_key(has_key)
        x = self.words(tokens) + images
        x = torch.cat([self.role + known[:, None], x], 1) + self.position[: ROLES + 1 + long]
        empty = torch.cat([mask.new_zeros(n, ROLES + 1), ~mask], 1)
        for k, layer in enumerate(self.transformer.layers):
            x = layer(x, src_key_padding_mask=empty)
            if scene and k == len(self.transformer.layers) - 2:
                x = self._attend_to_scene(x, *scene)
        x = x.float()
        role, whole, rest = x[:, :ROLES], x[:, ROLES], x[:, ROLES + 1 :]
        pointed = self.point(role) @ self.key(rest).transpose(1, 2) / 8
        pointed = pointed.masked_fill(~shows[:, None], -1e4)
        pointed = torch.cat([pointed.new_zeros(n, ROLES, 1), pointed], -1)
        return PromptReading(images, role, whole, pointed, self.skill(whole).float())

    @property
    def temperature(self) -> Tensor:
        """Factor from a cosine to a logit."""
        return self.scale.exp().clamp(max=50)

    def _locate(
        self, maps: SceneMaps, frames: Tensor, query: Tensor, share: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return logits (n, ROLES, h, w) and geometry (n, ROLES, 4, h, w) of cells for queries
        (n, ROLES, D), averaged over images with weights (n, ROLES, FRAMES).
        """
        n, images = len(frames), len(maps.cells)
        every = torch.arange(n, device=frames.device).repeat_interleave(FRAMES)
        owner = every.new_zeros(images).index_copy(0, frames.flatten(), every)
        weight = share.new_zeros(images, ROLES)
        weight = weight.index_add(0, frames.flatten(), share.transpose(1, 2).flatten(0, 1))
        fits = maps.similarity(query[owner]) * weight[..., None, None] * self.temperature
        predicted = maps.geometry[:, None] * weight[..., None, None, None]
        logits = fits.new_zeros(n, *fits.shape[1:]).index_add(0, owner, fits)
        return logits, predicted.new_zeros(n, *predicted.shape[1:]).index_add(0, owner, predicted)

    def _attend_to_scene(self, x: Tensor, features: Tensor, frames: Tensor) -> Tensor:
        """Return tokens (n, L, D) after attention to the features (N, D, h, w) of their images."""
        pooled = functional.avg_pool2d(features, _POOL).flatten(2).transpose(1, 2)
        placed = self.scene(pooled) + self.scene_position
        seen = [placed[frames[:, k]] + frame for k, frame in enumerate(self.scene_frame)]
        memory = torch.cat(seen, 1)
        x = x + self.mix(self.scene_norm(x), memory, memory, need_weights=False)[0]
        mixed: Tensor = x + self.mixed(self.scene_norm(x))
        return mixed


class CropNetwork(nn.Module):
    """Estimator of position and grasp point of a body in a crop of the full image."""

    def __init__(self) -> None:
        super().__init__()
        channels, strides = (3, 32, 64, 64, 96, 96, 96), (2, 2, 1, 2, 1, 2)
        self.see = nn.Sequential(*_convolutions(channels, strides))
        side = CROP_PX // 16
        self.tell = mlp(96 * side * side + 5, 256, 256, 6, activation=nn.ReLU)

    def forward(self, crops: Tensor, middle: Tensor, camera: Calibration) -> Tensor:
        """Return positions in meters of bodies and of their grasp points, (n, 2, 3).

        Args:
            crops: Crops (n, 3, CROP_PX, CROP_PX) in [0, 1].
            middle: Pixels of their centers, (n, 2).
            camera: The camera.
        """
        features = self.see(crops * 2 - 1).float().flatten(1)
        at = middle / (WIDTH_PX / 2) - 1
        where = torch.cat([at, at**2, at[:, :1] * at[:, 1:]], 1)
        offsets = self.tell(torch.cat([features, where], 1)).float().reshape(-1, 2, 3)
        pixels = middle[:, None] + STRIDE_PX * offsets[..., :2]
        return camera.points(pixels, NEARNESS_UNIT * offsets[..., 2])


def crops(images: Tensor, middle: Tensor) -> Tensor:
    """Return crops (n, 3, CROP_PX, CROP_PX) of images (n, 3, H, W) around whole pixels (n, 2),
    padded by repeated edges.
    """
    steps = torch.arange(CROP_PX, device=images.device) - CROP_PX // 2
    rows = (middle[:, 1, None].long() + steps).clamp(0, images.shape[2] - 1)
    columns = (middle[:, 0, None].long() + steps).clamp(0, images.shape[3] - 1)
    n = torch.arange(len(images), device=images.device)[:, None, None]
    return images[n, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class PoseNetwork(nn.Module):
    """Estimator of the pose of the end effector in a key-step image."""

    def __init__(self) -> None:
        super().__init__()
        channels, strides = (24, 48, 48, 96, 96, 128), (2, 1, 2, 1, 2)
        layers = [_stem(24), *_convolutions(channels, strides), _convolution(128, 32, kernel=1)]
        self.see = nn.Sequential(*layers)
        cells = (HEIGHT_PX // 16) * (WIDTH_PX // 16)
        self.tell = mlp(32 * cells, 256, 256, 9, activation=nn.ReLU)

    def forward(self, images: Tensor) -> Tensor:
        """Map images (n, 3, H, W) in [0, 1] -> position in units of :data:`POSE_UNIT_M` and first
        two columns of the rotation matrix, (n, 9).
        """
        pose: Tensor = self.tell(self.see(images * 2 - 1).float().flatten(1))
        return pose


def rotation_of(columns: Tensor) -> Tensor:
    """Return orthonormal rotation matrices (..., 3, 3) from approximate first two columns (..., 6)
    (Zhou et al. 2019, arXiv 1812.07035).
    """
    x = functional.normalize(columns[..., :3], dim=-1)
    y = columns[..., 3:] - (columns[..., 3:] * x).sum(-1, keepdim=True) * x
    y = functional.normalize(y, dim=-1)
    return torch.stack([x, y, torch.linalg.cross(x, y)], -1)
