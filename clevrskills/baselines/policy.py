"""Learned policy: base class of policies that are trained on demonstrations.

A policy is a torch module with a configuration and the methods ``loss``, ``begin`` and ``step``;
docs/training.md has an example in "A policy of your own". Inputs of these methods are on the device
of the policy. Observations and actions are normalized; images are floating point in [0, 1] and have
the configured size.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clevrskills.baselines.batch import Batch, Observations, Prompts, scale_images
from clevrskills.baselines.prompts import Tokenizer, encode, stack
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput
from clevrskills.core.suite import DEFAULT
from clevrskills.core.threads import single_threaded
from clevrskills.errors import ClevrSkillsError

__all__ = ["LearnedPolicy"]

Config = TypeVar("Config", bound=PolicyConfig)
LEAST_STD = 0.05
"""Minimum standard deviation for normalization, for actions 5 mm or 0.3°: otherwise rare actions
would dominate the loss."""


class Normalizer(nn.Module):
    """Normalizer to mean 0 and standard deviation 1 over the training data; entries that hardly
    vary are scaled less.

    The statistics are part of a checkpoint's spec, not of its weights.

    Args:
        statistics: ``mean`` and ``std``, one number for each entry.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, statistics: Mapping[str, list[float]]) -> None:
        super().__init__()
        for name in ("mean", "std"):
            values = torch.tensor(statistics[name], dtype=torch.float32)
            self.register_buffer(name, values, persistent=False)
        self.std.clamp_(min=LEAST_STD)

    def forward(self, values: Tensor) -> Tensor:
        """Map measured values (..., k) -> normalized values."""
        return (values - self.mean) / self.std

    def inverse(self, values: Tensor) -> Tensor:
        """Map normalized values (..., k) -> measured values."""
        return values * self.std + self.mean


