"""Positions that a policy predicts for the objects of the current subtask: how often the nearest
body is the right one, the error, and whether it depends on images or on proprioception.

    python benchmarks/predicted_positions.py             # all skills of L0, 60 episodes each
    python benchmarks/predicted_positions.py pick place --episodes 20 --out positions.json
    python docs/build.py positions                       # the table of docs/training_results.md

A demonstration moves towards its goal, so a few steps after the start the state of the arm tells
where the goal is (causal confusion, de Haan et al. 2019, arXiv 1905.11979). So the positions are
predicted at the start, at later steps, and with images and state (`proprioception`) of different
steps or episodes. All of it is measured on drawn episodes, none of them frozen.
"""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from clevrskills.baselines import load
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.observer import Observer
from clevrskills.core.policy import Observation, PromptInput
from clevrskills.core.suite import load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.solvers.motion import SkillFailed
from clevrskills.solvers.oracle import Oracle

OUT = Path(__file__).parent.parent / "results" / "positions.json"
LEVEL = "L0"


@dataclass
class Args:
    """Policy and episodes to measure."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Keys of tasks; default: all skills of L0."""
    checkpoint: str = "zoo/bc-compact-l0"
    split: str = "val"
    episodes: int = 60
    seed: int = 4711
    """Seed of the first episode; the others follow."""
    steps: tuple[int, ...] = (0, 4, 12)
    """Control steps of the oracle's demonstration at which positions are predicted; images and
    state of the first two are exchanged."""
    out: Path = OUT


@dataclass(frozen=True)
class Moment:
    """One control step of a demonstration.

    Attributes:
        observation: Observation of the policy.
        bodies: Positions of the bodies of the scene, marked places among them, (3,) in meters, by
            key.
        named: Keys of the first two objects named by the subtask.
    """

    observation: Observation
    bodies: Mapping[str, np.ndarray]
    named: tuple[str, ...]


def demonstrations(args: Args, task: str, policy: Any) -> list[tuple[PromptInput, list[Moment]]]:
    """Return the prompt of each episode and its moments; demonstrations that end before the last
    of them, or fail, have fewer.
    """
    suite, shown = load_suite(), policy.observation
    config = EnvConfig(
        task, args.split, cameras=shown.cameras, size_px=shown.size_px, look=shown.look
    )
    env: Any = suite.make(config)
    found = list[tuple[PromptInput, list[Moment]]]()
    observer = Observer(env, shown)
    for seed in range(args.seed, args.seed + args.episodes):
        env.reset(options={"episode": suite.draw(task, args.split, seed)})
        prompt, oracle, moments = observer.begin(), Oracle(env), list[Moment]()
        for step in range(max(args.steps) + 1):
            if step in args.steps:
                filled = env.world.filled[0].tolist()
                bodies = {
                    key: env.world.position(env.world.index(key))[0].numpy().copy()
                    for key, exists in zip(env.world.keys, filled, strict=True)
                    if exists
                }
                moments.append(Moment(observer.look(), bodies, _named_objects(env)))
            if oracle.done or step == max(args.steps):
                break
            try:
                env.step(oracle.act())
            except SkillFailed:
                break
        found.append((prompt, moments))
    env.close()
    return found


def _named_objects(env: Any) -> tuple[str, ...]:
    """Return the keys of the first two objects named by the current subtask."""
    leaf = env.goal.next_leaf(env.outcome)
    return () if leaf is None else tuple(re.findall(r"\{obj:(\w+)\}", leaf.describe(env.world))[:2])


def mixed(images: Moment, state: Moment) -> Observation:
    """Return the observation with the images of one moment and the state of another."""
    return {**images.observation, "proprioception": state.observation["proprioception"]}


def measure(args: Args, task: str, policy: Any) -> list[dict[str, Any]]:
    """Return a row of the result file for each condition and named object of a task, the first one
    and the second: how far each prediction is off, whether the nearest body is the right one, and
    how many bodies there are.
    """
    rows: dict[tuple[int, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    first, second = args.steps[:2]
    before: Moment | None = None
    for prompt, moments in demonstrations(args, task, policy):
        at = dict(zip(args.steps, moments, strict=False))
        shown = {f"step {step}": (moment, moment.observation) for step, moment in at.items()}
        if second in at:
            one, two = at[first], at[second]
            shown[f"images {first}, state {second}"] = one, mixed(one, two)
            shown[f"images {second}, state {first}"] = two, mixed(two, one)
            if before is not None:
                shown[f"images {second}, state of another episode"] = two, mixed(two, before)
            before = two
        for condition, (moment, observation) in shown.items():
            policy.reset({0: prompt})
            predicted = policy.predicted_positions({0: observation})[0]
            keys = [*moment.bodies]
            places = np.stack([moment.bodies[key] for key in keys])  # (K, 3)
            for k, key in enumerate(moment.named):
                off = np.linalg.norm(places - predicted[k], axis=1)  # (K,)
                row = rows[k, condition]
                row["error_cm"].append(round(float(off[keys.index(key)]) * 100, 1))
                row["right"].append(int(keys[off.argmin()] == key))
                row["bodies"].append(len(keys))
    return [
        {"task": task, "object": k + 1, "condition": name, **row}
        for (k, name), row in sorted(rows.items(), key=lambda item: item[0][0])
    ]


def main(args: Args) -> None:
    """Measure and write the result file."""
    torch.set_num_threads(1)
    if len(args.steps) < 2 or sorted(set(args.steps)) != [*args.steps]:
        raise ClevrSkillsError(f"--steps must be two at least, in rising order, not {args.steps}")
    known = load_suite().tasks
    check_names(task=(args.tasks, known))
    policy, rows = load(args.checkpoint, "cpu"), list[dict[str, Any]]()
    began = time.process_time()
    for task in args.tasks or [key for key, info in known.items() if info.level == LEVEL]:
        rows += measure(args, task, policy)
        print(f"{task}: {time.process_time() - began:.0f} CPU-s", flush=True)
    about = {name: getattr(args, name) for name in ("checkpoint", "split", "episodes", "seed")}
    lines = ",\n".join(json.dumps(row) for row in rows)
    text = f'{json.dumps({**about, "steps": args.steps})[:-1]}, "rows": [\n{lines}\n]}}\n'
    args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args))
    except ClevrSkillsError as error:
        raise SystemExit(f"error: {error}") from None
