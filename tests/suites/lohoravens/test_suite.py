"""LoHoRavens as a suite: names, groups, presets, noise, measures, ids of Gymnasium."""

from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from clevrskills.cli import main
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.policy import Observation, ObservationOptions, PromptInput, TextAction
from clevrskills.core.report import PublishedTable, reported
from clevrskills.core.suite import (
    DEFAULT_PRESET,
    find_interface,
    load_suite,
    suite_names,
    tagged,
    task_groups,
)
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.results import read_results, read_run
from clevrskills.jobs.pool import InlinePool
from clevrskills.suites.lohoravens.episode import moves_bin, turn_limit
from clevrskills.suites.lohoravens.published import HARD_TASKS, WORKSHOP_TASKS
from clevrskills.suites.lohoravens.tasks import base, tasks

SUITE = load_suite("lohoravens")


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in this process: quick."""
    monkeypatch.setattr("clevrskills.jobs.work.open_pool", lambda _, make, *rest: InlinePool(make))


def test_a_task_belongs_to_one_suite_and_has_a_gymnasium_id() -> None:
    counts = Counter(key for name in suite_names() for key in load_suite(name).tasks)
    assert max(counts.values()) == 1
    assert all(task.details["id"] in gymnasium.registry for task in SUITE.tasks.values())


def test_groups_are_those_of_the_papers_and_the_families() -> None:
    groups = {name: tagged(SUITE, name) for name in task_groups(SUITE)}
    assert len(WORKSHOP_TASKS) == 13 and len(HARD_TASKS) == 10
    assert {*groups["workshop"]} == {*WORKSHOP_TASKS} & {*tasks()}
    assert {"move", "stack", "bowls"} <= {*groups}
    assert all(set(keys) <= set(tasks()) for keys in groups.values())


def test_presets_set_noise_interface_and_feedback() -> None:
    presets = SUITE.presets()
    assert {"clean", "p40", "p10", "explicit", "implicit", "p10_explicit"} <= {*presets}
    for name, preset in presets.items():
        if "noise" not in preset.options:
            assert name == DEFAULT_PRESET or preset.options["wording"] in ("seen", "held_out")
            continue
        SUITE.check(EnvConfig("move_area", noise=preset.options["noise"]))
        assert name.startswith(preset.options["noise"]) or preset.options["noise"] == "clean"
    assert presets["p10_implicit"].options["view"] == ("top",)
    with pytest.raises(ClevrSkillsError, match="noise"):
        SUITE.check(EnvConfig("move_area", noise="loud"))
    with pytest.raises(ClevrSkillsError, match="no noise"):
        load_suite("ivispar").check(EnvConfig("geoms", noise="p10"))


def test_limits_and_bins() -> None:
    assert [turn_limit("seen", n) for n in (1, 5)] == [6, 14]
    assert turn_limit("primitive", 1) == 3
    assert [moves_bin(n) for n in (1, 2, 3, 4, 8, 9, 16)] == [
        *("1", "2-3", "2-3", "4-5", "6-8", "9+", "9+")
    ]


def test_published_numbers_are_never_called_comparable() -> None:
    for table in reported(SUITE, PublishedTable):
        assert not table.comparable and "Nearest" in table.note or "credit" in table.note
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert table.tasks and {*table.tasks} <= {*tasks()}


def evaluate(out: Path, *more: str) -> Any:
    given = ["--suite", "lohoravens", "--split", "test", "--seed", "0", "--episodes", "1"]
    assert main(["evaluate", *given, "--out", str(out), *more]) == 0
    return [*read_results(out)]


def test_a_run_has_measures_tags_and_its_noise(tmp_path: Path) -> None:
    more = ["--policy", "random", "move_area", "--preset", "p10_explicit"]
    (result,) = evaluate(tmp_path / "random", *more)
    assert result.turns == result.max_turns and not result.success_once
    assert {"partial", "partial_best", "success_tight", "disturbed"} <= {*result.measures}
    assert result.tags["family"] == "move" and result.tags["moves"] == moves_bin(
        result.tags["n_min"]
    )
    run = read_run(tmp_path / "random")
    assert (run.noise, run.interface, run.feedback) == ("p10", "pick_place_text", "simple")
    assert run.benchmark == 0


def test_transcripts_with_noise_are_verified_with_noise(tmp_path: Path) -> None:
    more = ["--policy", "chat:oracle", "move_area", "--preset", "p40", "--interface"]
    evaluate(tmp_path / "run", *more, "pick_place_text")
    assert main(["reverify", str(tmp_path / "run")]) == 0


def test_stop_rules(tmp_path: Path) -> None:
    """`done` ends an episode unless that continues to its limit; where required, it is judged."""
    given = ["--policy", "chat:fixed:Done", "pick_place_color", "--interface", "pick_place_text"]
    causes = {}
    for stop in ("goal", "limit", "declared"):
        (result,) = evaluate(tmp_path / stop, *given, "--stop", stop)
        causes[stop] = (result.cause, result.turns, result.success_once)
    assert causes == {
        "goal": ("stopped", 1, False),
        "limit": ("step limit", 3, False),
        "declared": ("stopped", 0, False),
    }


class PicksThenStops:
    """A pick and place in pixels, then the policy says that it is done."""

    observation = ObservationOptions(cameras=())

    def reset(self, prompt: PromptInput) -> None:
        self.turns = 0

    def act(self, observation: Observation) -> Any:
        self.turns += 1
        action = np.array([40.0, 40.0, 0.0, 80.0, 80.0, 0.0])
        return action if self.turns == 1 else TextAction(action, stop=True)


def test_a_numeric_policy_declares_the_end(tmp_path: Path) -> None:
    given = ["--policy", f"{__name__}:PicksThenStops", "--interface", "pick_place_pixels"]
    (result,) = evaluate(tmp_path, "pick_place_color", *given, "--stop", "declared")
    assert (result.cause, result.turns, result.error) == ("stopped", 1, "")


def test_without_frozen_episodes_one_line_explains_how_to_sample_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--suite", "lohoravens", "--policy", "zero", "--frozen", str(tmp_path)]
    assert main(["evaluate", *given, "move_area", "--out", str(tmp_path / "run")]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and "--seed 900000000 --episodes N" in printed


@pytest.mark.slow
def test_par_with_a_perfect_actor_judges_its_parts(tmp_path: Path) -> None:
    more = ["--policy", "par", "--policy-arg", "planner=greedy_text", "move_area"]
    (result,) = evaluate(tmp_path / "par", *more, "--interface", "pick_place_text")
    assert result.success_once
    assert result.measures["planner_precision"] == result.measures["actor_precision"] == 1.0


def test_the_oracle_acts_by_control_steps(tmp_path: Path) -> None:
    more = ["--policy", "oracle", "pick_place_color", "--interface", "delta"]
    (result,) = evaluate(tmp_path / "delta", *more)
    assert result.success_once and result.steps == result.turns > 20


@pytest.mark.parametrize("interface", ["pick_place", "pick_place_pixels", "pick_place_text"])
def test_gymnasium_environments_take_turns(interface: str) -> None:
    options = {"obs_mode": "none", "render_backend": "none", "interface": interface}
    env = gymnasium.make("LoHoRavens/PickPlaceColor-v1", **options)
    env.reset(seed=1)
    named = find_interface(SUITE, interface)
    oracle = SUITE.oracle(env.unwrapped.base_env, named)
    action = oracle.act()
    assert env.action_space.contains(action)
    _, reward, terminated, truncated, info = env.step(action)
    assert terminated and info["is_success"] and info["code"] == "PLACED" and not truncated
    with pytest.raises(ClevrSkillsError, match="allowed"):
        gymnasium.make("LoHoRavens/MoveAreaSteps-v1", interface="pick_place_text")
    env.close()


def test_a_scene_without_a_plan_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plans, rehearse = list[Any](), base.rehearse

    def second_time(*args: Any) -> Any:
        plans.append(rehearse(*args) if plans else None)
        return plans[-1]

    monkeypatch.setattr(base, "rehearse", second_time)
    drawn = SUITE.draw("pick_place_area", "train", 5)
    assert len(plans) >= 2 and drawn.planned_turns[0] == len(plans[-1]) == 1
    monkeypatch.setattr(base, "rehearse", lambda *_: None)
    monkeypatch.setattr("clevrskills.envs.scene_sampling.ATTEMPTS", 3)
    with pytest.raises(ClevrSkillsError, match="no valid scene in 3 attempts"):
        SUITE.draw("pick_place_area", "train", 5)


def test_no_drawn_start_had_a_fault_when_episodes_were_frozen() -> None:
    for key, task in SUITE.tasks.items():
        for split in task.splits:
            head = SUITE.frozen(key, split).header
            assert head.rejected == () and head.episodes == task.splits[split]
