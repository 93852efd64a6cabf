"""Works off the episodes of an evaluation: hands them out, keeps what comes back, tries again."""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from clevrskills.core.observer import LANGUAGE
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.cases import ROUNDS, groups, unspeakable
from clevrskills.evaluation.display import Display, error_line
from clevrskills.evaluation.messages import Case, Describe, Description, Ended, Group
from clevrskills.evaluation.request import Plan
from clevrskills.evaluation.results import RESULTS_DIR, EpisodeResult, Run, read_results
from clevrskills.evaluation.run_folder import check_same, open_run
from clevrskills.evaluation.videos import video_path
from clevrskills.evaluation.worker import HOPELESS, failed, make_evaluator
from clevrskills.jobs import drivers
from clevrskills.jobs.journal import Journal
from clevrskills.jobs.pool import JOBS_PER_WORKER, Pool, TimedOut, WorkerDied

KILLS = 10
"""Workers that may be killed from outside while at an episode, before it counts as an error."""


@dataclass(frozen=True)
class Done:
    """What came of a plan.

    Attributes:
        episodes: How many were asked for.
        errors: Those that do not count, as they ended in errors.
        left_out: Tasks that were left out, as they cannot be said in words alone.
    """

    episodes: int
    errors: tuple[EpisodeResult, ...]
    left_out: tuple[str, ...] = ()


def run(plan: Plan, there: Run | None) -> Done:
    """Do what is still to be done.

    Args:
        plan: What was asked for.
        there: The run that is continued; ``None``: a new one.

    Raises:
        ClevrSkillsError: It makes no sense to go on; what was finished is kept.
    """
    root = plan.place.root
    known = {r.id: r for r in read_results(root)}
    left_out: tuple[str, ...] = ()
    if there is not None:
        check_same(root, there, plan.run, plan.place.policy.shown)
        left_out = _left_out(plan, str(there.observation["prompt"]))
        if not _open(plan, known, left_out):
            open_run(root, there, replace(plan.run, observation=there.observation))
            return Done(len(plan.cases), (), left_out)
    with contextlib.closing(_pool(plan)) as pool:
        about = describe(pool)
        observation = asdict(about.observation)
        now = replace(plan.run, observation=observation, renderer=about.renderer)
        open_run(root, there, now)
        left_out = _left_out(plan, about.observation.prompt)
        cases = [case for case in plan.cases if case.task not in left_out]
        before = {c.id: known[c.id] for c in cases if c.id in known and known[c.id].counts}
        journal = Journal(root / RESULTS_DIR / f"{plan.place.writer}.jsonl")
        with Display(plan.run.policy, len(cases), before) as display:
            keep = _Keeper(journal, display, known)
            levels = plan.place.suite.levels()
            runner = Runner(pool, plan.run.policy, levels, plan.args.retries, keep)
            runner.run(groups(_open(plan, known, left_out), plan.args.batch, plan.args.workers))
    errors = tuple(known[case.id] for case in cases if not known[case.id].counts)
    return Done(len(cases), errors, left_out)


def _left_out(plan: Plan, prompt: str) -> tuple[str, ...]:
    if prompt != LANGUAGE:
        return ()
    return unspeakable(plan.place.suite, plan.cases, plan.args.tasks)


def _open(plan: Plan, known: Mapping[str, EpisodeResult], left_out: tuple[str, ...]) -> list[Case]:
    """The episodes that do not count yet, or of which there is no video yet."""
    root, found = plan.place.root, []
    for case in plan.cases:
        done = case.id in known and known[case.id].counts
        film = case.film and not video_path(root, case.id).exists()
        if case.task not in left_out and (film or not done):
            found.append(replace(case, film=film))
    return found


