"""Recorded actions behind a server: what is known to solve, through any wire."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from clevrskills.core.policy_loader import PolicySource
from clevrskills.dataset_tools.dataset import Dataset
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.freeze.command import FreezeArgs, freeze
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.pool import InlinePool
from clevrskills.serving import DIALECTS
from clevrskills.solvers.requirements import planner_obstacle
from tests.serving.servers import serving_source

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
    found = {"made": [(e.info["task"], True, len(e)) for e in Dataset(demos)]}
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


@needs_oracle
def test_recorded_actions_solve_their_episodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))
    found = solved(("pick", "touch"), 2, tmp_path)
    assert found["openpi"] == found["vla-eval"] == sorted(found["made"])
    assert len(found["made"]) == 4
