"""Augmentation of images."""

from __future__ import annotations

import torch
from clevrskills_policies.augmentation import change_colors, shift


def test_shifts_move_the_images_of_an_episode_alike() -> None:
    torch.manual_seed(0)
    images = torch.rand(4, 2, 3, 16, 16)
    images[:, 1] = images[:, 0]
    moved = shift(images, 3)
    assert torch.equal(moved[:, 0], moved[:, 1])
    assert any(not torch.equal(a, b) for a, b in zip(moved, images, strict=True))
    inner = {
        tuple(t.flatten().tolist())
        for t in images[0, 0, 0].unfold(0, 8, 1).unfold(1, 8, 1).flatten(0, 1)
    }
    assert tuple(moved[0, 0, 0, 4:12, 4:12].flatten().tolist()) in inner
    assert torch.equal(shift(images, 0), images)


def test_colors_stay_in_range_and_change_a_little() -> None:
    torch.manual_seed(0)
    images = torch.rand(3, 2, 3, 8, 8)
    changed = change_colors(images, 0.1)
    assert changed.min() >= 0 and changed.max() <= 1
    assert 0 < (changed - images).abs().max() < 0.35
