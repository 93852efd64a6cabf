"""Tasks selected by other software."""

import pytest

from clevrskills.errors import UnknownNameError
from clevrskills.evaluation.selection import choose_tasks, task_splits
from clevrskills.suites.clevrskills.suite import KEYSTEP_TASKS, ClevrSkillsSuite
from clevrskills.tasks import tasks

LEVELS = {"pick": "L0", "match_pose": "L0", "sort": "L1", "balance": "L2"}


class FewTasks(ClevrSkillsSuite):
    def task_types(self):
        return {key: tasks()[key] for key in LEVELS}


SUITE = FewTasks()


def test_all_tasks_by_default():
    assert choose_tasks(SUITE) == tuple(LEVELS)


def test_tasks_of_levels_in_order():
    assert choose_tasks(SUITE, level="L0") == ("pick", "match_pose")
    assert choose_tasks(SUITE, level=["L2", "L1"]) == ("sort", "balance")


def test_key_step_tasks_are_left_out_in_words_unless_named():
    assert "match_pose" in KEYSTEP_TASKS
    assert choose_tasks(SUITE, level="L0", in_words=True) == ("pick",)
    assert choose_tasks(SUITE, ["match_pose"], in_words=True) == ("match_pose",)


@pytest.mark.parametrize("wrong", [{"tasks": ["fly"]}, {"level": "L3"}])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(UnknownNameError, match="allowed"):
        choose_tasks(SUITE, **wrong)


def test_tasks_that_lack_a_split_are_left_out_unless_they_are_named():
    suite = ClevrSkillsSuite()
    pairs = task_splits(suite, ["pick", "stack"], ["orders", "val"])
    assert pairs == [("pick", "val"), ("stack", "val"), ("stack", "orders")]
    assert len(task_splits(suite, ["stack"], None)) == 7
    with pytest.raises(UnknownNameError, match="unknown split of pick 'orders'; allowed: train, v"):
        task_splits(suite, ["pick", "stack"], ["orders"], named=["pick"])
