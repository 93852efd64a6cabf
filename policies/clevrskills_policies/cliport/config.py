"""Configuration of the pick-and-place actor."""

from dataclasses import dataclass

from clevrskills.baselines.spec import PolicyConfig

TURNS = 36
"""Turns that the interface tells apart."""


@dataclass(frozen=True, kw_only=True)
class CliportConfig(PolicyConfig):
    """Configuration of the actor."""

    cameras: tuple[str, ...] = ("map",)
    width: int = 32  # channels of the first features
    words: int = 128  # numbers of what is heard
    vocabulary: int = 2048  # size of the vocabulary
    length: int = 64  # words of an instruction, at most
    # distinct turns of the held object, 10 degrees each; 9 do for squares
    turns: int = TURNS
    crop_px: int = 64  # side of the crop around a pick
    spread_px: float = 1.5  # how far from the pixel of a demonstration others count as right, too
    # whether turns are mirrored and shifted along with their words, some made noisy, and some words
    # replaced
    augment: bool = True
    turns_per_image: int = 4  # turns of an image that are learned from at once, at most
    learning_rate: float = 1e-3
    batch_size: int = 16
    warm_up_steps: int = 100
    final_rate: float = 0.02
