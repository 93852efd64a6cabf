import subprocess
import sys
from math import pi
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.sim.robots.controller import kinematics
from clevrskills.sim.robots.description import ROBOTS, RobotDescription, robot
from clevrskills.sim.robots.geometry import Cylinder

TCP_AT_NEUTRAL_M = {
    "xarm6": (-0.090, 0.0, 0.4066),
    "panda": (-0.1057, 0.0, 0.2954),
    "ur5e": (-0.13, 0.0, 0.40),
}
DOWN = (0.0, 1.0, 0.0, 0.0)


@pytest.fixture(params=sorted(ROBOTS))
def description(request: pytest.FixtureRequest) -> RobotDescription:
    return robot(request.param)


def load_sapien(description: RobotDescription):
    import sapien

    scene = sapien.Scene([sapien.physx.PhysxCpuSystem()])
    articulation = scene.create_urdf_loader().load(str(description.urdf(visual=False)))
    articulation.set_root_pose(sapien.Pose(description.base_position))
    return scene, articulation


def tcp_pose(articulation, qpos: np.ndarray):
    articulation.set_qpos(np.asarray(qpos, np.float32))
    return next(link for link in articulation.get_links() if link.name == "tcp").entity.pose


def load_mplib(description: RobotDescription):
    mplib = pytest.importorskip("mplib")
    ones = np.ones(len(description.joint_names))
    return mplib.Planner(
        str(description.urdf(visual=False)),
        description.tcp_link,
        srdf=str(description.srdf()),
        joint_vel_limits=ones,
        joint_acc_limits=ones,
    )


def touching(planner, qpos: np.ndarray) -> set[frozenset[str]]:
    planner.robot.set_qpos(qpos, True)
    contacts = planner.planning_world.collide_full()
    return {frozenset((c.link_name1, c.link_name2)) for c in contacts}


def random_qpos(description: RobotDescription, count: int) -> np.ndarray:
    lower, upper = np.array(description.joint_limits).T
    return np.random.default_rng(0).uniform(lower, upper, (count, len(lower)))


def solve_ik(planner, description: RobotDescription, pose: np.ndarray, rng) -> np.ndarray | None:
    lower, upper = np.array(description.joint_limits).T
    start = np.array(description.neutral_qpos)
    tcp = planner.link_name_2_idx[description.tcp_link]
    for attempt in range(8):
        guess = start + (rng.normal(scale=0.5, size=len(start)) if attempt else 0)
        qpos, solved, _ = planner.pinocchio_model.compute_IK_CLIK(tcp, pose, guess, [])
        if solved:
            qpos = (qpos + pi) % (2 * pi) - pi
            for turn in (-2 * pi, 2 * pi):
                turned = qpos + turn
                better = ((qpos < lower) | (qpos > upper)) & (turned >= lower) & (turned <= upper)
                qpos = np.where(better, turned, qpos)
            if ((qpos >= lower) & (qpos <= upper)).all():
                return qpos
    return None


def test_neutral_pose_points_straight_down(description):
    _, articulation = load_sapien(description)
    pose = tcp_pose(articulation, description.neutral_qpos)
    np.testing.assert_allclose(pose.p, TCP_AT_NEUTRAL_M[description.name], atol=1e-4)
    assert abs(np.dot(pose.q, DOWN)) == pytest.approx(1, abs=1e-5)


def test_joints_and_limits_reach_the_simulator(description):
    _, articulation = load_sapien(description)
    names = tuple(joint.name for joint in articulation.get_active_joints())
    assert names == description.joint_names
    limits = np.array(description.joint_limits)
    np.testing.assert_allclose(articulation.get_qlimits(), limits, atol=1e-5)
    assert (limits[:, 0] <= description.neutral_qpos).all()
    assert (limits[:, 1] >= description.neutral_qpos).all()


UR5E_TABLE = (
    (0.0, 0.1625, pi / 2),
    (-0.425, 0.0, 0.0),
    (-0.3922, 0.0, 0.0),
    (0.0, 0.1333, pi / 2),
    (0.0, 0.0997, -pi / 2),
    (0.0, 0.0996, 0.0),
)
"""Universal Robots, "DH parameters for calculations of kinematics and dynamics", row UR5e: a and d
in meters, alpha in radians."""


