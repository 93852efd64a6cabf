"""What can be said of a checkpoint of LeRobot without LeRobot."""

import importlib.util
import json
from types import SimpleNamespace

import pytest

from clevrskills.core.policy_loader import PolicySource
from clevrskills.errors import ClevrSkillsError
from clevrskills.integrations.lerobot_policy import _acts_ahead, find_checkpoint


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

    assert refusal(tmp_path).endswith("is no checkpoint of LeRobot: it has no config.json")
    if importlib.util.find_spec("lerobot") is None:
        assert refusal(checkpoint).startswith("lerobot:DIR needs LeRobot 0.6.1, in Python 3.12")
    info = tmp_path / "data/meta/info.json"
    info.parent.mkdir(parents=True)
    info.write_text(json.dumps({"fps": 10}))
    config = {"dataset": {"root": str(tmp_path / "data")}}
    (checkpoint / "train_config.json").write_text(json.dumps(config))
    assert refusal(checkpoint) == f"{checkpoint} was trained at 10 Hz; here it is 20"


@pytest.mark.parametrize(
    ("kind", "history", "relative", "ahead"),
    [
        ("act", 1, False, True),
        ("act", 2, False, False),
        ("pi05", 1, True, False),
        ("lingbot_va", 1, False, False),
    ],
)
def test_whole_chunks_only_where_nothing_is_looked_at(kind, history, relative, ahead):
    config = SimpleNamespace(type=kind, n_obs_steps=history)
    pipe = SimpleNamespace(steps=[SimpleNamespace(), SimpleNamespace(enabled=relative)])
    assert _acts_ahead(config, pipe) is ahead
