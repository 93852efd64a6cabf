"""Cost of goals and observations: steps with and without evaluating the goal, with several scenes
in a process, and with one process and several.

    python benchmarks/vector.py
    python benchmarks/vector.py --scaling results/scaling.json

Compare times only within one run: steps with and without the goal alternate, as do one process and
several. With ``--scaling``, steps per hour are computed for several cores, from the CPU time of a
step and of the first process's work for all others; ManiSkill's PickCube-v1 runs in between.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro
from common import pick_cube_step_s, print_table
from soak import wander

from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.vector import VectorEnv, make_vec

TASK, TASK_ARGS = "sort", {"num_areas": 2, "num_objects": 4}
"""Task with six bodies and four leaves."""
BLOCK = 20
"""Steps timed together."""


@dataclass
class VectorArgs:
    """Measurements to make."""

    episodes: int = 4
    """Oracle episodes whose steps are timed in one environment."""
    scenes: int = 16
    """Scenes in one process."""
    rounds: int = 8
    """Repetitions of the timings of several scenes, and of one process and several."""
    workers: int = 2
    """Processes to compare with one."""
    seed: int = 0
    """First seed."""
    scaling: Path | None = None
    """Instead, measure steps per hour on several cores and write them to this file."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print JSON after the tables."""


@dataclass
class Report:
    """Tables, both printed and as data."""

    data: dict[str, Any] = field(default_factory=dict)

    def show(self, name: str, columns: list[str], rows: list[list[object]]) -> None:
        """Print a table and keep it."""
        print_table(name, columns, rows)
        self.data[name] = [dict(zip(columns, row, strict=True)) for row in rows]


def one_environment(args: VectorArgs, report: Report) -> None:
    """Measure a step along oracle episodes with and without evaluating the goal."""
    env, blind = (
        ClevrSkillsEnv(
            TASK,
            task_args=TASK_ARGS,
            obs_mode="state",
            reward_mode="normalized_dense",
            render_backend="none",
        )
        for _ in range(2)
    )
    found: dict[str, list[list[float]]] = {"oracle": [], "random": []}
    for seed in range(args.seed, args.seed + args.episodes):
        actions = oracle_actions(env, seed)
        others = [wander(np.random.default_rng(seed), 1)[0] for _ in actions]
        for kind, moves in (("oracle", actions), ("random", others)):
            for each in (env, blind):
                each.reset(seed=seed)
            forget_goal(blind)
            for start in range(0, len(moves) - BLOCK, BLOCK):
                block = moves[start : start + BLOCK]
                found[kind].append([cpu_ms(play, each, block) / BLOCK for each in (env, blind)])
            del blind.evaluate
    rows: list[list[object]] = []
    for kind, times in found.items():
        ratio = statistics.median(one / other for one, other in times)
        rows.append([kind, *np.median(times, axis=0).tolist(), ratio])
    columns = ["actions", "CPU-ms / step", "without the goal", "ratio"]
    report.show(f"{TASK}, one environment, six bodies, state observations", columns, rows)


def forget_goal(env: ClevrSkillsEnv) -> None:
    """Make an environment repeat its last outcome without evaluating the goal."""
    outcome = {"success": env.outcome.holds, "progress": env.outcome.progress}
    env.evaluate = lambda: outcome  # type: ignore[method-assign]


def play(env: ClevrSkillsEnv, actions: Sequence[np.ndarray]) -> None:
    """Run steps."""
    for action in actions:
        env.step(action)


def oracle_actions(env: ClevrSkillsEnv, seed: int) -> list[np.ndarray]:
    """Return the oracle's actions in an episode."""
    env.reset(seed=seed)
    oracle, actions = Oracle(env), []
    try:
        for _ in range(env.task.max_steps):
            actions.append(np.asarray(oracle.act(), np.float32))
            if env.step(actions[-1])[2]:
                break
    except SkillFailed:
        pass
    return actions


def several_scenes(args: VectorArgs, report: Report) -> None:
    """Measure the CPU time of a step with several scenes in this process."""
    rows: list[list[object]] = []
    for count in (1, args.scenes):
        envs = make_vec(TASK, count, task_args=TASK_ARGS)
        envs.reset(seed=args.seed)
        generator = np.random.default_rng(0)
        ms = [cpu_ms(run, envs, generator) / BLOCK / count for _ in range(args.rounds)]
        rows.append([count, statistics.median(ms)])
        envs.close()
    report.show(f"{TASK}, scenes in one process", ["scenes", "CPU-ms / environment step"], rows)


