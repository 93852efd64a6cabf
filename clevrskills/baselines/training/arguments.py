"""Arguments of ``clevrskills train``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clevrskills.jobs.options import Repeated


@dataclass(kw_only=True)
class DemonstrationArgs:
    """Demonstrations."""

    data: Repeated[Path] = ()
    """Folder of demonstrations, written by `clevrskills generate` or `clevrskills export --to
    lerobot`, or of scenes for `compact`; may be repeated."""
    task: Repeated[str] = ()
    """Only demonstrations of this task; may be repeated."""
    level: Repeated[str] = ()
    """Only demonstrations of this level, L0, L1 or L2; may be repeated."""
    weight: Repeated[str] = ()
    """Sampling weight of a task, TASK=WEIGHT, 1 for other tasks; may be repeated. By default all
    windows are sampled equally often."""
    balance: bool = False
    """Sample all tasks equally often."""
    prompt: Literal["multimodal", "language"] = "multimodal"
    """Prompts with images, or in words alone, without the tasks whose prompts need images."""
    workers: int = 2
    """Data loading processes of each training process."""
    cache_dir: Path | None = None
    """Folder for decoded and scaled images, shared by all processes and later training runs."""


@dataclass(kw_only=True)
class EvaluationArgs:
    """Evaluations during training."""

    evaluate_every: int | None = None
    """Steps between evaluations on frozen episodes; the last one is at the end."""
    evaluate_episodes: int = 5
    """Frozen episodes of each task in these evaluations."""
    evaluate_split: str = "val"
    """Their split."""
    evaluate_workers: int = 1
    """Worker processes of these evaluations."""


@dataclass(kw_only=True)
class TrainArgs(EvaluationArgs, DemonstrationArgs):
    """Train a policy on demonstrations of the split train; running it again continues.

    On several GPUs: `accelerate launch -m clevrskills train ...`; the batch size is per GPU.
    """

    policy: str | None = None
    """The policy: bc, stream_robolm, compact, of `clevrskills[policies]` cliport, jat, octo,
    robo_flamingo, or `module:Class`; with --from, that of the checkpoint."""
    recipe: Literal["compact"] | None = None
    """Generate data, train in stages and evaluate, instead of --policy and --data; --configuration
    tiny takes minutes."""
    out: Path
    """Folder of the training run."""
    configuration: str | None = None
    """Configuration of the policy: default, tiny or another one; with --from, by default that of
    the checkpoint."""
    set: Repeated[str] = ()
    """Entry of the configuration, NAME=VALUE with a JSON value, e.g. `batch_size=32` or
    `learning_rate=1e-4`; may be repeated."""
    from_: Path | None = None
    """Checkpoint, or folder of a training run, to start from."""
    published_weights: Path | None = None
    """Folder with published weights, in `language_model`, `image_encoder` and `weights`, as far as
    the policy needs them. Default: the Hugging Face Hub."""
    steps: int = 20_000
    """Optimizer steps."""
    accumulate: int = 1
    """Batches per optimizer step."""
    bf16: bool = False
    """Use bfloat16 mixed precision."""
    cpu: bool = False
    """Train on the CPU even if there is a GPU."""
    seed: int = 0
    """Seed of weights, sampling and all other randomness."""
    log_every: int = 50
    """Steps between log lines."""
    save_every: int = 1000
    """Steps between checkpoints."""
    keep: int = 2
    """Number of latest checkpoints to keep."""
