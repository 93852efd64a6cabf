"""Text description of a scene, one line per body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import degrees
from typing import TYPE_CHECKING

import torch

from clevrskills.core.geometry import rotation_matrix
from clevrskills.sim.body import Body

if TYPE_CHECKING:
    from clevrskills.envs.recorder_view import RecorderView

STATE_VIEW = "state"
"""Name of the view with this text."""
NAMES = 3
"""Number of sets of names, see :mod:`clevrskills.assets.names`."""
SUPPORT_SHARE = 0.5
"""Share of the weight of a body from which it stands on another one."""


def bodies_of(env: RecorderView) -> Mapping[str, Body]:
    """Return the bodies of the scene by key."""
    return {body.key: body for body in env.layouts[0].bodies if body}


def shown_name(env: RecorderView, body: Body, names: int = 0) -> str:
    """Return the name of a body with its current texture from a set of names."""
    texture = env.textures.get(body.key, body.texture)
    return replace(body, texture=texture).called(names, bodies_of(env).values())


def scene_text(env: RecorderView) -> str:
    """Return key, name, position in meters, yaw in degrees and support of each body, then the held
    body and the position of the gripper.
    """
    world, lines = env.world, []
    held = int(world.held[0])
    for key, body in bodies_of(env).items():
        slot = world.keys.index(key)
        x, y, z = (round(v, 3) + 0.0 for v in world.body_pose[0, slot, :3].tolist())
        matrix = rotation_matrix(world.body_pose[0, slot, 3:])
        turn = round(degrees(torch.atan2(matrix[1, 0], matrix[0, 0]).item()))
        place = f"({x:.3f}, {y:.3f}, {z:.3f})" if body.ghost else f"({x:.3f}, {y:.3f})"
        parts = [f"{key}: {shown_name(env, body)} at {place}"]
        if not body.ghost:
            parts.append(f"turned to {turn} degrees")
        if body.movable and slot != held:
            parts += _on(env, slot)
        lines.append(", ".join(parts))
    lines.append(f"The gripper holds {world.keys[held] if held >= 0 else 'nothing'}.")
    x, y, z = (round(v, 2) + 0.0 for v in world.end_effector_pose[0, :3].tolist())
    lines.append(f"The gripper is at ({x:.2f}, {y:.2f}, {z:.2f}).")
    return "\n".join(lines)


def _on(env: RecorderView, slot: int) -> list[str]:
    """Return what a body stands on or in."""
    world, found = env.world, []
    for key, body in bodies_of(env).items():
        other = world.keys.index(key)
        if other == slot or body.ghost:
            continue
        share = world.supports(torch.tensor([other]), torch.tensor([slot]))
        if float(share[0]) >= SUPPORT_SHARE:
            found.append(f"{'in' if body.noun == 'area' else 'on'} {key}")
    return found or (["on the table"] if bool(world.on_table(torch.tensor([slot]))[0]) else [])