def several_processes(args: VectorArgs, report: Report) -> None:
    """Measure steps per second of the same environments in one process, in several, and in as many
    independent ones (the machine's limit), in turn, each time with new scenes.
    """
    total = args.scenes * args.workers
    names = ["1", f"{args.workers}", f"{args.workers} on their own"]
    joined = [make_vec(TASK, total, workers=n, task_args=TASK_ARGS) for n in (1, args.workers)]
    context = multiprocessing.get_context("spawn")
    pipes, ends = zip(*(context.Pipe() for _ in range(args.workers)), strict=True)
    lone = [context.Process(target=on_its_own, args=(end, args.scenes)) for end in ends]
    for process in lone:
        process.start()
    rates: list[list[float]] = [[] for _ in names]
    for turn in range(args.rounds + 1):
        seed = args.seed + turn * total
        for which, found in enumerate(rates):
            if which < len(joined):
                joined[which].reset(seed=seed)
                begin = time.perf_counter()
                run(joined[which], np.random.default_rng(turn))
            else:
                for k, pipe in enumerate(pipes):
                    pipe.send((turn, k, seed + k * args.scenes))
                for pipe in pipes:
                    pipe.recv()  # the scenes are there
                begin = time.perf_counter()
                for pipe in pipes:
                    pipe.send("go")
                for pipe in pipes:
                    pipe.recv()
            if turn:  # the first warms up
                found.append(BLOCK * total / (time.perf_counter() - begin))
    for pipe in pipes:
        pipe.send(None)
    for process in lone:
        process.join()
    for envs in joined:
        envs.close()
    rows: list[list[object]] = []
    for name, found in zip(names, rates, strict=True):
        ratio = statistics.median(one / alone for one, alone in zip(found, rates[0], strict=True))
        rows.append([name, statistics.median(found), ratio])
    columns = ["processes", "environment steps / s", "x one process"]
    report.show(f"{TASK}, {total} environments", columns, rows)


TASKS, CORES = ("pick", "sort", "sort_stack"), (1, 2, 16, 64)


def several_cores(args: VectorArgs) -> dict[str, Any]:
    """Return steps per hour on several cores, one process each, without resets: in a round each
    process steps its scenes, and the first one copies all arrays and communicates with the others.
    """
    total, processes = args.scenes * args.workers, (1, args.workers)
    kinds = [(task, count) for task in TASKS for count in processes]
    envs = {(task, count): make_vec(task, total, workers=count) for task, count in kinds}
    step_ms, own_ms, rates = ({kind: list[float]() for kind in kinds} for _ in range(3))
    cube_ms: list[float] = []
    for turn in range(args.rounds + 1):
        for kind, each in envs.items():
            each.reset(seed=args.seed + turn * total)
            timed, begin = Timed(each), time.perf_counter()
            all_ms = cpu_ms(run, each, np.random.default_rng(turn))
            if turn:  # the first warms up
                rates[kind].append(3600 * BLOCK * total / (time.perf_counter() - begin))
                own_ms[kind].append((all_ms - timed.ms) / BLOCK)
                step_ms[kind].append(timed.ms / BLOCK / (total / kind[1]))
        cube_ms.append(1000 * pick_cube_step_s(obs_mode="state", render_backend="none"))
    rows: dict[str, dict[str, float]] = {}
    for task in TASKS:
        step = statistics.median(step_ms[task, 1])
        alone, together = (statistics.median(own_ms[task, count]) for count in processes)
        scene, process = alone / total, max(0.0, together - alone) / (args.workers - 1)
        rows[task] = {"step, CPU-ms": step}
        rows[task] |= {"for each scene": scene, "for each other process": process}
        for count in processes:
            rows[task][f"steps/h, {count} measured"] = statistics.median(rates[task, count])
        for cores in CORES:
            round_ms = args.scenes * step + cores * args.scenes * scene + (cores - 1) * process
            rows[task][f"steps/h, {cores}"] = 3.6e6 * cores * args.scenes / round_ms
    cube = statistics.median(cube_ms)
    rows["PickCube-v1"] = {f"steps/h, {cores}": 3.6e6 * cores / cube for cores in CORES}
    rows["PickCube-v1"]["step, CPU-ms"] = cube
    columns = [*rows[TASKS[0]]]
    for each in envs.values():
        each.close()
    print_table(
        f"{args.scenes} scenes in a process",
        ["task", *columns],
        [[task, *(row.get(name, "") for name in columns)] for task, row in rows.items()],
    )
    return {"scenes": args.scenes, "cores": list(CORES), "tasks": rows}


class Timed:
    """CPU time of the steps of this process's own scenes."""

    def __init__(self, envs: VectorEnv) -> None:
        self.ms, shard = 0.0, envs._shards[-1]
        send = type(shard).send.__get__(shard)

        def timed(*arguments: Any) -> None:
            self.ms += cpu_ms(send, *arguments)

        shard.send = timed  # type: ignore[assignment]


def on_its_own(pipe: Connection, count: int) -> None:
    """Run blocks of steps in an independent process, on request."""
    torch.set_num_threads(1)
    envs = make_vec(TASK, count, task_args=TASK_ARGS)
    while (request := pipe.recv()) is not None:
        *numbers, seed = request
        envs.reset(seed=seed)
        pipe.send("there")
        pipe.recv()
        run(envs, np.random.default_rng(numbers))
        pipe.send("done")
    envs.close()


def run(envs: VectorEnv, generator: np.random.Generator) -> None:
    """Run a block of random steps."""
    for _ in range(BLOCK):
        envs.step(wander(generator, envs.num_envs))


def cpu_ms(call: Callable[..., object], *arguments: Any) -> float:
    """Return the CPU time of a call in milliseconds."""
    begin = time.process_time()
    call(*arguments)
    return 1e3 * (time.process_time() - begin)


def main(args: VectorArgs) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    if args.scaling:
        args.scaling.write_text(json.dumps(several_cores(args), indent=1) + "\n", encoding="utf-8")
        return
    report = Report()
    one_environment(args, report)
    several_scenes(args, report)
    several_processes(args, report)
    if args.json:
        sys.stdout.write(json.dumps(report.data, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(VectorArgs, description=__doc__))
