"""Declarations of policies, and invalid ones."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from clevrskills.core.interface import Interface
from clevrskills.core.policy import ObservationOptions, PolicyInfo, PromptInput
from clevrskills.core.policy_loader import PolicySource, check_annotated, policy_arguments
from clevrskills.core.suite import Suite, default_cameras, find_interface, load_suite
from clevrskills.errors import ClevrSkillsError

PROMPT = PromptInput("", {}, seed=3)


class Plain:
    """The least that is a policy; remembers how it was called."""

    def __init__(self, **declared: Any) -> None:
        vars(self).update(declared)

    def reset(self, *args: Any, **more: Any) -> None:
        self.begun = args, more

    def act(self, observation: Any) -> Any:
        return np.zeros(7) if 0 not in observation else {0: np.ones(7)}


class Placed(Plain):
    """Wants to know what it acts in and by."""

    def __init__(self, suite: Suite, interface: Interface) -> None:
        super().__init__(given=(suite, interface))


class Named(Plain):
    """Has an argument that is only called so."""

    def __init__(self, interface: str = "eth0") -> None:
        super().__init__(given=interface)


def load(name: str = "Plain", **declared: Any) -> Any:
    return PolicySource(f"{__name__}:{name}", declared).make()


def test_a_plain_class_declares_nothing() -> None:
    policy = load()
    assert policy.info == PolicyInfo()
    assert policy.options == ObservationOptions(default_cameras(load_suite()))
    policy.reset(PROMPT, env="env", episode="episode")
    assert policy.policy.begun == ((PROMPT,), {}) and not policy.act({}).any()


def test_declarations_are_passed_on() -> None:
    own = {"observation": {"cameras": (), "history": 2}, "privileged": True, "track": "open"}
    policy = load(**own, unrelated=1)
    shown = ObservationOptions(cameras=(), history=2)
    assert policy.info == PolicyInfo(shown, privileged=True, track="open")
    policy.reset(PROMPT, "env", "episode")
    assert policy.policy.begun == ((PROMPT,), {"env": "env", "episode": "episode"})
    batched = load(concurrency="batched")
    batched.reset(PROMPT)
    assert batched.policy.begun == (({0: PROMPT},), {}) and batched.act({}).all()


def test_views_are_added_and_cameras_required() -> None:
    source = PolicySource(
        f"{__name__}:Plain", {"extra_views": ("hand_camera",)}, overrides={"cameras": ()}
    )
    assert source.make().options.cameras == ("hand_camera",)
    with pytest.raises(ClevrSkillsError, match="needs hand_camera, which is not shown"):
        load(observation={"cameras": ()}, required_cameras=("hand_camera",))


def test_a_constructor_is_given_suite_and_interface_if_it_names_both() -> None:
    suite = load_suite()
    assert PolicySource(f"{__name__}:Placed").make(suite, "skills").policy.given == (
        suite,
        find_interface(suite, "skills"),
    )
    assert load("Named").policy.given == "eth0"


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"observation": 3}, "observation is of type int; allowed: ObservationOptions"),
        ({"observation": {"camera": ()}}, "unexpected keyword argument 'camera'"),
        ({"observation": {"history": 0}}, "history must be at least 1, not 0"),
        ({"observation": {"cameras": ("front",)}}, "unknown camera 'front'"),
        ({"action_spec": "delta"}, "action_spec is of type str; allowed: a mapping"),
        ({"privileged": "yes"}, "privileged is of type str; allowed: bool"),
        ({"track": None}, "track is of type NoneType; allowed: str"),
        ({"extra_views": "top"}, "extra_views is of type str; allowed: a tuple of names"),
        ({"required_cameras": (1,)}, "required_cameras is a tuple of names, not of int"),
        ({"extra_views": ("front",)}, "unknown view 'front'"),
        ({"concurrency": "thread"}, "unknown concurrency 'thread'; allowed: none, threads, bat"),
        ({"concurrency": "batched", "privileged": True}, "a batched policy cannot be privileged"),
        ({"concurrency": "threads", "images_on_demand": True}, "cannot have images on demand"),
        ({"act": None}, "is not a policy: it has no method 'act'"),
    ],
)
def test_invalid_declarations(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(ClevrSkillsError, match=message) as caught:
        load(**declared)
    assert "\n" not in str(caught.value)


def test_a_module_without_the_attribute() -> None:
    with pytest.raises(ClevrSkillsError, match=r"unknown attribute of tests\S+ 'Plan'; allowed: "):
        load("Plan")


class Tuned:
    """Policy with arguments of several kinds."""

    def __init__(
        self, given: bool = False, steps: int | None = None, gain: float = 1.0, name: str = ""
    ) -> None: ...


@pytest.mark.parametrize(
    ("argument", "allowed"),
    [
        ("given=False", "given='False'; allowed: true or false"),
        ("given=1", "given=1; allowed: true or false"),
        ("steps=1.5", "steps=1.5; allowed: a whole number"),
        ("steps=true", "steps=True; allowed: a whole number"),
        ("gain=high", "gain='high'; allowed: a number"),
    ],
)
def test_arguments_are_of_the_kind_that_is_annotated(argument: str, allowed: str) -> None:
    with pytest.raises(ClevrSkillsError, match=re.escape(allowed)):
        check_annotated(Tuned, policy_arguments([argument]))


def test_arguments_of_the_right_kind_are_taken() -> None:
    for argument in ("given=false", "steps=3", "steps=null", "gain=2", "gain=0.5", "name=5"):
        check_annotated(Tuned, policy_arguments([argument]))
