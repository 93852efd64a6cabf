"""Policies that crash to avoid failures, and machines that crash."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_suite import FakeSuite

from clevrskills.core.policy import ConnectionLost, ObservationOptions, PolicyInfo, PromptInput
from clevrskills.core.policy_loader import LoadedPolicy
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.policy_slots import make_runner
from clevrskills.evaluation.report.tables import ResultRow, summarize
from clevrskills.evaluation.results import (
    RESTARTED,
    EpisodeResult,
    allowed,
    judged,
    lost,
    open_evaluations,
    read_results,
    read_run,
)
from clevrskills.evaluation.worker import Describe, Ended, PolicyDescription
from clevrskills.jobs.pool import Done, InlinePool, WorkerDied
from tests.support.fake_policies import Wanderer, trouble

EPISODES = 60
SKILL = 0.5


class Killed(BaseException):
    """End of a process, were there one."""


class MortalPool(InlinePool):
    """A worker whose process may be killed, by itself or by the system when memory runs out."""

    def next(self) -> Done:
        job = self._jobs[0]
        try:
            return super().next()
        except Killed:
            return Done(job, WorkerDied("worker died (killed by SIGKILL)", killed=True))


class Crasher(Wanderer):
    """Solves an episode when its coin says so, and crashes otherwise."""

    coins = np.random.default_rng(1)
    observation = ObservationOptions(cameras=())

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    def reset(self, prompt: Any) -> None:
        super().reset(prompt)
        self.solves = self.coins.random() < SKILL

    def act(self, observation: Any) -> Any:
        self.calls += 1
        action = np.zeros(7)
        action[:2] = np.clip(observation["proprioception"]["offset"] / 0.1, -1, 1)
        if self.solves or self.calls < 3:
            return action
        if self.how == "kill":
            raise Killed
        if self.how == "connection":
            raise ConnectionLost("openpi://robot:8000: the connection broke")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        return trouble(self.how, action)


@pytest.fixture(autouse=True)
def mortal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: MortalPool(make))
    monkeypatch.setattr("clevrskills.evaluation.runner.SIGNAL_S", 0.0)
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(Crasher, "coins", np.random.default_rng(1))


def args_for(root: Path, how: str, **more: Any) -> EvaluateArgs:
    given = {"tasks": ("reach",), "split": ("test",), "seed": 1, "episodes": EPISODES, **more}
    policy = f"{__name__}:Crasher"
    return EvaluateArgs(policy=policy, policy_arg=(f"how={how}",), out=root, **given)


def row(root: Path) -> ResultRow:
    (evaluation,) = open_evaluations([root])
    return summarize(evaluation.results)


@pytest.mark.parametrize("how", ["raise", "nan", "late", "exit", "kill", "connection"])
def test_a_crash_is_no_free_restart(tmp_path: Path, how: str) -> None:
    """Over four commands, of which the later ones accept restarts, if that is what it takes."""
    codes = []
    for number in range(4):
        args = args_for(tmp_path, how, accept_restarts=number > 1 and how in ("kill", "connection"))
        try:
            codes.append(evaluate(args, FakeSuite()))
        except ClevrSkillsError as error:
            codes.append(str(error))
        found = row(tmp_path)
        if found.episodes:
            assert found.success_once.value <= 0.6
            assert found.success_once.low <= SKILL <= found.success_once.high
    results = [*read_results(tmp_path)]
    assert len(results) == EPISODES
    if how in ("kill", "connection"):
        assert codes[0].startswith("3 starts had no result, and only 2 second starts")
        assert codes[1].startswith("3 starts had no result") and codes[1].endswith("failures")
        assert read_run(tmp_path).accept_restarts
        restarted = [r for r in results if r.starts > 1]
        assert len(restarted) == found.causes[RESTARTED] > 20
        assert found.success_once.high > 0.8  # as their later outcomes may all be true
        assert found.restarts == sum(r.starts - 1 for r in results)
    else:
        assert codes[-1] == 0 and {r.starts for r in results} == {1} and found.restarts == 0


def test_who_interrupts_where_it_fails_is_stopped(tmp_path: Path) -> None:
    """As many signals as second starts are allowed withdraw the starts of a command."""
    codes = []
    while not codes or codes[-1] == 130:
        try:
            codes.append(evaluate(args_for(tmp_path, "interrupt"), FakeSuite()))
        except ClevrSkillsError as error:
            codes.append(str(error))
    assert codes[:-1] == [130] * (allowed(EPISODES) + 3) and "3 starts had no" in codes[-1]
    found = row(tmp_path)
    assert found.success_once.low <= SKILL <= found.success_once.high


def test_a_shard_has_the_second_starts_of_the_whole_run(tmp_path: Path) -> None:
    """Each of these shards has one episode; who fails interrupts the command."""
    with pytest.raises(ClevrSkillsError, match="3 starts had no result, and only 2 second"):
        for shard in range(20):
            args = args_for(tmp_path, "interrupt", shard=f"{shard}/10000")
            while evaluate(args, FakeSuite()) == 130:
                pass
    assert sum(r.counts for r in read_results(tmp_path)) < 20


def test_starts_that_were_deleted_are_known_from_results(tmp_path: Path) -> None:
    for number in range(3):
        with pytest.raises(ClevrSkillsError, match="3 starts had no"):
            evaluate(args_for(tmp_path, "kill"), FakeSuite())
        starts = sorted(r.starts for r in read_results(tmp_path) if not r.counts)
        assert sum(starts) == 3, number
        shutil.rmtree(tmp_path / "starts")


def test_a_result_that_was_deleted_is_a_second_start(tmp_path: Path) -> None:
    args = args_for(tmp_path, "", episodes=8)
    args.policy, args.policy_arg = "fake_policies:Wanderer", ()
    path = tmp_path / "results/local.jsonl"

    def delete(count: int) -> None:
        path.write_text("".join(path.read_text().splitlines(keepends=True)[count:]))

    assert evaluate(args, FakeSuite()) == 0
    delete(1)
    assert evaluate(args, FakeSuite()) == 0
    assert [r.starts for r in read_results(tmp_path)] == [2] + [1] * 7
    delete(2)
    with pytest.raises(ClevrSkillsError, match="3 starts had no result, and only 2 second"):
        evaluate(args, FakeSuite())


class Canned:
    """A laboratory whose policy solves half of the episodes; some processes are killed."""

    def __init__(self, *killed: int) -> None:
        self.killed, self.jobs, self.count = killed, list[Any](), 0

    @property
    def idle(self) -> int:
        return 4 - len(self.jobs)

    @property
    def busy(self) -> int:
        return len(self.jobs)

    def submit(self, job: Any) -> None:
        self.jobs.append(job)

    def next(self) -> Done:
        job = self.jobs.pop(0)
        if isinstance(job, Describe):
            return Done(job, PolicyDescription(ObservationOptions(cameras=()), "", "none"))
        self.count += 1
        if self.count in self.killed:
            return Done(job, WorkerDied("worker died (killed by SIGKILL)", killed=True))
        (ref,) = job.episodes
        solved = bool(ref.index % 2)
        about = {"cause": "success" if solved else "step limit", "success_once": solved}
        about["drawn"] = ref.seed is not None
        result = EpisodeResult(
            *(ref.task, "L0", ref.split, ref.index, ref.id, ref.seed or 0),
            starts=ref.starts,
            **about,
        )
        return Done(job, Ended((result,)))

    def close(self) -> None:
        self.jobs.clear()


@pytest.mark.slow
@pytest.mark.parametrize(("killed", "stops"), [((5, 700, 701), False), (range(10, 44, 2), True)])
def test_an_honest_laboratory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: Any, stops: bool
) -> None:
    """Of 1,650 episodes three are lost: it is not stopped, and nothing changes; 17 stop it."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda *_: Canned(*killed))
    tasks = ("reach", "visit", "follow_order")
    args = args_for(tmp_path, "raise", tasks=tasks, episodes=550)
    if stops:
        line = "^17 starts had no result, and only 16 second starts"
        with pytest.raises(ClevrSkillsError, match=line):
            evaluate(args, FakeSuite())
        return
    assert evaluate(args, FakeSuite()) == 0
    found = row(tmp_path)
    assert (found.episodes, found.restarts, found.success_once.value) == (1650, 3, SKILL)
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda *_: pytest.fail("all is done"))
    assert evaluate(args, FakeSuite()) == 0


