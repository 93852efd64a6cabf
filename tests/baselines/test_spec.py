import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from clevrskills.baselines import registry
from clevrskills.baselines.registry import POLICIES, configuration, policy_type
from clevrskills.baselines.spec import PolicyConfig, PolicySpec
from clevrskills.core.policy import ObservationOptions
from clevrskills.errors import ClevrSkillsError, UnknownNameError


@dataclass(frozen=True, kw_only=True)
class Config(PolicyConfig):
    channels: tuple[int, ...] = (8, 16)
    backbone: str | None = None
    bias: bool = True


def test_configurations_survive_json() -> None:
    config = Config(channels=(1, 2), backbone="x", starts_every=1)
    assert Config.from_json(json.loads(json.dumps(asdict(config)))) == config


def test_changes() -> None:
    changed = Config().changed(
        {"channels": [4], "learning_rate": 1, "backbone": None, "cameras": ["hand_camera"]}
    )
    assert (changed.channels, changed.learning_rate) == ((4,), 1.0)
    assert changed.cameras == ("hand_camera",) and changed.image_size == Config().image_size


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 3}, "unknown entry of Config 'width'; allowed: cameras, image_size, "),
        ({"image_size": "big"}, "image_size must be a int, not 'big'"),
        ({"image_size": None}, "image_size must be a int, not None"),
        ({"image_size": 0}, "image_size must be at least 1, not 0"),
        ({"bias": 1}, "bias must be a bool, not 1"),
        ({"steps": True}, "steps must be a int, not True"),
        ({"backbone": 4}, "backbone must be a str or null, not 4"),
        ({"steps": 4, "starts_every": 5}, "starts_every must be at most steps, 4, not 5"),
        ({"learning_rate": -1.0}, "learning_rate must be 0 or more, not -1"),
        ({"final_rate": float("inf")}, "final_rate must be 0 or more, not inf"),
        ({"weight_decay": float("nan")}, "weight_decay must be 0 or more, not nan"),
        ({"warm_up_steps": -1}, "warm_up_steps must be 0 or more, not -1"),
        ({"max_gradient_norm": 0.0}, "max_gradient_norm must be over 0, not 0"),
    ],
)
def test_bad_changes(changes: dict, message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message):
        Config().changed(changes)


def test_specifications_survive_json() -> None:
    shown = ObservationOptions(cameras=("hand_camera",), size_px=64, history=2, prompt="language")
    spec = PolicySpec(shown, {"qpos": 6, "holding": 1}, {"state": {"mean": [0.5] * 7}})
    data = json.loads(json.dumps(asdict(spec)))
    again = PolicySpec.from_json(data)
    assert again == spec and again.state_size == 7


def test_unknown_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown policy 'gpt'; allowed: bc, .*Class"):
        policy_type("gpt")
    with (
        monkeypatch.context() as patched,
        pytest.raises(ClevrSkillsError, match=r"lls\[policies\]"),
    ):
        patched.setattr(registry, "others", lambda *_: {})
        patched.setattr(registry, "CHECKOUT", Path("nowhere"))
        policy_type("octo")
    with pytest.raises(ClevrSkillsError, match="policy nowhere:X: there is no module nowhere"):
        policy_type("nowhere:X")
    with pytest.raises(ClevrSkillsError, match="policy json:X: json has no X"):
        policy_type("json:X")
    with pytest.raises(UnknownNameError, match="unknown configuration of bc 'huge'; allowed: def"):
        configuration("bc", "huge", {})
    for name, changes, message in (
        ("bc", {"execution_horizon": 0}, "execution_horizon must be 1 to horizon, 16, not 0"),
        ("bc", {"execution_horizon": 17}, "execution_horizon must be 1 to horizon, 16, not 17"),
        ("stream_robolm", {"starts_every": None}, "one step at a time: starts_every must be a"),
    ):
        with pytest.raises(ClevrSkillsError, match=message):
            configuration(name, "tiny", changes)


@pytest.mark.parametrize("name", ["bc", "stream_robolm", "compact"])
def test_every_policy_has_a_default_and_a_tiny_configuration(name: str) -> None:
    assert name in POLICIES
    kind = policy_type(name)
    assert {"default", "tiny"} <= set(kind.configurations)
    for config in kind.configurations.values():
        assert type(config) is kind.config_type
        assert kind.config_type.from_json(json.loads(json.dumps(asdict(config)))) == config
