"""Configuration of Octo."""

from dataclasses import dataclass

from clevrskills.baselines.policies.hub import language_dtype
from clevrskills.baselines.spec import PolicyConfig
from clevrskills.errors import ClevrSkillsError

CAMERAS = ("primary", "wrist")
"""What Octo calls its cameras, in the order of ``cameras``."""


@dataclass(frozen=True, kw_only=True)
class OctoConfig(PolicyConfig):
    """Configuration of :class:`~clevrskills_policies.octo.policy.Octo`."""

    image_size: int = 256
    steps: int = 2
    horizon: int = 4
    learning_rate: float = 3e-4
    batch_size: int = 256
    warm_up_steps: int = 2000
    small_size: int = 128  # width and height in pixels of all images but those of the first camera
    width: int = 768  # numbers in a token
    layers: int = 12  # layers of the transformer
    heads: int = 12  # heads of attention
    # channels of the images' features at a half, a quarter, ... of their size.
    channels: tuple[int, ...] = (32, 96, 192, 384)
    groups: int = 32  # groups of channels that are normalized together
    features: int = 512  # numbers that become a token, for each 16 x 16 pixels
    readouts: int = 1  # tokens that are read out at each step
    prompt_tokens: int = 128  # tokens of a prompt that are read
    diffusion_steps: int = 20  # steps from noise to actions
    diffusion_samples: int = 1  # draws of noise for each window in training
    action_limit: float = 5.0  # where normalized actions are cut off
    head_width: int = 256  # numbers in the features of the network that tells the noise
    head_blocks: int = 3  # blocks of that network
    time_size: int = 32  # numbers that tell it the step of diffusion
    # how far images are shifted at random in training, as a share of their width
    shift_share: float = 0.0
    color_share: float = 0.0  # how much their colors are changed
    # folder or name of the published model that it starts from; ``None``: it starts from nothing
    weights: str | None = None
    # folder or name of the published T5 that reads the words, which has the vocabulary too;
    # ``None``: a small one that starts from nothing, is trained and reads bytes
    language_model: str | None = None
    text_layers: int = 2  # layers of that small one
    # kind of numbers of a published language model: ``bfloat16``, in half the memory, or
    # ``float32``
    language_dtype: str = "float32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.cameras) <= len(CAMERAS):
            raise ClevrSkillsError(f"Octo sees one or two cameras, not {len(self.cameras)}")
        if self.proprioception:
            raise ClevrSkillsError("Octo is not told the robot's own state: no proprioception")
        if self.starts_every is not None:
            raise ClevrSkillsError("Octo sees the last steps only: no starts_every")
        language_dtype(self.language_dtype)
