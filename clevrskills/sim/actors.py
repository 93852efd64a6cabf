"""Building bodies in a simulation, from geometry in memory."""

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
"""Speed at which bodies are pushed apart at most; else what the arm pressed on would be thrown."""
ANGULAR_DAMPING_PER_S = 2.0
"""Stands for rolling resistance, which PhysX lacks: a cylinder on its side, made of facets, would
rock for ever."""
LOCK_NM, LOCK_NMS = 1e3, 1e1
"""Stiffness and damping of a hinge against any other turn, per radian and radian per second; limits
of the swing, which would be exact, have no effect in SAPIEN 3.0."""
HINGE_SLEEP_THRESHOLD = 5e-5
"""Kinetic energy per kg below which what hangs on a hinge falls asleep: with the usual hundredfold
it stops where it turns back, away from its rest."""

AT_REST = np.zeros(3, np.float32)
FIRST_SCENE = torch.zeros(1, dtype=torch.int32)
"""Numbers of the scenes that a body is in."""


class _BodyBuilder(ActorBuilder):
    """Builder of a body from convex pieces in memory."""

    body: Body

    def build_physx_component(self, link_parent: Any = None) -> Any:
        """Return a rigid body of the shape's convex parts."""
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
        """Return the actor of a body, in the only scene that there is; as the parent's, which takes
        several times as long.
        """
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
    """Build a body in a scene, with or without its looks."""
    builder = _BodyBuilder()
    builder.set_scene(scene)
    builder.body = body
    if drawn:
        scene_visuals.add_body_visual(builder, body.geometry, body.texture)
    builder.initial_pose = sapien.Pose(body.pose[:3], body.pose[3:])
    return builder.build_static(body.key) if body.static else builder.build(body.key)


def put_body(scene: ManiSkillScene, body: Body) -> Actor:
    """Put a body without looks into a scene on the CPU: one that was given back, or a new one."""
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
    """Put an actor that was taken out of another scene into this one."""
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
    """Take an actor that has no looks out of its scene: at rest, and awake as a new one is."""
    (entity,), (body,) = actor._objs, actor._bodies
    if actor.px_body_type == "dynamic":
        body.linear_velocity = body.angular_velocity = AT_REST
        body.wake_up()
    entity.remove_from_scene()
    actor.scene = None  # which would stay in memory


def give_back(bodies: Sequence[Body | None], actors: Sequence[Actor | None]) -> None:
    """Take actors without looks out of their scene, for others in which they are built alike;
    unless any hangs on a hinge, as joints cannot be taken apart. Those that somebody has changed,
    say in mass, are left.
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
    """Return properties of built bodies that persist when a user changes them: masses, ..."""
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
    """Return the key of bodies that are alike but for looks."""
    return body.geometry, body.static, body.ghost


_spare: dict[tuple[Shape, bool, bool], list[Actor]] = {}
"""Bodies that scenes gave back, by kind, those that came last at the end: to cook their meshes
takes longer than all else."""
SPARE_KINDS = 512
"""Of how many kinds they are kept."""


def attach_hinges(bodies: Sequence[Body | None], actors: Sequence[Actor | None]) -> None:
    """Join actors of bodies that hang on hinges to their carriers; the two do not collide."""
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
    """Return an unconstrained joint between two bodies, or a body and the world."""
    joint = physx.PhysxDriveComponent(
        child.find_component_by_type(physx.PhysxRigidDynamicComponent)
    )
    if parent:
        joint.parent = parent.find_component_by_type(physx.PhysxRigidBaseComponent)
    joint.pose_in_parent, joint.pose_in_child = in_parent, in_child
    child.add_component(joint)
    return joint
