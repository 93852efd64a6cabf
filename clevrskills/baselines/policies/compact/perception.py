"""Training of perception on scenes: batches, and losses of the networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Movable, Prompts
from clevrskills.baselines.policies.compact.controller import EQUIVALENT_SKILLS, SKILLS
from clevrskills.baselines.policies.compact.network import (
    ANGLES,
    BOTTOM_PX,
    COUNTS,
    HEIGHT_PX,
    NEARNESS_UNIT,
    POSE_UNIT_M,
    ROLES,
    STRIDE_PX,
    TOP_PX,
    WIDTH_PX,
    Answer,
    Calibration,
    CropNetwork,
    PoseNetwork,
    Reader,
    SceneMaps,
    crops,
    neighbors,
)
from clevrskills.baselines.prompts import EncodedPrompt, Tokenizer, encode, stack
from clevrskills.core import geometry
from clevrskills.core.policy import PromptInput
from clevrskills.dataset_tools.scenes.scene_set import LabeledScene, SceneEpisode, SceneSet

BODIES = 10
"""Greatest number of bodies of a scene."""
PROMPT_PX = 64
SHIFT_PX = 8
"""Greatest random shift of images in pixels."""
WORDS_ONLY_SHARE = 0.12
"""Share of prompts with images that are replaced by words."""
RECOLOR_SHARE, DIM = 0.5, 0.35
"""Share of scenes with permuted color channels, if no word names an object, and the range of their
scales."""
_BLANK = np.zeros((PROMPT_PX, PROMPT_PX, 3), np.uint8)
KEY_STEP = "{ks:"
UNIT_M = 0.02
"""Unit of position errors, and the height of places without one."""
ANGLE_SKILLS = tuple(SKILLS.index(name) for name in ("rotated", "at_pose", "at_pose_on_top"))
WEIGHTS = {
    **dict.fromkeys(("object", "target", "geometry", "crop", "pose"), 1.0),
    **dict.fromkeys(("order", "alone", "bodies"), 0.5),
    **dict.fromkeys(("contrast", "skill", "angle"), 0.3),
    "pointed": 0.2,
}
"""Weights of the terms of the loss."""
ORDER_PROMPTS = 192
"""Prompts of a batch without images of scenes, for the order of subgoals."""
POSES = 32
"""Key-step images of a batch for the pose."""
CONTRAST_BODIES = 512
CROP_BODIES = 256
"""Greatest numbers of bodies of a batch in the contrastive loss and in crops."""


@dataclass(frozen=True)
class SceneBatch(Movable):
    """B scenes with the targets of perception.

    Attributes:
        images: Images of scenes and key-steps, each once, (N, 3, H, W) uint8.
        owner: The scene of each, (N,).
        frames: Indices of the present, the first and the key-step image of each scene, (B, FRAMES);
            the first one only after a subgoal is completed.
        corner: Pixel of their upper left corner, (2,).
        prompts: The prompts, with images of single objects and textures.
        prompt_owner: The scene of each of these images, (M,).
        alone: Images of single bodies, (J, 3, 64, 64) uint8.
        alone_of: Scene and body of each, (J, 2).
        colors: Color matrix of each scene, (B, 3, 3).
        count: Completed subgoals, (B,).
        holding: Whether something is held, (B,).
        has_key: Whether there is a key-step, (B,).
        bodies: Positions of bodies in meters, NaN where there is none, (B, BODIES, 3).
        object: Index of the body that is acted on, -1: none, (B,).
        target_body: Index of the target, -1: none, (B,).
        target: Its position, or that of a place, (B, 3).
        contact: Grasp or contact point of the object, (B, 3).
        posed: Key-step images of other scenes, (K, 3, H, W) uint8.
        pose: Pose of the end effector in each: position and first two columns of the rotation
            matrix, (K, 9).
        pointed: Token of the prompt whose image shows the object of each role, from 1 on, 0: none,
            (B, ROLES).
        skill: Index of the skill, (B,).
        angle: Bin of the angle, (B,).
        ordered: Prompts of O other scenes, without images, for the order of subgoals.
        ordered_state: Their count, holding and has_key, (O, 3).
        ordered_pointed: Tokens in them, as ``pointed``, -1 for no object, (O, ROLES).
        ordered_skill: Their skills, (O,).
    """

    images: Tensor
    owner: Tensor
    frames: Tensor
    corner: Tensor
    prompts: Prompts
    prompt_owner: Tensor
    alone: Tensor
    alone_of: Tensor
    colors: Tensor
    count: Tensor
    holding: Tensor
    has_key: Tensor
    bodies: Tensor
    object: Tensor
    target_body: Tensor
    target: Tensor
    contact: Tensor
    posed: Tensor
    pose: Tensor
    pointed: Tensor
    skill: Tensor
    angle: Tensor
    ordered: Prompts
    ordered_state: Tensor
    ordered_pointed: Tensor
    ordered_skill: Tensor


class SceneWindows:
    """Scenes, in batches.

    Args:
        scenes: The scenes.
        tokenizer: Tokenizer of prompts.
        length: Maximum number of tokens of a prompt.
        seed: Seed of the augmentation.

    Attributes:
        tasks: Task of each scene.
        counts: Ones: see :class:`~clevrskills.baselines.data.windows.SampleOrder`.
    """

    def __init__(self, scenes: SceneSet, tokenizer: Tokenizer, length: int, seed: int) -> None:
        self._set, self._tokenizer, self._length = scenes, tokenizer, length
        self._seed = seed
        self._scenes = [
            scene
            for scene in scenes.scenes
            if max(scene.subgoal.object, scene.subgoal.target) < BODIES
        ]
        self._posed = [
            scene
            for scene in self._scenes
            if key_steps(scene.episode) and np.isfinite(scene.subgoal.ee_pose).all()
        ]
        self._composed = [scene for scene in self._scenes if scene.episode.level != "L0"]
        self.tasks = tuple(scene.episode.task for scene in self._scenes)
        self.counts = np.ones(len(self._scenes), int)

    def __len__(self) -> int:
        """Return the number of scenes."""
        return len(self._scenes)

    def __getitem__(self, indices: Sequence[int]) -> SceneBatch:
        """Return a batch; indices beyond the last scene wrap around, with other augmentation."""
        rng = np.random.default_rng((self._seed, int(indices[0])))
        chosen = [self._scenes[index % len(self)] for index in indices]
        down, across = (int(n) for n in rng.integers(-SHIFT_PX, SHIFT_PX + 1, 2))
        images, owners, frames = list[np.ndarray](), list[int](), list[list[int]]()
        encoded, prompt_owner = list[EncodedPrompt](), list[int]()
        alone, alone_of = list[np.ndarray](), list[tuple[int, int]]()
        colors, pointed = list[np.ndarray](), list[list[int]]()
        for number, scene in enumerate(chosen):
            keys = key_steps(scene.episode)
            names = [scene.image, scene.first if scene.done else scene.image]
            names += [key_step(scene)] if keys else [scene.image]
            unique = list(dict.fromkeys(names))
            frames.append([len(images) + unique.index(name) for name in names])
            images += [_shifted(self._set.pixels(name), down, across) for name in unique]
            owners += [number] * len(unique)
            words_only = not keys and rng.random() < WORDS_ONLY_SHARE
            prompt, places = self._prompt(scene, words_only)
            encoded.append(prompt)
            pointed.append(places)
            prompt_owner += [number] * len(prompt.images)
            for body, name in enumerate(scene.episode.body_images[:BODIES]):
                if name:
                    alone.append(self._set.pixels(name))
                    alone_of.append((number, body))
            colors.append(_colors(rng, scene, places))
        some = rng.integers(len(self._posed), size=POSES) if self._posed else ()
        posed = [self._posed[k] for k in some]
        shown = [_shifted(self._set.pixels(key_step(scene)), down, across) for scene in posed]
        return SceneBatch(
            **_labels(chosen),
            **self._ordered(rng),
            posed=_stacked(shown),
            pose=_poses(posed),
            images=_stacked(images),
            owner=torch.tensor(owners),
            frames=torch.tensor(frames),
            corner=torch.tensor([across, down], dtype=torch.float32),
            prompts=stack(encoded, self._tokenizer.pad),
            prompt_owner=torch.tensor(prompt_owner, dtype=torch.long),
            alone=_stacked(alone),
            alone_of=torch.tensor(alone_of).reshape(-1, 2),
            colors=torch.tensor(np.stack(colors), dtype=torch.float32),
            pointed=torch.tensor(pointed),
        )

    def _ordered(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return prompts of random scenes of composed tasks, with their subgoals."""
        drawn, size = (self._composed, ORDER_PROMPTS) if self._composed else (self._scenes, 1)
        chosen = [drawn[k] for k in rng.integers(len(drawn), size=size)]
        read = [self._prompt(scene, False, blank=True) for scene in chosen]
        prompts = stack([prompt for prompt, _ in read], self._tokenizer.pad)
        labels = _labels(chosen)
        state = torch.stack([labels[name] for name in ("count", "holding", "has_key")], 1)
        named = torch.stack([labels["object"], labels["target_body"]], 1) >= 0
        pointed = torch.tensor([places for _, places in read]).masked_fill(~named, -1)
        return {
            "ordered": replace(prompts, images=prompts.images[:0]),
            "ordered_state": state,
            "ordered_pointed": pointed,
            "ordered_skill": labels["skill"],
        }

    def _prompt(
        self, scene: LabeledScene, words_only: bool, blank: bool = False
    ) -> tuple[EncodedPrompt, list[int]]:
        """Return a scene's prompt, and the token that shows the object of each role, 0: none."""
        episode, nowhere = scene.episode, [0] * ROLES
        if words_only:
            return encode(PromptInput(episode.plain, {}), self._tokenizer, PROMPT_PX), nowhere
        names = episode.prompt_images
        shown = {
            name: _BLANK if blank else self._set.pixels(names[name])
            for name in names
            if KEY_STEP not in name
        }
        prompt = encode(PromptInput(episode.text, shown), self._tokenizer, PROMPT_PX)
        body_of = dict(zip(names, episode.shows, strict=True))
        order = [name for name in _placeholders(episode.text) if name in shown]
        at = np.flatnonzero(np.array(prompt.tokens) == prompt.image)
        places = []
        for body in (scene.subgoal.object, scene.subgoal.target):
            fits = [k for k, name in zip(at, order, strict=True) if body_of[name] == body >= 0]
            places.append(int(fits[0]) + 1 if fits and fits[0] < self._length else 0)
        return prompt, places


