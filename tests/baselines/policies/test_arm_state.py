"""The benchmark of causal confusion: what is trained on, what is tested, and the scores."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clevrskills.core.statistics import wilson
from clevrskills.errors import ClevrSkillsError
from tests.baselines.policies.test_compact import DrawnScenes

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "arm_state.py"


@pytest.fixture(scope="module")
def benchmark() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_no_frame_of_a_held_out_demonstration_is_trained_on(benchmark: dict[str, Any]) -> None:
    scene = DrawnScenes().scenes[0]
    episodes = [replace(scene.episode, id=f"pick/train_{k}") for k in range(20)]
    scenes = [replace(scene, episode=each, step=step) for each in episodes for step in (0, 3, 7)]
    frames = SimpleNamespace(episodes=episodes, scenes=scenes)
    known, first, new = benchmark["divide"](frames)
    assert {each.episode.id for each in new.scenes} == {"pick/train_0", "pick/train_10"}
    for part, steps in ((known, {3, 7}), (first, {0})):
        assert len({each.episode.id for each in part.scenes}) == 18
        assert not {id(e.episode) for e in part.scenes} & {id(e.episode) for e in new.scenes}
        assert {each.step for each in part.scenes} == steps


def test_frames_of_an_episode_are_not_counted_as_independent(benchmark: dict[str, Any]) -> None:
    scene = DrawnScenes().scenes[0]
    episodes = [replace(scene.episode, id=f"pick/train_{k}") for k in range(40)]
    right = [k % 2 == 0 for k in range(40)]
    once = benchmark["share_right"]([replace(scene, episode=e) for e in episodes], right)
    assert (once.low, once.high) == wilson(20, 40) and (once.value, once.n) == (0.5, 40)
    several = [replace(scene, episode=each) for each in episodes for _ in range(4)]
    found = benchmark["share_right"](several, [one for one in right for _ in range(4)])
    assert (found.value, found.n) == (0.5, 40)
    assert found.high - found.low == pytest.approx(once.high - once.low, abs=0.02)


def test_scores_of_other_settings_are_refused(benchmark: dict[str, Any], tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("demonstrations", "scenes", "val")}
    args = benchmark["Args"](**folders, out=tmp_path)
    path = tmp_path / benchmark["SCORES_FILE"]
    scores = benchmark["open_scores"](args)
    benchmark["write_whole"](path, benchmark["to_json"]({**scores, "trainings": {"frames": {}}}))
    assert benchmark["open_scores"](args)["trainings"] == {"frames": {}}
    for name, value in (("batch", 8), ("learning_rate", 1e-4), ("seed", 1), ("val", tmp_path)):
        with pytest.raises(ClevrSkillsError, match=f"with {name} .*, not"):
            benchmark["open_scores"](replace(args, **{name: value}))
