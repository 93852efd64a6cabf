"""Training of perception on scenes: batches, and losses of the networks."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Movable, Prompts
from clevrskills.baselines.policies.compact.controller_network import columns
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
from clevrskills.baselines.policies.compact.skills import EQUIVALENT_SKILLS, SKILL_NAMES
from clevrskills.baselines.prompts import EncodedPrompt, Tokenizer, encode, stack
from clevrskills.core import geometry
from clevrskills.core.policy import PromptInput
from clevrskills.dataset_tools.scenes.scene_set import LabeledScene, SceneSet

BODIES = 10
"""Greatest number of bodies of a scene."""
PROMPT_PX = 64
SHIFT_PX = 8
"""Greatest random shift of images in pixels."""
WORDS_ONLY_SHARE = 0.12
"""Share of prompts with images that are replaced by words."""
SUBGOAL_SHARE = 0.5
"""Share of scenes of compositions that are prompted by the sentence of the subgoal."""
RECOLOR_SHARE, DIM = 0.5, 0.35
"""Share of scenes with permuted color channels, if no word names an object, and the range of their
scales."""
_BLANK = np.zeros((PROMPT_PX, PROMPT_PX, 3), np.uint8)
KEY_STEP = "{ks:"
_PLACEHOLDER = re.compile(r"\{[^}]*\}")
UNIT_M = 0.02
"""Unit of position errors, and the height of places without one."""
ANGLE_SKILLS = tuple(SKILL_NAMES.index(name) for name in ("rotated", "at_pose", "at_pose_on_top"))
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
class Labels(Movable):
    """Subgoals of n scenes.

    Attributes:
        count: Completed subgoals, (n,).
        holding: Whether something is held, 0 or 1, (n,).
        has_key: Whether there is a key-step, 0 or 1, (n,).
        named: Indices of the body that is acted on and of the target, -1: none, (n, ROLES).
        skill: Index of the skill, (n,).
        angle: Bin of the angle, (n,).
        bodies: Positions of bodies in meters, NaN where there is none, (n, BODIES, 3).
        target: Position of the target, or of a place, (n, 3).
        contact: Grasp or contact point of the object, (n, 3).
    """

    count: Tensor
    holding: Tensor
    has_key: Tensor
    named: Tensor
    skill: Tensor
    angle: Tensor
    bodies: Tensor
    target: Tensor
    contact: Tensor

    @property
    def state(self) -> tuple[Tensor, Tensor, Tensor]:
        """Count, holding and has_key."""
        return self.count, self.holding, self.has_key

    @classmethod
    def of(cls, scenes: Sequence[LabeledScene]) -> Labels:
        """Return the labels of scenes."""
        fields = zip(*map(_label, scenes), strict=True)
        return cls(*(torch.from_numpy(np.stack(values)) for values in fields))


def _label(scene: LabeledScene) -> tuple[Any, ...]:
    """Return the fields of :class:`Labels` of one scene."""
    goal, target = scene.subgoal, np.full(3, np.nan, np.float32)
    skill = "avoiding" if goal.avoided else EQUIVALENT_SKILLS.get(goal.predicate, goal.predicate)
    if np.isfinite(goal.position[:2]).all():
        target = np.nan_to_num(goal.position, nan=UNIT_M)
        skill = "at_pose" if skill == "rotated" else skill
    elif goal.target >= 0:
        target = scene.positions[goal.target]
    bodies = np.full((BODIES, 3), np.nan, np.float32)
    bodies[: len(scene.positions)] = scene.positions[:BODIES]
    return (
        *(min(scene.done, COUNTS - 1), int(scene.held >= 0), int(bool(key_step(scene)))),
        (goal.object, goal.target),
        SKILL_NAMES.index(skill if skill in SKILL_NAMES else "other"),
        round(goal.angle_rad / (2 * math.pi / ANGLES)) % ANGLES,
        *(bodies, target, goal.contact),
    )


@dataclass(frozen=True)
class SceneBatch(Movable):
    """B scenes with the targets of perception.

    Attributes:
        labels: Their subgoals.
        images: Images of scenes and key-steps, each once, (N, 3, H, W) uint8.
        owner: The scene of each, (N,).
        frames: Indices of the present, the first and the key-step image of each scene, (B, FRAMES);
            the first one only after a subgoal is completed.
        corner: Pixel of their upper left corner, (2,).
        prompts: The prompts, with images of single objects and textures.
        prompt_owner: The scene of each of these images, (M,).
        pointed: Token of the prompt whose image shows the object of each role, from 1 on, 0: none,
            (B, ROLES).
        colors: Color matrix of each scene, (B, 3, 3).
        alone: Images of single bodies, (J, 3, 64, 64) uint8.
        alone_of: Scene and body of each, (J, 2).
        posed: Key-step images of other scenes, (K, 3, H, W) uint8.
        pose: Pose of the end effector in each: position and first two columns of the rotation
            matrix, (K, 9).
        ordered: Prompts of other scenes, without images, for the order of subgoals.
        ordered_labels: The subgoals of these scenes.
        ordered_pointed: Tokens in these prompts, as ``pointed``.
    """

    labels: Labels
    images: Tensor
    owner: Tensor
    frames: Tensor
    corner: Tensor
    prompts: Prompts
    prompt_owner: Tensor
    pointed: Tensor
    colors: Tensor
    alone: Tensor
    alone_of: Tensor
    posed: Tensor
    pose: Tensor
    ordered: Prompts
    ordered_labels: Labels
    ordered_pointed: Tensor

    @property
    def reader_corner(self) -> Tensor:
        """Pixel of the upper left corner of the reader's part of the images, (2,)."""
        return self.corner + self.corner.new_tensor([0.0, TOP_PX])


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
        self._set, self._tokenizer, self._length, self._seed = scenes, tokenizer, length, seed
        goals = [(scene, scene.subgoal) for scene in scenes.scenes]
        goals = [(scene, goal) for scene, goal in goals if max(goal.object, goal.target) < BODIES]
        self._scenes = [scene for scene, _ in goals]
        posed = [scene for scene, goal in goals if np.isfinite(goal.ee_pose).all()]
        self._posed = [scene for scene in posed if key_step(scene)]
        self._composed = [scene for scene in self._scenes if scene.episode.level != "L0"]
        self.tasks = tuple(scene.episode.task for scene in self._scenes)
        self.counts = np.ones(len(self._scenes), int)

    def __len__(self) -> int:
        """Return the number of scenes."""
        return len(self._scenes)

    def __getitem__(self, indices: Sequence[int]) -> SceneBatch:
        """Return a batch; indices beyond the last scene wrap around, with other augmentation."""
        rng = np.random.default_rng((self._seed, int(indices[0])))
        chosen = [_prompted(self._scenes[index % len(self)], rng) for index in indices]
        down, across = (int(n) for n in rng.integers(-SHIFT_PX, SHIFT_PX + 1, 2))
        images = dict[tuple[int, str], int]()
        frames, prompts, prompt_owner, pointed, colors = [], [], list[int](), [], []
        alone = list[tuple[int, int, str]]()
        for number, scene in enumerate(chosen):
            key = key_step(scene)
            names = (scene.image, scene.first if scene.done else scene.image, key or scene.image)
            frames.append([images.setdefault((number, name), len(images)) for name in names])
            words_only = not key and rng.random() < WORDS_ONLY_SHARE
            prompt, places = self._prompt(scene, words_only)
            prompts.append(prompt)
            prompt_owner += [number] * len(prompt.images)
            pointed.append(places)
            colors.append(_colors(rng, scene, places))
            single = enumerate(scene.episode.body_images[:BODIES])
            alone += [(number, body, name) for body, name in single if name]
        some = rng.integers(len(self._posed), size=POSES) if self._posed else ()
        posed = [self._posed[k] for k in some]
        drawn, size = (self._composed, ORDER_PROMPTS) if self._composed else (self._scenes, 1)
        composed = [drawn[k] for k in rng.integers(len(drawn), size=size)]
        read = [self._prompt(scene, False, blank=True) for scene in composed]
        ordered = stack([prompt for prompt, _ in read], self._tokenizer.pad)
        return SceneBatch(
            labels=Labels.of(chosen),
            images=self._images([name for _, name in images], down, across),
            owner=torch.tensor([number for number, _ in images]),
            frames=torch.tensor(frames),
            corner=torch.tensor([across, down], dtype=torch.float32),
            prompts=stack(prompts, self._tokenizer.pad),
            prompt_owner=torch.tensor(prompt_owner, dtype=torch.long),
            pointed=torch.tensor(pointed),
            colors=torch.tensor(np.stack(colors), dtype=torch.float32),
            alone=self._images([name for *_, name in alone]),
            alone_of=torch.tensor([at for *at, _ in alone]).reshape(-1, 2),
            posed=self._images([key_step(scene) for scene in posed], down, across),
            pose=_poses(posed),
            ordered=replace(ordered, images=ordered.images[:0]),
            ordered_labels=Labels.of(composed),
            ordered_pointed=torch.tensor([places for _, places in read]),
        )

    def _images(self, names: Sequence[str], down: int = 0, across: int = 0) -> Tensor:
        """Return the images of scenes, shifted by some pixels and padded by repeated edges, or of
        single objects, (n, 3, H, W).
        """
        if not names:
            return torch.zeros(0, 3, PROMPT_PX, PROMPT_PX, dtype=torch.uint8)
        images = np.stack([self._set.pixels(name) for name in names])
        _, height, width, _ = images.shape
        rows = np.arange(min(height, HEIGHT_PX)) + down
        across_px = np.arange(width) + across
        images = images[:, rows.clip(0, height - 1)][:, :, across_px.clip(0, width - 1)]
        return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()

    def _prompt(
        self, scene: LabeledScene, words_only: bool, blank: bool = False
    ) -> tuple[EncodedPrompt, list[int]]:
        """Return a scene's prompt, and the token that shows the object of each role, 0: none."""
        episode = scene.episode
        if words_only:
            return encode(PromptInput(episode.plain, {}), self._tokenizer, PROMPT_PX), [0] * ROLES
        images = episode.prompt_images
        names = [name for name in images if KEY_STEP not in name]
        shown = {name: _BLANK if blank else self._set.pixels(images[name]) for name in names}
        prompt = encode(PromptInput(episode.text, shown), self._tokenizer, PROMPT_PX)
        body_of = dict(zip(images, episode.shows, strict=True))
        bodies = [body_of[name] for name in _PLACEHOLDER.findall(episode.text) if name in shown]
        tokens = 1 + np.flatnonzero(np.array(prompt.tokens) == prompt.image)
        first = {
            body: int(token)
            for token, body in reversed([*zip(tokens, bodies, strict=True)])
            if body >= 0 and token <= self._length
        }
        return prompt, [first.get(k, 0) for k in (scene.subgoal.object, scene.subgoal.target)]


