"""Arguments of ``clevrskills evaluate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clevrskills.core.env_config import Look
from clevrskills.jobs.arguments import PoolArgs, SuiteArgs
from clevrskills.jobs.options import Repeated


@dataclass(kw_only=True)
class EpisodeArgs:
    """Episodes."""

    split: Repeated[str] = ()
    """Split of the suite, e.g. train (seen objects and textures) or test (unseen); repeatable;
    default: train and test, or the splits that the suite names."""
    episodes: int | None = None
    """Number of episodes per task and split; default: 20, or the number that the suite names."""
    seed: int | None = None
    """Sample episodes from consecutive seeds starting here instead of using frozen episodes; no
    dataset has seeds from 900000000 on."""
    frozen: Path | None = None
    """Folder of frozen episodes written by `clevrskills freeze`; default: those of the package."""
    robot: str | None = None
    """Robot; default: the robot of the frozen episodes."""
    criteria: str | None = None
    """Success criteria; default: the suite's first."""
    axis: Repeated[str] = ()
    """Perturb the frozen episodes along an axis, NAME:LEVEL, e.g. camera:3; repeatable. Episodes
    that become unsolvable or visually ambiguous are replaced by the next ones, for all policies
    alike."""
    noise: str | None = None
    """Image and action noise, by name or description, if the suite supports it."""
    repeat: int = 1
    """Number of rollouts per episode, each with another policy seed."""
    until_width: float | None = None
    """Stop when the 95 % confidence sequence of the mean success rate over tasks is this narrow,
    e.g. 0.1 for ten percentage points. Episodes run in a shuffled order, one of each task in turn;
    --episodes limits their number per task."""
    handover: Literal["prefix", "plan", "all"] | None = None
    """Let the oracle do part of each episode, to locate failures of composition: `prefix`, all
    steps before a subgoal, which the policy does, prompted by the subgoal and by the full prompt;
    `plan`, the choice of the next subgoal; `all`, both, and the policy alone with twice the step
    limit."""


@dataclass(kw_only=True)
class ActionArgs:
    """Actions and the end of episodes."""

    interface: str | None = None
    """Action interface of the policy; default: the suite's first."""
    controller: str | None = None
    """Low-level policy that executes the commands of a policy that plans in words, instead of the
    scripted skills, e.g. `checkpoint:DIR`. It is prompted with each command and has the step limit
    of the task with that single goal."""
    controller_arg: Repeated[str] = ()
    """Argument of the controller, NAME=VALUE, like `--policy-arg`."""
    chunk: int | None = None
    """Number of actions executed from an action chunk; default: all."""
    strict_actions: bool = False
    """Treat actions outside [-1, 1] as errors; by default they are clipped and counted."""
    feedback: Literal["none", "simple", "detailed"] | None = None
    """Feedback on actions in words: none, success or failure, or the reason of a failure too;
    default: that of the suite, usually simple."""
    stop: Literal["goal", "limit", "declared"] | None = None
    """End of an episode: when the goal holds (default), at the step limit, or when the policy says
    `done`, which is a success only if the goal holds."""


@dataclass(kw_only=True)
class ObservationArgs:
    """Observations, overriding those that the policy requests."""

    cameras: tuple[str, ...] | None = None
    """Cameras of the observation; `none`: no images."""
    view: Repeated[str] = ()
    """View of the suite, instead of cameras, e.g. a camera or a text description; repeatable."""
    size: int | None = None
    """Width and height of images in pixels; default: the camera's own."""
    look: Look | None = None
    """Rendering style: soft shadows, flat, or stock SAPIEN shaders; default: the style the policy
    was trained on, or soft."""
    history: int | None = None
    """Number of control steps per observation."""
    prompt: Literal["multimodal", "language"] | None = None
    """Prompts with images, or in words only; the latter skips tasks that need images, as in the
    paper."""
    wording: Literal["own", "seen", "held_out", "empty", "other_task"] | None = None
    """Wording of prompts: that of the episodes (default), training or held-out wordings in turn,
    or, as controls, empty or that of another task."""


@dataclass(kw_only=True)
class VideoArgs:
    """Videos."""

    video: Repeated[str] = ()
    """Record the first N episodes of each task and split, or one episode by name, e.g.
    sort_test_007; repeatable, also after the evaluation."""


@dataclass(kw_only=True)
class CostArgs:
    """Costs of language models."""

    max_cost: float | None = None
    """Start no more episodes once the run has cost this much, given `--policy-arg price_in=…
    price_out=…`; rerun with a higher limit to continue."""
    dry_run: bool = False
    """Send no requests; print upper bounds on requests, tokens, images and price."""


@dataclass(kw_only=True)
class RestartArgs:
    """Workers: timeouts and restarts."""

    timeout: float = 60.0
    """Seconds that the policy may take per action, at least 60, or the episode fails; `chat:`
    policies have at least 600."""
    accept_restarts: bool = False
    """Continue when more episodes were restarted than the limit (1 %, at least 2), after a lost
    process or connection; every restarted episode then counts as a failure."""


@dataclass(kw_only=True)
class EvaluationPoolArgs(RestartArgs, PoolArgs):
    """Workers: number, place and batch size."""

    batch: int = 1
    """Episodes that a process runs concurrently; results do not depend on it."""


@dataclass(kw_only=True)
class EvaluateArgs(
    EvaluationPoolArgs, CostArgs, VideoArgs, ObservationArgs, ActionArgs, EpisodeArgs, SuiteArgs
):
    """Evaluate a policy on frozen episodes; rerun the command to continue."""

    policy: str
    """Policy: `module:attribute`, `checkpoint:DIR` of `clevrskills train`, `rl:DIR` of
    `clevrskills rl`, `lerobot:DIR` of `lerobot-train`, `openpi://HOST:PORT`, `vla-eval://HOST:PORT`,
    `gr00t://HOST:PORT`, `oracle`, `zero`, `random`, `replay:DATASET` on the episodes of a dataset,
    or `chat:URL`, a language model behind an OpenAI-compatible endpoint (`chat:oracle` and others
    are stand-ins)."""
    isolate: bool = False
    """Run the policy in a separate process without access to the environment; privileged policies
    run inside, which the results record."""
    policy_arg: Repeated[str] = ()
    """Policy argument, NAME=VALUE with a JSON value; repeatable."""
    all: bool = False
    """Evaluate all tasks with frozen episodes for the suite's first robot."""
    preset: str | None = None
    """Named set of options of the suite; explicit options take precedence."""
    out: Path
    """Output folder."""
    label: str = ""
    """Name of the policy in tables."""
    track: str = ""
    """Training data, if the policy does not declare it: none, standard-100, standard-1000 or
    open."""
    verbose: bool = False
    """Print all tables with their legends."""
    json: bool = False
    """Print the results as JSON."""
