"""Configuration of the pick-and-place actor."""

from dataclasses import dataclass

from clevrskills.baselines.spec import PolicyConfig

TURNS = 36
"""Turns that the interface tells apart."""


@dataclass(frozen=True, kw_only=True)
class CliportConfig(PolicyConfig):
    """Configuration of the actor.

    Attributes:
        width: Channels of the first features.
        words: Numbers of what is heard.
        vocabulary: How many words are told apart.
        length: Words of an instruction, at most.
        turns: Turns of what is held that are told apart, 10 degrees each; 9 do for squares.
        crop_px: Side of the crop around a pick.
        spread_px: How far from the pixel of a demonstration others count as right, too.
        augment: Whether turns are mirrored and shifted along with their words, some made noisy, and
            some words replaced.
        turns_per_image: Turns of an image that are learned from at once, at most.
    """

    cameras: tuple[str, ...] = ("map",)
    width: int = 32
    words: int = 128
    vocabulary: int = 2048
    length: int = 64
    turns: int = TURNS
    crop_px: int = 64
    spread_px: float = 1.5
    augment: bool = True
    turns_per_image: int = 4
    learning_rate: float = 1e-3
    batch_size: int = 16
    warm_up_steps: int = 100
    final_rate: float = 0.02
