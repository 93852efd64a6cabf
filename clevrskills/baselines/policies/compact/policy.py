"""Compact modular policy: perception at the start of each subgoal, closed-loop control after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from torch import Tensor
from torch.nn import functional

from clevrskills.baselines.batch import Batch, Prompts
from clevrskills.baselines.policies.compact.controller import Command, Controller
from clevrskills.baselines.policies.compact.controller_network import CHUNK, ControllerNetwork
from clevrskills.baselines.policies.compact.demonstrations import ControlBatch, controller_losses
from clevrskills.baselines.policies.compact.network import (
    ANGLES,
    BOTTOM_PX,
    COUNTS,
    HEIGHT_PX,
    NEARNESS_UNIT,
    POSE_UNIT_M,
    SIZE_PX,
    STRIDE_PX,
    TOP_PX,
    Answer,
    Calibration,
    CropNetwork,
    PoseNetwork,
    Reader,
    SceneMaps,
    crops,
    rotation_of,
)
from clevrskills.baselines.policies.compact.perception import (
    KEY_STEP,
    PROMPT_PX,
    SceneBatch,
    perception_losses,
)
from clevrskills.baselines.policies.compact.skills import SKILL_NAMES, SKILLS
from clevrskills.baselines.policy import LearnedPolicy, fractions
from clevrskills.baselines.prompts import WordTokenizer, encode, stack
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.setting import TABLETOP

CAMERA = TABLETOP.watch[0]
HELD_BELOW_M = 0.03
"""Assumed depth of a held object's center below the end effector."""
SUBGOAL_STEPS, MIN_STEPS = 120, 12
"""Control steps after which a subgoal begins anew, and before which it does not count as ended."""
UPDATE_STEPS = 3
"""Control steps between two updates of a goal in the air."""
OBSTACLES = 6


@dataclass(frozen=True, kw_only=True)
class CompactConfig(PolicyConfig):
    """Configuration of :class:`CompactPolicy`.

    Attributes:
        channels: Channels of the trunk at half, a quarter and an eighth of the resolution.
        width: Width of the reader's embeddings.
        layers: Layers of the reader's transformer.
        length: Maximum number of tokens of a prompt.
        hidden: Units of the controller's hidden layers.
        execution_horizon: Actions of a chunk that are executed before the next prediction.
    """

    cameras: tuple[str, ...] = (CAMERA,)
    proprioception: bool = True
    learning_rate: float = 2e-3
    batch_size: int = 48
    weight_decay: float = 0.02
    warm_up_steps: int = 200
    final_rate: float = 0.01
    channels: tuple[int, ...] = (32, 48, 96)
    width: int = 64
    layers: int = 3
    length: int = 56
    hidden: int = 512
    execution_horizon: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.channels) != 3 or self.layers < 2 or not 1 <= self.execution_horizon <= CHUNK:
            raise ClevrSkillsError("needs 3 channels, layers >= 2, execution_horizon from 1 to 8")
        fixed = ("cameras", "image_size", "proprioception", "steps", "starts_every", "horizon")
        if given := [name for name in fixed if getattr(self, name) != getattr(CompactConfig, name)]:
            raise ClevrSkillsError(f"{', '.join(given)} cannot be set for compact")


@dataclass
class _Episode:
    """State of an episode in progress."""

    prompts: Prompts
    shown: Tensor
    keys: list[NDArray[np.uint8]]
    controller: Controller
    first: SceneMaps | None = None
    done: int = 0
    age: int = -1


