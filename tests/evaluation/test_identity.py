"""Identity of a policy in a run, and information on the run in a policy."""

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_suite import FakeSuite

from clevrskills.core.checkpoint import ZOO
from clevrskills.core.policy import PromptInput
from clevrskills.core.policy_loader import LoadedPolicy, PolicySource, absolute_name
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.policy_slots import make_runner
from clevrskills.evaluation.results import read_results, read_run
from clevrskills.jobs.pool import InlinePool

PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "tries", "starts")
"""What may differ between runs."""
POLICY = """
class Mine:
    observation = {"cameras": ()}
    def reset(self, prompt): pass
    def act(self, observation): return [0.0] * 7
"""


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


def run(root: Path, policy: str = "fake_policies:Wanderer", **more: object) -> list[dict]:
    """Results of the fake suite."""
    given = {"policy": policy, "tasks": ("reach",), "split": ("test",), "episodes": 4, **more}
    assert evaluate(EvaluateArgs(out=root, **given), FakeSuite()) == 0  # type: ignore[arg-type]
    results = [asdict(result) for result in read_results(root)]
    return [{k: v for k, v in one.items() if k not in PASSING} for one in results]


def test_all_writers_of_a_run_have_its_salt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for salt in ("", "5a" * 16, "a5" * 16):
        monkeypatch.setattr("secrets.token_hex", lambda _, salt=salt: salt)
        found[salt] = run(tmp_path / f"run{salt}")
        assert read_run(tmp_path / f"run{salt}").salt == salt
    assert len({str(results) for results in found.values()}) == 3
    run(tmp_path / "shards", shard="0/2")
    monkeypatch.setattr("secrets.token_hex", lambda _: "77" * 16)
    assert run(tmp_path / "shards", shard="1/2") == found["a5" * 16]


def test_a_run_continues_with_the_same_content_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = tmp_path / "own_policy_of_a_run.py"
    module.write_text(POLICY)
    run(tmp_path / "run", "own_policy_of_a_run:Mine", episodes=1)
    assert [*read_run(tmp_path / "run").content] == [str(module)]
    run(tmp_path / "run", "own_policy_of_a_run:Mine")
    before = read_run(tmp_path / "run").content[str(module)]
    module.write_text(POLICY + "# otherwise\n")
    given = rf"run was made with other content of {module}: its SHA-256 was {before[:12]}, now "
    with pytest.raises(ClevrSkillsError, match=given):
        run(tmp_path / "run", "own_policy_of_a_run:Mine")


def test_content_of_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ZOO / "compact-l0", "ck")
    (of_zoo,) = PolicySource("checkpoint:zoo/compact-l0").content().values()
    name = absolute_name("checkpoint:ck")
    assert name == f"checkpoint:{tmp_path / 'ck'}"
    assert absolute_name("checkpoint:zoo/place") == "checkpoint:zoo/place"
    loaded = PolicySource("clevrskills.baselines:load", {"path": "ck", "device": "ck"})
    assert loaded.content() == PolicySource(name).content() == {str(tmp_path / "ck"): of_zoo}
    with Path("ck/model.safetensors").open("ab") as file:
        file.write(b"x")
    assert loaded.content() != {str(tmp_path / "ck"): of_zoo}
    found = {Path(path).name for path in PolicySource("rl:zoo/place").content()}
    assert found == {"run.json", *(p.name for p in (ZOO / "place/checkpoints").iterdir())}
    for name in ("oracle", "zero", "chat:fixed:a", "openpi://localhost:1"):
        assert not PolicySource(name).content()


@pytest.mark.parametrize(
    ("file", "name", "arguments"),
    [
        ("manifest/local.jsonl", "replay:recorded", {}),
        ("transcripts/geoms_base_000.jsonl", "chat:http://h/v1", {"replay": "recorded"}),
    ],
)
def test_content_of_replays(
    file: str, name: str, arguments: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for recorded in ("one", "two", "one"):
        path = tmp_path / "recorded" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(recorded)
        found.append(PolicySource(name, arguments).content())
    (key,) = found[0]
    assert key.startswith(str(tmp_path / "recorded"))
    assert found[0] == found[2] != found[1] and found[1].keys() == {key}


@pytest.mark.slow
def test_isolated_policies_act_alike_but_cannot_peek(tmp_path: Path) -> None:
    for k, policy in enumerate(("fake_policies:Crowd", "fake_policies:Peeker")):
        found = []
        for isolate in (False, True):
            root = tmp_path / f"{k}{isolate}"
            found.append(run(root, policy, isolate=isolate, batch=2, episodes=2))
            marks = read_run(root)
            assert (marks.isolated, marks.privileged) == (isolate, False)
        if policy.endswith("Crowd"):
            assert found[0] == found[1]
        else:
            solved = [sum(one["success_once"] for one in results) for results in found]
            assert solved == [2, 0]
    given = r"was made with isolated on, not off"
    with pytest.raises(ClevrSkillsError, match=given):
        run(root, policy, batch=2, episodes=3)


@pytest.mark.slow
def test_isolated_policies_that_die_or_hang(tmp_path: Path) -> None:
    arguments = (f"marker={tmp_path / 'marker'}", "trouble=kill")
    root = tmp_path / "run"
    run(root, "fake_policies:Unlucky", policy_arg=arguments, isolate=True, episodes=2)
    assert sorted(result.starts for result in read_results(root)) == [1, 2]
    made: list[Any] = []

    def make() -> LoadedPolicy:
        source = PolicySource("fake_policies:Unlucky", {"trouble": "stuck"}, isolated=True)
        made.append(source.make(FakeSuite()))
        return made[-1]

    runner, _ = make_runner(make, 1, 0.5)
    shown = {"proprioception": {"offset": np.zeros(2), "noise": 0.0}, "step": 0}
    start = SimpleNamespace(prompt=PromptInput("", {}), env=None, episode=None)
    for k in range(2):
        runner.reset({0: start})
        for _ in range(2):
            assert isinstance(runner.act({0: shown})[0], np.ndarray)
        assert str(runner.act({0: shown})[0]) == "no action within 0.5 s"
        with pytest.raises(ProcessLookupError):
            os.kill(made[k].policy.pid, 0)