def _prompted(scene: LabeledScene, rng: np.random.Generator) -> LabeledScene:
    """Return a scene of a composition with its own prompt or, if it names the target, with the
    sentence of the subgoal, as ``subgoal_prompt`` has it; a scene of a skill unchanged.
    """
    episode, goal = scene.episode, scene.subgoal
    placed = np.isfinite(goal.position[:2]).all()
    if episode.level == "L0" or placed or rng.random() >= SUBGOAL_SHARE:
        return scene
    keys = [f"{{obj:{key}}}" for key in episode.keys]
    images = dict(zip(keys, episode.body_images, strict=True))
    shows = tuple(range(len(keys)))
    text, plain = (f"{each.partition(' after ')[0]}." for each in (goal.text, goal.plain))
    asked = replace(episode, text=text, plain=plain, prompt_images=images, shows=shows)
    return replace(scene, episode=asked, done=0, first=scene.image)


def key_step(scene: LabeledScene) -> str:
    """Return the name of the key-step image of a scene's next subgoal; empty: none."""
    images = scene.episode.prompt_images
    keys = [image for name, image in images.items() if KEY_STEP in name]
    return keys[min(scene.done, len(keys) - 1)] if keys else ""


def _poses(scenes: Sequence[LabeledScene]) -> Tensor:
    """Return the goal poses of the end effector in scenes, (n, 9)."""
    poses = torch.tensor([[*scene.subgoal.ee_pose] for scene in scenes]).reshape(-1, 7)
    return torch.cat([poses[:, :3], columns(geometry.rotation_matrix(poses[:, 3:]))], 1)


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


