"""What both dialects send of an observation under the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.suite import load_suite
from clevrskills.serving.images import received

STATE = ("qpos", "ee_pose", "vacuum_on", "holding")
"""The measurements that make up the state, in this order, as in exports for LeRobot."""


def state_vector(observation: Observation) -> np.ndarray | None:
    """The state, (n,) float32, with a history (T, n); ``None``: nothing is shown of the robot."""
    shown = observation.get("proprioception") or {}
    parts = [shown[name] for name in STATE if name in shown]
    return np.concatenate(parts, axis=-1, dtype=np.float32) if parts else None


def common(
    observation: Observation, prompt: PromptInput, sent: Callable[[np.ndarray], Any]
) -> dict[str, Any]:
    """The part that is the same in both dialects.

    Args:
        observation: What a policy is shown.
        prompt: The prompt, with the pictures that are to be sent.
        sent: Makes of a picture what is sent.
    """
    data: dict[str, Any] = {"step": int(observation["step"]), "seed": prompt.seed}
    if observation.get("proprioception"):
        data["proprioception"] = dict(observation["proprioception"])
    if prompt.images:
        data["prompt_images"] = {name: sent(picture) for name, picture in prompt.images.items()}
    return data


def read(
    data: Mapping[str, Any], images: Mapping[Any, Any], state: Any, text: Any
) -> tuple[dict[str, Any], PromptInput]:
    """An observation and the prompt as policies know them, from what a client sent.

    Args:
        data: The whole message, with what :func:`common` gave if the client knows of it.
        images: What was sent of each camera.
        state: Its state vector, shown as ``state`` if nothing else is known of the robot.
        text: Of the prompt.

    Raises:
        ValueError: Something is not what it should be.
    """
    if not isinstance(text, str):
        raise ValueError(f"the prompt is no text but {type(text).__name__}")
    proprioception = dict(data.get("proprioception") or {})
    if not proprioception and state is not None:
        proprioception["state"] = np.asarray(state)
    observation = {
        "images": {name: received(picture) for name, picture in images.items()},
        "proprioception": proprioception,
        "prompt": text,
        "step": int(data.get("step", 0)),
    }
    shown = {name: received(p) for name, p in (data.get("prompt_images") or {}).items()}
    return observation, PromptInput(text, shown, int(data.get("seed", 0)))


def unclipped(answer: Any) -> np.ndarray:
    """Actions (7,) or (H, 7) as float32; that they lie in [-1, 1] is for the runner to see to.

    Raises:
        PolicyError: They are of another shape, or not finite.
    """
    load_suite().interface().read(answer, clip=True)
    if hasattr(answer, "detach"):  # a torch tensor, as there
        answer = answer.detach().float().cpu()
    return np.asarray(answer, np.float32)
