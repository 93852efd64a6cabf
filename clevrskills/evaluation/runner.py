"""Evaluation runner: assigns episodes to workers, keeps results, restarts lost episodes."""

import contextlib
import json
import logging
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from clevrskills.core.observer import LANGUAGE
from clevrskills.core.statistics import wilson
from clevrskills.core.suite import Suite
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.benchmark.protocol import check_training, declared
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.policy_slots import no_action
from clevrskills.evaluation.request import EvaluationRequest, groups, left_out
from clevrskills.evaluation.results import (
    ERROR,
    POLICY_ERROR,
    RESULTS_DIR,
    RUN_FILE,
    TRACKS,
    EpisodeResult,
    Run,
    allowed,
    cost_of,
    judged,
    lost,
    read_results,
    read_run,
    seed_warnings,
    video_path,
)
from clevrskills.evaluation.sequential.rounds import estimate, forecast, round_values
from clevrskills.evaluation.starts import Starts
from clevrskills.evaluation.worker import (
    POLICY,
    Describe,
    Ended,
    Group,
    PolicyDescription,
    failed,
    make_evaluator,
    watchdog_path,
)
from clevrskills.jobs import work
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.jobs.journal import Journal
from clevrskills.jobs.pool import JOBS_PER_WORKER, TimedOut, WorkerDied
from clevrskills.jobs.process_setup import watched
from clevrskills.jobs.progress import Display
from clevrskills.jobs.run_folder import check_settings

SAME = (
    *("policy", "policy_args", "robot", "criteria", "stop_on_success", "chunk", "clip", "seed"),
    *("action_limit_s", "suite", "interface", "feedback", "stop", "benchmark", "wording", "axes"),
    *("noise", "controller", "controller_args"),
)
"""Settings that must be equal when a run is continued, besides episodes and observations."""
ERRORS_DIR, TRACES = "errors", 20
"""Folder of tracebacks, and their maximum number per command."""
HOPELESS = 3
"""Consecutive errors after which the run stops."""
TRIES = 3
"""Maximum number of starts of an episode by one command."""
SIGNAL_S = 0.5
"""Time that a signal that ended a worker may take to reach this process."""
_OPTIONAL = ("label", "track", "trained_on", "protocol")


@dataclass(frozen=True)
class EvaluationOutcome:
    """Outcome of a request."""

    episodes: int  # number of requested episodes
    errors: tuple[EpisodeResult, ...]  # results that do not count
    left_out: tuple[str, ...] = ()  # tasks skipped with language prompts
    results: tuple[EpisodeResult, ...] = ()  # of this command and of earlier ones
    run: Run | None = None  # the run, if this command ran episodes


