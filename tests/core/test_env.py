"""Contracts of environments and episodes: abstract members, and defaults of the optional ones."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

from clevrskills.core.env import Composable, Env, Episode, RecordableEnv, SubgoalPrompting
from clevrskills.core.goal.predicate import Outcome
from clevrskills.envs.environment import ClevrSkillsEnv
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.suites.symbolic import SymbolicEnv, SymbolicEpisode, TextPrompt


class Lamp(Env):
    prompt = TextPrompt("Light the lamp")

    def reset(self, *, options: dict[str, Any]) -> None:
        self.outcome = Outcome(torch.tensor([True]), torch.ones(1), torch.ones(1), {})

    def get_state(self) -> np.ndarray:
        return np.zeros(1)


@dataclass(frozen=True)
class Drawn(Episode):
    task: str = "lamp"
    split: str = "test"
    index: int = 7
    tags: dict[str, Any] = field(default_factory=dict)
    content_hash = "abc"

    def to_json(self) -> dict[str, Any]:
        return {"task": self.task}


def test_optional_members_of_environments_have_defaults() -> None:
    env = Lamp()
    env.reset(options={})
    assert env.faults() == {"goal holds": True} and env.watcher() is None
    assert not (env.capture() or env.proprioception() or env.measures() or env.curves())


def test_optional_members_of_episodes_have_defaults() -> None:
    episode = Drawn()
    assert episode.pack() == {"task": "lamp"}
    assert (episode.limit, episode.twin, episode.planned_turns) == (0, "", None)
    assert not (episode.axes or episode.tags)


@pytest.mark.parametrize("contract", [Env, RecordableEnv, Episode])
def test_a_class_that_lacks_a_member_is_named_with_it(contract: type) -> None:
    missing = type("Partial", (contract,), {})
    with pytest.raises(TypeError, match=r"Partial with abstract methods?.*(reset|to_json)"):
        missing()


def test_only_environments_of_an_arm_are_recorded_step_by_step() -> None:
    assert issubclass(ClevrSkillsEnv, RecordableEnv) and issubclass(SymbolicEnv, Env)
    assert not issubclass(SymbolicEnv, RecordableEnv)
    assert issubclass(ClevrSkillsEnv, SubgoalPrompting)
    assert not issubclass(SymbolicEnv, SubgoalPrompting)
    assert issubclass(EpisodeSpec, Composable) and not issubclass(SymbolicEpisode, Composable)
