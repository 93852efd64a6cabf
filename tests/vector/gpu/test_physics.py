"""What is written to and read from PhysX's buffers on a GPU, with a stand-in for PhysX."""

import pytest
import torch
from sapien import physx

from clevrskills.errors import ClevrSkillsError
from clevrskills.sim.simulation import PARKED
from clevrskills.vector.gpu import physics as module
from clevrskills.vector.gpu.contacts import Contacts
from clevrskills.vector.gpu.physics import CudaPhysics, enable_gpu
from tests.support.envs import body
from tests.support.worlds import AREA, BRICK, CUBE
from tests.vector.gpu.scenes import CpuPhysics

BODIES, LINKS, JOINTS = 5, 9, 8
"""Rows of bodies that move and, of each arm, of links; most joints of any articulation."""


GPU_SYSTEM = physx.PhysxGpuSystem


class Buffer:
    def __init__(self, *shape):
        self.values = torch.arange(torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)

    def torch(self):
        return self.values


class System:
    """Has what PhysX's system has by that name, and notes what is called."""

    def __init__(self):
        self.calls: list[str] = []
        rows = BODIES + 2 * LINKS
        self.cuda_rigid_body_data = Buffer(rows, 13)
        self.cuda_rigid_body_force, self.cuda_rigid_body_torque = Buffer(rows, 4), Buffer(rows, 4)
        for name in ("qpos", "qvel", "qf", "target_qpos", "target_qvel"):
            setattr(self, f"cuda_articulation_{name}", Buffer(2, JOINTS))
        assert all(hasattr(GPU_SYSTEM, name) for name in vars(self) if name != "calls")

    def __getattr__(self, name):
        assert hasattr(GPU_SYSTEM, name), name
        return lambda *arguments: self.calls.append(name)


@pytest.fixture
def cuda():
    """Two environments: a cube, furniture and a brick; a cube, and a brick that is missing."""
    one = (body(CUBE, -0.2, 0.0), body(AREA, -0.2, -0.2), body(BRICK, 0.0, 0.1))
    layouts = [module.Layout(one), module.Layout((one[0], one[1], None))]
    made = CudaPhysics.__new__(CudaPhysics)
    scenes = CpuPhysics.build(layouts).scenes
    super(CudaPhysics, made).__init__(scenes, "cpu")
    made._px = System()
    made._rows = torch.tensor([[4, 0, 2], [1, 0, 0]])
    made._tcp_rows = torch.tensor([BODIES + 8, BODIES + LINKS + 8])
    made._arms, made._joints, made._query = torch.tensor([1, 0]), 6, None
    return made


def data(cuda):
    return cuda._px.cuda_rigid_body_data.values


def test_read_gathers_what_moves_and_keeps_the_rest(cuda):
    cuda.read()
    rows = data(cuda)
    for (env, slot), row in {(0, 0): 4, (0, 2): 2, (1, 0): 1}.items():
        torch.testing.assert_close(cuda.bodies[env, slot], rows[row])
    torch.testing.assert_close(cuda.bodies[0, 1, :3], torch.tensor([-0.2, -0.2, 0.005]))
    torch.testing.assert_close(cuda.bodies[1, 2, :7], torch.from_numpy(PARKED))
    torch.testing.assert_close(cuda.tcp, rows[[BODIES + 8, BODIES + LINKS + 8]])
    angles = cuda._px.cuda_articulation_qpos.values
    torch.testing.assert_close(cuda.qpos, angles[[1, 0], :6])
    rows.zero_()
    assert cuda.bodies[0, 0].any() and cuda.tcp.any()  # a copy


def test_bodies_are_placed_where_asked_and_nowhere_else(cuda):
    before = data(cuda).clone()
    state = torch.full((2, 3, 13), -1.0)
    cuda.place_bodies(torch.tensor([[False, True, True], [False, False, True]]), state)
    changed = (data(cuda) != before).any(-1).nonzero()[:, 0].tolist()
    assert changed == [2]  # furniture and missing bodies have no row
    torch.testing.assert_close(data(cuda)[2], state[0, 2])
    calls = cuda._px.calls
    assert calls.index("gpu_fetch_rigid_dynamic_data") < calls.index("gpu_apply_rigid_dynamic_data")


def test_arms_are_placed_where_asked(cuda):
    before = cuda._px.cuda_articulation_qpos.values.clone()
    cuda.place_arms(torch.tensor([True, False]), torch.full((2, 6), 0.5))
    for name in ("qpos", "target_qpos"):
        values = getattr(cuda._px, f"cuda_articulation_{name}").values
        assert (values[1, :6] == 0.5).all()
        torch.testing.assert_close(values[0], before[0])  # the other arm
    assert not cuda._px.cuda_articulation_qvel.values[1, :6].any()
    assert cuda._px.calls.index("gpu_apply_articulation_qpos") < cuda._px.calls.index(
        "gpu_update_articulation_kinematics"
    )


