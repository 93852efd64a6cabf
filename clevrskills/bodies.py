"""Building bodies in a simulation, from geometry in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sapien
import sapien.physx as physx
from mani_skill.utils.building.actor_builder import ActorBuilder
from mani_skill.utils.structs import Actor

from clevrskills import rendering
from clevrskills.body import Body

if TYPE_CHECKING:
    from mani_skill.envs.scene import ManiSkillScene

DEPENETRATION_M_PER_S = 0.3
"""Speed at which bodies are pushed apart at most; else what the arm pressed on would be thrown."""


class _BodyBuilder(ActorBuilder):
    """Builds a body from convex pieces in memory."""

    body: Body

    def build_physx_component(self, link_parent: Any = None) -> Any:
        """A rigid body of the shape's convex parts."""
        static = self.body.static
        component = (
            physx.PhysxRigidStaticComponent() if static else physx.PhysxRigidDynamicComponent()
        )
        shape = self.body.geometry
        for part in shape.parts:
            piece = physx.PhysxCollisionShapeConvexMesh(
                vertices=part, scale=[1.0, 1.0, 1.0], material=physx.get_default_material()
            )
            piece.set_collision_groups(self.collision_groups)
            piece.density = shape.density
            component.attach(piece)
        if not static:
            component.max_depenetration_velocity = DEPENETRATION_M_PER_S
        component.name = self.name
        return component


def build_body(scene: ManiSkillScene, body: Body, drawn: bool) -> Actor:
    """Build a body in a scene, with or without its looks."""
    builder = _BodyBuilder()
    builder.set_scene(scene)
    builder.body = body
    if drawn:
        rendering.add_body_visual(builder, body.geometry, body.texture)
    builder.initial_pose = sapien.Pose(body.pose[:3], body.pose[3:])
    return builder.build_static(body.key) if body.static else builder.build(body.key)
