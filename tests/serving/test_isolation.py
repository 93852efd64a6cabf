"""Policies in processes of their own: the same answers and errors, no way to the environment."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_policies import Wanderer

from clevrskills.core.policy import (
    ConnectionLost,
    GaveUp,
    ImagesOnDemand,
    PolicyError,
    PromptInput,
    TextAction,
)
from clevrskills.core.policy_loader import PolicySource

HERE = str(Path(__file__).parents[1] / "support")
IMAGE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)


class Echo:
    """Answers as configured."""

    privileged = False

    def reset(self, prompt: PromptInput) -> None:
        self.prompt = prompt

    def act(self, observation: Any) -> Any:
        match observation["do"]:
            case "prompt":
                return self.prompt
            case "give up":
                raise GaveUp("too heavy")
            case "raise":
                raise ValueError("a bug")
            case "drop":
                raise ConnectionResetError("by its own peer")
            case "exit":
                import os

                os._exit(3)
            case "keep images":
                self.images = observation["images"]
                return len(self.images)
            case "read kept images":
                return self.images["base_camera"]
            case "send a set":
                return {1, 2}
            case "tensor":
                import torch

                return torch.linspace(0, 1, 7, dtype=torch.bfloat16)
        observation["images"]["base_camera"][0, 0, 0] = 1  # it may change what it is given
        return observation["answer"]


class Known(Echo):
    privileged = True


@pytest.mark.slow
def test_answers_and_errors() -> None:
    made = PolicySource(f"{__name__}:Echo", folder=HERE, isolated=True).make()
    assert made.isolated and not made.info.privileged
    ask = made.policy.act
    about = {"size": (4, 4), "names": ["a"], 3: np.float32(0.1), "$": None}
    made.reset(PromptInput("Do {obj:a}", {"{obj:a}": IMAGE[::2]}, 2**31, about))
    prompt = ask({"do": "prompt"})
    assert (prompt.text, prompt.seed, prompt.about) == ("Do {obj:a}", 2**31, about)
    assert type(prompt.about[3]) is np.float32
    np.testing.assert_array_equal(prompt.images["{obj:a}"], IMAGE[::2])
    for answer in (
        "pick up",
        TextAction("a", plan=("a", "b"), usage={"cost": 0.1}, record={"x": [1, None, True]}),
        np.float32(1) / np.arange(1, 8, dtype=np.float32),
        np.zeros((0, 7)),
        np.float64(0.1),
        {0: np.ones((2, 7), np.float32), 1: [0.1, float("inf")]},
    ):
        found = ask({"do": "", "images": {"base_camera": IMAGE}, "answer": answer})
        np.testing.assert_equal(found, answer)
        assert type(found) is type(answer)
    assert IMAGE[0, 0, 0] == 0, "no memory is shared"
    np.testing.assert_array_equal(ask({"do": "tensor"})[[0, -1]], [0, 1])
    reads: list[int] = []
    on_demand = [
        ImagesOnDemand(["base_camera"], lambda k=k: reads.append(k) or {"base_camera": IMAGE + k})
        for k in range(2)
    ]
    found = ask({"do": "", "images": on_demand[1], "more": on_demand, "answer": 3})
    assert (found, reads) == (3, [1]), "only what is read is rendered"
    assert ask({"do": "keep images", "images": on_demand[0]}) == 1
    with pytest.raises(PolicyError, match="must be read before act returns"):
        ask({"do": "read kept images"})
    assert reads == [1]
    with pytest.raises(GaveUp, match="^too heavy$"):
        ask({"do": "give up"})
    with pytest.raises(PolicyError, match=r"^ValueError: a bug \(test_isolation.py:\d+\)") as error:
        ask({"do": "raise"})
    assert "in act" in str(error.value.__cause__)
    with pytest.raises(PolicyError, match="^ConnectionResetError: by its own peer") as dropped:
        ask({"do": "drop"})
    assert not isinstance(dropped.value, ConnectionLost), "that is the policy's own affair"
    with pytest.raises(PolicyError, match="^an answer that has a set, which cannot be sent$"):
        ask({"do": "send a set"})
    with pytest.raises(ConnectionLost, match="Echo ended: exit code 3$"):
        ask({"do": "exit"})
    with pytest.raises(ConnectionLost):
        made.reset(prompt)


@pytest.mark.slow
def test_who_is_isolated() -> None:
    for name in ("zero", f"{__name__}:Known"):
        assert not PolicySource(name, isolated=True).make().isolated
    policy = PolicySource("fake_policies:Wanderer", {"chunk": 3}, HERE, isolated=True).make()
    policy.reset(PromptInput("", {}, 5))
    here = Wanderer(3)
    here.reset(PromptInput("", {}, 5))
    shown = {"proprioception": {"offset": np.ones(2, np.float32), "noise": np.float32(0.3)}}
    np.testing.assert_array_equal(policy.act(shown), here.act(shown))
