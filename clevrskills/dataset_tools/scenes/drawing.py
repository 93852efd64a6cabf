"""Rendering of scenes: images and labels of states of an episode, as rows of tables."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image

from clevrskills.core import geometry
from clevrskills.core.env import RecordableEnv
from clevrskills.core.goal.tree import nodes
from clevrskills.core.suite import MomentRenderer
from clevrskills.dataset_tools.layout import POSE
from clevrskills.dataset_tools.record.annotations import Annotator
from clevrskills.dataset_tools.record.columns import owner
from clevrskills.dataset_tools.scenes.scene_set import MOVED_M, NONE
from clevrskills.predicates import Avoiding, Leaf, PhysicalPredicate, Touched
from clevrskills.sim.body import Body
from clevrskills.sim.prompt_images import PromptRenderer
from clevrskills.sim.render.images import encode_image
from clevrskills.sim.render.offscreen import render_device
from clevrskills.sim.setting import Setting
from clevrskills.solvers.grasps import vertical_grasps

OBJECT_PX = 64
"""Width and height of the images of objects and textures."""
QUALITY, OBJECT_QUALITY = 90, 95
"""WebP quality of scenes, and of images of objects and textures."""
HEIGHT_M = (0.03, 0.45)
"""Range of the height of a random end-effector pose."""
TRIES = 20
"""Maximum number of proposals for a random pose of the arm."""


class ImageStore:
    """Cache of encoded prompt images of objects and textures in one setting."""

    def __init__(self, setting: Setting) -> None:
        # differs from 256 px scaled to a quarter by 0.4 of 255 levels, in a quarter of the time
        self.renderer = PromptRenderer(render_device(), setting, 2 * OBJECT_PX)
        self._images: dict[tuple[Any, ...], tuple[str, bytes]] = {}

    def add(self, kind: str, body: Body, radius_m: float | None) -> tuple[str, bytes]:
        """Return name and prompt image of a body, ``obj``, or its texture, ``tex``, in
        :data:`OBJECT_PX`.
        """
        of = (body.shape, body.texture, body.size, radius_m) if kind == "obj" else (body.texture,)
        key = (kind, *of)
        if key not in self._images:
            draw = self.renderer.object_image if kind == "obj" else self.renderer.texture_image
            small = Image.fromarray(draw(*of)).resize((OBJECT_PX, OBJECT_PX), Image.Resampling.BOX)
            name = f"{kind}/{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"
            image = encode_image(np.asarray(small), "WEBP", quality=OBJECT_QUALITY)
            self._images[key] = name, image
        return self._images[key]


class EpisodeDrawing:
    """Renderer of the scenes of one episode, after the reset of its environment.

    Attributes:
        images: Encoded images by name.
        scenes: Rows of the table of scenes.
    """

    def __init__(self, env: Any, film: MomentRenderer, store: ImageStore, name: str) -> None:
        self._env, self._film, self._name = env, film, name
        scene = env.scene_description()
        self._annotator = Annotator(film.open(scene), film.cameras)
        (self._camera,) = film.cameras
        bodies = [Body.from_json(entry) for entry in scene["bodies"]]
        self._bodies = {body.key: k for k, body in enumerate(bodies)}
        self._slots = [env.world.keys.index(body.key) for body in bodies]
        self.images: dict[str, bytes] = {}
        self.scenes: list[dict[str, Any]] = []
        self.episode = self._describe(bodies, store)

    def _describe(self, bodies: list[Body], store: ImageStore) -> dict[str, Any]:
        """Return the row of the table of episodes."""
        env, prompt = self._env, self._env.prompt
        shown, radius_m = {body.key: body for body in prompt.bodies}, prompt.picture_radius_m
        placeholders: dict[str, str] = {}
        for kind, key in prompt.placeholders():
            if kind == "ks":
                drawn = prompt.keysteps[int(key)].image(store.renderer)
                name, image = f"{self._name}/keystep_{key}", _webp(drawn)
            else:
                name, image = store.add(kind, shown[key], radius_m)
            placeholders[f"{{{kind}:{key}}}"] = name
            self.images[name] = image
        alone = [store.add("obj", body, radius_m) for body in bodies]
        self.images |= dict(alone)
        info = {"task": env.task.key, "split": env.split, "seed": env.episode_seed}
        return {
            **owner(info),
            "level": env.task.level,
            "text": prompt.text,
            "plain": prompt.plain(),
            "keys": [body.key for body in bodies],
            "names": [body.name for body in bodies],
            "body_images": [name for name, _ in alone],
            "placeholders": list(placeholders),
            "prompt_images": list(placeholders.values()),
            "shows": [self._bodies.get(key, NONE) for _, key in prompt.placeholders()],
        }

    def add(self, step: int, leaf: int, done: int, elsewhere: np.random.Generator | None) -> None:
        """Add a scene of the current state.

        Args:
            step: Number of control steps before.
            leaf: Index of the leaf of the goal to achieve next.
            done: Number of subgoals achieved before.
            elsewhere: Generator of a random pose of the arm for a second scene, if nothing is held;
                the arm stays there.
        """
        world = self._env.world
        held = int(world.held[0])
        row = {
            "episode": self._name,
            "step": step,
            "elsewhere": False,
            "first": f"{self._name}/0",
            "done": done,
            "held": self._slots.index(held) if held >= 0 else NONE,
            "poses": self._env.object_poses().reshape(-1),
            **self._subgoal(leaf, held),
        }
        self._see(row, f"{self._name}/{step}")
        if elsewhere is not None and held < 0 and self._move_arm(elsewhere):
            self._see({**row, "elsewhere": True}, f"{self._name}/{step}_elsewhere")

    def _see(self, row: dict[str, Any], name: str) -> None:
        """Render and annotate the image of a row."""
        poses = self._env.object_poses()
        qpos = np.asarray(self._env.proprioception()["qpos"])
        views = self._film.render(qpos, poses, self._env.textures)
        seen = self._annotator.look(poses, views)[self._camera]
        self.images[name] = _webp(views[self._camera].color[..., :3])
        boxes, visible = seen.boxes.reshape(-1), seen.visible
        self.scenes.append({**row, "image": name, "boxes": boxes, "visible": visible})

    def _subgoal(self, leaf: int, held: int) -> dict[str, Any]:
        """Return the columns that describe a leaf of the goal."""
        env, world = self._env, self._env.world
        goal = list(env.goal.leaves())[leaf]
        acted_on, target = acted_bodies(goal)
        text = goal.describe(world)
        fields = {name: getattr(goal, name)[0] for name in _GEOMETRY if hasattr(goal, name)}
        position = np.full(3, np.nan)
        ee_pose = np.full(len(POSE), np.nan)
        angle_rad = float(fields.get("angle_rad", 0.0))
        if acted_on == NONE and "position" in fields:
            ee_pose[:3] = fields["position"]
            ee_pose[3:] = fields.get("orientation", np.nan)
        elif "position" in fields:
            place = np.asarray(fields["position"])
            turned = "angle_rad" in fields
            now = world.body_pose[0, acted_on, : len(place)].numpy()
            if not turned or np.linalg.norm(place - now) > MOVED_M:
                position[: len(place)] = place
            if "orientation" in fields and not turned:
                angle_rad = _turn_rad(world.body_pose[0, acted_on, 3:], fields["orientation"])
        return {
            "text": text,
            "plain": env.prompt.plain(text),
            "predicate": goal.name,
            "leaf": leaf,
            "object": self._index(acted_on),
            "target": self._index(target),
            "avoided": [self._index(slot) for slot in _avoided(env)],
            "position": position,
            "angle_rad": angle_rad,
            "ee_pose": ee_pose,
            "contact": self._contact(goal, acted_on, held),
        }

    def _index(self, slot: int) -> int:
        return NONE if slot == NONE else self._slots.index(slot)

    def _contact(self, goal: Leaf, slot: int, held: int) -> np.ndarray:
        """Return the contact point of the middle cup with a body, (3,)."""
        world = self._env.world
        if slot == NONE or slot == held:
            return np.full(3, np.nan)
        if isinstance(goal, Touched):
            center = geometry.to_world(world.body_pose[0, slot], world.solids.center[0, slot][None])
            return np.array([*center[0, :2], world.top(torch.tensor([slot]))[0]])
        cups, radius_m = world.cup_tips[:, :2].numpy(), self._env.agent.description.cup_radius
        grasps = vertical_grasps(world, slot, cups, radius_m)
        return grasps[0].position if grasps else np.full(3, np.nan)

    def _move_arm(self, random: np.random.Generator) -> bool:
        """Move the arm to a random reachable pose; half of them point straight down."""
        world, workspace = self._env.world, self._env.setting.workspace
        for _ in range(TRIES):
            place = [random.uniform(*span) for span in (workspace.x_m, workspace.y_m, HEIGHT_M)]
            yaw_rad = random.uniform(-np.pi, np.pi)
            tilt_rad = random.uniform(-np.pi / 2, np.pi / 2) * (random.random() < 0.5)
            if not workspace.contains(*place[:2]):
                continue
            half = (np.pi + tilt_rad) / 2
            over = torch.tensor([[np.cos(half), np.sin(half), 0.0, 0.0]], dtype=torch.float32)
            turn = geometry.yaw_quaternion(torch.tensor([yaw_rad], dtype=torch.float32))
            orientation = geometry.quaternion_multiply(turn, over)
            pose = torch.cat((torch.tensor([place], dtype=torch.float32), orientation), dim=-1)
            try:
                world.set_end_effector_pose(pose)
            except ValueError:  # out of reach
                continue
            return True
        return False


_GEOMETRY = ("position", "orientation", "angle_rad")
"""Fields of leaves with the target of an object or of the end effector."""


def acted_bodies(goal: PhysicalPredicate) -> tuple[int, int]:
    """Return the slots of the manipulated body and of the target body of a leaf, -1: none; the
    first two of a group of bodies.
    """
    names = [*goal.handles, *(name for name in goal.bodies() if name not in goal.handles)]
    values = [getattr(goal, name)[0] for name in names]
    first = [int(slot) for value in values[:1] for slot in value.reshape(-1)[:2]]
    first += [int(value) for value in values[1:2] if not value.dim()]
    return (first[0] if first else NONE), (first[1] if first[1:] else NONE)


def _avoided(env: RecordableEnv) -> Iterator[int]:
    """Yield the slots of the bodies that must not be touched."""
    for node in nodes(env.goal):
        if isinstance(node.predicate, Avoiding):
            slots = node.predicate.objects[0]
            yield from slots[env.world.solids.present[0, slots]].tolist()


def _turn_rad(now: torch.Tensor, then: torch.Tensor) -> float:
    """Return the rotation about the vertical between two orientations (4,), in [-pi, pi]."""
    matrices = geometry.rotation_matrix(torch.stack((now, then)))
    yaw_rad = torch.atan2(matrices[:, 1, 0], matrices[:, 0, 0]).double()
    turn_rad = float(yaw_rad[1] - yaw_rad[0])
    return (turn_rad + np.pi) % (2 * np.pi) - np.pi


def _webp(pixels: np.ndarray) -> bytes:
    return encode_image(pixels, "WEBP", quality=QUALITY, method=2)
