"""What acts on the answers of RoboFlamingo's language model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence


class PolicyHead(nn.Module):
    """An LSTM, a network for the pose and one for the gripper.

    Args:
        inputs: Numbers in an answer.
        width: Numbers in the state of the LSTM.
        depth: Layers of the LSTM.
        dropout: Share of the features between them that are dropped in training.
        widths: Widths of the layers of the networks.
        horizon: Actions that are given at a step, H.
    """

    def __init__(
        self,
        inputs: int,
        width: int,
        depth: int,
        dropout: float,
        widths: Sequence[int],
        horizon: int,
    ) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, width, depth, dropout=dropout, batch_first=True)
        self.pose = _network([width, *widths, 6 * horizon])
        self.gripper = _network([width, *widths, horizon])

    def forward(self, stories: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
        """What to do at the last steps of stories.

        Args:
            stories: Answers up to now in each of B episodes, (any length, inputs).
            count: Number of the steps, C.

        Returns:
            Poses in [-1, 1], (B, C, H, 6); of the gripper (B, C, H, 1), above 0: closed.
        """
        told, _ = self.lstm(pad_sequence(list(stories), batch_first=True))
        ends = [len(story) for story in stories]
        last = torch.stack([t[end - count : end] for t, end in zip(told, ends, strict=True)])
        poses: Tensor = self.pose(last).tanh()
        return poses.unflatten(-1, (-1, 6)), self.gripper(last)[..., None]


def _network(widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Linear(widths[0], widths[1])]
    for before, after in zip(widths[1:], widths[2:], strict=False):
        layers += [nn.ReLU(), nn.Linear(before, after)]
    return nn.Sequential(*layers)