def flange_of_ur5e(qpos: np.ndarray) -> np.ndarray:
    """Pose of the flange (4, 4) in the manufacturer's base frame, by the textbook's product."""
    pose = np.eye(4)
    for (a, d, alpha), theta in zip(UR5E_TABLE, qpos, strict=True):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        pose = pose @ [
            [c, -s * ca, s * sa, a * c],
            [s, c * ca, -c * sa, a * s],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    return pose


def test_the_ur5e_has_its_published_kinematics():
    arm, description = kinematics("ur5e"), robot("ur5e")
    half_turn = np.diag([-1.0, -1.0, 1.0, 1.0])  # the base faces +x
    for qpos in random_qpos(description, 50):
        flange = arm.link_poses(qpos)["flange"].to_transformation_matrix()
        np.testing.assert_allclose(flange, half_turn @ flange_of_ur5e(qpos), atol=2e-6)


def test_published_masses_of_the_ur5e():
    """The arm's center of mass at zero, from the published centers in the published frames."""
    description = robot("ur5e")
    links = {link.name: link.inertia for link in description.links}
    masses = [links[f"link{i}"].mass_kg for i in range(1, 7)]
    assert masses == [3.761, 8.058, 2.846, 1.37, 1.3, 0.365]
    poses = kinematics("ur5e").link_poses(np.zeros(6))
    centers = {
        name: poses[name].to_transformation_matrix() @ (*links[name].center_m, 1.0)
        for name in ("link1", "link2", "link3", "link4", "link5")
    }
    expected = {
        "link1": (0.0, 0.00193, 0.1625 - 0.02561),
        "link2": (0.2125, 0.11336, 0.1625),
        "link3": (0.425 + 0.2422, 0.0265, 0.1625),
        "link4": (0.8172, 0.1333 - 0.0018, 0.1625 - 0.01634),
        "link5": (0.8172, 0.1333 + 0.01634, 0.1625 - 0.0979),
    }
    for name, center in expected.items():
        np.testing.assert_allclose(centers[name][:3], center, atol=1e-6, err_msg=name)


def test_published_limits_of_the_ur5e():
    limits = np.array(robot("ur5e").joint_limits)
    assert (limits[2] == (-pi, pi)).all()
    assert (np.delete(limits, 2, axis=0) == (-2 * pi, 2 * pi)).all()


@pytest.mark.parametrize(
    ("tip_m", "radius_m"), [(0.035, 0.91), (0.20, 0.87), (0.28, 0.84), (0.34, 0.81), (0.40, 0.77)]
)
def test_reach_of_the_ur5e_at_heights(tip_m, radius_m):
    """Straight down, towers included."""
    from sapien import Pose

    arm = kinematics("ur5e")
    near = np.array(robot("ur5e").neutral_qpos)
    qpos = arm.inverse(Pose([radius_m, 0.0, tip_m], DOWN), near)
    assert qpos is not None and arm.within_limits(qpos)
    assert arm.inverse(Pose([radius_m + 0.03, 0.0, tip_m], DOWN), near) is None


def test_masses_reach_the_simulator(description):
    _, articulation = load_sapien(description)
    masses = {link.name: link.mass for link in articulation.get_links()}
    expected = {link.name: link.inertia.mass_kg for link in description.links}
    assert masses == pytest.approx(expected, rel=1e-5)
    assert masses["gripper"] == pytest.approx(0.656)


def test_planner_and_simulator_agree(description):
    _, articulation = load_sapien(description)
    planner = load_mplib(description)
    tcp = planner.link_name_2_idx[description.tcp_link]
    for qpos in random_qpos(description, 30):
        planner.pinocchio_model.compute_forward_kinematics(qpos)
        planned = np.asarray(planner.pinocchio_model.get_link_pose(tcp))
        simulated = tcp_pose(articulation, qpos)
        np.testing.assert_allclose(planned[:3] + description.base_position, simulated.p, atol=1e-5)
        assert abs(planned[3:] @ simulated.q) == pytest.approx(1, abs=1e-5)


def test_no_self_collision_where_the_gripper_works(description):
    planner = load_mplib(description)
    assert touching(planner, np.array(description.neutral_qpos)) == set()
    rng = np.random.default_rng(0)
    reached = 0
    for _ in range(60):
        position = rng.uniform((-0.25, -0.35, 0.01), (0.12, 0.35, 0.3))
        yaw = rng.uniform(-pi, pi)
        down = (0.0, np.cos(yaw / 2), np.sin(yaw / 2), 0.0)
        pose = np.concatenate([position - description.base_position, down])
        qpos = solve_ik(planner, description, pose, rng)
        if qpos is not None:
            reached += 1
            assert touching(planner, qpos) == set()
    assert reached >= 50


@pytest.mark.parametrize(
    ("name", "base", "qpos"),
    [
        ("xarm6", "link_base", (3.17, 1.07, -0.18, -1.03, -0.49, 3.67)),
        ("panda", "panda_link0", (1.22, -1.05, 2.29, -2.93, -2.47, 2.96, -1.39)),
        ("ur5e", "link_base", (1.92, -0.31, 2.37, 0.64, 1.82, -1.96)),
    ],
)
def test_gripper_in_the_base_is_found(name, base, qpos):
    planner = load_mplib(robot(name))
    assert frozenset(("gripper", base)) in touching(planner, np.array(qpos))


def test_plain_robot_needs_no_renderer(description):
    root = ElementTree.parse(description.urdf(visual=False)).getroot()
    assert root.findall(".//collision")
    assert not root.findall(".//visual")
    assert not root.findall(".//mesh")


def test_drawn_robot_shows_its_meshes(description):
    urdf = description.urdf(visual=True)
    root = ElementTree.parse(urdf).getroot()
    files = [mesh.attrib["filename"] for mesh in root.findall(".//visual//mesh")]
    assert files
    for name in files:
        assert (urdf.parent / name).read_text().count("\n3 ") > 10
    shown = {link.attrib["name"] for link in root.findall("link") if link.find("visual")}
    assert shown == {link.name for link in description.links if link.collision}
    assert not root.findall(".//collision//mesh")


def test_visuals_have_few_triangles(description):
    urdf = description.urdf(visual=True)
    triangles = sum(f.read_text().count("\n3 ") for f in urdf.parent.glob("*.ply"))
    assert triangles < 12_000


def test_visuals_stay_near_their_link(description):
    # a mesh that floats away from its link would stick out of the collision primitives
    urdf = description.urdf(visual=True)
    for link in description.links:
        reach = max((np.linalg.norm(p.xyz_m) for p in link.collision), default=0) + 0.25
        for file in urdf.parent.glob(f"{link.name}_*.ply"):
            rows = [row.split() for row in file.read_text().split("end_header\n")[1].splitlines()]
            points = np.array([row[:3] for row in rows if len(row) == 6], float)
            assert np.linalg.norm(points, axis=1).max() < reach


def test_cups_collide_where_the_description_has_them(description):
    gripper = next(link for link in description.links if link.name == description.gripper_link)
    mount = next(joint for joint in description.joints if joint.child == description.tcp_link)
    cups = [p for p in gripper.collision if isinstance(p, Cylinder)][1:]  # the first is the ring
    centers = {cup.xyz_m[:2] for cup in cups}
    assert centers == set(description.cup_centers) and len(cups) == 5
    for cup in cups:
        assert cup.radius_m == description.cup_radius
        tip = cup.xyz_m[2] + cup.length_m / 2 - mount.xyz_m[2]
        assert tip == pytest.approx(description.cup_tip_z)
    assert 0 <= description.cup_tip_z <= 0.0011 + 1e-9


def test_camera_looks_along_the_tool(description):
    from scipy.spatial.transform import Rotation

    w, x, y, z = description.hand_camera.quaternion
    forward = Rotation.from_quat((x, y, z, w)).apply((1, 0, 0))
    np.testing.assert_allclose(forward, (0, 0, 1), atol=1e-6)


def test_unknown_robot_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown robot 'ur5'; allowed: xarm6, panda"):
        robot("ur5")


def test_files_follow_the_cache_variable(description, monkeypatch, tmp_path):
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(tmp_path))
    urdf = description.urdf(visual=False)
    assert urdf.is_relative_to(tmp_path)
    assert description.srdf() == urdf.with_suffix(".srdf")
    before = urdf.stat().st_mtime_ns
    assert description.urdf(visual=False).stat().st_mtime_ns == before  # not written again