class Late:
    """Holds on to an interrupted call, or waits in a thread."""

    go_on = threading.Event()

    def __init__(self, concurrency: str) -> None:
        self.concurrency = concurrency

    def reset(self, prompt: Any) -> None: ...

    def act(self, observation: Any) -> Any:
        try:
            self.go_on.wait(observation)
        except BaseException:
            time.sleep(0.01)
        return np.zeros(7)


@pytest.mark.parametrize("concurrency", ["none", "threads"])
def test_an_action_that_comes_too_late(concurrency: str) -> None:
    Late.go_on.clear()
    info, options = PolicyInfo(concurrency=concurrency), ObservationOptions()  # type: ignore[arg-type]
    runner, _ = make_runner(lambda: LoadedPolicy("", Late(concurrency), info, options), 2, 0.3)
    for _ in range(2):  # it is made anew
        begins = SimpleNamespace(prompt=PromptInput("", {}), env=None, episode=None)
        runner.reset({0: begins, 1: begins})
        late = runner.act({0: 60.0, 1: 60.0})  # type: ignore[dict-item]
        assert [str(late[k]) for k in (0, 1)] == ["no action within 0.3 s"] * 2
    Late.go_on.set()


def test_how_restarted_episodes_count() -> None:
    def result(index: int, starts: int = 1, cause: str = "success") -> EpisodeResult:
        once = cause == "success"
        return EpisodeResult(
            *("reach", "L0", "test", index, "", 0, cause), once, once, starts=starts
        )

    few = [result(k, 1 + (k < 2)) for k in range(10)]
    assert judged(few, accepted=False) == tuple(few) and lost(few) == allowed(10) == 2
    accepted = judged(few, accepted=True)
    assert [r.cause for r in accepted] == [RESTARTED] * 2 + ["success"] * 8
    rate = summarize(accepted).success_once
    plain = summarize(few).success_once
    assert rate.value == 0.8 and rate.high == plain.high and rate.low < plain.low
    many = [*few, result(10, 1, "error")]  # a third start that came to no result
    assert [r.cause for r in judged(many, False)].count(RESTARTED) == 3
    assert (allowed(150), allowed(300), allowed(1650)) == (2, 3, 16)


def test_results_that_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    one = EpisodeResult("reach", "L0", "test", 0, "", 0, "success", True, True, ended="1")
    for name, cause in (("a", "success"), ("b", "success"), ("c", "step limit")):
        other = EpisodeResult("reach", "L0", "test", 0, "", 0, cause, ended="2")
        path = tmp_path / f"results/{name}.jsonl"
        path.write_text((one if cause == "success" else other).to_json() + "\n")
        if name != "c":
            assert [*read_results(tmp_path)] == [one]
    with pytest.raises(ClevrSkillsError, match="two results of reach_test_000: success after 0 st"):
        [*read_results(tmp_path)]
