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
    """A split of the suite, such as train (seen objects and textures) or test (unseen); may be
    given several times; by default both of these, or those that the suite names."""
    episodes: int | None = None
    """Episodes of each task and split; by default 20, or what the suite names."""
    seed: int | None = None
    """Draw the episodes from this seed on, instead of using frozen ones."""
    frozen: Path | None = None
    """Folder of frozen episodes made by `clevrskills freeze`; by default those of the package."""
    robot: str | None = None
    """The robot; by default that of the frozen episodes."""
    criteria: str | None = None
    """When a task counts as solved: one of the suite's criteria, by default the first."""
    axis: Repeated[str] = ()
    """Perturb the frozen episodes along an axis, NAME:LEVEL, e.g. camera:3; may be given several
    times. Those that the oracle cannot solve, or that cannot be told by sight, are replaced by the
    next ones, the same for all policies."""
    noise: str | None = None
    """Noise of images and actions, of suites that have some: a name, or a description."""
    repeat: int = 1
    """Number of runs of each episode; what the policy draws differs."""
    until_width: float | None = None
    """Stop when the 95 % interval of the mean success over the tasks is so narrow, e.g. 0.1 for ten
    percentage points: all frozen episodes, or the first --episodes, in a shuffled order, one of
    each task in turn, by a confidence sequence that holds whenever one stops."""
    handover: Literal["prefix", "plan", "all"] | None = None
    """Let the oracle do a part of each episode: `prefix`, all up to a leaf of the goal, which the
    policy does, once told by the leaf's sentence and once by the whole prompt; `plan`, the choice
    of what to do next, of which it tells the policy; `all`, both, and the policy by itself with
    twice the limit of steps. The report tells where compositions break."""


@dataclass(kw_only=True)
class ActionArgs:
    """Actions, and when an episode ends."""

    interface: str | None = None
    """Interface of the policy; by default the suite's first one."""
    controller: str | None = None
    """A second policy that carries out the commands of the first one, which plans in words, in
    place of the skills: `checkpoint:DIR` or any other that acts by numbers. It is told the sentence
    of each command, and has the steps of the task that asks for such a thing alone."""
    controller_arg: Repeated[str] = ()
    """Argument of the controller, NAME=VALUE, as with `--policy-arg`."""
    chunk: int | None = None
    """Actions that are executed when the policy gives several at once; by default all."""
    strict_actions: bool = False
    """Actions outside [-1, 1] are errors; by default they are clipped and counted."""
    feedback: Literal["none", "simple", "detailed"] | None = None
    """What turns in words tell of themselves: nothing, whether they were done, or why not too; by
    default what the suite names, mostly simple."""
    stop: Literal["goal", "limit", "declared"] | None = None
    """When an episode ends: when the goal holds (the default), at the limit, or when the policy
    says `done`, which counts as a success only if the goal holds then."""


@dataclass(kw_only=True)
class ObservationArgs:
    """Observations, in place of those that the policy asks for."""

    cameras: tuple[str, ...] | None = None
    """Cameras that the policy is shown, in place of those that it asks for; `none`: no images."""
    view: Repeated[str] = ()
    """A view of the suite that the policy is shown, in place of cameras: a camera or, say, a
    description in text; may be given several times."""
    size: int | None = None
    """Width and height of the images, in pixels; by default each camera's own."""
    look: Look | None = None
    """Images with soft shadows, flat, or stock, by the shaders that SAPIEN ships; by default what
    the policy was trained on, or else soft."""
    history: int | None = None
    """Control steps in each observation."""
    prompt: Literal["multimodal", "language"] | None = None
    """Prompts with images, or in words alone; the latter leaves out the tasks that the paper
    leaves out there."""
    wording: Literal["own", "seen", "held_out", "empty", "other_task"] | None = None
    """What prompts say: what the episodes hold (the default), the wordings that are seen in
    training or held out, in turn, or, as controls, nothing or what another task asks for."""


@dataclass(kw_only=True)
class VideoArgs:
    """Videos."""

    video: Repeated[str] = ()
    """Film the first episodes of each task and split, by their number, or an episode by its name,
    e.g. sort_test_007; may be given several times, and after the evaluation."""


@dataclass(kw_only=True)
class CostArgs:
    """Costs of language models."""

    max_cost: float | None = None
    """Begin no more episodes once the run has cost so much, by `--policy-arg price_in=…
    price_out=…`; the same command with a higher number goes on."""
    dry_run: bool = False
    """Send nothing: print how many requests a policy that asks a language model would make at most,
    about how many tokens and images, and their price."""


@dataclass(kw_only=True)
class RestartArgs:
    """Workers: how long they wait for an action, and what follows when they are lost."""

    timeout: float = 60.0
    """Seconds in which the policy must give an action, at least 60; else the episode has failed. Of
    `chat:` policies at least 600."""
    accept_restarts: bool = False
    """Go on although more episodes were started again than are allowed (1 %, at least 2), as their
    process or connection was lost: all restarted episodes count as failures."""


@dataclass(kw_only=True)
class EvaluationPoolArgs(RestartArgs, PoolArgs):
    """Workers: what each of them runs."""

    batch: int = 1
    """Episodes that a process runs at the same time; the result is the same for any number."""


@dataclass(kw_only=True)
class EvaluateArgs(
    EvaluationPoolArgs, CostArgs, VideoArgs, ObservationArgs, ActionArgs, EpisodeArgs, SuiteArgs
):
    """Evaluate a policy on frozen episodes; running it again continues."""

    policy: str
    """The policy: `module:attribute`, `checkpoint:DIR` of `clevrskills train`, `rl:DIR` of
    `clevrskills rl`, `lerobot:DIR` of `lerobot-train`, `openpi://HOST:PORT`, `vla-eval://HOST:PORT`,
    `gr00t://HOST:PORT`, `oracle`, `zero`, `random`, `replay:DATASET` on the episodes of a dataset,
    or `chat:URL`, a language model behind an OpenAI-compatible endpoint; `chat:oracle` and others
    stand in for one."""
    isolate: bool = False
    """Run the policy in a process of its own, from which it does not reach the environment.
    Privileged policies run inside, and results say so."""
    policy_arg: Repeated[str] = ()
    """Argument of the policy, NAME=VALUE, the value as JSON; may be given several times."""
    all: bool = False
    """All tasks that have frozen episodes for the suite's first robot."""
    preset: str | None = None
    """A named bundle of options of the suite; options that are given win."""
    out: Path
    """Folder of the results."""
    label: str = ""
    """What tables call the policy."""
    track: str = ""
    """What the policy has learned from, if it does not say so itself: none, standard-100,
    standard-1000 or open."""
    verbose: bool = False
    """Print all tables, with their legends."""
    json: bool = False
    """Print the results as JSON."""
