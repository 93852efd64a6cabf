"""The paper's curriculum: stages, trials and the file that configures them."""

import json
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from clevrskills.core.policy import FORMS
from clevrskills.errors import ClevrSkillsError, UnknownNameError
from clevrskills.jobs.files import storage_errors
from clevrskills.suites.clevrskills.suite import PROTOCOL, SPLITS

PLACEHOLDERS = ("stage", "level", "from", "out", "data", "prompt", "steps", "seed")
"""Placeholders of the training command."""
STAGES = ("l0", "l1", "l2")
"""Stages: training on L0, fine-tuning on L1, fine-tuning on L2."""
(CELL,) = PROTOCOL.cells
"""Run of the suite's protocol that trials on unseen objects are part of."""
EPISODES = CELL.episodes or 0
"""Default number of episodes of each task and split."""
TRAINED_ON = dict(zip(STAGES, PROTOCOL.trained_on, strict=True))
"""Training data of a policy after each stage."""
_EVALUATED = {
    "l0": (("L0", "trained"), ("L1", "zero-shot")),
    "l1": (("L1", "fine-tuned"), ("L2", "zero-shot")),
    "l2": (("L2", "fine-tuned"),),
}
_OURS = ("policy", "tasks", "level", "split", "episodes", "out", "policy_arg", "prompt", "label")
_UNFIT = (
    *("note", "json", "shard", "seed", "dry_run"),
    *("handover", "repeat", "until_width"),  # their episodes are others than the protocol counts
)


@dataclass(frozen=True)
class Trial:
    """Evaluation of the protocol."""

    stage: str  # last training stage: `l0`, `l1` or `l2`
    level: str
    setting: str  # `trained`, `zero-shot` or `fine-tuned`
    split: str  # `train` (seen objects and textures) or `test` (unseen ones)
    prompt: str  # `multimodal` or `language`

    @property
    def name(self) -> str:
        """Name of its folder, e.g. ``multimodal-l0-on-L1-test``."""
        return f"{self.prompt}-{self.stage}-on-{self.level}-{self.split}"


@dataclass(frozen=True)
class Training:
    """Command that trains a checkpoint."""

    command: tuple[str, ...]  # its words, with :data:`PLACEHOLDERS` in braces
    data: str = ""  # value of {data}
    argument: str = "checkpoint"  # argument of the policy for the checkpoint
    steps: tuple[int, ...] = ()  # value of {steps} in each stage

    @property
    def by_prompt(self) -> bool:
        """``True`` if each form of the prompt has its own checkpoints."""
        return any("{prompt}" in word for word in self.command)


@dataclass(frozen=True)
class Curriculum:
    """Trainings and evaluations of a curriculum."""

    label: str  # name of the policy in tables
    policy: str  # the policy, as for ``clevrskills evaluate``
    episodes: int = EPISODES  # episodes of each task and split
    splits: tuple[str, ...] = SPLITS  # splits to evaluate on
    prompts: tuple[str, ...] = FORMS  # forms of the prompt
    # arguments of the policy at every stage
    policy_args: Mapping[str, Any] = field(default_factory=dict)
    # further arguments by form of the prompt and stage; ``policy`` replaces the policy itself
    checkpoints: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    training: Training | None = None  # command that trains missing checkpoints
    # further options of ``clevrskills evaluate``
    options: Mapping[str, Any] = field(default_factory=dict)
    training_seed: int | None = None  # training seed; tables average over seeds

    def trials(self, stage: str) -> Iterator[Trial]:
        """Yield the evaluations after a training stage."""
        for prompt in self.prompts:
            for level, setting in _EVALUATED[stage]:
                for split in self.splits:
                    yield Trial(stage, level, setting, split, prompt)


def read_curriculum(path: Path) -> Curriculum:
    """Read a curriculum from a TOML file.

    Raises:
        ClevrSkillsError: The file is missing, or an entry is not allowed.
    """
    if not path.is_file():
        raise ClevrSkillsError(f"there is no file {path}")
    try:
        with storage_errors(path):
            data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ClevrSkillsError(f"{path} is not valid TOML: {error}") from error
    try:
        return parse_curriculum(data)
    except ClevrSkillsError as error:
        raise ClevrSkillsError(f"{path}: {error}") from error


def parse_curriculum(data: Mapping[str, Any]) -> Curriculum:
    """Return a curriculum from the data of its file.

    Raises:
        ClevrSkillsError: An entry is not allowed.
    """
    table = _Table("", data)
    curriculum = Curriculum(
        policy=table.take("policy", str),
        label=table.take("label", str, data.get("policy", "")),
        episodes=table.take("episodes", int, EPISODES),
        splits=table.choose("splits", SPLITS),
        prompts=table.choose("prompts", FORMS),
        policy_args=table.take("policy_args", dict, {}),
        checkpoints=_checkpoints(table),
        training=_training(table.take("train", dict, None), "training_seed" in data),
        options=_options(table.take("evaluate", dict, {})),
        training_seed=table.take("training_seed", int, None),
    )
    table.finish()
    if curriculum.episodes < 1:
        raise ClevrSkillsError(f"episodes must be at least 1, not {curriculum.episodes}")
    try:
        json.dumps([curriculum.policy_args, curriculum.checkpoints])
    except TypeError as error:
        raise ClevrSkillsError(f"arguments of the policy must be JSON data: {error}") from error
    if not curriculum.training and not any(curriculum.checkpoints.values()):
        raise ClevrSkillsError("[checkpoints] or a [train] command is required")
    return curriculum


