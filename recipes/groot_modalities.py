"""Modality configuration of our exports for Isaac-GR00T: names are those of meta/modality.json."""

from gr00t.configs.data.embodiment_configs import register_modality_config
from gr00t.data.embodiment_tags import EmbodimentTag
from gr00t.data.types import (
    ActionConfig,
    ActionFormat,
    ActionRepresentation,
    ActionType,
    ModalityConfig,
)

CHUNK = 16
"""Actions of a chunk, 0.8 s at 20 Hz; Isaac-GR00T's examples take 16."""

STATE = ["joint_position", "end_effector_position", "end_effector_rotation"]
STATE += ["vacuum_on", "holding"]
ACTION = ["end_effector_position_delta", "end_effector_rotation_delta", "gripper"]

# Deltas are used unchanged. RELATIVE would subtract the state from them, and EEF needs poses.
AS_IT_IS = ActionConfig(
    rep=ActionRepresentation.ABSOLUTE, type=ActionType.NON_EEF, format=ActionFormat.DEFAULT
)

register_modality_config(
    {
        "video": ModalityConfig(delta_indices=[0], modality_keys=["base_camera", "hand_camera"]),
        # scaled to [-1, 1] by minimum and maximum, Isaac-GR00T's default
        "state": ModalityConfig(delta_indices=[0], modality_keys=STATE),
        "action": ModalityConfig(
            delta_indices=list(range(CHUNK)),
            modality_keys=ACTION,
            action_configs=[AS_IT_IS] * len(ACTION),
        ),
        "language": ModalityConfig(
            delta_indices=[0], modality_keys=["annotation.human.task_description"]
        ),
    },
    embodiment_tag=EmbodimentTag.NEW_EMBODIMENT,
)
