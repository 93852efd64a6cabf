r"""Failures to be labeled by eye: contact sheets of the failed episodes of runs, in an order that
tells nothing, and how often events agree with the labels. A label is what happened, as kinds of
events separated by commas, the cause first, or "nothing noted".

    cd benchmarks
    clevrskills evaluate --policy failures:Clumsy --policy-arg mistake='"target"' sort place \
        --split test --seed 700000 --episodes 4 --video 4 --out runs/target
    clevrskills evaluate --policy checkpoint:zoo/bc-compact-l0 trace throw push \
        --split train --seed 700000 --episodes 6 --video 6 --out runs/zoo
    python failures.py runs/target runs/zoo --out sheets     # writes sheets and labels.json
    python failures.py runs/target runs/zoo --out sheets     # again, with labels: the counts
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from zlib import crc32

import imageio.v3 as iio
import numpy as np
import torch
import tyro
from common import print_table
from PIL import Image, ImageDraw

from clevrskills.core.goal.predicate import Leaf, Predicate
from clevrskills.core.policy import GaveUp, Observation, PromptInput
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.events.kinds import KINDS, NOTHING
from clevrskills.evaluation.report.failures import first_kind
from clevrskills.evaluation.results import EpisodeResult, Evaluation, open_evaluations
from clevrskills.jobs.files import to_json, write_whole
from clevrskills.predicates import AtPosition, Hit, OnTop
from clevrskills.solvers.motion import Actions, SkillFailed
from clevrskills.solvers.oracle import Oracle
from clevrskills.solvers.skills import skill_for

FRAMES, FRAME_PX, ROWS = 8, 224, 8
"""Images of an episode, their size, and episodes of a sheet."""
ASIDE_M = (0.07, 0.14)
"""How far from its place an object is put down."""
WAIT = 20
"""Control steps after the last part of the goal."""


class Clumsy:
    """Oracle that does each part of a goal once, with a mistake.

    Args:
        mistake: ``target``: it takes another candidate of the scene for the place or the target of
            the first part, or puts an object beside its place. ``early``: it lets go of what it
            holds after 1 to 8 control steps. ``short``: the arm moves by 0.4 to 0.8 of what is
            asked. ``beside``: the arm drifts to a side.
    """

    privileged = True
    cameras = ()

    def __init__(self, mistake: str) -> None:
        self._mistake = mistake

    def reset(self, prompt: PromptInput, *, env: ClevrSkillsEnv, episode: Any) -> None:
        """Begin an episode."""
        del prompt
        self._random = np.random.default_rng(crc32(f"{episode.task} {episode.seed}".encode()))
        self._env = env
        self._oracle = _Once(env, self._wrong if self._mistake == "target" else lambda leaf: leaf)
        self._scale = self._random.uniform(0.4, 0.8)
        angle = self._random.uniform(0, 2 * np.pi)
        self._drift = 0.12 * np.array([np.cos(angle), np.sin(angle), 0.0])
        self._left = int(self._random.integers(1, 9))

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action, (7,)."""
        del observation
        action = self._oracle.act().copy()
        if self._mistake == "short":
            action[:6] *= self._scale
        elif self._mistake == "beside":
            action[:3] += self._drift
        elif self._mistake == "early":
            self._left -= int(self._env.world.held[0]) >= 0
            if self._left < 0:
                action[6] = -1.0
        return np.clip(action, -1.0, 1.0)

    def _wrong(self, leaf: Leaf) -> Leaf:
        """Return a part of a goal with another place."""
        name = "target" if isinstance(leaf, Hit) else "bottom"
        if isinstance(leaf, AtPosition):
            angle, far = self._random.uniform(0, 2 * np.pi), self._random.uniform(*ASIDE_M)
            aside = torch.tensor([[far * np.cos(angle), far * np.sin(angle), 0.0]])
            return dataclasses.replace(leaf, position=leaf.position + aside)
        if not isinstance(leaf, Hit | OnTop):
            return leaf
        keys, own = self._env.world.keys, int(getattr(leaf, name)[0])
        kind = keys[own].rpartition("_")[0]
        handled = int(getattr(leaf, leaf.handles[0])[0])
        others = [
            k
            for k, body in enumerate(self._env.layouts[0].bodies)
            if body and k not in (own, handled) and keys[k].startswith(kind)
        ]
        if not others:
            return leaf
        changed: dict[str, Any] = {name: torch.tensor(others[:1])}
        return dataclasses.replace(leaf, **changed)


