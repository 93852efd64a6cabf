"""The registry of tasks: keys, levels, ids, descriptions."""

import json
from pathlib import Path

import gymnasium as gym
import pytest

import clevrskills
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.predicates import predicate_types
from clevrskills.tasks import LEVELS, Task, task, tasks

FILES = sorted((Path(clevrskills.__file__).parent / "tasks").glob("l[0-2]/[a-z]*.py"))
KEYS = tuple(tasks())


def test_a_task_is_a_file_of_its_name_in_the_folder_of_its_level():
    assert {(f.stem, f.parent.name.upper()) for f in FILES} == {
        (key, cls.level) for key, cls in tasks().items()
    }


def test_tasks_are_listed_level_by_level():
    order = [(cls.level, key) for key, cls in tasks().items()]
    assert order == sorted(order)


def test_environment_ids_are_registered_and_unique():
    ids = [clevrskills.env_id(key) for key in KEYS]
    assert len(set(ids)) == len(KEYS)
    for key, env_id in zip(KEYS, ids, strict=True):
        spec = gym.spec(env_id)
        assert spec.kwargs["task"] == key
    registered = {name for name in gym.registry if name.startswith("ClevrSkills/")}
    assert registered == set(ids)


@pytest.mark.parametrize(
    ("key", "env_id"),
    [("sort", "ClevrSkills/Sort-v1"), ("simple_manipulation", "ClevrSkills/SimpleManipulation-v1")],
)
def test_ids_are_camel_case(key, env_id):
    assert clevrskills.env_id(key) == env_id


@pytest.mark.parametrize("key", KEYS)
def test_description(key):
    made = task(key)
    data = json.loads(json.dumps(made.describe()))
    assert data["key"] == key == type(made).key
    assert data["level"] in LEVELS and data["id"] == clevrskills.env_id(key)
    assert data["sentence"].strip() and data["sentence"][0].isupper()
    assert data["predicates"] and set(data["predicates"]) <= set(predicate_types())
    assert 0 < data["max_steps"] == made.max_steps


@pytest.mark.parametrize("key", KEYS)
def test_slots(key):
    slots = task(key).slots
    assert len(set(slots)) == len(slots) > 0
    assert all(slot.isidentifier() for slot in slots)  # they are names in placeholders


def test_unknown_tasks_raise_and_name_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown task 'juggle'; allowed: .*sort") as error:
        task("juggle")
    assert isinstance(error.value, ClevrSkillsError)
    with pytest.raises(UnknownNameError):
        task("Sort")


def test_a_task_of_an_unknown_level_cannot_be_made():
    with pytest.raises(UnknownNameError, match="unknown level 'L9'; allowed: L0, L1, L2"):
        type("Wrong", (Task,), {"key": "wrong", "level": "L9"})
    assert "wrong" not in tasks()
