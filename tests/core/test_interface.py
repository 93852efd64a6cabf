"""What a policy may answer: shapes, numbers, range."""

import numpy as np
import pytest
import torch

from clevrskills.core.interface import read_actions
from clevrskills.core.policy import PolicyError


def test_actions_and_chunks() -> None:
    one = np.linspace(-1, 1, 7)
    for answer in (one, one[None], one.tolist(), torch.tensor(one, requires_grad=True)):
        actions = read_actions(answer)
        assert actions.shape == (1, 7) and actions.dtype == np.float32
        np.testing.assert_array_equal(actions[0], one.astype(np.float32))
    assert read_actions(np.zeros((5, 7), int)).shape == (5, 7)


def test_half_precision_may_round_beyond_one() -> None:
    actions = read_actions(torch.full((2, 7), 1.0078125, dtype=torch.bfloat16))
    np.testing.assert_array_equal(actions, np.ones((2, 7)))


def test_what_is_out_of_range_is_refused_unless_it_is_to_be_clipped() -> None:
    answer = np.zeros((2, 7))
    answer[1, 3] = -1.5
    with pytest.raises(PolicyError, match=r"^entry 3 of an action is -1.5; allowed: -1 to 1 \(--c"):
        read_actions(answer)
    assert read_actions(answer, clip=True)[1, 3] == -1.0
    with pytest.raises(PolicyError, match="^entry 2 of an action is inf, not a number"):
        read_actions([0, 0, np.inf, 0, 0, 0, 0], clip=True)


@pytest.mark.parametrize("answer", [None, {}, [[0] * 7, [0]], "left", object()])
def test_what_is_no_action(answer: object) -> None:
    with pytest.raises(PolicyError, match="^an action of (type|shape) .*; allowed: "):
        read_actions(answer)
