"""Recorded actions behind a server: known solutions in both dialects."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from websockets.sync.client import connect as raw_connect

from clevrskills.cli import main
from clevrskills.core.episode import RecordedName
from clevrskills.core.policy import PolicyError, PromptInput
from clevrskills.core.policy_loader import PolicySource
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.export.lerobot.features import task_sentences
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.freeze.command import FreezeArgs, freeze
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.serving import DIALECTS, connect
from clevrskills.serving.codecs import OPENPI
from clevrskills.solvers.requirements import planner_obstacle
from clevrskills.suites.clevrskills.suite import ClevrSkillsSuite
from clevrskills.tasks import tasks
from tests.serving.servers import observation, serving_source

needs_oracle = pytest.mark.skipif(planner_obstacle() is not None, reason=str(planner_obstacle()))


def solved(
    keys: Sequence[str], episodes: int, root: Path
) -> dict[str, list[tuple[str, bool, int]]]:
    """How episodes ended whose recorded actions were made through each dialect, and in which each
    should have ended.
    """
    demos, frozen = root / "demos", root / "frozen"
    made = GenerateArgs(tasks=tuple(keys), episodes=episodes, out=demos, no_cameras=True)
    assert generate(made) == 0
    assert freeze(FreezeArgs(recorded=demos, out=frozen)) == 0
    found = {"made": sorted((e.info["task"], True, len(e)) for e in Dataset(demos))}
    for dialect in DIALECTS:
        with serving_source(PolicySource(f"replay:{demos}"), dialect) as url:
            args = EvaluateArgs(
                policy=url,
                tasks=tuple(keys),
                split=("train",),
                out=root / dialect,
                frozen=frozen,
                episodes=episodes,
            )
            assert evaluate(args) == 0
        results = read_results(root / dialect)
        found[dialect] = sorted((r.task, r.success_once, r.steps) for r in results)
    return found


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.mark.slow
@needs_oracle
def test_recorded_actions_solve_their_episodes(tmp_path: Path) -> None:
    found = solved(("pick", "touch"), 2, tmp_path)
    assert found["openpi"] == found["vla-eval"] == found["made"]
    assert len(found["made"]) == 4
    head = ClevrSkillsSuite(tmp_path / "frozen").frozen("pick", "train").header
    assert (head.episodes, head.robot, head.benchmark, head.max_steps) == (2, "xarm6", 0, 80)
    assert [*head.oracle_steps] == [len(e) for e in Dataset(tmp_path / "demos").filter(task="pick")]

    (first, *_) = recorded = Dataset(tmp_path / "demos")
    with serving_source(PolicySource(f"replay:{recorded.path}", {"chunk": 4}), "openpi") as url:
        for text in task_sentences(first)[:2]:
            np.testing.assert_array_equal(asked(url, text, 3), first.actions[:12])
        with pytest.raises(AssertionError, match="has 0 episodes with this prompt, and the client"):
            asked(url, "sing", 1)


def test_bad_input_of_freeze(
    demos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def freeze_some(*words: str) -> int:
        return main(["freeze", "--out", str(tmp_path / "out"), *words])

    for words, said in (
        (("--recorded", str(tmp_path)), "is not a dataset: it has no dataset.json"),
        (("--recorded", str(demos), "--robot", "panda"), "was made with xarm6, not panda"),
        (("--recorded", str(demos), "pick"), "has no episodes of these tasks and splits"),
    ):
        assert freeze_some(*words) == 2
        assert said in capsys.readouterr().err
    assert not [*tmp_path.glob("out/*")]


def asked(url: str, text: str, times: int) -> np.ndarray:
    """The actions for a client of openpi that sends nothing but a text."""
    with raw_connect(url.replace("openpi", "ws"), proxy=None) as connection:
        connection.recv()
        chunks = []
        for _ in range(times):
            connection.send(OPENPI.pack({"prompt": text}))
            answer = connection.recv()
            assert isinstance(answer, bytes), answer
            chunks.append(OPENPI.unpack(answer)["actions"])
    return np.concatenate(chunks)


def test_episodes_are_distinguished(demos: Path, dialect: str) -> None:
    with serving_source(PolicySource(f"replay:{demos}"), dialect) as url:
        policy = connect(url)
        for episode in Dataset(demos):
            name = RecordedName.parse(episode.id)
            assert policy.privileged
            policy.reset(PromptInput(episode.prompt["text"], {}), episode=name)
            np.testing.assert_array_equal(policy.act(observation(0)), episode.actions)
            late = policy.act(observation(len(episode) - 2))
            np.testing.assert_array_equal(late, episode.actions[-2:])
            still = policy.act(observation(len(episode))).ravel()
            assert not still[:6].any() and still[6] == episode.actions[-1, 6]
        unknown = RecordedName("reach", "train", 77)
        for named, said in ((unknown, "is not an episode"), (None, "0 episodes with this prompt")):
            policy.reset(PromptInput(episode.prompt["text"], {}), episode=named)
            with pytest.raises(PolicyError, match=f"the server failed: {demos}.*{said}"):
                policy.act(observation())


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.slow
@needs_oracle
def test_recorded_actions_solve_all_tasks(tmp_path: Path) -> None:
    found = solved(tuple(tasks()), 1, tmp_path)
    assert found["openpi"] == found["vla-eval"] == found["made"]
    assert len(found["made"]) == 33
