"""Verification of submissions: episodes of the file run again, fresh ones, and transcripts."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clevrskills.core.episode import frozen_name
from clevrskills.core.policy import ObservationOptions
from clevrskills.core.policy_loader import policy_arguments
from clevrskills.core.suite import Suite, load_suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.arguments import EvaluateArgs
from clevrskills.evaluation.dialogue.reverify import (
    edited_replies,
    score_transcript,
    transcript_envs,
)
from clevrskills.evaluation.dialogue.transcripts import read_transcript, transcript_path
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.freeze.freeze_queue import FreezeQueue, open_queues
from clevrskills.evaluation.freeze.screening import Screener
from clevrskills.evaluation.request import make_request
from clevrskills.evaluation.results import EpisodeResult, Run, read_results, read_run
from clevrskills.evaluation.runner import run as evaluate
from clevrskills.evaluation.submission.checks import numbers_of, rate_of, run_of, split_name
from clevrskills.evaluation.submission.document import Submission, SubmittedRun
from clevrskills.evaluation.submission.inflation import FIRST as FIRST_PART
from clevrskills.evaluation.submission.inflation import (
    SOLVED,
    Outcomes,
    judge,
    sample_size,
    settled,
)
from clevrskills.jobs import work
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import to_json
from clevrskills.jobs.process_setup import now
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import cpu_features, locked, versions

BADGES = ("self-reported", "sampled", "fresh", "fresh, weights held")
"""What a row of the leaderboard rests on: the file alone, episodes of the file run again, fresh
episodes on a server of the authors, or fresh episodes with weights that the verifier holds."""
SECRET_BITS = 64


@dataclass(frozen=True)
class Verification:
    """Record of a verification, kept beside the file."""

    digest: str  # digest of the submission
    badge: str  # one of :data:`BADGES`
    # the verifier's success rate and its Wilson 95 % interval, by cell and number: of fresh
    # episodes, or else of the sample
    rates: Mapping[str, Mapping[str, Sequence[float]]]
    sample: int  # episodes of the file that were run again
    fresh: int  # fresh episodes
    fresh_solved: int  # those of them that are solved
    lost: int  # episodes of the sample that are solved in the file alone
    gained: int  # those that are solved now alone
    seed: int  # what the sample and the fresh episodes were drawn from
    # names of the tests that refuse the file, see
    # :func:`~clevrskills.evaluation.submission.inflation.judge`; ``repeat``: on the same kind of
    # machine the policy repeats an outcome that is not that of the file
    failed: Sequence[str]
    p: Mapping[str, float]  # p-value of each test
    isolated: bool  # whether the policy ran in a process of its own
    privileged: bool  # whether it was given the environment, or the identity of episodes
    date: str  # date, ISO 8601
    # of Python and of the packages that shape an episode
    versions: Mapping[str, str | None] = field(default_factory=versions)
    cpu: str = field(default_factory=cpu_features)  # vendor and vector instructions of the CPU


class Verifier:
    """Verifier that evaluates the policy of a submission again.

    Args:
        found: The submission.
        policy: The policy, as the verifier names it.
        policy_args: Its arguments as options, in place of those of the file.
        folder: Folder for what is evaluated.
        seed: What the episodes are drawn from; ``None``: new random bits.
        workers: Number of processes.
        controller: The policy that carries out its commands, as the verifier names it.

    Raises:
        ClevrSkillsError: The file is of a controller, and none is named, or the other way round.
    """

    def __init__(
        self,
        found: Submission,
        policy: str,
        policy_args: Sequence[str],
        folder: Path,
        seed: int | None = None,
        workers: int = 1,
        controller: str = "",
    ) -> None:
        self._found, self._policy, self._folder = found, policy, folder
        self._given, self._workers = policy_arguments(policy_args), workers
        self._controller = controller
        for cell in found.cells.values():
            if bool(own := cell.run["controller"]) != bool(controller):
                raise ClevrSkillsError(f"--controller {controller}; the file says {own or 'none'}")
        self.suite = load_suite(found.suite)
        self.seed = secrets.randbits(SECRET_BITS) if seed is None else seed
        self.runs: dict[str, Run] = {}

    def sample(self, count: int | None, fresh: int) -> dict[str, list[EpisodeResult]]:
        """Run episodes of the file again, by cell.

        Args:
            count: How many, drawn at random from all; ``None``: :data:`FIRST_PART`, and where these
                do not show that the file is right as many as the tests need.
            fresh: Fresh episodes that are evaluated besides.
        """
        refs = [
            (cell, EpisodeRef(*split_name(name, self.suite), k))
            for cell, of in self._found.cells.items()
            for name, outcomes in of.tasks.items()
            for k in range(outcomes.count)
        ]
        order = np.random.default_rng((self.seed, 1)).permutation(len(refs)).tolist()
        found: dict[str, list[EpisodeResult]] = {}

        def run(numbers: Sequence[int]) -> None:
            for cell in self._found.cells:
                if chosen := [refs[k][1] for k in sorted(numbers) if refs[k][0] == cell]:
                    folder = f"sample-{cell}-{len(found.get(cell, ()))}"
                    more = self._evaluate(cell, chosen, folder, self.suite)
                    found.setdefault(cell, []).extend(more)

        run(order[: count or FIRST_PART])
        lost = sum(len(self.lost(cell, results)) for cell, results in found.items())
        if count is None and not settled(lost, min(FIRST_PART, len(refs))):
            size = sample_size(len(refs), fresh, len(numbers(self._found, self.suite)))
            run(order[FIRST_PART:size])
        return found

    def fresh(self, count: int) -> dict[str, list[EpisodeResult]]:
        """Evaluate fresh episodes, as many of each task and split of the file, by cell: drawn from
        the seed and screened like frozen ones.
        """
        folder = self._folder / "episodes"
        folder.mkdir()
        pairs: dict[str, dict[tuple[str, str], None]] = {}
        for cell in self._found.cells.values():
            mine = dict.fromkeys(split_name(name, self.suite) for name in cell.tasks)
            pairs.setdefault(cell.run["robot"], {}).update(mine)
        make = partial(Screener, self.suite)
        for robot, own in pairs.items():
            queues = open_queues(folder, [*own], robot, count, self.suite, secret=self.seed)
            pool = partial(work.open_pool, "local", make, folder, self._workers, 600.0)
            with Display("fresh episodes", count * len(own)) as display:
                work.work(FreezeQueue(queues, folder, display), pool)
        suite = load_suite(self._found.suite, folder=folder)
        found = {}
        for name, cell in self._found.cells.items():
            of = [split_name(task, suite) for task in cell.tasks]
            refs = [EpisodeRef(*pair, k) for pair in of for k in range(count)]
            found[name] = self._evaluate(name, refs, f"fresh-{name}", suite)
        return found

    def repeats(self, sample: Mapping[str, list[EpisodeResult]], replayed: bool = False) -> bool:
        """Return whether an outcome that was lost on the same kind of machine is lost again, step
        by step: then the policy repeats itself, and the file is not of it.

        Args:
            sample: Results by cell.
            replayed: Whether they are those of transcripts, which repeat themselves.
        """
        for cell, results in sample.items():
            lost = self.lost(cell, results)
            run = self.runs.get(cell)
            if not lost or run is None or "://" in self._policy:
                continue
            if not same_machine(self._found.cells[cell], run):
                continue
            if replayed:
                return True
            refs = [EpisodeRef(r.task, r.split, r.index) for r in lost]
            again = {r.id: r for r in self._evaluate(cell, refs, f"again-{cell}", self.suite)}
            names = ("success_at_end", "steps", "turns", "total_reward")
            for before in lost:
                after = again[before.id]
                if all(getattr(before, name) == getattr(after, name) for name in names):
                    return True
        return False

    def lost(self, cell: str, results: Sequence[EpisodeResult]) -> list[EpisodeResult]:
        """Return the results of a sample that are solved in the file alone."""
        tasks = self._found.cells[cell].tasks
        return [
            r
            for r in results
            if tasks[frozen_name(r.task, r.split)].outcomes[r.index] == SOLVED
            and not r.success_at_end
        ]

    def _evaluate(
        self, cell: str, refs: Sequence[EpisodeRef], folder: str, suite: Suite
    ) -> list[EpisodeResult]:
        """Evaluate episodes as those of a cell were.

        Raises:
            ClevrSkillsError: The policy can't be made, is not that of the file, or an episode ended
                in an error.
        """
        root, run = self._folder / folder, self._found.cells[cell].run
        request = make_request(self._arguments(run, refs[0], root), suite)
        shown = {k: tuple(v) if isinstance(v, list) else v for k, v in run["observation"].items()}
        check_names(**{"setting of the observation": (shown, _OPTIONS)})
        config = replace(request.config, policy=replace(request.config.policy, overrides=shown))
        files, own = (sorted(of.values()) for of in (run["content"], config.run.content))
        if files and own and files != own:
            named = ", ".join(config.run.content)
            raise ClevrSkillsError(f"the content of {named} is not that of the submission's policy")
        if suite is self.suite:  # episodes of the file, with the seeds that the policy was given
            config = replace(config, run=replace(config.run, salt=run["salt"] or config.run.salt))
        root.mkdir(parents=True)
        with locked(root):
            outcome = evaluate(replace(request, config=config, episodes=tuple(refs)), None)
        for error in outcome.errors:
            raise ClevrSkillsError(f"{error.id}: {error.error}")
        self.runs[cell] = read_run(root)
        return list(read_results(root))

    def _arguments(self, run: Mapping[str, Any], ref: EpisodeRef, out: Path) -> EvaluateArgs:
        """Return what the evaluation of an episode was asked for, but for what was shown."""
        arguments = {**run["policy_args"], **self._given}
        return EvaluateArgs(
            policy=self._policy,
            track=self._found.track,
            suite=self._found.suite,
            tasks=(ref.task,),
            split=(ref.split,),
            episodes=1,
            out=out,
            robot=run["robot"],
            criteria=run["criteria"],
            interface=run["interface"],
            feedback=run["feedback"],
            stop=run["stop"],
            wording=run["wording"],
            noise=run["noise"] or None,
            chunk=run["chunk"],
            strict_actions=not run["clip"],
            policy_arg=_options(arguments),
            controller=self._controller or None,
            controller_arg=_options(run["controller_args"]),
            workers=self._workers,
            isolate=True,
        )


_OPTIONS = [entry.name for entry in fields(ObservationOptions)]


def verify(
    found: Submission,
    policy: str,
    policy_args: Sequence[str] = (),
    sample: int | None = None,
    fresh: int = 10,
    seed: int | None = None,
    workers: int = 1,
    transcripts: Path | None = None,
    controller: str = "",
) -> Verification:
    """Evaluate the policy of a submission again, and test the file against what comes out.

    Args:
        found: The submission, which was checked.
        policy: The policy, as the verifier names it; the file's might name code.
        policy_args: Its arguments as options.
        sample: Episodes of the file that are run again; ``None``: as many as the tests need.
        fresh: Fresh episodes of each task and split.
        seed: What all episodes are drawn from; ``None``: new random bits.
        workers: Number of processes.
        transcripts: Folder of a run with transcripts, whose episodes are scored again in place of
            a sample.
        controller: The policy that carries out its commands, as the verifier names it.

    Raises:
        ClevrSkillsError: The policy can't be made, an episode ended in an error, or a transcript is
            missing.
    """
    with tempfile.TemporaryDirectory() as name:
        verifier = Verifier(found, policy, policy_args, Path(name), seed, workers, controller)
        suite, tasks = verifier.suite, sum(len(cell.tasks) for cell in found.cells.values())
        new = verifier.fresh(fresh) if fresh else {}
        if transcripts is not None:
            again = transcribed(found, transcripts)
        else:
            again = verifier.sample(sample, fresh * tasks) if sample != 0 else {}
        repeated = verifier.repeats(again, transcripts is not None)
    outcomes = outcomes_of(found, again, new)
    verdict = judge(outcomes, numbers(found, suite))
    return Verification(
        digest=found.digest,
        badge=_badge(policy, again, new),
        rates=_rates(found, suite, outcomes),
        sample=sum(map(len, again.values())),
        fresh=sum(map(len, new.values())),
        fresh_solved=sum(sum(of.fresh) for of in outcomes.values()),
        lost=verdict.lost,
        gained=verdict.gained,
        seed=verifier.seed,
        failed=[*verdict.failed, *(["repeat"] if repeated else [])],
        p={name: float(f"{p:.3g}") for name, p in verdict.p.items()},
        isolated=all(run.isolated for run in verifier.runs.values()),
        privileged=any(run.privileged for run in verifier.runs.values()),
        date=now()[:10],
    )


def outcomes_of(
    found: Submission,
    sample: Mapping[str, Sequence[EpisodeResult]],
    fresh: Mapping[str, Sequence[EpisodeResult]],
) -> dict[str, Outcomes]:
    """Return the outcomes of each task and split, by ``<cell>/<task>_<split>``."""
    outcomes = {}
    for cell, of in found.cells.items():
        again: dict[str, dict[int, bool]] = {}
        for r in sample.get(cell, ()):
            again.setdefault(frozen_name(r.task, r.split), {})[r.index] = r.success_at_end
        new: dict[str, list[bool]] = {}
        for r in fresh.get(cell, ()):
            new.setdefault(frozen_name(r.task, r.split), []).append(r.success_at_end)
        for name, task in of.tasks.items():
            outcomes[f"{cell}/{name}"] = Outcomes(
                task.outcomes, again.get(name, {}), new.get(name, ())
            )
    return outcomes


def numbers(found: Submission, suite: Suite) -> dict[str, list[str]]:
    """Return the names of the outcomes of each headline number that the file has, by
    ``<cell>/<number>``.
    """
    return {
        f"{cell}/{name}": [f"{cell}/{key}" for key in keys]
        for cell, of in found.cells.items()
        for name, keys in numbers_of(of.run, suite, found.trained_on).items()
        if name in of.rates
    }


def same_machine(cell: SubmittedRun, run: Run) -> bool:
    """Return whether a run of a file and one of the verifier were on the same kind of machine, with
    the same versions, among them those of the planner, and the same renderer. With a PyTorch that
    may use a GPU that is not known.
    """
    names = ("cpu", "renderer", "versions")
    known = bool(run.cpu) and str(run.versions.get("torch")).endswith("+cpu")
    return known and all(cell.run[name] == getattr(run, name) for name in names)


def transcribed(found: Submission, root: Path) -> dict[str, list[EpisodeResult]]:
    """Score the transcripts of a submission again, without a model; episodes that are not solved
    need none.

    Args:
        found: The submission.
        root: Folder of the run, or of the folders of its cells.

    Returns:
        Results by cell.

    Raises:
        ClevrSkillsError: One is missing, damaged, or of another episode.
    """
    suite, results = load_suite(found.suite), dict[str, list[EpisodeResult]]()
    with Display("transcripts", sum(cell.count for cell in found.cells.values())) as display:
        for name, cell in found.cells.items():
            folder = root / name if (root / name).is_dir() else root
            run = run_of(cell, found)
            envs, results[name] = transcript_envs(folder, run, suite), []
            for key, of in cell.tasks.items():
                for k, letter in enumerate(of.outcomes):
                    ref = EpisodeRef(*split_name(key, suite), k)
                    path = transcript_path(folder, ref.id)
                    if not path.is_file() and letter != SOLVED:
                        continue
                    if not path.is_file():
                        raise ClevrSkillsError(f"{folder} has no transcript of {ref.id}")
                    if read_transcript(path)[0] != ref:
                        raise ClevrSkillsError(f"{path} is of another episode than {ref.id}")
                    if edited := edited_replies(suite, run.interface, path):
                        raise ClevrSkillsError(f"{path}: {next(iter(edited))} is not in its reply")
                    results[name].append(score_transcript(envs, path, "step limit"))
                    display.update(sum(map(len, results.values())))
    return results


def _badge(policy: str, sample: Mapping[str, Any], fresh: Mapping[str, Any]) -> str:
    if fresh:
        return BADGES[2 if "://" in policy else 3]
    return BADGES[1 if sample else 0]


def _rates(
    found: Submission, suite: Suite, outcomes: Mapping[str, Outcomes]
) -> dict[str, dict[str, list[float]]]:
    """Return the verifier's rates, by cell and number."""
    rates: dict[str, dict[str, list[float]]] = {}
    for name, keys in numbers(found, suite).items():
        tasks = [outcomes[key] for key in keys]
        counts = [
            (sum(new), len(new))
            for new in ([*(of.fresh or of.sample.values())] for of in tasks)
            if new
        ]
        if not counts:
            continue
        cell, _, number = name.partition("/")
        rates.setdefault(cell, {})[number] = rate_of(counts, suite)
    return rates


def _options(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return arguments of a policy as they are given on the command line."""
    return tuple(f"{name}={to_json(value)}" for name, value in arguments.items())