def key_steps(episode: SceneEpisode) -> list[str]:
    """Return the names of the key-step images of a prompt, in order."""
    return [image for name, image in episode.prompt_images.items() if KEY_STEP in name]


def key_step(scene: LabeledScene) -> str:
    """Return the name of the key-step image of a scene's next subgoal."""
    keys = key_steps(scene.episode)
    return keys[min(scene.done, len(keys) - 1)]


def _poses(scenes: Sequence[LabeledScene]) -> Tensor:
    """Return the goal poses of the end effector in scenes, (n, 9)."""
    if not scenes:
        return torch.zeros(0, 9)
    poses = torch.from_numpy(np.stack([scene.subgoal.ee_pose for scene in scenes]))
    columns = geometry.rotation_matrix(poses[:, 3:])[..., :2].transpose(1, 2)
    return torch.cat([poses[:, :3], columns.flatten(1)], 1)


def _placeholders(text: str) -> list[str]:
    return ["{" + part.partition("}")[0] + "}" for part in text.split("{")[1:]]


def _labels(scenes: Sequence[LabeledScene]) -> dict[str, Any]:
    bodies = np.full((len(scenes), BODIES, 3), np.nan, np.float32)
    targets = np.full((len(scenes), 3), np.nan, np.float32)
    for row, target, scene in zip(bodies, targets, scenes, strict=True):
        shown = scene.positions[:BODIES]
        row[: len(shown)] = shown
        if np.isfinite(scene.subgoal.position[:2]).all():
            target[:] = np.nan_to_num(scene.subgoal.position, nan=UNIT_M)
        elif scene.subgoal.target >= 0:
            target[:] = scene.positions[scene.subgoal.target]
    goals = [scene.subgoal for scene in scenes]
    skills = ["avoiding" if goal.avoided else goal.predicate for goal in goals]
    elsewhere = [np.isfinite(goal.position[:2]).all() for goal in goals]
    skills = [
        "at_pose" if skill == "rotated" and place else EQUIVALENT_SKILLS.get(skill, skill)
        for skill, place in zip(skills, elsewhere, strict=True)
    ]
    bins = [round(goal.angle_rad / (2 * math.pi / ANGLES)) % ANGLES for goal in goals]
    numbers: dict[str, Sequence[int | bool]] = {
        "count": [min(scene.done, COUNTS - 1) for scene in scenes],
        "holding": [scene.held >= 0 for scene in scenes],
        "has_key": [bool(key_steps(scene.episode)) for scene in scenes],
        "object": [goal.object for goal in goals],
        "target_body": [goal.target for goal in goals],
        "skill": [SKILLS.index(s if s in SKILLS else "other") for s in skills],
        "angle": bins,
    }
    return {
        **{name: torch.tensor(values, dtype=torch.long) for name, values in numbers.items()},
        "bodies": torch.from_numpy(bodies),
        "target": torch.from_numpy(targets),
        "contact": torch.from_numpy(np.stack([goal.contact for goal in goals])),
    }


