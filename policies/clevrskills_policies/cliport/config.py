"""Configuration of the pick-and-place policy."""

from dataclasses import dataclass

from clevrskills.baselines.spec import PolicyConfig

TURNS = 36
"""Number of rotations of the interface."""


@dataclass(frozen=True, kw_only=True)
class CliportConfig(PolicyConfig):
    """Configuration of :class:`~clevrskills_policies.cliport.policy.Cliport`."""

    cameras: tuple[str, ...] = ("map",)
    width: int = 32  # base number of channels
    words: int = 128  # width of a language feature
    vocabulary: int = 2048  # size of the vocabulary
    length: int = 64  # maximum number of words of an instruction
    # number of rotations of the held object, 10 degrees each; 9 suffice for squares
    turns: int = TURNS
    crop_px: int = 64  # width and height of the crop around a pick
    spread_px: float = 1.5  # standard deviation of the target around a demonstrated pixel
    # whether to mirror turns with their words, shift them, add noise and replace words
    augment: bool = True
    turns_per_image: int = 4  # maximum number of turns of an image in a batch
    learning_rate: float = 1e-3
    batch_size: int = 16
    warm_up_steps: int = 100
    final_rate: float = 0.02
