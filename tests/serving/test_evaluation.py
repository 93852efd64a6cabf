"""``clevrskills evaluate`` with a policy behind a server: the results are those in process."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from fake_suite import FakeSuite

from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.serving import DIALECTS
from tests.serving.policies import HERE, Stumbling
from tests.serving.relay import Relay, relayed
from tests.serving.servers import serving_source

PASSING = ("policy_s", "env_s", "wall_s", "worker", "ended", "starts")


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def args_for(root: Path, policy: str, **more: object) -> EvaluateArgs:
    given = {"policy": policy, "tasks": ("reach", "visit"), "episodes": 3, "out": root, **more}
    return EvaluateArgs(**given)  # type: ignore[arg-type]


def core(root: Path) -> list[dict]:
    return [{k: v for k, v in asdict(r).items() if k not in PASSING} for r in read_results(root)]


@pytest.fixture
def wanderer(tmp_path: Path) -> list[dict]:
    """The results of ``Wanderer`` in process."""
    assert evaluate(args_for(tmp_path / "here", "fake_policies:Wanderer"), FakeSuite()) == 0
    return core(tmp_path / "here")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "arguments", "batch"),
    [
        ("Wanderer", {"chunk": 3}, 3),
        ("Onlooker", {"chunk": 2}, 2),
        ("Crowd", {}, 4),
    ],
)
def test_the_same_results(
    tmp_path: Path, dialect: str, policy: str, arguments: dict, batch: int
) -> None:
    source = PolicySource(f"fake_policies:{policy}", arguments)
    given = tuple(f"{name}={value}" for name, value in arguments.items())
    args = args_for(tmp_path / "here", source.name, policy_arg=given)
    assert evaluate(args, FakeSuite()) == 0
    with serving_source(source, dialect) as url:
        args = args_for(tmp_path / "there", url, policy_arg=("compress=png",), batch=batch)
        assert evaluate(args, FakeSuite()) == 0
    assert core(tmp_path / "there") == core(tmp_path / "here")
    assert len({r["steps"] for r in core(tmp_path / "here")}) > 1


@pytest.fixture
def relay(dialect: str) -> Iterator[Relay]:
    """Address of a server with a policy that observes obstacles."""
    with serving_source(PolicySource(f"{HERE}:Stumbling"), dialect) as url:
        with relayed(url) as relay:
            yield relay
            Stumbling.over.clear()


def test_a_server_that_dies_is_tried_again(
    tmp_path: Path, relay: Relay, wanderer: list[dict]
) -> None:
    Stumbling.over = [relay.cut]
    assert evaluate(args_for(tmp_path / "there", relay.url), FakeSuite()) == 0
    assert core(tmp_path / "there") == wanderer
    assert sorted(r.starts for r in read_results(tmp_path / "there")) == [1] * 11 + [2]


def test_a_server_that_is_gone_stops_the_run(
    tmp_path: Path, relay: Relay, wanderer: list[dict]
) -> None:
    Stumbling.over = [relay.close]
    with pytest.raises(ClevrSkillsError, match="^the connection to the policy is lost") as error:
        evaluate(args_for(tmp_path / "there", relay.url), FakeSuite())
    bad = [r for r in read_results(tmp_path / "there") if not r.counts]
    assert f"policy {relay.url}, episode {bad[-1].id}: {relay.url}: " in str(error.value)
    assert [(r.cause, r.starts) for r in bad] == [("error", 1)] * 2
    kept = [r for r in core(tmp_path / "there") if r["cause"] != "error"]
    assert len(kept) == 3 and all(result in wanderer for result in kept)


@pytest.mark.slow
def test_a_server_that_hangs_fails_and_the_run_stops(
    tmp_path: Path, relay: Relay, wanderer: list[dict]
) -> None:
    Stumbling.over = [Stumbling.go_on.wait]
    Stumbling.go_on.clear()
    short = args_for(tmp_path / "there", relay.url, policy_arg=("timeout_s=1",))
    try:
        with pytest.raises(
            ClevrSkillsError, match="3 consecutive episodes ended in errors"
        ) as error:
            evaluate(short, FakeSuite())
    finally:
        Stumbling.go_on.set()
    assert f"{relay.url}: no answer within 1 s" in str(error.value)
    Stumbling.over.clear()
    assert evaluate(short, FakeSuite()) == 0  # what failed stays so
    failed = [r for r in core(tmp_path / "there") if r["cause"] == "policy error"]
    kept = [r for r in core(tmp_path / "there") if r["cause"] != "policy error"]
    assert len(failed) == 4 and all(result in wanderer for result in kept)