def _colors(rng: np.random.Generator, scene: LabeledScene, pointed: Sequence[int]) -> np.ndarray:
    """Return the color matrix (3, 3) of a scene: a permutation of channels, or the identity where
    words of the prompt name an object.
    """
    goal = scene.subgoal
    named = zip((goal.object, goal.target), pointed, strict=True)
    worded = any(body >= 0 and not place for body, place in named)
    if worded or rng.random() >= RECOLOR_SHARE:
        return np.eye(3)
    dimmed: np.ndarray = np.eye(3)[rng.permutation(3)] * (1.1 - DIM * rng.random((3, 1)))
    return dimmed


def _shifted(image: np.ndarray, down: int, across: int) -> np.ndarray:
    """Return an image (H, W, 3) shifted by some pixels, padded by repeated edges."""
    rows = np.arange(HEIGHT_PX) + down
    columns = np.arange(WIDTH_PX) + across
    return image[rows.clip(0, len(image) - 1)][:, columns.clip(0, image.shape[1] - 1)]


def _stacked(images: Sequence[np.ndarray]) -> Tensor:
    if not images:
        return torch.zeros(0, 3, PROMPT_PX, PROMPT_PX, dtype=torch.uint8)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()


class _Cells(NamedTuple):
    """Cells of points: index, position in cells, and whether the point is in view."""

    number: Tensor
    across: Tensor
    down: Tensor
    seen: Tensor

    @classmethod
    def of(cls, pixels: Tensor, corner: Tensor, height: int, width: int) -> _Cells:
        """Return cells of pixels (..., 2) of images with a corner (2,)."""
        at = (pixels - corner) / STRIDE_PX
        seen = (at >= 0).all(-1) & (at[..., 0] < width) & (at[..., 1] < height)
        at = torch.where(seen[..., None], at, 0)  # NaN, too
        index = at[..., 1].long() * width + at[..., 0].long()
        return cls(index, at[..., 0], at[..., 1], seen)


