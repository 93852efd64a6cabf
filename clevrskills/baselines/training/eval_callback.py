"""Evaluation callback: success rates of the checkpoints of a training run."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path

from clevrskills.core.suite import Suite, load_suite
from clevrskills.errors import UnknownNameError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results

EVALUATIONS_DIR = "evaluations"


class EvalCallback:
    """Evaluates checkpoints of a training on a few frozen episodes; the results stay in its folder.

    Args:
        root: Folder of the training.
        tasks: Keys of the tasks.
        split: The split.
        episodes: How many episodes of each task.
        workers: Number of processes.
        suite: Where the episodes come from; ``None``: ClevrSkills.

    Raises:
        UnknownNameError: There is no such task.
    """

    def __init__(
        self,
        root: Path,
        tasks: Sequence[str],
        split: str,
        episodes: int,
        workers: int,
        suite: Suite | None,
    ) -> None:
        self._suite = suite or load_suite()
        known = tuple(self._suite.levels())
        for task in tasks:
            if task not in known:
                raise UnknownNameError("task", task, known)
        self._root, self._tasks, self._split = root, tuple(tasks), split
        self._episodes, self._workers = episodes, workers

    def __call__(self, folder: Path, step: int) -> dict[str, float]:
        """Evaluate the checkpoint after so many steps.

        Returns:
            Rate of success, in all and by task.

        Raises:
            ClevrSkillsError: Episodes ended in errors.
            KeyboardInterrupt: It was stopped; it continues when it is called again.
        """
        out = self._root / EVALUATIONS_DIR / f"{step:08d}"
        args = EvaluateArgs(
            policy=f"checkpoint:{folder}",
            tasks=self._tasks,
            split=(self._split,),
            episodes=self._episodes,
            out=out,
            workers=self._workers,
        )
        out.parent.mkdir(exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()):
            if evaluate(args, self._suite):
                raise KeyboardInterrupt
        results = list(read_results(out))
        found = {"success": [r.success_once for r in results]}
        for task in self._tasks:
            found[f"success/{task}"] = [r.success_once for r in results if r.task == task]
        return {name: sum(values) / len(values) for name, values in found.items()}
