"""Numbers of the paper's Tables 2, 3 and 5 (arXiv 2411.09052) and their comparability."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clevrskills.assets.tables import read_toml
from clevrskills.core.statistics import wilson
from clevrskills.evaluation.statistics import Estimate

EPISODES_PER_TASK = 20
TASKS = {"multimodal": {"L0": 12, "L1": 15, "L2": 6}, "language": {"L0": 10, "L1": 11, "L2": 6}}
"""Number of tasks of each published rate."""
COMPARABILITY = (
    "Published: 20 seeds per task, no intervals. The intervals beside published rates are derived: "
    "Wilson's, from the rate and the stated number of episodes (240, 300 and 120 at L0, L1 and L2; "
    "200, 220 and 120 in language alone).",
    "Comparable: the tasks, their goals and levels, the curriculum, the prompts' form, what "
    "success asks for (the criteria `paper`), the scale of the rewards, cameras, control rate and "
    "scaling of the actions.",
    "Not comparable: the simulator (ManiSkill 3 and SAPIEN 3 here, ManiSkill 2 and SAPIEN 2 "
    "there), the meshes and textures (generated here, and with them which ones are unseen), the "
    "model of the gripper, the episodes (the seeds were not published), and the training data and "
    "compute.",
    "The paper states no step limits. A policy that fails earns reward until the limit, so average "
    "rewards of failing policies depend on it; compare reward per step instead. How the paper "
    "averages reward per step is not stated; here it is the mean over episodes of reward divided "
    "by steps.",
    "The paper does not say whether the objects of its Tables 3 and 5 were seen in training; they "
    "stand beside our seen ones. Its text and its released code disagree on some criteria, and it "
    "does not say which of them the numbers are from.",
    "Of the published oracle rows, that of Table 5 is a copy of the one with all tasks.",
)
"""Remarks on the comparability with the published numbers."""


@dataclass(frozen=True)
class PublishedResult:
    """Entry of a published table."""

    table: int  # number of the table
    model: str  # name of the model
    level: str  # level of the tasks
    setting: str  # ``trained`` (L0), ``zero-shot`` or ``fine-tuned``
    split: str  # ``train`` (seen objects and textures) or ``test`` (unseen ones)
    prompt: str  # ``multimodal`` or ``language``
    success: Estimate  # success rate with derived interval
    reward: float  # average reward
    reward_per_step: float  # average reward per step


# Columns: level, setting, split.
_COLUMNS = {
    2: (("L0", "trained", "train"), ("L0", "trained", "test")),
    3: (
        ("L1", "zero-shot", "train"),
        ("L1", "fine-tuned", "train"),
        ("L2", "zero-shot", "train"),
        ("L2", "fine-tuned", "train"),
    ),
    5: (("L0", "trained", "train"), ("L1", "zero-shot", "train"), ("L2", "zero-shot", "train")),
}


def published() -> Iterator[PublishedResult]:
    """Yield every entry of the three tables."""
    for number, models in read_toml(Path(__file__).with_suffix(".toml")).items():
        table = int(number)
        prompt = "language" if table == 5 else "multimodal"
        for model, entries in models.items():
            for (level, setting, split), entry in zip(_COLUMNS[table], entries, strict=True):
                percent, *rewards = entry
                n = EPISODES_PER_TASK * TASKS[prompt][level]
                success = Estimate(percent / 100, *wilson(percent / 100 * n, n), n)
                key = (table, model, level, setting, split, prompt)
                yield PublishedResult(*key, success, *rewards)