def perception_losses(
    reader: Reader, cropper: CropNetwork, poser: PoseNetwork, camera: Calibration, batch: SceneBatch
) -> dict[str, Tensor]:
    """Return the total ``loss`` and its terms."""
    images, shown, alone = (
        _recolored(images, batch.colors[owner])
        for images, owner in (
            (batch.images, batch.owner),
            (batch.prompts.images, batch.prompt_owner),
            (batch.alone, batch.alone_of[:, 0]),
        )
    )
    corner = batch.corner + torch.tensor([0.0, TOP_PX], device=images.device)
    maps = reader.encode_scenes(images[:, :, TOP_PX:BOTTOM_PX], corner.expand(len(images), 2))
    embedded = reader.embed(torch.cat([shown, alone]))
    prompts = replace(batch.prompts, images=shown)
    state = (batch.count, batch.holding, batch.has_key)
    answer = reader(maps, batch.frames, prompts, embedded[: len(shown)], *state)
    with torch.autocast(images.device.type, enabled=False):
        present = SceneMaps(*(each[batch.frames[:, 0]] for each in maps))
        terms = _reading_losses(answer, present, corner, camera, batch)
        terms |= _body_losses(reader, present, embedded[len(shown) :], corner, camera, batch)
    terms["crop"] = _crop_loss(cropper, images[batch.frames[:, 0]], camera, batch)
    terms["pose"] = _pose_loss(poser, batch)
    terms["order"] = _order_loss(reader, embedded.detach(), batch)
    total = torch.stack([WEIGHTS[name] * value for name, value in terms.items()]).sum()
    return {"loss": total, **terms}


