"""Stages of a curriculum: existing and trained checkpoints, finished and missing episodes."""

import json
import shlex
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clevrskills.core.policy_loader import absolute_name
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import RUN_FILE, EpisodeResult, read_results, read_run
from clevrskills.jobs.arguments import select_tasks
from clevrskills.jobs.files import read_json, storage_errors, to_json, write_whole
from clevrskills.suites.clevrskills.protocol import STAGES, Curriculum, Training, Trial
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS

TRIALS_DIR = "evaluations"
CHECKPOINTS_DIR = "checkpoints"
CURRICULUM_FILE = "curriculum.json"
_STDERR = 2  # file descriptor; only tables go to stdout


def tasks_of(trial: Trial, levels: Mapping[str, str]) -> list[str]:
    """Return the tasks of a trial, given the level of every task; text-only prompts leave out those
    that need images.
    """
    left_out = KEYSTEP_TASKS if trial.prompt == "language" else ()
    return [t for t in select_tasks(levels, level=(trial.level,)) if t not in left_out]


def of_trial(
    results: Iterable[EpisodeResult], trial: Trial, levels: Mapping[str, str], episodes: int
) -> list[EpisodeResult]:
    """Return the results of a trial with a number of episodes of each task."""
    tasks = tasks_of(trial, levels)
    return [r for r in results if r.task in tasks and r.split == trial.split and r.index < episodes]


def check_is_curriculum(root: Path) -> None:
    """Check that a folder is that of a curriculum.

    Raises:
        ClevrSkillsError: It is not.
    """
    if not (root / CURRICULUM_FILE).is_file():
        raise ClevrSkillsError(f"{root} is not the folder of a curriculum: no {CURRICULUM_FILE}")


@dataclass(frozen=True)
class CurriculumStep:
    """Training or evaluation of a curriculum."""

    does: str  # `train` or `evaluate`
    stage: str
    prompt: str  # form of the prompt; empty: a training for all of them
    level: str  # level trained or evaluated on
    setting: str = ""  # setting of an evaluation
    split: str = ""  # split of an evaluation
    tasks: int = 0  # number of tasks of an evaluation
    episodes: int = 0  # number of episodes of an evaluation
    missing: int = 0  # number of missing episodes; 0 or 1 for a training
    possible: bool = True  # whether there is or will be a checkpoint


