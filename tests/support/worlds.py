"""Worlds of plain tensors that tests share, without a simulator."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

import torch
from torch import Tensor

from clevrskills.assets import Shape, shape
from clevrskills.predicates import Predicate
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.tensor_world import TensorWorld

torch.set_num_threads(1)  # what is computed here is too small for more, and other tests run beside


@dataclass(frozen=True)
class BodySpec:
    """A body to be put into a world."""

    key: str
    shape: str = "cube"
    size: tuple[float, float, float] | None = None
    static: bool = False

    @property
    def geometry(self) -> Shape:
        return shape(self.shape, self.size)


CUBE = BodySpec("cube", "cube", (0.05, 0.05, 0.05))
BRICK = BodySpec("brick", "cube", (0.08, 0.04, 0.03))
HEXAGON = BodySpec("hexagon", "hexagon", (0.06, 0.06, 0.04))
TWIN = BodySpec("twin", "cube", CUBE.size)
SLAB = BodySpec("slab", "cube", (0.12, 0.12, 0.03))
AREA = BodySpec("area", "cube", (0.24, 0.24, 0.01), static=True)
BODIES = (CUBE, BRICK, HEXAGON, SLAB, AREA, TWIN)
KEYS = tuple(spec.key for spec in BODIES)
MOVABLE, SMALL, WIDE = (0, 1, 2, 3), (0, 1, 2), (3, 4)
"""Slots of the bodies that can be moved, that fit on others, and that others fit on."""
PLACES_M = (
    *((-0.30, -0.10), (-0.30, 0.0), (-0.30, 0.10)),
    *((-0.10, -0.22), (-0.04, 0.14), (-0.30, 0.24)),
)
"""Positions of the objects of :func:`tabletop`, within 5 mm; no two touch."""


def pose(
    spec: BodySpec | Shape, x: float, y: float, yaw_rad: float = 0.0, bottom_z: float = 0.0
) -> Tensor:
    """The pose (7,) of a spec that stands upright at a height."""
    half = (spec.geometry if isinstance(spec, BodySpec) else spec).half_extents[2]
    turn = (cos(yaw_rad / 2), 0.0, 0.0, sin(yaw_rad / 2))
    return torch.tensor([x, y, bottom_z + half, *turn], dtype=torch.float32)


def make_world(
    specs: Sequence[BodySpec | None],
    poses: Sequence[Tensor | None],
    end_effector_pose: Tensor | None = None,
) -> TensorWorld:
    """One environment with objects at poses (7,); ``None`` is an empty slot."""
    shapes = [[spec.geometry if spec else None for spec in specs]]
    static = [[bool(spec and spec.static) for spec in specs]]
    keys = [spec.key if spec else f"empty_{k}" for k, spec in enumerate(specs)]
    far = torch.tensor([0.0, 0.0, 50.0, 1.0, 0.0, 0.0, 0.0])
    rows = torch.stack([far if p is None else p for p in poses])[None]
    end_effector = None if end_effector_pose is None else end_effector_pose[None]
    return TensorWorld(keys, Solids.from_shapes(shapes, static), rows, end_effector)


def tabletop(batch: int = 1, seed: int = 0) -> TensorWorld:
    """All of :data:`BODIES` side by side on the table, at different poses in each environment.

    Environment 0 is the same for every batch size.
    """
    one = Solids.from_shapes([[t.geometry for t in BODIES]], [[t.static for t in BODIES]])
    solids = Solids(
        **{
            field.name: getattr(one, field.name).expand(batch, *getattr(one, field.name).shape[1:])
            for field in dataclasses.fields(one)
        }
    )
    generator = torch.Generator().manual_seed(seed)
    jitter = torch.rand(batch, len(BODIES), 3, generator=generator) * 2 - 1
    poses = torch.zeros(batch, len(BODIES), 7)
    poses[..., :2] = torch.tensor(PLACES_M) + 0.005 * jitter[..., :2]
    poses[..., 2] = torch.tensor([t.geometry.half_extents[2] for t in BODIES])
    poses[..., 3], poses[..., 6] = (jitter[..., 2] * pi / 2).cos(), (jitter[..., 2] * pi / 2).sin()
    return TensorWorld(KEYS, solids, poses)


def draw_slots(world: TensorWorld, slots: Sequence[int], seed: int = 0) -> Tensor:
    """One of some slots for each environment, (B,); with 1000 environments all of them come up."""
    generator = torch.Generator().manual_seed(seed)
    return torch.tensor(slots)[torch.randint(len(slots), (world.num_envs,), generator=generator)]


def row_of_world(world: TensorWorld, env: int) -> TensorWorld:
    """One environment of a world as a world of its own."""
    solids = Solids(
        **{
            field.name: getattr(world.solids, field.name)[env : env + 1]
            for field in dataclasses.fields(world.solids)
        }
    )
    part = slice(env, env + 1)
    row = TensorWorld(world.keys, solids, world.body_pose[part], world.end_effector_pose[part])
    row.cup_tips = world.cup_tips
    row._body_velocity = world.body_velocity[part].clone()
    row._held = world.held[part].clone()
    return row


def row_of(predicate: Predicate, env: int) -> Predicate:
    """A predicate tree as one environment sees it."""

    def cut(value):
        if isinstance(value, Tensor):
            return value[env : env + 1]
        if isinstance(value, Predicate):
            return row_of(value, env)
        if isinstance(value, tuple):
            return tuple(cut(v) for v in value)
        return value

    values = {f.name: cut(getattr(predicate, f.name)) for f in dataclasses.fields(predicate)}
    return type(predicate)(**values)


def row_of_state(state: dict[str, Tensor], env: int) -> dict[str, Tensor]:
    """A goal state as one environment sees it."""
    return {key: value[env : env + 1] for key, value in state.items()}


def move_gripper(world: TensorWorld, position: Sequence[float] | Tensor) -> None:
    """Put the tool center point at a world position, cups down."""
    tip = torch.as_tensor(position, dtype=torch.float32).expand(world.num_envs, 3)
    down = torch.tensor([0.0, 1.0, 0.0, 0.0]).expand(world.num_envs, 4)
    world._end_effector_pose = torch.cat((tip, down), dim=-1)
    world.invalidate()


def index(world: TensorWorld, slot: int) -> Tensor:
    """A slot for all environments, (B,)."""
    return torch.full((world.num_envs,), slot)
