"""Client of OpenVLA-OFT's server (its vla-scripts/deploy.py), as a policy of ``evaluate``."""

import base64
import json
import urllib.request
from typing import Any

import numpy as np

from clevrskills.core.policy import Observation, ObservationOptions, PolicyError, PromptInput
from clevrskills.sim.robots.delta_action import ACTION_SPEC


class OpenVLAOFT:
    """Policy that requests chunks of actions by JSON over HTTP, with arrays in json-numpy's format.

    Args:
        url: Of the server, with ``/act``.
        timeout_s: How long to wait for an answer.
    """

    action_spec = ACTION_SPEC
    observation = ObservationOptions(
        cameras=("base_camera", "hand_camera"), size_px=256, prompt="language"
    )

    def __init__(self, url: str, timeout_s: float = 60) -> None:
        self._url, self._timeout_s, self._text = url, timeout_s, ""

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode."""
        self._text = prompt.text

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next actions, (H, 7).

        Raises:
            PolicyError: The server does not answer, or not with actions.
        """
        images, robot = observation["images"], observation["proprioception"]
        state = np.concatenate([robot["ee_pose"], np.ravel(robot["vacuum_on"])])
        question = {
            "full_image": _packed(images["base_camera"]),
            "wrist_image": _packed(images["hand_camera"]),
            "state": _packed(state.astype(np.float32)),
            "instruction": self._text,
        }
        # its format for clients without json-numpy: JSON within JSON, also in the answer
        body = json.dumps({"encoded": json.dumps(question)}).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as reply:
                answer = json.loads(json.load(reply), object_hook=_unpacked)
            return np.stack([np.asarray(action, np.float32) for action in answer])
        except (OSError, TypeError, ValueError) as error:
            raise PolicyError(f"{self._url}: {error}; the server's log says more") from error


def _packed(array: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array)).decode()
    return {"__numpy__": data, "dtype": array.dtype.str, "shape": array.shape}


def _unpacked(value: dict[str, Any]) -> Any:
    if "__numpy__" not in value:
        return value
    array = np.frombuffer(base64.b64decode(value["__numpy__"]), np.dtype(value["dtype"]))
    return array.reshape(value["shape"])