class _Once(Oracle):
    """Oracle that does each part of a goal once, waits and gives up."""

    def __init__(self, env: ClevrSkillsEnv, change: Any) -> None:
        self._change = change
        super().__init__(env)

    def _solve(self) -> Actions:
        changed = False
        for step in self.env.goal.steps():
            if not isinstance(step, Leaf):
                continue
            leaf: Predicate = step if changed else self._change(step)
            changed = True
            try:
                yield from skill_for(leaf)(self._arm, leaf)
            except SkillFailed:
                yield from self._arm.wait(1)
        yield from self._arm.wait(WAIT)
        raise GaveUp("each part of the goal was done once")


@dataclass
class Args:
    """What is shown and compared."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs with videos."""
    out: Path
    """Folder of the sheets and of ``labels.json``."""
    most: int = 80
    """Episodes that are shown."""


def main(args: Args) -> None:
    """Draw the sheets, or print the counts once all failures have a label."""
    failed = [
        (evaluation, result)
        for evaluation in open_evaluations(args.runs)
        for result in evaluation.results
        if result.counts and not result.success_once and evaluation.video(result)
    ]
    np.random.default_rng(0).shuffle(failed)  # type: ignore[arg-type]
    failed = failed[: args.most]
    path = args.out / "labels.json"
    labels = json.loads(path.read_text()) if path.exists() else {}
    names = [f"{e.label} {r.id}" for e, r in failed]
    if all(labels.get(name) for name in names):
        count([(labels[name], result) for name, (_, result) in zip(names, failed, strict=True)])
        return
    args.out.mkdir(parents=True, exist_ok=True)
    for begin in range(0, len(failed), ROWS):
        rows = [strip(k, *failed[k]) for k in range(begin, min(begin + ROWS, len(failed)))]
        Image.fromarray(np.concatenate(rows)).save(args.out / f"sheet_{begin // ROWS:02}.png")
    write_whole(path, to_json({name: labels.get(name, "") for name in names}, indent=1) + "\n")


def strip(number: int, evaluation: Evaluation, result: EpisodeResult) -> np.ndarray:
    """Return images of an episode beside each other, with its number and task."""
    path = evaluation.video(result)
    assert path is not None, "only filmed episodes are shown"
    film = iio.imread(path)
    chosen = film[np.linspace(0, len(film) - 1, FRAMES).round().astype(int)]
    small = [
        np.asarray(Image.fromarray(one).resize((FRAME_PX, FRAME_PX), Image.Resampling.LANCZOS))
        for one in chosen
    ]
    image = Image.fromarray(np.concatenate(small, axis=1))
    text = f"{number} {result.task}, {result.steps} steps"
    ImageDraw.Draw(image).text((4, 4), text, fill="black")
    return np.asarray(image)


def count(failures: Sequence[tuple[str, EpisodeResult]]) -> None:
    """Print, for each kind of event and label, in how many episodes it was, how often both agree,
    and how often the first cause is the first label.
    """
    rows: list[list[object]] = []
    for kind in (*KINDS, NOTHING):
        first = [label.split(", ")[0] for label, r in failures if first_kind(r) == kind]
        found = [label for label, r in failures if kind in {event["kind"] for event in r.events}]
        by_eye = sum(kind in label.split(", ") for label, _ in failures)
        both = sum(kind in label.split(", ") for label in found)
        others = Counter(label for label in first if label != kind)
        rows.append(
            [
                *(kind, str(len(found)), str(by_eye), str(both), str(len(first))),
                str(first.count(kind)),
                ", ".join(f"{label} {n}" for label, n in others.most_common()),
            ]
        )
    columns = ["kind", "events", "by eye", "both", "first causes", "right", "else by eye"]
    print_table(f"{len(failures)} failures", columns, rows)


if __name__ == "__main__":
    main(tyro.cli(Args))