def _recolored(images: Tensor, colors: Tensor) -> Tensor:
    mixed = torch.einsum("ndc,nchw->ndhw", colors, images.float() / 255)
    return mixed.clamp(0, 1)


def _mean(values: Tensor, mask: Tensor) -> Tensor:
    return (values * mask).sum() / mask.sum().clamp(min=1)


def _reading_losses(
    answer: Answer, present: SceneMaps, corner: Tensor, camera: Calibration, batch: SceneBatch
) -> dict[str, Tensor]:
    """Return losses of the answer: cells, tokens of the prompt, skill, angle, geometry."""
    *_, h, w = answer.maps.shape
    every = torch.arange(len(batch.object), device=answer.maps.device)
    object_at = batch.bodies[every, batch.object.clamp(min=0)]
    roles = _Cells.of(camera.pixels(torch.stack([object_at, batch.target], 1)), corner, h, w)
    visible = torch.stack([(batch.object >= 0) & (batch.holding == 0), every >= 0], 1) & roles.seen
    cell = functional.cross_entropy(
        answer.maps.flatten(0, 1).flatten(1), roles.number.flatten(), reduction="none"
    ).unflatten(0, visible.shape)
    pointed = functional.cross_entropy(
        answer.pointed.flatten(0, 1), batch.pointed.flatten(), reduction="none"
    ).unflatten(0, visible.shape)
    named = torch.stack([batch.object, batch.target_body], 1) >= 0
    angle = functional.cross_entropy(answer.angle, batch.angle, reduction="none")
    has_angle = torch.isin(batch.skill, torch.tensor(ANGLE_SKILLS, device=angle.device))
    geometry_of_target = _geometry_loss(
        answer.geometry[:, 1], every, roles, 1, camera.nearness(batch.target)
    )
    bodies = _Cells.of(camera.pixels(batch.bodies), corner, h, w)
    scene, body = bodies.seen.nonzero(as_tuple=True)
    seen = _Cells(*(each[scene, body][:, None] for each in bodies))
    there = torch.zeros_like(present.geometry[:, 3])
    there.flatten(1)[scene, seen.number[:, 0]] = 1
    rare = torch.tensor(30.0, device=there.device)
    return {
        "object": _mean(cell[:, 0], visible[:, 0]),
        "target": _mean(cell[:, 1], visible[:, 1]),
        "pointed": _mean(pointed, named),
        "skill": functional.cross_entropy(answer.skill, batch.skill),
        "angle": _mean(angle, has_angle),
        "geometry": 0.5 * geometry_of_target
        + _geometry_loss(
            present.geometry, scene, seen, 0, camera.nearness(batch.bodies[scene, body])
        ),
        "bodies": functional.binary_cross_entropy_with_logits(
            present.geometry[:, 3], there, pos_weight=rare
        ),
    }


def _geometry_loss(
    geometry_map: Tensor, scene: Tensor, cells: _Cells, k: int, nearness: Tensor
) -> Tensor:
    """Return the loss of the geometry (n, 4, h, w) of scenes (m,) at cells (m, ...)[:, k] and their
    neighbors.
    """
    across, down = cells.across[:, k, None], cells.down[:, k, None]
    rows, columns = neighbors(down[:, 0].long(), across[:, 0].long(), *geometry_map.shape[-2:])
    near = (nearness / NEARNESS_UNIT)[:, None].expand(-1, 9)
    want = torch.stack([across - columns - 0.5, down - rows - 0.5, near], 2).nan_to_num()
    predicted = geometry_map.movedim(1, -1)[scene[:, None], rows, columns, :3]
    error = functional.smooth_l1_loss(predicted, want, beta=0.1, reduction="none")
    return _mean(error.mean((1, 2)), cells.seen[:, k])