class _Table:
    """Table of the file; entries that are not taken are unknown."""

    def __init__(self, name: str, data: Mapping[str, Any]) -> None:
        self.name, self.data, self.known = name, data, set[str]()

    def take(self, key: str, kind: type, *default: Any) -> Any:
        self.known.add(key)
        if key not in self.data:
            if not default:
                raise ClevrSkillsError(f"{self.name}{key} is missing")
            return default[0]
        value = self.data[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ClevrSkillsError(f"{self.name}{key} must be a {kind.__name__}, not {value!r}")
        return value

    def choose(self, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        chosen = self.take(key, list, list(allowed))
        for name in chosen:
            if name not in allowed:
                raise UnknownNameError(f"{key} entry", name, allowed)
        if not chosen:
            raise ClevrSkillsError(f"{key} is empty; allowed: {', '.join(allowed)}")
        return tuple(name for name in allowed if name in chosen)

    def finish(self) -> None:
        for key in self.data:
            if key not in self.known:
                raise UnknownNameError("key", f"{self.name}{key}", sorted(self.known))


def _checkpoints(table: _Table) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the checkpoints by form of the prompt; text-only prompts default to those of all."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for key, forms in (("checkpoints", FORMS), ("language_checkpoints", ("language",))):
        given = table.take(key, dict, None)
        if given is None:
            continue
        stages = _Table(f"{key}.", given)
        args = {s: stages.take(s, dict, None) for s in STAGES}
        stages.finish()
        for form in forms:
            found[form] = {s: dict(a) for s, a in args.items() if a is not None}
    return found


def _training(data: Mapping[str, Any] | None, is_seeded: bool) -> Training | None:
    if data is None:
        return None
    table = _Table("train.", data)
    text = table.take("command", str)
    try:
        command = tuple(shlex.split(text))
        for word in command:
            word.format_map(dict.fromkeys(PLACEHOLDERS, ""))
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        allowed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        raise ClevrSkillsError(
            f"train.command cannot be parsed ({error}); allowed placeholders: {allowed}"
        ) from error
    if not any("{out}" in word for word in command):
        raise ClevrSkillsError("train.command must contain {out}, the folder of the checkpoint")
    steps = table.take("steps", list, [])
    if ("{steps}" in text) != bool(steps):
        raise ClevrSkillsError("train.steps requires {steps} in train.command and vice versa")
    if ("{seed}" in text) != is_seeded:
        raise ClevrSkillsError("training_seed requires {seed} in train.command and vice versa")
    training = Training(
        command,
        table.take("data", str, ""),
        table.take("argument", str, "checkpoint"),
        steps_of(steps) if steps else (),
    )
    table.finish()
    return training


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value of a file has the type of an argument."""
    of = get_args(kind)
    if get_origin(kind) is Literal:
        return value in of
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(one, of[0]) for one in value)
    if of:  # one of several kinds
        return any(_fits(value, one) for one in of)
    if kind is Path:
        return isinstance(value, str)
    return type(value) is kind or (kind is float and type(value) is int)


def steps_of(steps: Sequence[Any]) -> tuple[int, ...]:
    """Return the training steps of each stage, given as one number or three.

    Raises:
        ClevrSkillsError: They are invalid.
    """
    good = all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in steps)
    if not good or len(steps) not in (1, len(STAGES)):
        given = " ".join(map(str, steps))
        raise ClevrSkillsError(f"steps must be one or three positive integers, not {given!r}")
    return tuple(steps) * (len(STAGES) // len(steps))


def _options(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of ``evaluate`` with the types of its arguments."""
    from clevrskills.evaluation.evaluate import EvaluateArgs

    kinds = get_type_hints(EvaluateArgs)
    allowed = sorted({f.name for f in fields(EvaluateArgs)} - {*_OURS, *_UNFIT})
    options: dict[str, Any] = {}
    for name, value in data.items():
        if name not in allowed:
            raise UnknownNameError("key", f"evaluate.{name}", allowed)
        if isinstance(value, list):
            value = tuple(value)
        if not _fits(value, kinds[name]):
            kind = getattr(kinds[name], "__name__", None) or str(kinds[name])
            raise ClevrSkillsError(f"evaluate.{name} must be a {kind}, not {value!r}")
        options[name] = Path(str(value)) if name == "frozen" else value
    return options
