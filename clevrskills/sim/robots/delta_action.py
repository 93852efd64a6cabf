"""Delta end-effector action: scale, rate and meaning of its seven entries."""

from typing import Any

from clevrskills.core.interface import BoxInterface

__all__ = ["ACTION_SPEC"]

CONTROL_HZ = 20
"""Control steps per second."""
TRANSLATION_M = 0.1
"""Translation per unit of action and control step."""
ROTATION_RAD = 0.1
"""Rotation per unit of action and control step."""

ACTION_SPEC: dict[str, Any] = {
    "shape": [7],
    "low": -1.0,
    "high": 1.0,
    "rate_hz": CONTROL_HZ,
    "parts": [
        {"name": "translation", "start": 0, "stop": 3, "scale": TRANSLATION_M, "unit": "m"},
        {
            "name": "rotation",
            "start": 3,
            "stop": 6,
            "scale": ROTATION_RAD,
            "unit": "rad",
            "form": "rotation vector, its norm clipped to 1 before scaling",
        },
        {"name": "gripper", "start": 6, "stop": 7, "on": "> 0", "off": "<= 0"},
    ],
    "frame": "end effector, z out of the cups; at the start its axes are the world's x, -y, -z",
    "reference": "commanded pose of the step before, at most 0.03 m, 0.2 rad from the measured one",
    "order": "translation and rotation are both expressed in the frame before the step",
}
"""Specification of an action as data."""

DELTA = BoxInterface(
    "delta",
    ACTION_SPEC,
    "Translation (x 0.1 m) and rotation vector (x 0.1 rad) in the frame of the end effector, "
    "vacuum on (> 0) or off",
    ("x", "y", "z", "rx", "ry", "rz", "vacuum"),
    kept=(6,),
)
"""Interface of policies with such actions."""