def _body_losses(
    reader: Reader,
    present: SceneMaps,
    embedded: Tensor,
    corner: Tensor,
    camera: Calibration,
    batch: SceneBatch,
) -> dict[str, Tensor]:
    """Return losses of retrieving each body by its own image: among the cells of its scene, and
    among the bodies of the batch (InfoNCE, van den Oord et al. 2018, arXiv 1807.03748).
    """
    *_, h, w = present.cells.shape
    scene, body = batch.alone_of.unbind(1)
    cells = _Cells.of(camera.pixels(batch.bodies[scene, body]), corner, h, w)
    query = functional.normalize(embedded, dim=-1)
    queries = query.new_zeros(len(batch.object), BODIES, query.shape[1])
    queries = queries.index_put((scene, body), query)
    seen = cells.seen.nonzero()[:, 0]
    scene, body, index, query = scene[seen], body[seen], cells.number[seen], query[seen]
    logits = present.similarity(queries)[scene, body].flatten(1) * reader.temperature
    some = torch.randperm(len(seen), device=query.device)[:CONTRAST_BODIES]
    found = present.cells.flatten(2)[scene[some], :, index[some]].float()
    fits = query[some] @ functional.normalize(found, dim=-1).T * reader.temperature
    same = torch.arange(len(some), device=fits.device)
    both = functional.cross_entropy(fits, same) + functional.cross_entropy(fits.T, same)
    return {"alone": functional.cross_entropy(logits, index), "contrast": both / 2}


def _crop_loss(
    cropper: CropNetwork, images: Tensor, camera: Calibration, batch: SceneBatch
) -> Tensor:
    """Return the loss of positions and grasp points from crops, whose centers have noise like the
    reader's errors.
    """
    pixels = camera.pixels(batch.bodies)
    *_, h, w = images.shape
    seen = _Cells.of(pixels, batch.corner, h // STRIDE_PX, w // STRIDE_PX).seen.nonzero()
    scene, body = seen[torch.randperm(len(seen), device=seen.device)[:CROP_BODIES]].unbind(1)
    at = batch.bodies[scene, body]
    middle = (pixels[scene, body] + 2 * torch.randn(len(at), 2, device=at.device)).round()
    acted_on = (batch.object[scene] == body)[:, None]
    contact = torch.where(acted_on, batch.contact[scene], torch.nan)
    predicted = cropper(crops(images[scene], middle - batch.corner), middle, camera)
    want = torch.stack([at, contact], 1)
    error = functional.smooth_l1_loss(
        predicted / UNIT_M, want.nan_to_num() / UNIT_M, beta=0.25, reduction="none"
    )
    return _mean(error, want.isfinite())


def _order_loss(reader: Reader, embedded: Tensor, batch: SceneBatch) -> Tensor:
    """Return the loss of the order of subgoals, with embeddings (k, D) at random places."""
    places = int((batch.ordered.image_index >= 0).sum())
    shown = embedded[torch.randint(len(embedded), (places,), device=embedded.device)]
    read = reader.read_prompts(batch.ordered, shown, batch.ordered_state.unbind(1))
    pointed = functional.cross_entropy(
        read.pointed.flatten(0, 1).float(), batch.ordered_pointed.flatten(), ignore_index=-1
    )
    return pointed + 0.3 * functional.cross_entropy(read.skill, batch.ordered_skill)


def _pose_loss(poser: PoseNetwork, batch: SceneBatch) -> Tensor:
    """Return the loss of the pose of the end effector in key-step images."""
    images, want = batch.posed.float() / 255, batch.pose
    if not len(images):
        return want.new_zeros(())
    brightness = 1 + 0.15 * torch.randn(len(images), 3, 1, 1, device=images.device)
    predicted = poser(images * brightness)
    position = functional.smooth_l1_loss(
        predicted[:, :3] * POSE_UNIT_M / UNIT_M, want[:, :3] / UNIT_M, beta=0.5
    )
    return position + 10 * functional.smooth_l1_loss(predicted[:, 3:], want[:, 3:], beta=0.05)