@pytest.mark.slow
def test_processes_may_write_at_once(tmp_path):
    code = (
        "from clevrskills.sim.robots.description import robot\n"
        "p = robot('xarm6').urdf(visual=True)\n"
        "assert p.read_text().endswith('</robot>\\n') and len(list(p.parent.glob('*.ply'))) > 9"
    )
    root = Path(__file__).parents[3]
    environment = {"CLEVRSKILLS_CACHE": str(tmp_path), "PYTHONPATH": str(root)}
    writers = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(2)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    left = [path.name for path in tmp_path.rglob("*") if path.name.startswith(".")]
    assert left == []


def test_cache_that_cannot_be_written_is_one_clear_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("CLEVRSKILLS_CACHE", str(blocked / "cache"))
    with pytest.raises(ClevrSkillsError, match="set CLEVRSKILLS_CACHE"):
        robot("xarm6").urdf(visual=False)


def test_the_gripper_gets_as_far_as_described(description):
    from sapien import Pose

    arm = kinematics(description.name)
    near = np.array(description.neutral_qpos)

    def reaches(radius_m: float) -> bool:
        turns = np.arange(0.0, np.pi, np.pi / 8) / 2
        for half in turns:  # the gripper points down
            down = Pose([radius_m, 0.0, 0.035], [0, np.cos(half), np.sin(half), 0])
            qpos = arm.inverse(down, near)
            if qpos is not None and arm.within_limits(qpos):
                return True
        return False

    assert reaches(description.reach_m - 0.01) and not reaches(description.reach_m + 0.02)
