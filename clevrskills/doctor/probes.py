"""Probes of ``clevrskills doctor``, each run in a separate process that a driver may crash.

`python -m clevrskills.doctor.probes NAME` prints one JSON object as its last line.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from clevrskills.sim.render.vulkan import drawing_device, vulkan_devices


def simulate() -> dict[str, Any]:
    """Import the simulator and let a box fall on the ground for one second."""
    import mani_skill.envs  # noqa: F401  (needs many system libraries)
    import sapien
    import torch

    scene = sapien.Scene([sapien.physx.PhysxCpuSystem()])
    scene.set_timestep(0.01)
    half_extent_m = 0.05
    builder = scene.create_actor_builder()
    builder.add_box_collision(sapien.Pose([0, 0, -1]), half_size=[1, 1, 1])
    builder.set_initial_pose(sapien.Pose())
    builder.build_static(name="ground")
    builder = scene.create_actor_builder()
    builder.add_box_collision(half_size=[half_extent_m] * 3)
    builder.set_initial_pose(sapien.Pose([0, 0, 0.3]))
    box = builder.build(name="box")
    for _ in range(100):
        scene.step()
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {"height_error_m": abs(float(box.pose.p[2]) - half_extent_m), "cuda_device": gpu}


def render() -> dict[str, Any]:
    """Render a 64x64 image of a box."""
    os.environ.setdefault("LP_NUM_THREADS", "0")
    import numpy as np
    import sapien

    start = time.perf_counter()
    sapien.render.set_camera_shader_dir("trivial")  # its first image takes no time on a CPU
    try:
        renderer = sapien.render.RenderSystem(_device())
    except RuntimeError as error:
        found = ", ".join(device["driver"] for device in vulkan_devices()) or "none"
        raise RuntimeError(f"{error}; Vulkan drivers that load: {found}") from error
    scene = sapien.Scene([sapien.physx.PhysxCpuSystem(), renderer])
    scene.set_ambient_light([0.5, 0.5, 0.5])
    builder = scene.create_actor_builder()
    builder.add_box_visual(half_size=[0.2, 0.2, 0.2], material=[0.9, 0.1, 0.1])
    builder.set_initial_pose(sapien.Pose([1, 0, 0]))
    builder.build_kinematic(name="box")
    camera = scene.add_camera("camera", 64, 64, 1.0, 0.01, 10)
    scene.update_render()
    camera.take_picture()
    image = np.asarray(camera.get_picture("Color"))[..., :3]
    return {
        "blank": bool(float(np.ptp(image)) < 0.05),
        "device": drawing_device(sapien.render.get_device_summary()),
        "vulkan_devices": vulkan_devices(),
        "seconds": time.perf_counter() - start,
    }


def plan() -> dict[str, Any]:
    """Plan a motion of the xArm 6 with the selected planning backend."""
    import numpy as np

    from clevrskills.sim.robots.description import robot
    from clevrskills.solvers.planner import motion_planner

    start = np.array(robot("xarm6").neutral_qpos)
    goal = start + np.array((0.3, 0.1, 0.0, 0.0, 0.0, 0.3))  # it is free of collisions
    path = motion_planner("xarm6").path(start, goal, np.random.default_rng(0))
    return {"waypoints": 0 if path is None else len(path)}


def _device() -> Any:
    """Return a CUDA device that can render, or else the default Vulkan device."""
    import sapien

    try:
        device = sapien.Device("cuda")
    except RuntimeError:
        return sapien.Device("cpu")
    return device if device.can_render() else sapien.Device("cpu")


PROBES: dict[str, Callable[[], dict[str, Any]]] = {
    "simulate": simulate,
    "render": render,
    "plan": plan,
}

if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(PROBES[sys.argv[1]]()) + "\n")
