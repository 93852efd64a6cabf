"""Checkpoints of LeRobot, as far as they are read without LeRobot."""

import importlib.util
import json
import re
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from clevrskills.core.policy import PromptInput
from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.integrations.lerobot_policy import LeRobotPolicy, _acts_ahead, find_checkpoint

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkpoint(tmp_path):
    """The folder that ``lerobot-train`` writes, without weights."""
    folder = tmp_path / "out/checkpoints/last/pretrained_model"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"type": "act"}')
    return folder


def test_checkpoints_are_found_in_the_folders_of_a_training(checkpoint):
    for folder in (checkpoint, checkpoint.parent, checkpoint.parents[2]):
        assert find_checkpoint(folder) == checkpoint


def test_refusals(checkpoint, tmp_path):
    def refusal(folder):
        with pytest.raises(ClevrSkillsError) as caught:
            PolicySource(f"lerobot:{folder}").make()
        return str(caught.value)

    with pytest.raises(ClevrSkillsError, match="unknown camera 'front'"):
        PolicySource(f"lerobot:{checkpoint}", {"rename": {"front": "camera1"}}).make()
    assert refusal(tmp_path).endswith("is not a checkpoint of LeRobot: it has no config.json")
    if importlib.util.find_spec("lerobot") is None:
        assert refusal(checkpoint).startswith("lerobot:DIR needs LeRobot 0.6.1, in Python 3.12")
    info = tmp_path / "data/meta/info.json"
    info.parent.mkdir(parents=True)
    info.write_text(json.dumps({"fps": 10}))
    config = {"dataset": {"root": str(tmp_path / "data")}}
    (checkpoint / "train_config.json").write_text(json.dumps(config))
    assert refusal(checkpoint) == f"{checkpoint} was trained at 10 Hz; here it is 20"


def test_the_documented_installation_is_tested():
    """It trains: without the extra ``training``, ``lerobot-train`` stops at its first import."""
    pages = ("docs/integrations.md", "integrations/lerobot_env_clevrskills/README.md")
    texts = [(ROOT / name).read_text() for name in (*pages, "scripts/setup_lerobot.sh")]
    texts[-1] = texts[-1].replace("${EXTRAS:+,$EXTRAS}", "").replace('"lerobot[', "'lerobot[")
    found = [re.findall(r"'lerobot\[(.+?)\]([>=]=[0-9.]+)", text) for text in texts]
    said = [("dataset,evaluation,training", ">=0.6.1")]
    assert found == [said, said, [(said[0][0], "==0.6.1")]]
    needed = (ROOT / "integrations/lerobot_env_clevrskills/pyproject.toml").read_text()
    assert '"lerobot>=0.6.1"' in needed


@pytest.mark.parametrize(
    ("kind", "history", "relative", "ahead"),
    [
        ("act", 1, False, True),
        ("act", 2, False, False),
        ("pi05", 1, True, False),
        ("lingbot_va", 1, False, False),
    ],
)
def test_policies_that_act_ahead(kind, history, relative, ahead):
    config = SimpleNamespace(type=kind, n_obs_steps=history)
    pipe = SimpleNamespace(steps=[SimpleNamespace(), SimpleNamespace(enabled=relative)])
    assert _acts_ahead(config, pipe) is ahead


class Drawn:
    """A model that draws chunks of three actions."""

    def reset(self):
        self._action_queue = deque()

    def select_action(self, batch):
        if not self._action_queue:
            self._action_queue.extend(torch.rand(3, 1, 7))
        return self._action_queue.popleft()


def drawing(ahead: bool) -> LeRobotPolicy:
    policy = LeRobotPolicy.__new__(LeRobotPolicy)
    policy._config = SimpleNamespace(device="cpu", use_amp=False)
    policy._model, policy._chunk_is_known = Drawn(), ahead
    policy._preprocess = policy._postprocess = policy._batch = lambda value: value
    return policy


def test_an_episode_depends_on_no_other():
    """Neither on one before it, whose chunk was not used up, nor on one at the same time."""
    chunk, step = drawing(True), drawing(False)
    chunk.reset(PromptInput("", {}, 5))
    wanted = [chunk.act({}), chunk.act({})]
    assert wanted[0].shape == (3, 7) and (wanted[0] != wanted[1]).all()
    step.reset(PromptInput("", {}, 3))
    step.act({})
    step.reset(PromptInput("", {}, 5))
    chunk.reset(PromptInput("", {}, 4))
    for action in np.concatenate(wanted):
        chunk.act({})
        np.testing.assert_array_equal(step.act({}), action)
