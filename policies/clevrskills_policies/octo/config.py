"""Configuration of Octo."""

from dataclasses import dataclass

from clevrskills.baselines.policies.hub import language_dtype
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.errors import ClevrSkillsError

CAMERAS = ("primary", "wrist")
"""Names of cameras in Octo, in the order of ``cameras``."""


@dataclass(frozen=True, kw_only=True)
class OctoConfig(PolicyConfig):
    """Configuration of :class:`~clevrskills_policies.octo.policy.Octo`."""

    image_size: int = 256
    steps: int = 2
    horizon: int = 4
    learning_rate: float = 3e-4
    batch_size: int = 256
    warm_up_steps: int = 2000
    small_size: int = 128  # size in pixels of images of prompts and of the second camera
    width: int = 768  # width of a token
    layers: int = 12  # number of transformer layers
    heads: int = 12  # number of attention heads
    # channels of image features at 1/2, 1/4, ... of the image size
    channels: tuple[int, ...] = (32, 96, 192, 384)
    groups: int = 32  # groups of the group normalization
    features: int = 512  # width of the feature of a patch of 16 x 16 pixels, before the projection
    readouts: int = 1  # number of readout tokens of each step
    prompt_tokens: int = 128  # maximum number of tokens of a prompt
    diffusion_steps: int = 20  # number of denoising steps
    diffusion_samples: int = 1  # noise samples for each step of a window in training
    action_limit: float = 5.0  # limit to which normalized actions are clipped
    head_width: int = 256  # width of the denoising network
    head_blocks: int = 3  # number of blocks of the denoising network
    time_size: int = 32  # width of the embedding of the diffusion step
    shift_share: float = 0.0  # maximum random shift of images in training, as a share of the width
    color_share: float = 0.0  # maximum random change of their colors, as a share
    weights: str | None = None  # folder or name of the published model; ``None``: random weights
    # folder or name of the published T5, with its vocabulary; ``None``: a small one with random
    # weights, trained on bytes
    language_model: str | None = None
    text_layers: int = 2  # number of layers of the small T5
    # data type of a published language model: ``float32``, or ``bfloat16`` in half the memory
    language_dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.cameras) <= len(CAMERAS):
            raise ClevrSkillsError(f"Octo uses one or two cameras, not {len(self.cameras)}")
        if self.proprioception:
            raise ClevrSkillsError("Octo takes no proprioception")
        if self.starts_every is not None:
            raise ClevrSkillsError("Octo reads the latest observations only: no starts_every")
        language_dtype(self.language_dtype)
