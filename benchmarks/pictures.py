"""CPU time of a control step: plain, with two 256x256 images in each look, and recorded to video;
memory of a generating process.

Yardstick in the same run: a step of ManiSkill's stock PickCube-v1 with one 256x256 image (its own
shaders, CPU renderer). With ``--only-images``, only the table of images alone.

    python benchmarks/pictures.py
    python benchmarks/pictures.py --episodes 200 --memory
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from common import Args, pick_cube_step_s, print_table

from clevrskills.core.env_config import LOOKS, Look
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.planner import motion_planner


@dataclass
class ImageArgs(Args):
    """Steps and images to time."""

    tasks: tuple[str, ...] = ("pick", "simple_manipulation", "sort")
    episodes: int = 20
    only_images: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Time only the images, drawn in turn."""
    memory: bool = False
    """Instead, record the episodes and print the peak memory every 20 episodes."""


def steps_of(env: ClevrSkillsEnv, seeds: range) -> tuple[int, float]:
    """Return control steps and their CPU-seconds over oracle episodes."""
    steps, spent = 0, 0.0
    for seed in seeds:
        env.reset(seed=seed)
        oracle = Oracle(env)
        for _ in range(env.task.max_steps):
            try:
                action = oracle.act()
            except SkillFailed:
                break
            begin = time.process_time()
            done = env.step(action)[2]
            spent += time.process_time() - begin
            steps += 1
            if bool(done[0]):
                break
    return steps, spent


def recorded(
    task: str, seeds: range, look: Look, after: Callable[[int], None] = lambda _: None
) -> tuple[int, float]:
    """Return control steps and total CPU-seconds of recorded episodes."""
    from clevrskills.dataset_tools.generate.worker import make_worker
    from clevrskills.dataset_tools.layout import Header
    from clevrskills.dataset_tools.manifest import Attempt
    from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite

    steps, spent = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        header = Header("", "", ("base_camera", "hand_camera"), 20, look=look)
        attempt = make_worker(Path(folder), ClevrSkillsSuite(), header)
        attempt(Attempt(task, "train", seeds.start - 1))  # warm up
        for number, seed in enumerate(seeds, start=1):
            begin = time.process_time()
            steps += attempt(Attempt(task, "train", seed)).steps
            spent += time.process_time() - begin
            after(number)
    return steps, spent


def stock_ms(steps: int = 40) -> float:
    """CPU-ms of a PickCube-v1 step with one image, in a process in which nothing else was drawn:
    after a look of ours it takes less.
    """
    size = {"width": 256, "height": 256}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        options = {"obs_mode": "rgb", "render_backend": "cpu", "sensor_configs": size}
        return 1e3 * pool.submit(partial(pick_cube_step_s, steps, **options)).result()


def image_costs(task: str, rounds: int) -> list[object]:
    """CPU-ms of two images by look, medians of rounds in turn, of a PickCube-v1 step, and the
    first as a multiple of the second and as a share of that step.
    """
    drawn: dict[Look, ClevrSkillsEnv] = {}
    for look in LOOKS:
        drawn[look] = ClevrSkillsEnv(task, obs_mode="none", look=look, render_backend="cpu")
        drawn[look].reset(seed=0)
    spent: dict[str, list[float]] = {look: [] for look in LOOKS}
    for _ in range(rounds):
        for look, env in drawn.items():
            begin = time.process_time()
            env.capture()
            spent[look].append(time.process_time() - begin)
    soft, flat, *others = (1e3 * float(np.median(each)) for each in spent.values())
    step_ms = stock_ms()
    return [task, soft, flat, *others, step_ms, soft / flat, soft / step_ms]


def print_memory(episode: int) -> None:
    """Print the current and the peak memory."""
    if episode % 20 == 0:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        now_mb = pages * resource.getpagesize() / 2**20
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"episode {episode}: {now_mb:.0f} MB, peak {peak_mb:.0f} MB")


def main(args: ImageArgs) -> None:
    """Time everything and print a table."""
    torch.set_num_threads(1)
    motion_planner("xarm6")
    if args.memory:
        for task in args.tasks:
            recorded(task, args.seeds(), LOOKS[0], print_memory)
        return
    columns = ["task", *LOOKS, "PickCube step", "soft / flat", "soft / PickCube step"]
    print_table(
        "two 256x256 images, CPU-ms",
        columns,
        [image_costs(task, 5 * args.episodes) for task in args.tasks],
    )
    if args.only_images:
        return
    rows: list[list[object]] = []
    kinds: dict[str, dict[str, Any]] = {"plain": {"obs_mode": "none"}}
    kinds |= {f"two images, {look}": {"obs_mode": "rgb", "look": look} for look in LOOKS}
    for task in args.tasks:
        for kind, options in kinds.items():
            env = ClevrSkillsEnv(task, **options)
            steps_of(env, range(args.seed - 1, args.seed))
            steps, spent = steps_of(env, args.seeds())
            rows.append([task, kind, steps, 1e3 * spent / steps])
        for look in LOOKS:
            steps, spent = recorded(task, args.seeds(), look)
            rows.append([task, f"recorded, {look}, all included", steps, 1e3 * spent / steps])
    step_ms = stock_ms()
    rows = [[*row, float(row[3]) / step_ms] for row in rows]  # type: ignore[arg-type]
    columns = ["task", "what", "steps", "CPU-ms / step", "x PickCube step"]
    print_table(f"one PickCube-v1 step with one image = {step_ms:.1f} CPU-ms", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(ImageArgs, description=__doc__))
