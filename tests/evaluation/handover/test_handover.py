"""Parts of episodes: their selection, prompts and decomposition of the gap."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import fabricated
import numpy as np
import pytest

from clevrskills.core.statistics import wilson
from clevrskills.core.suite import all_levels, load_suite, single_skill_task
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.env_pool import EpisodeRef
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.handover.director import NO_HANDOVER
from clevrskills.evaluation.handover.parts import LONGER
from clevrskills.evaluation.handover.selection import in_parts
from clevrskills.evaluation.handover.tables import Composition, compositions
from clevrskills.evaluation.report.command import ReportArgs, report
from clevrskills.evaluation.results import EpisodeResult, Evaluation, Run, read_results
from clevrskills.evaluation.statistics import Estimate

EPISODES, LEAVES, STEPS = 400, 3, 500
LEVELS = ("alone", "in_place", "prompted", "product", "planner", "whole", "longer")
LOSSES = ("gap", "strange", "dependence", "choosing", "horizon")


def test_an_episode_has_parts_and_its_leaves_are_done_alone_elsewhere() -> None:
    refs = in_parts(load_suite(), [EpisodeRef("rotate_restore", "train", 0)], "all")
    assert [ref.id for ref in refs] == [
        "rotate_restore_train_000_leaf0_own",
        "rotate_restore_train_000_leaf0_prompt",
        "rotate_restore_train_000_leaf1_own",
        "rotate_restore_train_000_leaf1_prompt",
        "rotate_restore_train_000_plan",
        "rotate_restore_train_000_whole",
        "rotate_train_000_leaf0_own",
        "simple_manipulation_train_000_leaf0_own",
    ]
    assert [r.part for r in in_parts(load_suite(), [EpisodeRef("sort", "test", 1)], "plan")] == [
        "plan"
    ]


@pytest.mark.parametrize(
    ("suite", "task", "split"),
    [("lohoravens", "move_area", "test"), ("ivispar", "geoms", "base")],
)
def test_suites_without_tasks_of_single_subgoals_have_no_parts(
    suite: str, task: str, split: str
) -> None:
    with pytest.raises(ClevrSkillsError, match=f"suite {suite} has no handover"):
        in_parts(load_suite(suite), [EpisodeRef(task, split, 0)], "plan")


def test_every_leaf_of_l1_and_l2_has_a_task_in_which_it_is_first() -> None:
    suite = load_suite()
    for task, level in all_levels(suite).items():
        if level in ("L1", "L2"):
            for episode in suite.frozen(task, "train")[:10]:
                leaves = episode.subgoals()
                assert leaves and all(single_skill_task(suite, leaf) for leaf in leaves)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"seed": 3, "episodes": 1}, "--handover and --seed exclude each other"),
        ({"stop": "limit"}, "--handover and --stop exclude each other"),
        ({"repeat": 2}, "--handover and --repeat exclude each other"),
        ({"interface": "skills", "policy": "zero"}, "--handover needs numeric actions"),
    ],
)
def test_bad_input_of_handover(more: dict, message: str, tmp_path: Path) -> None:
    args = {"policy": "zero", "tasks": ("stack",), "handover": "plan", "out": tmp_path, **more}
    with pytest.raises(ClevrSkillsError, match=re.escape(message)):
        evaluate(EvaluateArgs(**args))


def made(
    leaf: Callable[[int], bool], plan: Callable[[], bool], whole: Callable[[], bool]
) -> Composition:
    """A task of three leaves with outcomes that are drawn."""
    results = []
    for index in range(EPISODES):
        parts = {f"leaf{k}_{given}": leaf(k) for k in range(LEAVES) for given in ("own", "prompt")}
        for name, success in {**parts, "plan": plan(), "whole": whole()}.items():
            about = {"part": name, "leaves": LEAVES}
            if name.startswith("leaf"):
                about |= {"leaf": "on_top", "alone": "simple_manipulation"}
            results.append(one("stack", index, success, about))
        about = {"part": "leaf0_own", "leaves": 1, "leaf": "on_top"}
        about["alone"] = "simple_manipulation"
        results.append(one("simple_manipulation", index, leaf(0), about))
    run = Run(policy="p", label="p")
    rows = compositions([Evaluation(Path(), run, "p", (), parts=tuple(results))])
    (row,) = rows  # the other task is there for the sake of this one
    return row


def one(task: str, index: int, success: bool, about: dict) -> EpisodeResult:
    limit = STEPS * (LONGER if about["part"] == "whole" else 1)
    return fabricated.result(
        task, index, success, "L1", handover=about, turns=90, max_turns=limit, max_steps=limit
    )


@pytest.mark.parametrize("p", [0.1, 0.3])
def test_who_gives_up_at_each_leaf_has_no_gap(p: float) -> None:
    draw = np.random.default_rng(7)
    through = lambda leaves: bool((draw.random(leaves) >= p).all())  # noqa: E731
    row = made(lambda _: through(1), lambda: through(LEAVES), lambda: through(LEAVES))
    for name in LEVELS:
        value: Estimate = getattr(row, name)
        expected = 1 - p if name in ("alone", "in_place", "prompted") else (1 - p) ** LEAVES
        assert value.low <= expected <= value.high, name
        assert value.high - value.low < 0.2
    for name in LOSSES:
        assert getattr(row, name).low <= 0.0 <= getattr(row, name).high, name


def test_who_mixes_up_the_order_loses_by_choosing() -> None:
    draw = np.random.default_rng(8)
    row = made(lambda _: True, lambda: True, lambda: bool(draw.random() < 1 / 6))
    assert row.choosing.low > 0.75 and row.gap.value == pytest.approx(row.choosing.value)
    assert row.strange.value == row.dependence.value == row.horizon.value == 0.0


def test_tasks_have_the_rate_of_a_kind_of_leaf_in_common() -> None:
    results = []
    for task, leaves in (("stack", 2), ("sort", 1)):
        for part in [*(f"leaf{k}_own" for k in range(leaves)), "plan", "whole"]:
            about = {"part": part, "leaves": leaves, "leaf": "on_top"}
            about["alone"] = "simple_manipulation"
            results.append(one(task, 0, True, about))
    for index in range(20):
        about = {"part": "leaf0_own", "leaves": 1, "leaf": "on_top", "alone": "simple_manipulation"}
        results.append(one("simple_manipulation", index, index < 16, about))
    run = Run(policy="p", label="p")
    *rows, mean = compositions([Evaluation(Path(), run, "p", (), parts=tuple(results))])
    assert [row.task for row in (*rows, mean)] == ["sort", "stack", ""]
    low, high = wilson(16, 20)
    assert (mean.alone.low, mean.alone.high) == pytest.approx((low, high))  # as of either task
    assert mean.expected.value == pytest.approx((0.8 + 0.8**2) / 2)
    assert mean.expected.low == pytest.approx((low + low**2) / 2)
    assert mean.gap.value == pytest.approx(mean.expected.value - 1.0)
    assert mean.strange.value + mean.dependence.value + mean.choosing.value == pytest.approx(
        mean.gap.value
    )


def test_the_rate_alone_needs_all_leaves_of_an_episode() -> None:
    """For both kinds of prompts; results of some parts give no product."""

    def rows(*parts: str) -> Composition:
        about = {"leaves": 2, "leaf": "on_top", "alone": "simple_manipulation"}
        results = [one("stack", 0, False, {"part": part, **about}) for part in parts]
        about["leaves"] = 1
        results.append(one("simple_manipulation", 0, True, {"part": "leaf0_own", **about}))
        run = Run(policy="p", label="p")
        (row,) = compositions([Evaluation(Path(), run, "p", (), parts=tuple(results))])
        return row

    assert rows("leaf0_prompt", "leaf1_prompt").expected.value == 1.0
    assert rows("leaf0_own", "leaf1_prompt").alone.value == 1.0
    assert np.isnan(rows("leaf1_prompt").expected.value)
    assert np.isnan(rows("leaf1_prompt").strange.value)


def test_parts_that_never_began_count_nowhere() -> None:
    about = {"leaves": 2, "leaf": "on_top", "alone": "simple_manipulation"}
    parts = [one("stack", k, True, {"part": "leaf0_own", **about}) for k in range(3)]
    parts += [one("stack", k, False, {"part": "leaf1_own", **about}) for k in range(3)]
    parts[-1] = replace(parts[-1], cause=NO_HANDOVER)
    run = Run(policy="p", label="p")
    (row,) = compositions([Evaluation(Path(), run, "p", (), parts=tuple(parts))])
    assert row.missing == 1 and row.in_place.value == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert row.product.value == 0.0


def test_a_level_has_the_interval_of_all_its_episodes() -> None:
    """Not that of a mean of tasks of which each is known by itself alone."""
    parts = [
        one(task, index, False, {"part": part, "leaves": 1})
        for task in ("sort", "stack", "swap")
        for index in range(10)
        for part in ("plan", "whole")
    ]
    run = Run(policy="p", label="p")
    *_, mean = compositions([Evaluation(Path(), run, "p", (), parts=tuple(parts))])
    assert (mean.planner.low, mean.planner.high) == pytest.approx(wilson(0, 30))
    assert (mean.choosing.low, mean.choosing.high) == pytest.approx(
        (-wilson(0, 30)[1], wilson(0, 30)[1])
    )


def test_the_parts_are_the_gap() -> None:
    draw = np.random.default_rng(9)
    row = made(
        lambda k: bool(draw.random() < 0.9 - 0.2 * k),
        lambda: bool(draw.random() < 0.3),
        lambda: bool(draw.random() < 0.2),
    )
    parts = row.strange.value + row.dependence.value + row.choosing.value
    assert parts == pytest.approx(row.gap.value)
    assert row.strange.low > 0.0  # later leaves are harder than the first


def test_success_after_the_limit_is_none_of_whole() -> None:
    about = {"part": "whole", "leaves": 1}
    late = fabricated.result(
        "stack", 0, True, "L1", handover=about, turns=STEPS + 1, max_turns=LONGER * STEPS
    )
    run = Run(policy="p", label="p")
    (row,) = compositions([Evaluation(Path(), run, "p", (), parts=(late,))])
    assert (row.whole.value, row.longer.value, row.horizon.value) == (0.0, 1.0, 1.0)


def test_report_of_parts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "run"
    about = {"part": "plan", "leaves": 2}
    fabricated.write_run(root, [one("stack", k, k < 3, about) for k in range(4)])
    assert report(ReportArgs(runs=(root,))) == 0
    assert "oracle planner" in capsys.readouterr().out
    assert "oracle planner" in (root / "report" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_policies_of_known_skill(tmp_path: Path) -> None:
    """One that never gives up, and one that always does, in a real episode."""
    for p, causes in ((0.0, {"success"}), (1.0, {"gave up"})):
        root = tmp_path / str(p)
        args = EvaluateArgs(
            policy="known_policies:GiveUpAtRandom",
            policy_arg=(f"p={p}",),
            tasks=("stack",),
            split=("train",),
            episodes=1,
            handover="all",
            out=root,
        )
        assert evaluate(args) == 0
        results = list(read_results(root))
        assert {r.cause for r in results} == causes
        assert {r.handover["part"] for r in results} == {
            *(f"leaf{k}_{given}" for k in range(2) for given in ("own", "prompt")),
            *("plan", "whole"),
        }
        late = next(r for r in results if r.id == "stack_train_000_leaf1_own")
        assert late.handover["began"] > 20  # the oracle did the first leaf
    starter = replace(
        args,
        policy="known_policies:FirstSubgoalOnly",
        policy_arg=(),
        out=tmp_path / "starter",
    )
    assert evaluate(starter) == 0
    solved = {r.id for r in read_results(starter.out) if r.success_once}
    assert {id for id in solved if id.startswith("stack")} == {
        f"stack_train_000_leaf0_{given}" for given in ("own", "prompt")
    }
    assert evaluate(args) == 0  # nothing is left to do
    assert [json.loads(r.to_json()) for r in results] == [
        json.loads(r.to_json()) for r in read_results(root)
    ]