class Stages:
    """Curriculum in its folder."""

    def __init__(self, what: Curriculum, root: Path, levels: Mapping[str, str]) -> None:
        self.what, self.root, self.levels = what, root, levels

    def folder(self, trial: Trial) -> Path:
        """Return the folder of a trial's results."""
        return self.root / TRIALS_DIR / trial.name

    def missing(self, trial: Trial) -> int:
        """Return the number of missing episodes of a trial.

        Raises:
            ClevrSkillsError: The results are those of another policy.
        """
        return len(tasks_of(trial, self.levels)) * self.what.episodes - self.counts(trial)

    def counts(self, trial: Trial) -> int:
        """Return the number of finished episodes of a trial.

        Raises:
            ClevrSkillsError: The results are those of another policy.
        """
        if not (self.folder(trial) / RUN_FILE).is_file():
            return 0
        self._check_same(trial)
        results = read_results(self.folder(trial))
        return sum(r.counts for r in of_trial(results, trial, self.levels, self.what.episodes))

    def prepare(self, trial: Trial) -> tuple[str, dict[str, Any]] | None:
        """Return the policy of a trial and its arguments, after training missing checkpoints;
        ``None`` if there is no checkpoint and no training command.

        Raises:
            ClevrSkillsError: A training failed.
        """
        found = self._checkpoint(trial.stage, trial.prompt)
        return None if found is None else self._merge(found)

    def steps(self) -> Iterator[CurriculumStep]:
        """Yield all trainings and evaluations in order."""
        for stage in STAGES:
            level = stage.upper()
            for prompt in self._trained_prompts(stage):
                done = self._marker(self._trained(stage, prompt)).is_file()
                yield CurriculumStep("train", stage, prompt, level, missing=int(not done))
            for trial in self.what.trials(stage):
                tasks = len(tasks_of(trial, self.levels))
                possible = bool(self.what.training) or self._listed(stage, trial.prompt) is not None
                yield CurriculumStep(
                    "evaluate",
                    **asdict(trial),
                    tasks=tasks,
                    episodes=tasks * self.what.episodes,
                    missing=self.missing(trial),
                    possible=possible,
                )

    def open(self) -> None:
        """Create the folder with the curriculum's description.

        Raises:
            ClevrSkillsError: Its checkpoints were trained in another way.
            StorageError: Writing failed.
        """
        names = ("label", "policy", "episodes", "splits", "prompts")
        data = {name: getattr(self.what, name) for name in names}
        data |= {"steps": (), "trained_by": []}
        if (training := self.what.training) is not None:
            self._check_training(training)
            made_by = [shlex.join(training.command[1:]), training.data]
            data |= {"steps": training.steps, "trained_by": made_by}
        if self.what.training_seed is not None:
            data["training_seed"] = self.what.training_seed
        with storage_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
        write_whole(self.root / CURRICULUM_FILE, to_json(data, indent=1) + "\n")

    def _listed(self, stage: str, prompt: str) -> Mapping[str, Any] | None:
        return self.what.checkpoints.get(prompt, {}).get(stage)

    def _trained_prompts(self, stage: str) -> Sequence[str]:
        """Return the forms of the prompt to train; ``[""]`` for one training for all."""
        if self.what.training is None:
            return ()
        prompts = [p for p in self.what.prompts if self._listed(stage, p) is None]
        return prompts if self.what.training.by_prompt else [""] if prompts else []

    def _trained(self, stage: str, prompt: str) -> Path:
        return self.root / CHECKPOINTS_DIR / prompt / stage

    def _marker(self, folder: Path) -> Path:
        return folder.with_name(f"{folder.name}.json")

    def _checkpoint(self, stage: str, prompt: str) -> Mapping[str, Any] | None:
        """Return the policy arguments of a checkpoint, which is trained if it is missing."""
        listed = self._listed(stage, prompt)
        if listed is not None or self.what.training is None:
            return listed
        folder = self._trained(stage, prompt if self.what.training.by_prompt else "").absolute()
        if not self._marker(folder).is_file():
            source = self._source(stage, prompt)
            with storage_errors(folder):
                folder.parent.mkdir(parents=True, exist_ok=True)
            minutes = self._run_command(stage, prompt, source, folder)
            data = {"stage": stage, "from": source, "ended": datetime.now(UTC).isoformat()}
            data |= {"minutes": f"{minutes:.1f}", **self._made_by(self.what.training)}
            write_whole(self._marker(folder), to_json(data, indent=1) + "\n")
        return {self.what.training.argument: str(folder)}

    def _made_by(self, training: Training) -> dict[str, str]:
        """Return the settings of a training, except for the Python executable."""
        made = {"command": shlex.join(training.command[1:]), "data": training.data}
        if training.steps:
            made["steps"] = " ".join(map(str, training.steps))
        if self.what.training_seed is not None:
            made["seed"] = str(self.what.training_seed)
        return made

    def _check_training(self, training: Training) -> None:
        """Check that existing checkpoints were trained with these settings."""
        for stage in STAGES:
            for prompt in self._trained_prompts(stage):
                marker = self._marker(self._trained(stage, prompt))
                made = read_json(marker) if marker.is_file() else {}
                for name, expected in self._made_by(training).items():
                    before = made.get(name)
                    if made and before != expected:
                        raise ClevrSkillsError(
                            f"{marker.with_suffix('')} was trained with {name} {before!r}, "
                            f"not {expected!r}; give another folder with --out"
                        )

    def _source(self, stage: str, prompt: str) -> str | None:
        """Return the checkpoint that a training starts from."""
        if stage == STAGES[0]:
            return None
        before = STAGES[STAGES.index(stage) - 1]
        found = self._checkpoint(before, prompt) or {}
        assert self.what.training is not None
        name = self.what.training.argument
        if not isinstance(found.get(name), str):
            raise ClevrSkillsError(
                f"checkpoints.{before} has no {name!r} to start the training of {stage} from; set "
                "train.argument to the name of this argument"
            )
        return str(found[name])

    def _run_command(self, stage: str, prompt: str, source: str | None, out: Path) -> float:
        """Run a training and return the minutes of this and earlier attempts."""
        assert self.what.training is not None
        values = {"stage": stage, "level": stage.upper(), "from": source, "out": str(out)}
        values |= {"data": self.what.training.data, "prompt": prompt}
        steps = dict(zip(STAGES, self.what.training.steps, strict=False))
        values["steps"] = str(steps.get(stage, ""))
        values["seed"] = str(self.what.training_seed)
        words = command_of(self.what.training.command, values)
        spent = out.with_name(f"{out.name}.minutes")
        minutes = float(spent.read_text("utf-8")) if spent.is_file() else 0.0
        began = time.monotonic()
        try:
            code = subprocess.run(words, stdout=_STDERR, check=False).returncode
        except OSError as error:
            raise ClevrSkillsError(f"{words[0]} cannot be run: {error.strerror}") from error
        finally:
            minutes += (time.monotonic() - began) / 60
            write_whole(spent, f"{minutes:.3f}\n")
        if code:
            raise ClevrSkillsError(
                f"the training of {stage} failed with exit code {code}: {shlex.join(words)}; "
                "run the same command again to resume"
            )
        return minutes

    def _merge(self, checkpoint: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        args = {**self.what.policy_args, **checkpoint}
        return str(args.pop("policy", self.what.policy)), args

    def _check_same(self, trial: Trial) -> None:
        """Check that results are those of the requested policy and checkpoint."""
        listed = self._listed(trial.stage, trial.prompt)
        if listed is None:
            return  # it was trained here
        run = read_run(self.folder(trial))
        policy, args = self._merge(listed)
        names = [absolute_name(name) for name in (run.policy, policy)]
        same = names[0] == names[1] and run.policy_args == args
        if not policy.startswith("replay:") and not same:
            raise ClevrSkillsError(
                f"{self.folder(trial)} was made with {run.policy} {json.dumps(run.policy_args)}, "
                f"not {policy} {json.dumps(args)}; give another --out"
            )


def command_of(words: Sequence[str], values: Mapping[str, str | None]) -> list[str]:
    """Return a command with its placeholders replaced.

    Without a checkpoint to start from, words with {from} are left out, and also the option before a
    bare {from}.
    """
    made: list[str] = []
    for word in words:
        if "{from}" in word and values["from"] is None:
            if word == "{from}" and made and made[-1].startswith("-"):
                made.pop()
            continue
        made.append(word.format_map({name: value or "" for name, value in values.items()}))
    return made
