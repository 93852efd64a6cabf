"""The published numbers."""

import math

import pytest

from clevrskills.suites.clevrskills.published import (
    COMPARABILITY,
    EPISODES_PER_TASK,
    TASKS,
    PublishedResult,
    published,
)
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS
from clevrskills.tasks import tasks

RESULTS = list(published())


def find(**what: object) -> PublishedResult:
    (found,) = (r for r in RESULTS if all(getattr(r, k) == v for k, v in what.items()))
    return found


def test_tables_are_whole() -> None:
    assert len(RESULTS) == 6 * (2 + 4 + 3)
    assert {r.table for r in RESULTS} == {2, 3, 5}
    assert len({r.model for r in RESULTS}) == 6


def test_some_entries() -> None:
    best = find(table=2, model="StreamRoboLM (OPT)", split="train")
    assert (best.success.value, best.reward, best.reward_per_step) == (0.6291, 223.84, 2.74)
    octo = find(table=3, model="Octo", level="L2", setting="fine-tuned")
    assert (octo.success.value, octo.reward, octo.reward_per_step) == (0.0583, 2106, 3.53)
    words = find(table=5, model="RoboFlamingo", level="L0")
    assert (words.success.value, words.prompt, words.success.n) == (0.575, "language", 200)


def test_intervals_are_derived_from_the_number_of_episodes() -> None:
    assert {(r.prompt, r.level): r.success.n for r in RESULTS} == {
        ("multimodal", "L0"): 240,
        ("multimodal", "L1"): 300,
        ("multimodal", "L2"): 120,
        ("language", "L0"): 200,
        ("language", "L1"): 220,
        ("language", "L2"): 120,
    }
    for result in RESULTS:
        assert result.success.low <= result.success.value <= result.success.high
        assert result.success.high - result.success.low > 0.01
    opt = find(table=2, model="StreamRoboLM (OPT)", split="train").success
    assert (opt.low, opt.high) == pytest.approx((0.5664, 0.6877), abs=1e-4)


def test_rates_are_counts_cut_off() -> None:
    """All but one are k of n, cut off after two digits, or after one where the paper gives one."""
    odd = [r for r in RESULTS if abs(r.success.value * r.success.n - round(k(r))) > 0.13]
    assert [(r.model, r.level, r.setting) for r in odd] == [("JAT", "L1", "fine-tuned")]


def k(result: PublishedResult) -> float:
    return math.ceil(result.success.value * result.success.n - 1e-9)


def test_numbers_of_tasks_are_ours() -> None:
    levels = [task.level for task in tasks().values()]
    assert TASKS["multimodal"] == {level: levels.count(level) for level in ("L0", "L1", "L2")}
    left_out = [tasks()[key].level for key in KEYSTEP_TASKS]
    for level, count in TASKS["language"].items():
        assert count == levels.count(level) - left_out.count(level)
    assert EPISODES_PER_TASK == 20


def test_comparability_is_stated() -> None:
    text = " ".join(COMPARABILITY)
    for word in (
        "Comparable:",
        "Not comparable:",
        "simulator",
        "gripper",
        "step limits",
        "derived",
    ):
        assert word in text
