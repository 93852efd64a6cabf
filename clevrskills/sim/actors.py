"""Actors: simulated bodies, built from geometry in memory."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sapien
import sapien.physx as physx
import torch
from mani_skill.envs.scene import ManiSkillScene
from mani_skill.utils.building.actor_builder import ActorBuilder
from mani_skill.utils.structs import Actor, Pose

from clevrskills.assets import Shape
from clevrskills.sim.body import Body
from clevrskills.sim.render import scene_visuals

DEPENETRATION_M_PER_S = 0.3
"""Largest speed at which overlapping bodies separate; bodies pressed by the arm would otherwise be
thrown."""
ANGULAR_DAMPING_PER_S = 2.0
"""Substitute for rolling resistance, which PhysX lacks: a faceted cylinder on its side would rock
forever."""
LOCK_NM, LOCK_NMS = 1e3, 1e1
"""Stiffness per radian and damping per radian per second of a hinge against other rotations; exact
swing limits have no effect in SAPIEN 3.0."""
HINGE_SLEEP_THRESHOLD = 5e-5
"""Kinetic energy per kg below which hinged bodies fall asleep. With the default, a hundred times
higher, they would stop at a turning point away from their rest pose."""

AT_REST = np.zeros(3, np.float32)
FIRST_SCENE = torch.zeros(1, dtype=torch.int32)
"""Scene index of all bodies."""


class _BodyBuilder(ActorBuilder):
    """Builder of a body from convex parts in memory."""

    body: Body

    def build_physx_component(self, link_parent: Any = None) -> Any:
        """Return a rigid body from the convex parts of the shape."""
        static = self.body.static
        component = (
            physx.PhysxRigidStaticComponent() if static else physx.PhysxRigidDynamicComponent()
        )
        shape = self.body.geometry
        for part in () if self.body.ghost else shape.parts:
            piece = physx.PhysxCollisionShapeConvexMesh(
                vertices=part, scale=[1.0, 1.0, 1.0], material=physx.get_default_material()
            )
            piece.set_collision_groups(self.collision_groups)
            piece.density = shape.density
            component.attach(piece)
        if not static:
            component.max_depenetration_velocity = DEPENETRATION_M_PER_S
            component.angular_damping = ANGULAR_DAMPING_PER_S
            if self.body.hinge:
                component.sleep_threshold = HINGE_SLEEP_THRESHOLD
        component.name = self.name
        return component

    def build(self, name: str) -> Actor:
        """Return the actor of a body in a single scene, several times faster than the base."""
        self.set_name(name)
        entity = self.build_entity()
        entity.name, entity.pose = f"scene-0_{name}", self.initial_pose
        self.scene.sub_scenes[0].add_entity(entity)
        actor = Actor.create_from_entities([entity], self.scene, FIRST_SCENE)
        actor.initial_pose = Pose.create(self.initial_pose)
        self.scene.actors[name] = actor
        self.scene.add_to_state_dict_registry(actor)
        return actor


def build_body(scene: ManiSkillScene, body: Body, drawn: bool) -> Actor:
    """Build a body in a scene, with or without visuals."""
    builder = _BodyBuilder()
    builder.set_scene(scene)
    builder.body = body
    if drawn:
        scene_visuals.add_body_visual(builder, body.geometry, body.texture)
    builder.initial_pose = sapien.Pose(body.pose[:3], body.pose[3:])
    return builder.build_static(body.key) if body.static else builder.build(body.key)


def put_body(scene: ManiSkillScene, body: Body) -> Actor:
    """Add a body without visuals to a scene, reusing a returned actor if there is one."""
    spare = None if body.hinge else _spare.get(_kind(body))
    if not spare:
        actor = build_body(scene, body, drawn=False)
        actor.as_built = traits(actor._bodies)
        return actor
    actor = spare.pop()
    actor._objs[0].pose = sapien.Pose(body.pose[:3], body.pose[3:])
    actor.initial_pose = Pose(raw_pose=torch.tensor([body.pose], dtype=torch.float32))
    put_back(scene, actor, body.key)
    return actor


def put_back(scene: ManiSkillScene, actor: Actor, name: str) -> None:
    """Add an actor that was removed from another scene."""
    (entity,), (body,) = actor._objs, actor._bodies
    actor.scene = scene
    if actor.name != name:
        entity.name, actor.name, body.name = f"scene-0_{name}", name, name
    for known in ("__maniskill_hash__", "per_scene_id"):
        vars(actor).pop(known, None)
    scene.sub_scenes[0].add_entity(entity)
    scene.actors[name] = actor
    scene.add_to_state_dict_registry(actor)


def take_out(actor: Actor) -> None:
    """Remove an actor without visuals from its scene, at rest and awake like a new one."""
    (entity,), (body,) = actor._objs, actor._bodies
    if actor.px_body_type == "dynamic":
        body.linear_velocity = body.angular_velocity = AT_REST
        body.wake_up()
    entity.remove_from_scene()
    actor.scene = None  # would keep the scene in memory


def give_back(bodies: Sequence[Body | None], actors: Sequence[Actor | None]) -> None:
    """Remove actors without visuals from their scene and keep them for reuse. Scenes with hinges
    are skipped, as joints cannot be removed, and so are actors that a user changed.
    """
    if any(body and body.hinge for body in bodies):
        return
    for body, actor in zip(bodies, actors, strict=True):
        if body and actor and actor.as_built == traits(actor._bodies):
            take_out(actor)
            alike = _spare.pop(_kind(body), [])
            _spare[_kind(body)] = [*alike, actor]
    while len(_spare) > SPARE_KINDS:
        del _spare[next(iter(_spare))]


def traits(components: Iterable[Any]) -> list[Any]:
    """Return properties of built bodies that a user can change permanently, such as masses."""
    found: list[Any] = []
    for component in components:
        found += [len(component.entity.components)]
        for shape in component.collision_shapes:
            found += [shape.physical_material, shape.collision_groups]
        if not isinstance(component, physx.PhysxRigidStaticComponent):
            center = component.cmass_local_pose
            found += [component.mass, component.disable_gravity]
            found += [component.linear_damping, component.angular_damping]
            found += [component.max_linear_velocity, component.max_angular_velocity]
            found += [component.inertia.tobytes(), center.p.tobytes(), center.q.tobytes()]
        if isinstance(component, physx.PhysxRigidDynamicComponent):
            found += [component.kinematic, component.locked_motion_axes, component.sleep_threshold]
    return found


def _kind(body: Body) -> tuple[Shape, bool, bool]:
    """Return a key that is equal for bodies that differ only in visuals."""
    return body.geometry, body.static, body.ghost


_spare: dict[tuple[Shape, bool, bool], list[Actor]] = {}
"""Returned actors by kind, most recent last; cooking their meshes dominates the cost of a reset."""
SPARE_KINDS = 512
"""Most kinds of actors kept for reuse."""


def attach_hinges(bodies: Sequence[Body | None], actors: Sequence[Actor | None]) -> None:
    """Attach hinged bodies to their parents; a body and its parent do not collide."""
    built = {
        body.key: (sapien.Pose(body.pose[:3], body.pose[3:]), actor._objs[0])
        for body, actor in zip(bodies, actors, strict=True)
        if body and actor
    }
    for body in bodies:
        if body and body.hinge:
            hinge = body.hinge
            pose, entity = built[body.key]
            carried, parent = built[hinge.parent] if hinge.parent else (sapien.Pose(), None)
            turn = sapien.math.shortest_rotation([1.0, 0.0, 0.0], hinge.axis)
            anchor = sapien.Pose(hinge.anchor_m, turn)
            joint = _joint(entity, parent, carried.inv() * pose * anchor, anchor)
            for axis in "xyz":
                getattr(joint, f"set_limit_{axis}")(0.0, 0.0)
            if hinge.level:
                lock = _joint(entity, None, pose, sapien.Pose())
                lock.set_drive_property_slerp(LOCK_NM, LOCK_NMS)
            else:
                joint.set_limit_twist(*hinge.limits_rad)
                joint.set_drive_property_twist(hinge.stiffness_nm, hinge.damping_nms)
                joint.set_drive_property_swing(LOCK_NM, LOCK_NMS)


def _joint(
    child: sapien.Entity,
    parent: sapien.Entity | None,
    in_parent: sapien.Pose,
    in_child: sapien.Pose,
) -> physx.PhysxDriveComponent:
    """Return an unconstrained joint between two bodies, or between a body and the world."""
    joint = physx.PhysxDriveComponent(
        child.find_component_by_type(physx.PhysxRigidDynamicComponent)
    )
    if parent:
        joint.parent = parent.find_component_by_type(physx.PhysxRigidBaseComponent)
    joint.pose_in_parent, joint.pose_in_child = in_parent, in_child
    child.add_component(joint)
    return joint
