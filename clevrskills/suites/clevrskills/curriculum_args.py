"""Arguments of ``clevrskills curriculum``: a file, or a policy to train."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_least
from clevrskills.jobs.options import Positional, Repeated

if TYPE_CHECKING:
    from clevrskills.suites.clevrskills.protocol import Curriculum

_WITHOUT_FILE = (
    *("data", "configuration", "set", "steps", "train", "episodes", "prompt", "workers"),
)

_DECIDED = (
    *("--policy", "--configuration", "--data", "--level", "--prompt", "--from", "--out", "--steps"),
)
"""Options of ``clevrskills train`` set by the curriculum."""


@dataclass(kw_only=True)
class CurriculumArgs:
    """Run the paper's protocol: train on L0, L1 and L2 in turn, and evaluate after each stage.

    After L0: L0, and L1 zero-shot; after L1: L1 fine-tuned, and L2 zero-shot; after L2: L2
    fine-tuned. Each on seen and unseen objects, with multimodal and text-only prompts. The tables
    have the layout of the paper's Tables 2, 3 and 5, with the published numbers. The same command
    resumes a run. docs/curriculum.md describes the file.
    """

    table: Positional[Path | None] = None
    """TOML file with the policy, and its checkpoints or the command that trains them."""
    policy: str | None = None
    """Instead of a file: policy of `clevrskills train`, e.g. bc."""
    data: Repeated[Path] = ()
    """With --policy: folder of demonstrations of all levels; may be given several times."""
    configuration: str = "default"
    """With --policy: its configuration."""
    set: Repeated[str] = ()
    """With --policy: entry of the configuration, NAME=VALUE; may be given several times."""
    steps: tuple[int, ...] = (20_000,)
    """With --policy: optimizer steps of each stage: one number, or three for L0, L1, L2."""
    train: str = ""
    """With --policy: further options of `clevrskills train` as one argument, e.g. --train="--bf16
    --balance --cache-dir cache"."""
    episodes: int = 50
    """With --policy: episodes of each task and split; `clevrskills benchmark` has 50."""
    prompt: Repeated[Literal["multimodal", "language"]] = ()
    """With --policy: form of the prompt, each trained separately; by default both."""
    workers: int = 1
    """With --policy: number of evaluation processes."""
    out: Path
    """Folder for checkpoints, results and tables."""
    beside: tuple[Path, ...] = ()
    """Folders of other curricula to include in the tables."""
    plan: bool = False
    """Only print the steps."""
    json: bool = False
    """Print the tables or the plan as JSON."""


def requested_curriculum(args: CurriculumArgs) -> Curriculum:
    """Return the curriculum of a file, or of a policy and its demonstrations.

    Raises:
        ClevrSkillsError: Both or neither are given, or a value is not allowed.
    """
    from clevrskills.suites.clevrskills.protocol import read_curriculum

    if (args.table is None) == (args.policy is None):
        raise ClevrSkillsError("give either a TOML file or a policy with --policy")
    if args.table is None:
        return _of_policy(args)
    for field in fields(args):
        if field.name in _WITHOUT_FILE and getattr(args, field.name) != field.default:
            raise ClevrSkillsError(
                f"--{field.name} requires --policy; set it in {args.table} instead"
            )
    return read_curriculum(args.table)


def _of_policy(args: CurriculumArgs) -> Curriculum:
    from clevrskills.core.policy import FORMS
    from clevrskills.suites.clevrskills.protocol import Curriculum, Training, steps_of
    from clevrskills.suites.clevrskills.suite import SPLITS

    assert args.policy is not None
    if not args.data:
        raise ClevrSkillsError("there is no training data: give a folder with --data")
    check_least(args, episodes=1, workers=1)
    steps = steps_of(args.steps)
    given = ["--policy", args.policy, "--configuration", args.configuration]
    given += [word for path in args.data for word in ("--data", str(path))]
    options, seed = _train_options(args.train)
    given += options
    given += [word for entry in args.set for word in ("--set", entry)]
    command = (
        *(sys.executable, "-m", "clevrskills", "train"),
        *(word.replace("{", "{{").replace("}", "}}") for word in given),
        *("--level", "{level}", "--prompt", "{prompt}", "--from", "{from}", "--out", "{out}"),
        *("--steps", "{steps}", "--seed", "{seed}"),
    )
    return Curriculum(
        label=f"{args.policy} {args.configuration}",
        policy="clevrskills.baselines:load",
        episodes=args.episodes,
        splits=SPLITS,
        prompts=tuple(form for form in FORMS if form in (args.prompt or FORMS)),
        training=Training(command, argument="path", steps=steps),
        options={"workers": args.workers},
        training_seed=seed,
    )


def _train_options(text: str) -> tuple[list[str], int]:
    """Return further options of ``clevrskills train`` as words, and the seed among them."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ClevrSkillsError(f"--train cannot be read: {error}") from error
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    if taken := [name for name in names if name in _DECIDED]:
        raise ClevrSkillsError(f"--train: the curriculum sets {taken[0]}; leave it out")
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--seed", type=int, default=0)
    try:
        found, others = parser.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise ClevrSkillsError(f"--train: {error}") from error
    return others, found.seed