class CompactPolicy(LearnedPolicy[CompactConfig]):
    """Perception, trained on scenes, and a controller, trained on demonstrations.

    Inputs of perception are the base image, the prompt, the number of completed subgoals, whether
    something is held, and the calibration of the camera.

    Args:
        config: The configuration.
        spec: The observations and actions.
    """

    corner: Tensor
    """Pixel of the upper left corner of the reader's part of the image, (1, 2)."""
    config_type = CompactConfig
    configurations: ClassVar[Mapping[str, PolicyConfig]] = {
        "default": CompactConfig(),
        "tiny": CompactConfig(
            channels=(8, 8, 16), width=32, layers=2, hidden=64, batch_size=8, warm_up_steps=5
        ),
    }
    tokenizer = WordTokenizer()
    prepared_by = "clevrskills.baselines.policies.compact.training:prepare"
    images_on_demand = True

    def __init__(self, config: CompactConfig, spec: PolicySpec) -> None:
        super().__init__(config, spec)
        sizes = (config.length, config.channels, config.width, config.layers)
        self.reader = Reader(self.tokenizer.size, *sizes)
        self.cropper, self.poser = CropNetwork(), PoseNetwork()
        self.controller = ControllerNetwork(config.hidden)
        self.camera = Calibration(TABLETOP.main_camera)
        self.register_buffer("corner", torch.tensor([[0.0, TOP_PX]]), persistent=False)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # 1/6 faster
        self._episodes: dict[int, _Episode] = {}

    @staticmethod
    def make_spec(look: str) -> PolicySpec:
        """Return the spec of observations and actions, for images of a look."""
        options = ObservationOptions(cameras=(CAMERA,), size_px=SIZE_PX, look=look)
        sizes = {"ee_pose": 7, "holding": 1}
        statistics = {
            name: {"mean": [0.0] * size, "std": [1.0] * size}
            for name, size in (("state", sum(sizes.values())), ("action", 7))
        }
        return PolicySpec(options, sizes, statistics)

    def train_part(self, controller: bool) -> None:
        """Train the controller from now on, or else perception."""
        for name, part in self.named_children():
            part.requires_grad_((name == "controller") is controller)

    def forward(self, batch: SceneBatch | ControlBatch | Batch) -> dict[str, Tensor]:
        """Return the losses of scenes or of control steps."""
        if isinstance(batch, SceneBatch):
            return perception_losses(self.reader, self.cropper, self.poser, self.camera, batch)
        assert isinstance(batch, ControlBatch)
        return controller_losses(self.controller, batch)

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Start episodes in these slots; the other slots continue."""
        for slot, prompt in prompts.items():
            self._episodes[slot] = self._without_gradients(self._start_episode, prompt)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray]:
        """Return the next actions (k, 7) of these slots, in [-1, 1]."""
        return {
            slot: self._without_gradients(self._act, self._episodes[slot], observation)
            for slot, observation in observations.items()
        }

    def predicted_positions(
        self, observations: Mapping[int, Observation]
    ) -> dict[int, NDArray[np.float32]]:
        """Return positions (2, 3) in meters of what the next subgoal names, in these slots; NaN for
        what has no position in the image.
        """
        return {
            slot: self._without_gradients(self._positions, self._episodes[slot], observation)
            for slot, observation in observations.items()
        }

    def _start_episode(self, prompt: PromptInput) -> _Episode:
        keys = [np.asarray(image) for name, image in prompt.images.items() if KEY_STEP in name]
        single = {name: image for name, image in prompt.images.items() if KEY_STEP not in name}
        small = {name: _prompt_image(np.asarray(image)) for name, image in single.items()}
        encoded = encode(replace(prompt, images=small), self.tokenizer, PROMPT_PX)
        prompts = stack([encoded], self.tokenizer.pad).to(self.device)
        shown = self.reader.embed(fractions(prompts.images))
        controller = Controller(self.controller, self.config.execution_horizon)
        return _Episode(prompts, shown, keys, controller)

    def _act(self, episode: _Episode, observation: Observation) -> NDArray[np.float32]:
        effector, holding = _arm_state(observation)
        controller = episode.controller
        ended = controller.reached and episode.age > MIN_STEPS
        begins = ended or controller.lost or not 0 <= episode.age <= SUBGOAL_STEPS
        if begins or (controller.command.skill == "traced" and episode.age % UPDATE_STEPS == 0):
            image = observation["images"][CAMERA]  # rendered on demand
            command = self._next_command(episode, image, holding)
            if ended and not controller.should_retry(command, holding):
                episode.done += 1
                command = self._next_command(episode, image, holding)
            _place_held_body(command, effector, holding)
            controller.set_command(command, effector)
            if begins:
                controller.start_subgoal(effector, holding)
                episode.age = 0
        actions = controller.act(effector, holding)
        episode.age += len(actions)
        return actions

    def _read_scene(
        self, episode: _Episode, image: Any, holding: bool
    ) -> tuple[Answer, SceneMaps, Tensor]:
        """Return the answer of the reader, the maps of an image, and the image with its key-step if
        there is one, (1 or 2, 3, H, W).
        """
        keys = episode.keys[: episode.done + 1][-1:]
        shown = np.stack([np.asarray(each)[:HEIGHT_PX] for each in (image, *keys)])
        images = fractions(torch.from_numpy(shown).permute(0, 3, 1, 2).to(self.device))
        corner = self.corner.expand(len(images), 2)
        maps = self.reader.encode_scenes(images[:, :, TOP_PX:BOTTOM_PX], corner)
        present = SceneMaps(*(each[:1] for each in maps))
        episode.first = episode.first or present
        frames = [0, 0, len(keys)]
        if episode.done:
            maps = SceneMaps(*map(torch.cat, zip(maps, episode.first, strict=True)))
            frames[1] = len(images)
        numbers = (min(episode.done, COUNTS - 1), int(holding), len(keys))
        indices, state = (
            torch.tensor(each, device=self.device)[:, None] for each in (frames, numbers)
        )
        answer = self.reader(maps, indices.T, episode.prompts, episode.shown, state)
        return answer, present, images

    def _next_command(self, episode: _Episode, image: Any, holding: bool) -> Command:
        """Return the command of the next subgoal, from an image (H, W, 3)."""
        answer, present, images = self._read_scene(episode, image, holding)
        name = SKILL_NAMES[int(answer.skill.argmax())]
        skill, places, pose = SKILLS[name], np.full((3, 3), np.nan), np.full(7, np.nan)
        if skill.target == "key-step":
            pose = self._pose(images[-1])
        else:
            coarse = self.camera.points(*answer.pixels(self.corner))[0]
            fine = self._refine(images[0], coarse)
            places[0] = fine[0, 0]
            if skill.target:
                places[1] = fine[1, 0] if skill.target == "crop" else coarse[1].cpu()
            if skill.grasped and not holding:
                places[2] = fine[0, 1]
        turn = (int(answer.angle.argmax()) + ANGLES / 2) % ANGLES - ANGLES / 2
        angle_rad = turn * 2 * np.pi / ANGLES if skill.turned else 0.0
        obstacles = np.zeros((0, 3))
        if skill.pushed or skill.area or name == "avoiding":
            obstacles = self._body_positions(present, images[0])
        return Command(name, places, angle_rad, pose, obstacles)

    def _positions(self, episode: _Episode, observation: Observation) -> NDArray[np.float32]:
        effector, holding = _arm_state(observation)
        command = self._next_command(episode, observation["images"][CAMERA], holding)
        _place_held_body(command, effector, holding)
        return command.places[:2].astype(np.float32)

    def _refine(self, image: Tensor, coarse: Tensor) -> NDArray[np.float64]:
        """Return positions and grasp points (k, 2, 3) of bodies in an image (3, H, W) from coarse
        positions (k, 3): from a crop around each, then from one around the result.
        """
        images, fine = image.expand(len(coarse), -1, -1, -1), coarse[:, None]
        for _ in range(2):
            middle = self.camera.pixels(fine[:, 0]).round()
            fine = self.cropper(crops(images, middle), middle, self.camera)
        found: NDArray[np.float64] = fine.double().cpu().numpy()
        return found

    def _body_positions(self, maps: SceneMaps, image: Tensor) -> NDArray[np.float64]:
        """Return positions (k, 3) of all bodies in an image (3, H, W): peaks of the map of their
        centers.
        """
        there = maps.geometry[0, 3].sigmoid()
        peaks = functional.max_pool2d(there[None], 5, 1, 2)[0] == there
        down, across = ((there > 0.5) & peaks).nonzero(as_tuple=True)
        if not len(down):
            return np.zeros((0, 3))
        best = there[down, across].argsort(descending=True)[:OBSTACLES]
        down, across = down[best], across[best]
        offsets = maps.geometry[0, :3, down, across].T
        at = torch.stack([across, down], 1) + 0.5 + offsets[:, :2]
        coarse = self.camera.points(STRIDE_PX * at + self.corner, NEARNESS_UNIT * offsets[:, 2])
        return self._refine(image, coarse)[:, 0]

    def _pose(self, image: Tensor) -> NDArray[np.float64]:
        """Return the pose (7,) of the end effector in a key-step image (3, H, W)."""
        pose = self.poser(image[None])[0].double().cpu()
        turned = Rotation.from_matrix(rotation_of(pose[3:]).numpy())
        return np.append((pose[:3] * POSE_UNIT_M).numpy(), np.roll(turned.as_quat(), 1))


def _arm_state(observation: Observation) -> tuple[NDArray[np.float64], bool]:
    """Return the pose of the end effector (7,), and whether something is held."""
    state = observation["proprioception"]
    effector = np.asarray(state["ee_pose"], float).reshape(7)
    return effector, bool(np.ravel(state["holding"])[0])


def _place_held_body(command: Command, effector: NDArray[np.float64], holding: bool) -> None:
    """Set the position of a held body to that below the end effector."""
    if holding:
        command.places[0] = effector[:3] - [0.0, 0.0, HELD_BELOW_M]


def _prompt_image(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an image (H, W, 3) at :data:`PROMPT_PX`, scaled by box filter as in scenes."""
    from PIL import Image

    small = Image.fromarray(image).resize((PROMPT_PX, PROMPT_PX), Image.Resampling.BOX)
    return np.asarray(small)