def test_drive_and_push_go_to_the_right_rows(cuda):
    qpos = torch.tensor([[1.0] * 6, [2.0] * 6])
    cuda.drive(qpos, -qpos)
    assert cuda._px.cuda_articulation_target_qpos.values[:, 0].tolist() == [2.0, 1.0]
    assert cuda._px.cuda_articulation_target_qvel.values[:, 5].tolist() == [-2.0, -1.0]
    pull = torch.tensor([[1.0, 2, 3, 4, 5, 6], [0.0] * 6])
    cuda.push(torch.tensor([2, 2]), pull, qpos)  # of the second, nothing is held
    force, torque = (getattr(cuda._px, f"cuda_rigid_body_{n}").values for n in ("force", "torque"))
    assert force.nonzero()[:, 0].unique().tolist() == [2]
    assert force[2, :3].tolist() == [1.0, 2.0, 3.0] and torque[2, :3].tolist() == [4.0, 5.0, 6.0]
    assert cuda._px.cuda_articulation_qf.values[:, 0].tolist() == [2.0, 1.0]
    cuda.push(torch.tensor([0, 0]), torch.zeros(2, 6), qpos)
    assert not force.any()  # what was pushed before is pushed no more


def test_impulses_are_those_of_the_query(cuda):
    class Query:
        cuda_impulses = Buffer(4, 3)

    assert cuda.impulses().shape == (0, 3)
    cuda._query = Query()
    torch.testing.assert_close(cuda.impulses(), Query.cuda_impulses.values)
    assert cuda._px.calls[-1] == "gpu_query_contact_pair_impulses"


def test_all_that_is_called_exists():
    for name in ("set_scene_offset", "gpu_init", "gpu_create_contact_pair_impulse_query", "step"):
        assert hasattr(GPU_SYSTEM, name)
    assert hasattr(physx.PhysxRigidDynamicComponent, "gpu_pose_index")
    assert hasattr(physx.PhysxArticulationLinkComponent, "gpu_pose_index")
    assert hasattr(physx.PhysxArticulation, "gpu_index")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_one_line_tells():
    with pytest.raises(ClevrSkillsError, match="needs an NVIDIA GPU"):
        enable_gpu()


def test_without_the_library_one_line_tells(monkeypatch):
    def enable():
        raise OSError("no route\nto the server")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(physx, "enable_gpu", enable)
    with pytest.raises(ClevrSkillsError, match="neither found nor downloaded: no route$"):
        enable_gpu()


def test_scenes_without_anything_to_touch():
    physics = CpuPhysics.build([module.Layout((None,))])
    assert physics.pairs.shape == (0, 3) and physics.impulses().shape == (0, 3)
    contacts = Contacts(physics.pairs, 1, 1)
    contacts.begin()
    contacts.note(physics.impulses())
    contacts.weigh(physics.impulses())
    assert not contacts.lift.any()


class Whole(physx.PhysxCpuSystem):
    """A system on the CPU that can also be called as one on a GPU."""

    def __init__(self, device):
        super().__init__()
        self.stand_in, self.offsets, self.pairs = System(), [], []

    def set_scene_offset(self, scene, offset_m):
        self.offsets.append(tuple(offset_m))

    def gpu_create_contact_pair_impulse_query(self, pairs):
        self.pairs = pairs
        return "query"

    def __getattr__(self, name):
        return getattr(self.stand_in, name)


def test_it_is_built_in_order(monkeypatch):
    memory = {}
    monkeypatch.setattr(module, "enable_gpu", lambda: None)
    row = property(lambda _: 3)
    monkeypatch.setattr(physx.PhysxRigidDynamicComponent, "gpu_pose_index", row)
    monkeypatch.setattr(physx, "PhysxGpuSystem", Whole)
    monkeypatch.setattr(module.sapien, "Device", str)
    monkeypatch.setattr(physx, "set_gpu_memory_config", lambda **config: memory.update(config))
    layout = module.Layout((body(CUBE, -0.2, 0.0), body(AREA, -0.2, -0.2)))
    made = CudaPhysics([layout] * 2, "xarm6", "cpu")
    system = made._px
    assert made._rows.tolist() == [[3, 0], [3, 0]] and made._joints == 6
    assert made._query == "query" and system.pairs == made._pairs
    assert len(set(system.offsets)) == len(system.offsets) > 0
    assert system.timestep == pytest.approx(0.01)
    assert system.stand_in.calls[0] == "gpu_init"  # after all was built, before all else
    torch.testing.assert_close(made.bodies[0, 0], made._still[0, 0])
    assert memory["max_rigid_contact_count"] == 2**19