class LearnedPolicy(nn.Module, Generic[Config]):
    """Policy that is trained on windows of demonstrations and acts in slots.

    Actions in an episode depend on that episode alone, not on other slots or earlier episodes.
    Unless ``together`` is set, slots are evaluated one by one on a CPU, so that not even rounding
    differs.

    Args:
        config: The configuration.
        spec: The observations and actions.

    Attributes:
        config_type: Type of the configuration.
        configurations: Configurations by name, among them ``default`` and ``tiny``.
        tokenizer: Tokenizer of prompts.
        prepared_by: ``module:function`` that reads the data of a training run, see
            :data:`~clevrskills.baselines.training.training_config.Prepare`; empty: windows of
            control steps.
        acts_in: Suite and interface; ``None``: the first interface of the suite.
        track: Training data, see :mod:`clevrskills.baselines.data.track`; empty: unknown.
        trained_tasks: Keys of the tasks it was trained on; empty: unknown.
        together: Whether to evaluate all slots in one batch on a CPU, too: faster, but rounding
            depends on the number of slots.
    """

    config_type: ClassVar[type[PolicyConfig]]
    configurations: ClassVar[Mapping[str, PolicyConfig]]
    tokenizer: Tokenizer
    prepared_by: ClassVar[str] = ""
    acts_in: ClassVar[tuple[str, str | None]] = (DEFAULT, None)
    concurrency = "batched"
    track = ""
    trained_tasks: tuple[str, ...] = ()
    together = False

    def __init__(self, config: Config, spec: PolicySpec) -> None:
        super().__init__()
        self.config, self.spec = config, spec
        self.action_spec = spec.action
        self.normalize_action = Normalizer(spec.statistics["action"])
        self.normalize_state = Normalizer(spec.statistics["state"])
        self._memories: dict[int, Any] = {}
        self._begun: dict[int, int] = {}
        """Control step of the first observation of each slot; over 0 after a handover."""

    @property
    def observation(self) -> ObservationOptions:
        """Return the observation options."""
        return self.spec.observation

    @property
    def required_cameras(self) -> tuple[str, ...]:
        """Return the cameras required to act."""
        return self.config.cameras

    @property
    def state_size(self) -> int:
        """Return the length of the proprioception, P."""
        return self.spec.state_size if self.config.proprioception else 0

    @property
    def device(self) -> torch.device:
        """Return the device of the policy."""
        return self.normalize_action.mean.device

    # --- methods of each policy

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Return the total ``loss`` and other terms for the log, each a scalar; means over the
        entries that ``batch.action_mask`` and ``batch.observations.mask`` select.
        """
        raise NotImplementedError

    def begin(self, prompts: Prompts, seeds: Sequence[int]) -> list[Any]:
        """Return the initial state of each of n episodes.

        Args:
            prompts: Their prompts.
            seeds: Their seeds, for random sampling.
        """
        raise NotImplementedError

    def step(self, observations: Observations, memories: list[Any]) -> tuple[Tensor, list[Any]]:
        """Return the next actions in n episodes.

        Args:
            observations: The latest observation of each episode (n, 1, ...), or the last T ones
                (n, T, ...) if training windows end at every step.
            memories: The state of each episode.

        Returns:
            Actions (n, 7) or chunks of actions (n, H, 7), and the new states.
        """
        raise NotImplementedError

    def start(self) -> None:
        """Load published weights to fine-tune. Called once, before a training run without an
        initial checkpoint.
        """

    def pretrained(self) -> set[str]:
        """Return the names in the state dict that are not stored in checkpoints, because they are
        frozen and loaded from elsewhere.
        """
        return set()

    @property
    def learning_rate(self) -> float:
        """Peak learning rate in training."""
        return self.config.learning_rate

    @property
    def part_from(self) -> str:
        """Checkpoint of another policy, part of whose weights it starts from; empty: none."""
        return ""

    @property
    def starts_published(self) -> bool:
        """``True`` if training starts from published weights of others."""
        return getattr(self.config, "weights", None) is not None or bool(self.pretrained())

    def write_files(self, folder: Path) -> None:
        """Write additional files of a checkpoint, such as a vocabulary."""

    def read_files(self, folder: Path) -> None:
        """Read the files of :meth:`write_files`."""

    # --- shared methods

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the losses of a batch that is not normalized yet; see :meth:`loss`."""
        ready = replace(
            batch,
            observations=self._normalized(batch.observations),
            prompts=_as_fractions(batch.prompts),
            actions=self.normalize_action(batch.actions),
        )
        return self.loss(ready)

    def reset(self, prompts: Mapping[int, PromptInput]) -> None:
        """Start episodes in these slots; the other slots continue."""
        for slots in self._groups(prompts):
            size_px = self.config.image_size
            encoded = [encode(prompts[slot], self.tokenizer, size_px) for slot in slots]
            batch = _as_fractions(stack(encoded, self.tokenizer.pad).to(self.device))
            seeds = [prompts[slot].seed for slot in slots]
            begun = self._without_gradients(self.begin, batch, seeds)
            self._memories.update(zip(slots, begun, strict=True))
            for slot in slots:
                self._begun.pop(slot, None)

    def act(self, observations: Mapping[int, Observation]) -> dict[int, np.ndarray]:
        """Return the next action (7,) or actions (H, 7) of these slots, in [-1, 1]."""
        actions: dict[int, np.ndarray] = {}
        for slots in self._groups(observations):
            before = [self._memories[slot] for slot in slots]
            batch = self._observations_of(slots, observations)
            chosen, after = self._without_gradients(self.step, batch, before)
            self._memories.update(zip(slots, after, strict=True))
            chosen = self.normalize_action.inverse(chosen.float()).clamp(-1.0, 1.0).cpu().numpy()
            actions.update(zip(slots, chosen, strict=True))
        return actions

    def predicted_positions(
        self, observations: Mapping[int, Observation]
    ) -> dict[int, NDArray[np.float32]]:
        """Return the predicted positions (2, 3) of the first two objects of the next subgoal in
        each of these slots, in meters; the state of episodes does not change.

        Raises:
            ClevrSkillsError: The policy does not predict positions.
        """
        raise ClevrSkillsError(f"{type(self).__name__} predicts no positions")

    def _observations_of(
        self, slots: Sequence[int], observations: Mapping[int, Observation]
    ) -> Observations:
        first = [self._begun.setdefault(s, int(observations[s]["step"])) for s in slots]
        return self._observations([observations[slot] for slot in slots], first)

    def _groups(self, slots: Mapping[int, Any]) -> Iterator[list[int]]:
        """Yield the slots of each batch."""
        if self.device.type == "cpu" and not self.together:
            yield from ([slot] for slot in slots)
        else:
            yield list(slots)

    def _without_gradients(self, method: Callable[..., Any], *args: Any) -> Any:
        """Call a method without gradients and dropout; on a CPU, in one thread."""
        if self.training:
            self.eval()
        call = single_threaded(method) if self.device.type == "cpu" else method
        with torch.inference_mode():
            return call(*args)

    def _observations(self, given: Sequence[Observation], first: Sequence[int]) -> Observations:
        """Return normalized observations of n slots; control steps before ``first`` are masked."""
        history = self.observation.history
        images = {}
        for camera in self.config.cameras:
            frames = torch.stack([torch.tensor(np.asarray(o["images"][camera])) for o in given])
            frames = frames.reshape(len(given), history, *frames.shape[-3:])
            images[camera] = scale_images(frames.movedim(-1, -3), self.config.image_size)
        state = torch.zeros(len(given), history, 0)
        if self.config.proprioception:
            state = torch.stack([self._state(o["proprioception"], history) for o in given])
        age = torch.tensor([int(o["step"]) - k for o, k in zip(given, first, strict=True)])[:, None]
        mask = torch.arange(history - 1, -1, -1)[None] <= age
        return self._normalized(Observations(images, state, mask).to(self.device))

    def _state(self, proprioception: Mapping[str, Any], history: int) -> Tensor:
        """Return the proprioception, (T, P)."""
        parts = []
        for name, size in self.spec.state_parts.items():
            if name not in proprioception:
                raise ClevrSkillsError(f"the policy was trained with {name}, which is not observed")
            values = np.asarray(proprioception[name], dtype=np.float32).reshape(history, -1)
            if values.shape[1] != size:
                raise ClevrSkillsError(
                    f"the policy was trained with {size} numbers of {name}, not {values.shape[1]}: "
                    "is this another robot?"
                )
            parts.append(torch.from_numpy(values))
        return torch.cat(parts, dim=-1)

    def _normalized(self, observations: Observations) -> Observations:
        images = {name: fractions(observations.images[name]) for name in self.config.cameras}
        state = observations.state[..., :0]
        if self.config.proprioception:
            state = self.normalize_state(observations.state)
        return Observations(images, state, observations.mask)


def fractions(images: Tensor) -> Tensor:
    """Return uint8 images as floating point in [0, 1]."""
    return images.float() / 255


def _as_fractions(prompts: Prompts) -> Prompts:
    return replace(prompts, images=fractions(prompts.images))