def _pool(plan: Plan) -> Pool[Any, Any]:
    args = plan.args

    def limit_s(job: Group | Describe) -> float:
        return args.timeout * (len(job.cases) if isinstance(job, Group) else 1)

    return drivers.open_pool(
        args.driver,
        partial(make_evaluator, plan.place),
        plan.place.root,
        args.workers,
        limit_s,
        args.address,
        max(1, JOBS_PER_WORKER // (ROUNDS * args.batch)) if args.batch > 1 else JOBS_PER_WORKER,
    )


@dataclass(frozen=True)
class _Keeper:
    """Enters results, as they come, into the journal of the run.

    Attributes:
        journal: The journal.
        display: Shows them.
        known: All results so far, by name of the episode.
    """

    journal: Journal
    display: Display
    known: dict[str, EpisodeResult]

    def __call__(self, result: EpisodeResult) -> None:
        before = self.known.get(result.id)
        if before is not None and before.counts:  # done again to be filmed: the first one stands
            if not result.counts:
                self.display.print(error_line(self.display.policy, result))
            elif _core(result) != _core(before):
                self.display.print(
                    f"{result.id} went otherwise when it was filmed: {result.cause} after "
                    f"{result.steps} steps, before {before.cause} after {before.steps}; the first "
                    "result stands"
                )
            return
        self.journal.append(result.to_json())
        self.known[result.id] = result
        self.display.add(result)


def _core(result: EpisodeResult) -> tuple[object, ...]:
    """What must be the same when an episode is done again by the same policy."""
    return result.episode, result.cause, result.steps, result.total_reward


def describe(pool: Pool[Any, Any]) -> Description:
    """What the policy is like, as a worker says that has made it.

    Raises:
        ClevrSkillsError: The policy cannot be made.
    """
    for _ in range(KILLS):
        pool.submit(Describe())
        result = pool.next().result
        if isinstance(result, Description):
            return result
    raise ClevrSkillsError(f"workers die as they make the policy: {_why(result)}")


class Runner:
    """Keeps a pool busy until nothing is left to do.

    Args:
        pool: Where groups are evaluated.
        policy: What the policy is called in messages.
        levels: Level of every task.
        retries: How often an episode that ended in an error is tried again.
        keep: Called with every result, errors included.
    """

    def __init__(
        self,
        pool: Pool[Any, Any],
        policy: str,
        levels: Mapping[str, str],
        retries: int,
        keep: Callable[[EpisodeResult], None],
    ) -> None:
        self._pool, self._policy, self._levels = pool, policy, levels
        self._retries, self._keep = retries, keep
        self._todo: deque[Group] = deque()
        self._kills: Counter[str] = Counter()
        self._deaths = 0

    def run(self, groups: Iterable[Group]) -> None:
        """Evaluate groups of episodes.

        Raises:
            ClevrSkillsError: It makes no sense to go on; what was finished is kept.
        """
        self._todo.extend(groups)
        while True:
            while self._pool.idle and self._todo:
                self._pool.submit(self._todo.popleft())
            if not self._pool.busy:
                return
            done = self._pool.next()
            if isinstance(done.result, Ended):
                self._deaths = 0
                self._take(done.job, done.result)
            else:
                self._take(done.job, self._after_death(done.job, done.result))

    def _take(self, group: Group, ended: Ended) -> None:
        cases = {case.id: case for case in group.cases}
        for result in ended.results:
            self._keep(result)
            if not result.counts and result.tries <= self._retries:
                self._again(replace(cases[result.id], tries=result.tries))
        for case in ended.unfinished:
            self._again(case)
        if ended.hopeless:
            raise ClevrSkillsError(ended.hopeless)

    def _again(self, case: Case) -> None:
        """Do an episode again, alone, so that what breaks down with it is known to be its own."""
        self._todo.append(Group((case,)))

    def _after_death(self, group: Group, end: WorkerDied | TimedOut) -> Ended:
        """What is to be done after a worker came to an end, or was ended, with a group."""
        (case, *others) = group.cases
        if others:
            return Ended((), group.cases)
        if isinstance(end, WorkerDied) and end.killed and self._kills[case.id] < KILLS:
            self._kills[case.id] += 1
            return Ended((), (case,))
        result = failed(case, self._levels[case.task], _why(end))
        self._deaths += 1
        if self._deaths < HOPELESS:
            return Ended((result,))
        last = error_line(self._policy, result)
        return Ended((result,), (), f"{self._deaths} workers in a row died, the last one: {last}")


def _why(end: WorkerDied | TimedOut | Any) -> str:
    return f"not done after {end.limit_s:g} s" if isinstance(end, TimedOut) else end.reason
