"""Verification of submissions by fresh episodes and by transcripts of language models."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any

from clevrskills.core.episode import HELD, frozen_name
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
from clevrskills.evaluation.results import EpisodeResult, Run
from clevrskills.evaluation.runner import run as evaluate
from clevrskills.evaluation.submission.checks import (
    numbers_of,
    observation_of,
    rate_of,
    run_of,
    split_name,
)
from clevrskills.evaluation.submission.document import Submission, SubmittedRun
from clevrskills.evaluation.submission.inflation import SOLVED, Outcomes, judge
from clevrskills.jobs import work
from clevrskills.jobs.files import to_json
from clevrskills.jobs.process_setup import now
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import cpu_features, locked, versions

BADGES = ("self-reported", "fresh", "fresh, weights held")
"""Evidence for a row of the leaderboard: the file only, fresh episodes on a server of the authors,
or fresh episodes with weights held by the verifier."""
SECRET_BITS = 64


@dataclass(frozen=True)
class Verification:
    """Record of a verification."""

    digest: str  # digest of the submission
    badge: str  # one of :data:`BADGES`
    # the verifier's success rate and Wilson 95 % interval, by cell and number
    rates: Mapping[str, Mapping[str, Sequence[float]]]
    fresh: int  # number of fresh episodes
    fresh_solved: int  # number of solved fresh episodes
    transcripts: int  # number of transcripts scored again
    lost: int  # number of transcripts solved in the file only
    seed: int  # seed of the fresh episodes
    # tests that reject the file, see :func:`~clevrskills.evaluation.submission.inflation.judge`;
    # ``transcripts``: a transcript solved in the file only, on the same kind of machine
    failed: Sequence[str]
    p: Mapping[str, float]  # p-value of each test
    isolated: bool  # whether the policy ran in a separate process
    privileged: bool  # whether it had access to the environment or episode ids
    date: str  # ISO 8601
    # versions of Python and of the packages that affect episodes
    versions: Mapping[str, str | None] = field(default_factory=versions)
    cpu: str = field(default_factory=cpu_features)  # vendor and vector instructions of the CPU


class Verifier:
    """Verifier that evaluates the policy of a submission again; see :func:`verify`.

    Raises:
        ClevrSkillsError: Only the file or only the verifier has a controller, or an argument in
            text is only in the file.
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
        given, self._workers = policy_arguments(policy_args), workers
        self._controller, part = controller, "controller."
        mine = {k: v for k, v in given.items() if not k.startswith(part)}
        of_controller = {k.removeprefix(part): v for k, v in given.items() if k.startswith(part)}
        self.options: dict[str, dict[str, Any]] = {}
        for name, cell in found.cells.items():
            if bool(own := cell.run["controller"]) != bool(controller):
                raise ClevrSkillsError(f"--controller {controller}; the file has {own or 'none'}")
            self.options[name] = {
                "policy_arg": _options(cell.run["policy_args"], mine),
                "controller_arg": _options(cell.run["controller_args"], of_controller, part),
            }
        self.suite = load_suite(found.suite)
        self.seed = secrets.randbits(SECRET_BITS) if seed is None else seed
        self.runs: dict[str, Run] = {}

    def fresh(self, count: int) -> dict[str, list[EpisodeResult]]:
        """Sample, screen and evaluate fresh episodes of each task and split; return their results
        by cell.
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
        # the policy has the permissions of this process, and would find them on disk
        HELD.update({path: path.read_bytes() for path in folder.iterdir() if path.is_file()})
        shutil.rmtree(folder)
        suite = load_suite(self._found.suite, folder=folder)
        found = {}
        for name, cell in self._found.cells.items():
            of = [split_name(task, suite) for task in cell.tasks]
            refs = [EpisodeRef(*pair, k) for pair in of for k in range(count)]
            found[name] = self._evaluate(name, refs, f"fresh-{name}", suite)
        return found

    def _evaluate(
        self, cell: str, refs: Sequence[EpisodeRef], folder: str, suite: Suite
    ) -> list[EpisodeResult]:
        """Evaluate episodes with the settings of a cell."""
        root, of_file = self._folder / folder, self._found.cells[cell].run
        stated = {"trained_on": self._found.trained_on}
        request = make_request(self._arguments(cell, refs[0], root), suite, stated)
        options = observation_of(of_file["observation"])
        shown = {name: getattr(options, name) for name in of_file["observation"]}
        source = replace(request.config.policy, overrides=shown)
        run, salt = replace(request.config.run, salt=""), secrets.token_hex(16)
        config = replace(request.config, policy=source, run=run, held=dict(HELD))
        episodes = tuple(replace(ref, salt=salt) for ref in refs)
        files, own = (sorted(of.values()) for of in (of_file["content"], config.run.content))
        if files and own and files != own:
            named = ", ".join(config.run.content)
            raise ClevrSkillsError(f"the content of {named} differs from the submitted policy's")
        root.mkdir(parents=True)
        with locked(root):
            outcome = evaluate(replace(request, config=config, episodes=episodes), None)
        for error in outcome.errors:
            raise ClevrSkillsError(f"{error.id}: {error.error}")
        assert outcome.run is not None
        self.runs[cell] = outcome.run  # not from the folder, where the policy could change it
        return list(outcome.results)

    def _arguments(self, cell: str, ref: EpisodeRef, out: Path) -> EvaluateArgs:
        """Return the arguments of an evaluation, without observation options."""
        run = self._found.cells[cell].run
        same = ("robot", "criteria", "interface", "feedback", "stop", "wording", "chunk")
        return EvaluateArgs(
            **{name: run[name] for name in same},
            **self.options[cell],
            policy=self._policy,
            track=self._found.track,
            suite=self._found.suite,
            tasks=(ref.task,),
            split=(ref.split,),
            episodes=1,
            out=out,
            noise=run["noise"] or None,
            strict_actions=not run["clip"],
            controller=self._controller or None,
            workers=self._workers,
            isolate=True,
        )


def verify(
    found: Submission,
    policy: str,
    policy_args: Sequence[str] = (),
    fresh: int = 10,
    seed: int | None = None,
    workers: int = 1,
    transcripts: Path | None = None,
    controller: str = "",
) -> Verification:
    """Evaluate the policy of a submission on fresh episodes and test the file against the results.

    Args:
        found: The checked submission.
        policy: Policy named by the verifier; the file's might name code.
        policy_args: Arguments of the policy as options, overriding those of the file; text of the
            file is never used. Those of the controller begin with ``controller.``.
        fresh: Fresh episodes per task and split.
        seed: Seed of the episodes; ``None``: random bits.
        workers: Number of processes.
        transcripts: Folder of a run whose transcripts are scored again.
        controller: Policy that executes the commands, named by the verifier.

    Raises:
        ClevrSkillsError: The policy cannot be created or differs from that of the file, an episode
            ended in an error, or a transcript is missing.
    """
    with tempfile.TemporaryDirectory() as name:
        verifier = Verifier(found, policy, policy_args, Path(name), seed, workers, controller)
        new = verifier.fresh(fresh) if fresh else {}
    arguments = {cell: of["controller_arg"] for cell, of in verifier.options.items()}
    again = {} if transcripts is None else transcribed(found, transcripts, controller, arguments)
    lost = {cell: lost_of(found.cells[cell], results) for cell, results in again.items()}
    repeated = any(
        count and (run := verifier.runs.get(cell)) and same_machine(found.cells[cell], run)
        for cell, count in lost.items()
    )
    outcomes = outcomes_of(found, new)
    p, failed = judge(outcomes, numbers(found, verifier.suite))
    return Verification(
        digest=found.digest,
        badge=BADGES[0 if not new else 1 if "://" in policy else 2],
        rates=_rates(found, verifier.suite, outcomes),
        fresh=sum(map(len, new.values())),
        fresh_solved=sum(sum(of.fresh) for of in outcomes.values()),
        transcripts=sum(map(len, again.values())),
        lost=sum(lost.values()),
        seed=verifier.seed,
        failed=[*failed, *(["transcripts"] if repeated else [])],
        p={name: float(f"{value:.3g}") for name, value in p.items()},
        isolated=all(run.isolated for run in verifier.runs.values()),
        privileged=any(run.privileged for run in verifier.runs.values()),
        date=now()[:10],
    )


def lost_of(cell: SubmittedRun, results: Sequence[EpisodeResult]) -> int:
    """Return the number of results that are solved in the file only."""
    return sum(
        cell.tasks[frozen_name(r.task, r.split)].outcomes[r.index] == SOLVED
        and not r.success_at_end
        for r in results
    )


def outcomes_of(
    found: Submission, fresh: Mapping[str, Sequence[EpisodeResult]]
) -> dict[str, Outcomes]:
    """Return the outcomes by ``<cell>/<task>_<split>``."""
    outcomes = {}
    for cell, of in found.cells.items():
        new: dict[str, list[bool]] = {}
        for r in fresh.get(cell, ()):
            new.setdefault(frozen_name(r.task, r.split), []).append(r.success_at_end)
        for name, task in of.tasks.items():
            outcomes[f"{cell}/{name}"] = Outcomes(task.outcomes, new.get(name, ()))
    return outcomes


def numbers(found: Submission, suite: Suite) -> dict[str, list[str]]:
    """Return the names of the outcomes of each headline number by ``<cell>/<number>``."""
    return {
        f"{cell}/{name}": [f"{cell}/{key}" for key in keys]
        for cell, of in found.cells.items()
        for name, keys in numbers_of(of.run, suite, found.trained_on).items()
        if name in of.rates
    }


def same_machine(cell: SubmittedRun, run: Run) -> bool:
    """Return whether a run of a file and one of the verifier had the same CPU type, renderer and
    package versions; unknown with a PyTorch that may use a GPU.
    """
    names = ("cpu", "renderer", "versions")
    known = bool(run.cpu) and str(run.versions.get("torch")).endswith("+cpu")
    return known and all(cell.run[name] == getattr(run, name) for name in names)


def transcribed(
    found: Submission,
    root: Path,
    controller: str = "",
    controller_args: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, list[EpisodeResult]]:
    """Score the transcripts of a submission again, without a model; return the results by cell.

    Args:
        found: The submission.
        root: Run folder, or parent of the folders of the cells.
        controller: Policy that executes the commands, never that of the file.
        controller_args: Its arguments as options, by cell.

    Raises:
        ClevrSkillsError: A transcript is missing for a solved episode, damaged, or of another
            episode.
    """
    suite, results = load_suite(found.suite), dict[str, list[EpisodeResult]]()
    with Display("transcripts", sum(cell.count for cell in found.cells.values())) as display:
        for name, cell in found.cells.items():
            folder = root / name if (root / name).is_dir() else root
            given = policy_arguments(controller_args.get(name, ()))
            run = replace(run_of(cell, found), controller=controller, controller_args=given)
            envs, results[name] = transcript_envs(folder, run, suite), []
            for key, of in cell.tasks.items():
                for k, letter in enumerate(of.outcomes):
                    ref = EpisodeRef(*split_name(key, suite), k)
                    path = transcript_path(folder, ref.id)
                    if not path.is_file() and letter != SOLVED:
                        continue
                    if not path.is_file():
                        raise ClevrSkillsError(
                            f"{folder} has no transcript of {ref.id}: name the folder of the run"
                        )
                    if read_transcript(path)[0] != ref:
                        raise ClevrSkillsError(f"{path} is not a transcript of {ref.id}")
                    if edited := edited_replies(suite, run.interface, path):
                        raise ClevrSkillsError(f"{path}: {next(iter(edited))} is not in its reply")
                    results[name].append(score_transcript(envs, path, "step limit"))
                    display.update(sum(map(len, results.values())))
    return results


def _rates(
    found: Submission, suite: Suite, outcomes: Mapping[str, Outcomes]
) -> dict[str, dict[str, list[float]]]:
    """Return the verifier's rates by cell and number."""
    rates: dict[str, dict[str, list[float]]] = {}
    for name, keys in numbers(found, suite).items():
        tasks = [outcomes[key] for key in keys]
        counts = [(sum(of.fresh), len(of.fresh)) for of in tasks if of.fresh]
        if not counts:
            continue
        cell, _, number = name.partition("/")
        rates.setdefault(cell, {})[number] = rate_of(counts, suite)
    return rates


def _options(of_file: Mapping[str, Any], own: Mapping[str, Any], part: str = "") -> tuple[str, ...]:
    """Return arguments of a policy as command-line values, overridden by the verifier's own.

    Raises:
        ClevrSkillsError: The file has text that the verifier does not give.
    """
    texts = {name: of for name, of in of_file.items() if name not in own and _has_text(of)}
    if texts:
        again = (quote(f"{part}{name}={to_json(of)}") for name, of in texts.items())
        raise ClevrSkillsError(
            "text in the arguments of the file is not used, since it may name code, files or "
            f"secrets; repeat what you trust: {' '.join(f'--policy-arg {of}' for of in again)}"
        )
    return tuple(f"{name}={to_json(value)}" for name, value in {**of_file, **own}.items())


def _has_text(value: Any) -> bool:
    if isinstance(value, Mapping | list):
        return any(map(_has_text, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, str)
