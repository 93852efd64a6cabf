"""Arguments of ``clevrskills train``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clevrskills.jobs.options import Repeated


@dataclass(kw_only=True)
class DemonstrationArgs:
    """Demonstrations."""

    data: Repeated[Path] = ()
    """Folder of demonstrations, made by `clevrskills generate` or `clevrskills export --to
    lerobot`, or of scenes for `compact`; may be given several times."""
    task: Repeated[str] = ()
    """Only demonstrations of this task; may be given several times."""
    level: Repeated[str] = ()
    """Only demonstrations of this level, L0, L1 or L2; may be given several times."""
    weight: Repeated[str] = ()
    """Weight of a task when windows are drawn, TASK=WEIGHT; may be given several times. All other
    tasks have weight 1 then; without it, all windows are drawn equally often."""
    balance: bool = False
    """Draw windows of all tasks equally often."""
    prompt: Literal["multimodal", "language"] = "multimodal"
    """Prompts with images, or in words alone; the latter leaves out the tasks that evaluations
    leave out there."""
    workers: int = 2
    """Processes that load windows, for each process that trains."""
    cache_gb: float = 0.0
    """Memory in which each process that loads keeps the images that it has read, in GB: much
    quicker where all demonstrations fit into it."""
    cache_dir: Path | None = None
    """Folder in which all images are kept, decoded and scaled, for all processes and for later
    trainings; quicker than --cache-gb from the first step on."""


@dataclass(kw_only=True)
class EvaluationArgs:
    """Evaluations during the training."""

    evaluate_every: int | None = None
    """Steps between two evaluations on frozen episodes; the last one is at the end."""
    evaluate_episodes: int = 5
    """Frozen episodes of each task in these evaluations."""
    evaluate_split: str = "val"
    """Their split."""
    evaluate_workers: int = 1
    """Processes that evaluate."""


@dataclass(kw_only=True)
class TrainArgs(EvaluationArgs, DemonstrationArgs):
    """Train a policy on demonstrations of the split train; running it again continues.

    On several GPUs: `accelerate launch -m clevrskills train ...`; each of them has batches of its
    own.
    """

    policy: str | None = None
    """The policy: bc, act, stream_robolm, compact, of `clevrskills[policies]` cliport, jat, octo,
    robo_flamingo, or `module:Class`; with --from, that of the checkpoint."""
    recipe: Literal["compact"] | None = None
    """Draw data, train in stages and evaluate, from nothing to a policy, instead of --policy and
    --data; --configuration tiny tries it out in minutes."""
    out: Path
    """Folder of the training."""
    configuration: str | None = None
    """Configuration of the policy: default, tiny or others that it has; with --from, by default
    that of the checkpoint, whose weights have to fit."""
    set: Repeated[str] = ()
    """Entry of the configuration, NAME=VALUE, the value as JSON, e.g. `batch_size=32` or
    `learning_rate=1e-4`; may be given several times."""
    from_: Path | None = None
    """Checkpoint, or folder of a training, to go on from."""
    published_weights: Path | None = None
    """Folder with published weights: its folders `language_model`, `image_encoder` and `weights`,
    as far as the policy names some. By default they are looked for on the Hugging Face Hub."""
    steps: int = 20_000
    """Steps of the optimizer."""
    accumulate: int = 1
    """Batches to a step."""
    bf16: bool = False
    """Compute in bfloat16 where that is safe."""
    cpu: bool = False
    """Train on the CPU even if there is a GPU."""
    seed: int = 0
    """Decides the first weights, the order of the windows and all else that is random."""
    log_every: int = 50
    """Steps between two lines of the log."""
    save_every: int = 1000
    """Steps between two checkpoints."""
    keep: int = 2
    """Checkpoints that stay, the latest ones."""