def run(request: EvaluationRequest, before: Run | None) -> EvaluationOutcome:
    """Run the remaining episodes.

    Args:
        request: The request.
        before: Run that is continued; ``None``: a new one.

    Raises:
        ClevrSkillsError: The run cannot continue; finished episodes are kept.
    """
    config, args = request.config, request.args
    known = {r.id: r for r in read_results(config.root)}
    if before is not None:
        check_same(config.root, before, request.run, config.policy.overrides)
        tasks = left_out(request, str(before.observation["prompt"]))
        if not _open(request, known, tasks):
            now = replace(request.run, observation=before.observation, isolated=before.isolated)
            now = _sequential(now, request, tasks)
            open_run(config.root, before, now, config.suite)
            return EvaluationOutcome(len(request.episodes), (), tasks)

    start_pool = partial(
        work.open_pool,
        *(args.driver, partial(make_evaluator, config), config.root, args.workers, None),
        max(1, JOBS_PER_WORKER // args.batch),
    )
    with contextlib.ExitStack() as stack:
        runner = Runner(request, before, known, stack)
        try:
            work.work(runner, start_pool)
        except KeyboardInterrupt:
            runner.withdraw()
            raise
    return runner.outcome()


class Runner(work.JobQueue[Describe | Group, PolicyDescription | Ended]):
    """Job queue of a request: a description of the policy, then the remaining episodes.

    Args:
        request: The request.
        before: Run that is continued; ``None``: a new one.
        known: Earlier results by episode; new ones are added.
        stack: Context of the progress display.
    """

    deaths = kills = 1  # this class decides on restarts

    def __init__(
        self,
        request: EvaluationRequest,
        before: Run | None,
        known: dict[str, EpisodeResult],
        stack: contextlib.ExitStack,
    ) -> None:
        super().__init__([Describe()])
        self._request, self._before, self._known, self._stack = request, before, known, stack
        self._display: Display | None = None
        self._running: dict[str, EpisodeRef] = {}
        self._tries = Counter[str]()
        self._broken = 0  # consecutive errors
        self._proven, self._acts = bool(known), False
        self._traces = self._shown = 0
        self._stopped = ""
        self._spent = 0.0
        self._rounds, self._decided = 0, False

    def next(self) -> Describe | Group | None:
        """Return the next job; none once the run stops, is decided, or has spent its budget."""
        most = self._request.args.max_cost
        spent = most is not None and self._spent >= most
        if self._display is not None and (self._narrow() or self._stopped or spent):
            self.waiting.clear()
        job = super().next()
        return self._start(job) if isinstance(job, Group) else job

    def _start(self, group: Group) -> Group:
        """Record the starts of a group of episodes."""
        refs = [
            ref if ref.counts else replace(ref, starts=self._starts.count(ref.id) + 1)
            for ref in group.episodes
        ]
        self._tries.update(ref.id for ref in refs)
        started = {ref.id: ref for ref in refs if not ref.counts}
        if started:
            self._starts.add([*started])
            self._running |= started
        return Group(tuple(refs))

    def withdraw(self) -> None:
        """Withdraw the starts of running episodes after an interrupt."""
        if self._running:
            self._starts.withdraw([*self._running])

    def _narrow(self) -> bool:
        """Return whether the interval of a sequential run is narrow enough."""
        width = self._request.args.until_width
        if width is None:
            return False
        found = judged(self._known.values(), self._accepts)
        known = {(r.task, r.split, r.index): r for r in found if r.counts}
        values = round_values(known, self._pairs, self._population)
        if len(values[0]) > self._rounds:
            self._rounds = len(values[0])
            self._decided = estimate(values, self._population, width).decided
        return self._decided

    def outcome(self) -> EvaluationOutcome:
        """Return the outcome.

        Raises:
            ClevrSkillsError: The run stopped early, or the budget was spent.
        """
        if self._stopped:
            raise ClevrSkillsError(self._stopped)
        results = [self._known[ref.id] for ref in self._refs if ref.id in self._known]
        left = len(self._refs) - sum(result.counts for result in results)
        most = self._request.args.max_cost
        if left and not self._decided and most is not None and self._spent >= most:
            raise ClevrSkillsError(
                f"{self._spent:.6g} of --max-cost {most:g} are spent, and {left} of "
                f"{len(self._refs)} episodes are left; rerun with a higher limit to continue"
            )
        # complete rounds have no errors, and other rounds do not matter
        errors = () if self._decided else tuple(r for r in results if not r.counts)
        return EvaluationOutcome(len(self._refs), errors, self._left_out, tuple(results), self._run)

    def key(self, job: Describe | Group) -> Hashable:
        return tuple(ref.id for ref in job.episodes) if isinstance(job, Group) else job

    def finish(self, job: Describe | Group, result: PolicyDescription | Ended) -> None:
        if isinstance(result, PolicyDescription):
            return self._begin(result)
        self._take(result)
        lost_ids = {ref.id for ref in result.lost}
        unreached = [one for one in result.results if one.id in lost_ids and not one.turns]
        if unreached and not self._stopped:
            self._stopped = (
                f"the connection to the policy is lost: {self._line(unreached[-1])}; rerun the "
                "command once the policy is reachable"
            )
        return None

    def give_up(self, job: Describe | Group, end: WorkerDied | TimedOut) -> None:
        if isinstance(job, Describe):
            raise ClevrSkillsError(f"workers die while creating the policy: {end.reason}")
        if isinstance(end, WorkerDied) and end.killed:
            time.sleep(SIGNAL_S)
        config, reason, cause = self._request.config, end.reason, ERROR
        doing, trace = watched(watchdog_path(config, job))
        if doing == POLICY:
            reason, cause = str(no_action(config.run.action_limit_s)), POLICY_ERROR
        elif doing:
            reason = f"the environment does not respond; {reason}"
        results = tuple(failed(config, ref, reason, cause) for ref in job.episodes)
        traces = {result.id: trace for result in results if trace}
        self._take(Ended(results, () if doing == POLICY else job.episodes, traces))

    def update(self) -> None:
        if self._display is not None:
            n = len(self._counted)
            successes = sum(result.success_once for result in self._counted.values())
            low, high = wilson(successes, n)
            success = f"success {successes / n:.0%} [{low:.0%}, {high:.0%}]" if n else ""
            self._display.update(n, success)

    def _begin(self, about: PolicyDescription) -> None:
        """Write the run to its folder and queue the remaining episodes."""
        request, root = self._request, self._request.config.root
        track = request.run.track
        if track and about.track not in ("", track):
            raise ClevrSkillsError(
                f"--track {track}: the policy declares {about.track!r}, so leave it out"
            )
        for task in (ref.task for ref in request.episodes if about.task):
            if task != about.task:
                raise ClevrSkillsError(
                    f"{request.run.policy} was trained on {about.task} only, not on {task}"
                )
        now = replace(
            request.run,
            observation=asdict(about.observation),
            renderer=about.renderer,
            track=about.track or track,
            isolated=about.isolated,
            privileged=about.privileged,
            trained_tasks=about.trained_tasks,
        )
        suite = request.config.suite
        now = declared(now, suite) if now.protocol else now
        self._left_out = left_out(request, about.observation.prompt)
        now = _sequential(now, request, self._left_out)
        self._run = run = open_run(root, self._before, now, suite)
        self._accepts = run.accept_restarts
        self._refs = [ref for ref in request.episodes if ref.task not in self._left_out]
        results = [self._known[ref.id] for ref in self._refs if ref.id in self._known]
        self._counted = {result.id: result for result in results if result.counts}
        self._journal = Journal(root / RESULTS_DIR / f"{request.config.writer}.jsonl")
        display = Display("episodes", len(self._refs), len(self._counted))
        self._display = self._stack.enter_context(display)
        if self._before is None and not now.track:
            display.print(
                "The policy does not declare its training data; declare it with --track, now or "
                f"when the run is packed: {', '.join(TRACKS)}"
            )
        notices = [*_notices(run.policy, about)]
        notices += seed_warnings(run, suite, {ref.split for ref in self._refs})
        for line in notices if self._before is None else ():
            display.print(line)
        self._spent = cost_of(root)
        self._record_unfinished()
        refs = _open(request, self._known, self._left_out)
        refs = [replace(ref, salt=ref.salt or run.salt) for ref in refs]
        again = [ref for ref in refs if self._starts.count(ref.id) and not ref.counts]
        self.waiting.extend(Group((ref,)) for ref in again)
        self.waiting.extend(groups([ref for ref in refs if ref not in again], request.args.batch))
        width = request.args.until_width
        if width is not None:
            self._pairs = sorted({(ref.task, ref.split) for ref in self._refs})
            self._population = int(request.run.sequential["population"])
            display.print(forecast(width, len(self._pairs), self._population))

    def _record_unfinished(self) -> None:
        """Record episodes that earlier commands started without completing them."""
        request = self._request
        self._count = max(request.total, len(request.episodes), len(self._known))
        recorded = {name: result.starts for name, result in self._known.items()}
        self._starts = Starts(request.config.root, request.config.writer, self._count, recorded)
        for ref in self._refs:
            known, starts = self._known.get(ref.id), self._starts.count(ref.id)
            if known is not None and (known.counts or known.starts >= starts):
                continue
            if starts and self._starts.ended(ref.id):
                reason = "its command ended before the episode did"
                self._keep(failed(request.config, replace(ref, starts=starts), reason))
        self._check_restarts()

    def _check_restarts(self) -> None:
        """Stop the run if it has too many restarts."""
        root, most = self._request.config.root, allowed(self._count)
        results = [*read_results(root)]
        open_ones = [result for result in results if not result.counts]
        if open_ones and lost(results) > most and not read_run(root).accept_restarts:
            last = max(open_ones, key=lambda result: result.ended)
            self._stopped = (
                f"{lost(results)} starts had no result, and only {most} second starts are allowed "
                f"(1 % of {self._count} episodes, at least 2); the last one: {self._line(last)}; "
                "find the cause and evaluate into another folder, or continue with "
                "--accept-restarts: then restarted episodes count as failures"
            )

    def _take(self, ended: Ended) -> None:
        lost_ones = {ref.id for ref in ended.lost}
        for result in ended.results:
            self._keep(result, ended.traces.get(result.id, ""))
            self._proven |= result.cause not in (POLICY_ERROR, ERROR)
            # a policy that no longer acts, or an environment that fails again
            dead = self._acts and not result.turns and result.cause == POLICY_ERROR
            dead |= result.cause == ERROR and result.id not in lost_ones
            self._acts |= result.turns > 0
            self._broken = self._broken + 1 if dead or not self._proven else 0
        again = (ref for ref in ended.lost if self._tries[ref.id] < TRIES)
        self.waiting.extend(Group((ref,)) for ref in again)
        if not all(result.counts for result in ended.results):
            self._check_restarts()
        if not self._stopped and self._broken >= HOPELESS:
            self._stopped = (
                f"{self._broken} consecutive episodes ended in errors, the last one: "
                f"{self._line(ended.results[-1])}; fix it and evaluate into another folder, or "
                "rerun the command to continue with the others"
            )

    def _keep(self, result: EpisodeResult, trace: str = "") -> None:
        """Write a result to the journal of the run."""
        assert self._display is not None
        before = self._known.get(result.id)
        self._running.pop(result.id, None)
        self._spent += result.usage.get("cost", 0.0)
        self._save(result.id, trace)
        line = ""
        if not result.counts or (result.error and self._shown < TRACES):
            line, self._shown = self._line(result), self._shown + 1
        if before is not None and before.counts:  # run again for a video: the first result stands
            names = ("episode", "cause", "steps", "total_reward")
            if result.counts and any(getattr(result, n) != getattr(before, n) for n in names):
                line = (
                    f"{result.id} differed when it was recorded: {result.cause} after "
                    f"{result.steps} steps, before {before.cause} after {before.steps}; the first "
                    "result stands"
                )
        else:
            self._journal.append(result.to_json())
            self._known[result.id] = result
            if result.counts:
                self._counted[result.id] = result
        if line:
            self._display.print(line)

    def _save(self, episode: str, trace: str) -> None:
        """Write the traceback of an episode, if any, up to :data:`TRACES`."""
        path = trace_path(self._request.config.root, episode)
        if trace and self._traces < TRACES:
            with storage_errors(path):
                path.parent.mkdir(exist_ok=True)
            write_whole(path, trace)
            self._traces += 1

    def _line(self, result: EpisodeResult) -> str:
        return error_line(self._request.config.root, self._request.run.policy, result)


def trace_path(root: Path, episode: str) -> Path:
    """Return the path of the traceback of an episode."""
    return root / ERRORS_DIR / f"{episode}.txt"


def error_line(root: Path, policy: str, result: EpisodeResult) -> str:
    """Return an error as one line with policy, episode and traceback file."""
    start = f", start {result.starts}" if result.starts > 1 else ""
    path = trace_path(root, result.id)
    trace = f"; traceback in {path}" if path.is_file() else ""
    return f"policy {policy}, episode {result.id}{start}: {result.error}{trace}"


def check_same(root: Path, before: Run, now: Run, options: Mapping[str, Any]) -> None:
    """Check that a run can be continued.

    Args:
        root: Run folder.
        before: The run.
        now: Its continuation; observation and renderer are ignored, and so are labels and tracks
            if one is empty.
        options: Known observation options.

    Raises:
        ClevrSkillsError: The settings differ.
    """
    mine, theirs = _plain(now), _plain(before)
    names = (*SAME, *(name for name in _OPTIONAL if mine[name] and theirs[name]))
    settings = {**{name: mine[name] for name in names}, **_plain(options)}
    check_settings(root, {**theirs, **theirs["observation"]}, settings, _words)
    for name, one in theirs["episodes"].items():
        if mine["episodes"].get(name, one) != one:
            raise ClevrSkillsError(
                f"{root} was made with other frozen episodes of {name}; give another folder"
            )
    if sorted(before.content.values()) != sorted(now.content.values()):
        for path in sorted({*before.content, *now.content}):
            was, is_now = (run.content.get(path, "absent") for run in (before, now))
            if was != is_now:
                raise ClevrSkillsError(
                    f"{root} was made with other content of {path}: its SHA-256 was {was:.12}, now "
                    f"{is_now:.12}; give another folder"
                )
    others = sorted(before.episodes.keys() ^ now.episodes.keys())
    if others and (before.sequential or now.sequential):
        raise ClevrSkillsError(
            f"a run with --until-width continues with the same tasks and splits, and {root} was "
            f"made with others: {', '.join(others)}; give another folder"
        )


def open_run(root: Path, before: Run | None, now: Run, suite: Suite) -> Run:
    """Write a run to its folder, or update it, and return the run.

    Args:
        root: Run folder.
        before: Run in the folder, if any.
        now: The new run.
        suite: Its suite.

    Raises:
        ClevrSkillsError: The runs have different settings, or ``trained_on`` is wrong.
        StorageError: Writing failed.
    """
    if before is None and (root / RUN_FILE).exists():
        before = read_run(root)  # of a concurrent writer
    if before is None:
        run = replace(
            now, label=now.label or " + ".join(filter(None, (now.policy, now.controller)))
        )
    else:
        check_same(root, before, now, now.observation)
        isolated = {"isolated": before.isolated}, {"isolated": now.isolated}
        check_settings(root, *isolated, _words)
        for name, what in (("versions", "versions"), ("renderer", "images"), ("cpu", "CPU")):
            one, other = getattr(before, name), getattr(now, name)
            if one != other:
                logging.getLogger(__name__).warning(
                    "%s was begun with other %s: %s, now %s", *(root, what, one, other)
                )
        run = replace(
            before,
            **{name: getattr(before, name) or getattr(now, name) for name in _OPTIONAL[1:]},
            accept_restarts=before.accept_restarts or now.accept_restarts,
            trained_tasks=sorted({*before.trained_tasks, *now.trained_tasks}),
            episodes={**before.episodes, **now.episodes},
            rejected={**before.rejected, **now.rejected},
        )
        if now.sequential:
            populations = {int(r.sequential["population"]) for r in (before, now) if r.sequential}
            if len(populations) > 1:
                low, high = sorted(populations)
                raise ClevrSkillsError(
                    f"{root} has runs drawn from {low} and from {high} episodes of each task, in "
                    "other orders: give the same --episodes, or another folder"
                )
            run = replace(run, sequential=now.sequential)
    check_training(run, suite)
    if run != before:
        write_whole(root / RUN_FILE, to_json(asdict(run), indent=1) + "\n")
    return run


def _open(
    request: EvaluationRequest, known: Mapping[str, EpisodeResult], omitted: tuple[str, ...]
) -> list[EpisodeRef]:
    """Return the episodes without a result that counts, or without a requested video."""
    root, found = request.config.root, []
    for ref in request.episodes:
        done = ref.id in known and known[ref.id].counts
        film = ref.film and not video_path(root, ref.id).exists()
        if ref.task not in omitted and (film or not done):
            found.append(replace(ref, film=film, counts=done))
    return found


def _sequential(run: Run, request: EvaluationRequest, omitted: tuple[str, ...]) -> Run:
    """Return a run with the number of episodes of a round, if it is sequential."""
    if not run.sequential:
        return run
    tasks = {(ref.task, ref.split) for ref in request.episodes if ref.task not in omitted}
    return replace(run, sequential={**run.sequential, "tasks": len(tasks)})


def _plain(value: Any) -> Any:
    """Return the value after a round trip through JSON."""
    return json.loads(to_json(asdict(value) if isinstance(value, Run) else value))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "unset" if value is None else str(value)


def _notices(policy: str, about: PolicyDescription) -> Iterator[str]:
    """Yield warnings on observations that the policy may not expect."""
    shown, asked = about.observation, about.asked
    if "://" in policy and asked is None and shown.prompt != LANGUAGE:
        yield (
            f"{policy} does not declare its observations: its prompts have image placeholders such "
            "as {obj:object_0}; `--prompt language` sends words only"
        )
    if asked is not None and asked.size_px not in (None, shown.size_px):
        yield f"{policy} requests images of {asked.size_px} px and gets {shown.size_px} px"
