"""Content of ``modality.json``, the layout of state and action for GR00T and StarVLA."""

from typing import Any

from clevrskills.core.interface import ACTION_MODALITIES, STATE_MODALITIES
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.export.lerobot.features import ANNOTATIONS, image_key, state_sizes

_PROPERTIES: dict[str, dict[str, Any]] = {
    "end_effector_rotation": {"rotation_type": "quaternion"},
    "end_effector_position_delta": {"absolute": False},
    "end_effector_rotation_delta": {"absolute": False, "rotation_type": "axis_angle"},
}
"""Properties of parts of state and action."""


def modality(episode: Episode) -> dict[str, Any]:
    """Return parts of state and action, cameras and texts of the dataset of an episode."""
    state, action, start = {}, {}, 0
    for part, size in state_sizes(episode).items():
        for name, which in STATE_MODALITIES.get(part, {part: slice(None)}).items():
            numbers = range(start, start + size)[which]
            state[name] = _part("observation.state", name, numbers.start, numbers.stop)
        start += size
    for part in episode.info["action_spec"]["parts"]:
        name = ACTION_MODALITIES.get(part["name"], part["name"])
        action[name] = _part("action", name, part["start"], part["stop"])
    return {
        "state": state,
        "action": action,
        "video": {name: {"original_key": image_key(name)} for name in episode.cameras},
        "annotation": {
            name.removeprefix("annotation."): {"original_key": name} for name in ANNOTATIONS
        },
    }


def _part(key: str, name: str, start: int, stop: int) -> dict[str, Any]:
    return {"original_key": key, "start": start, "end": stop, **_PROPERTIES.get(name, {})}