def perception_losses(
    reader: Reader, cropper: CropNetwork, poser: PoseNetwork, camera: Calibration, batch: SceneBatch
) -> dict[str, Tensor]:
    """Return the total ``loss`` and its terms."""
    images = _recolored(batch.images, batch.colors[batch.owner])
    shown = _recolored(batch.prompts.images, batch.colors[batch.prompt_owner])
    alone = _recolored(batch.alone, batch.colors[batch.alone_of[:, 0]])
    corner = batch.reader_corner.expand(len(images), 2)
    maps = reader.encode_scenes(images[:, :, TOP_PX:BOTTOM_PX], corner)
    embedded = reader.embed(torch.cat([shown, alone]))
    prompts = replace(batch.prompts, images=shown)
    answer = reader(maps, batch.frames, prompts, embedded[: len(shown)], batch.labels.state)
    with torch.autocast(images.device.type, enabled=False):
        present = SceneMaps(*(each[batch.frames[:, 0]] for each in maps))
        terms = _reading_losses(answer, present, camera, batch)
        terms |= _body_losses(reader, present, embedded[len(shown) :], camera, batch)
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


def _cells(
    pixels: Tensor, corner: Tensor, height_px: int = BOTTOM_PX - TOP_PX
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the position in cells (..., 2) of pixels (..., 2) of images with a corner (2,), the
    index of the cell (...), and whether it is in the image (...).
    """
    at, columns = (pixels - corner) / STRIDE_PX, WIDTH_PX // STRIDE_PX
    seen = ((at >= 0) & (at < at.new_tensor([columns, height_px // STRIDE_PX]))).all(-1)
    at = torch.where(seen[..., None], at, 0)  # NaN, too
    return at, at[..., 1].long() * columns + at[..., 0].long(), seen


def _reading_losses(
    answer: Answer, present: SceneMaps, camera: Calibration, batch: SceneBatch
) -> dict[str, Tensor]:
    """Return losses of the answer: cells, tokens of the prompt, skill, angle, geometry."""
    labels, corner = batch.labels, batch.reader_corner
    every, named = torch.arange(len(labels.named), device=corner.device), labels.named >= 0
    object_at = labels.bodies[every, labels.named[:, 0].clamp(min=0)]
    places = torch.stack([object_at, labels.target], 1)
    at, index, seen = _cells(camera.pixels(places), corner)
    in_scene = named[:, 0] & (labels.holding == 0)
    cell, pointed = (
        functional.cross_entropy(
            logits.flatten(0, 1).flatten(1), wanted.flatten(), reduction="none"
        ).unflatten(0, named.shape)
        for logits, wanted in ((answer.maps, index), (answer.pointed, batch.pointed))
    )
    angle = functional.cross_entropy(answer.angle, labels.angle, reduction="none")
    turned = torch.isin(labels.skill, torch.tensor(ANGLE_SKILLS, device=corner.device))
    nearness = camera.nearness(labels.target)
    of_target = _geometry_loss(answer.geometry[:, 1], every, at[:, 1], seen[:, 1], nearness)
    body_at, body_index, body_seen = _cells(camera.pixels(labels.bodies), corner)
    scene, body = body_seen.nonzero(as_tuple=True)
    nearness = camera.nearness(labels.bodies[scene, body])
    found = (scene, body_at[scene, body], body_seen[scene, body], nearness)
    there = torch.zeros_like(present.geometry[:, 3])
    there.flatten(1)[scene, body_index[scene, body]] = 1
    return {
        "object": _mean(cell[:, 0], in_scene & seen[:, 0]),
        "target": _mean(cell[:, 1], seen[:, 1]),
        "pointed": _mean(pointed, named),
        "skill": functional.cross_entropy(answer.skill, labels.skill),
        "angle": _mean(angle, turned),
        "geometry": 0.5 * of_target + _geometry_loss(present.geometry, *found),
        "bodies": functional.binary_cross_entropy_with_logits(
            present.geometry[:, 3], there, pos_weight=there.new_tensor(30.0)
        ),
    }


def _geometry_loss(
    geometry_map: Tensor, scene: Tensor, at: Tensor, seen: Tensor, nearness: Tensor
) -> Tensor:
    """Return the loss of the geometry (n, 4, h, w) of scenes (m,) at positions in cells (m, 2) and
    their neighbors.
    """
    rows, columns = neighbors(at[:, 1].long(), at[:, 0].long(), *geometry_map.shape[-2:])
    near = (nearness / NEARNESS_UNIT)[:, None].expand(-1, 9)
    across, down = at[:, :1] - columns - 0.5, at[:, 1:] - rows - 0.5
    want = torch.stack([across, down, near], 2).nan_to_num()
    predicted = geometry_map.movedim(1, -1)[scene[:, None], rows, columns, :3]
    error = functional.smooth_l1_loss(predicted, want, beta=0.1, reduction="none")
    return _mean(error.mean((1, 2)), seen)


def _body_losses(
    reader: Reader, present: SceneMaps, embedded: Tensor, camera: Calibration, batch: SceneBatch
) -> dict[str, Tensor]:
    """Return losses of retrieving each body by its own image: among the cells of its scene, and
    among the bodies of the batch (InfoNCE, van den Oord et al. 2018, arXiv 1807.03748).
    """
    scene, body = batch.alone_of.unbind(1)
    pixels = camera.pixels(batch.labels.bodies[scene, body])
    _, index, in_view = _cells(pixels, batch.reader_corner)
    query = functional.normalize(embedded, dim=-1)
    queries = query.new_zeros(len(batch.colors), BODIES, query.shape[1])
    queries = queries.index_put((scene, body), query)
    seen = in_view.nonzero()[:, 0]
    scene, body, index, query = scene[seen], body[seen], index[seen], query[seen]
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
    labels, pixels = batch.labels, camera.pixels(batch.labels.bodies)
    seen = _cells(pixels, batch.corner, HEIGHT_PX)[2].nonzero()
    scene, body = seen[torch.randperm(len(seen), device=seen.device)[:CROP_BODIES]].unbind(1)
    at = labels.bodies[scene, body]
    middle = (pixels[scene, body] + 2 * torch.randn(len(at), 2, device=at.device)).round()
    acted_on = (labels.named[scene, 0] == body)[:, None]
    contact = torch.where(acted_on, labels.contact[scene], torch.nan)
    predicted = cropper(crops(images[scene], middle - batch.corner), middle, camera)
    want = torch.stack([at, contact], 1)
    error = functional.smooth_l1_loss(
        predicted / UNIT_M, want.nan_to_num() / UNIT_M, beta=0.25, reduction="none"
    )
    return _mean(error, want.isfinite())


def _order_loss(reader: Reader, embedded: Tensor, batch: SceneBatch) -> Tensor:
    """Return the loss of the order of subgoals, with embeddings (k, D) at random places."""
    places, labels = int((batch.ordered.image_index >= 0).sum()), batch.ordered_labels
    shown = embedded[torch.randint(len(embedded), (places,), device=embedded.device)]
    read = reader.read(batch.ordered, shown, labels.state)
    wanted = batch.ordered_pointed.masked_fill(labels.named < 0, -1)
    pointed = functional.cross_entropy(
        read.pointed.flatten(0, 1).float(), wanted.flatten(), reduction="none", ignore_index=-1
    )
    return _mean(pointed, wanted.flatten() >= 0) + 0.3 * functional.cross_entropy(
        read.skill, labels.skill
    )


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
