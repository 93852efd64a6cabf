"""What a training is, and its folder.

::

    DIR/run.json                 what is learnt and how
    DIR/checkpoint.safetensors   networks, optimiser, generator, steps made
    DIR/progress.jsonl           one line for each update
    DIR/tensorboard/             the same for TensorBoard
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clevrskills.dataset_tools.layout import versions
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import storage_errors, to_json, write_whole
from clevrskills.rl.config import PPOConfig

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

RUN_FILE = "run.json"
CHECKPOINT_FILE = "checkpoint.safetensors"
PROGRESS_FILE = "progress.jsonl"
TENSORBOARD_DIR = "tensorboard"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is learnt and how; what is not said here does not change the result.

    Attributes:
        task: Key of the task.
        split: Objects and textures: ``train`` or ``test``.
        robot: Key of the robot.
        obs: ``state`` or ``rgb``.
        cameras: Names of cameras, for ``rgb``.
        size_px: Width and height of their pictures.
        reward: The reward that is learnt from.
        task_args: Arguments of the task.
        episode_steps: Control steps after which an episode is cut off; ``None``: those of the task.
        terminate_on_success: Whether an episode ends with success.
        head_starts: Probability that an episode starts with a part of the goal achieved.
        backend: Where scenes are simulated: ``cpu`` or ``gpu``.
        num_envs: Environments that run at the same time.
        total_steps: Control steps of all of them together.
        seed: Of networks, actions and episodes.
        ppo: Numbers that PPO is tuned by.
        versions: Of Python and of the packages that shape an episode.
    """

    task: str
    split: str
    robot: str
    obs: str
    cameras: tuple[str, ...]
    size_px: int
    reward: str
    task_args: Mapping[str, Any]
    episode_steps: int | None
    terminate_on_success: bool
    head_starts: float
    backend: str
    num_envs: int
    total_steps: int
    seed: int
    ppo: PPOConfig
    versions: Mapping[str, str | None] = field(default_factory=versions, compare=False)

    def make_envs(self, workers: int) -> VectorEnv:
        """The environments, in ``workers`` processes, this one among them."""
        from clevrskills.vector import make_vec

        return make_vec(
            self.task,
            num_envs=self.num_envs,
            backend=self.backend,
            workers=workers,
            split=self.split,
            seed=self.seed,
            obs_mode=self.obs,
            reward_mode=self.reward,
            robot_name=self.robot,
            cameras=self.cameras,
            size_px=self.size_px,
            task_args=self.task_args,
            episode_steps=self.episode_steps,
            terminate_on_success=self.terminate_on_success,
            head_starts=self.head_starts,
        )


def read_run(root: Path) -> Run:
    """What was learnt in a folder.

    Raises:
        ClevrSkillsError: It holds no training, or one that cannot be read.
    """
    path = root / RUN_FILE
    if not path.is_file():
        raise ClevrSkillsError(f"{root} is no training of `clevrskills rl`: it has no {RUN_FILE}")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        values = {f.name: data[f.name] for f in fields(Run)}
        ppo = {f.name: _frozen(data["ppo"][f.name]) for f in fields(PPOConfig)}
    except (ValueError, KeyError, TypeError) as error:
        raise ClevrSkillsError(f"{path} is damaged: {error!r}") from error
    return Run(**{**values, "cameras": tuple(values["cameras"]), "ppo": PPOConfig(**ppo)})


def open_run(root: Path, run: Run) -> None:
    """Enter a training into its folder, or check that it is the one that is there.

    Raises:
        ClevrSkillsError: The folder holds something else.
        StorageError: It cannot be written.
    """
    if root.exists() and not root.is_dir():
        raise ClevrSkillsError(f"{root} is a file; give a folder")
    if (root / RUN_FILE).exists():
        return _check_same(root, read_run(root), run)
    with storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        if any(not path.name.startswith(".") for path in root.iterdir()):
            raise ClevrSkillsError(
                f"{root} is no training of `clevrskills rl` (no {RUN_FILE}) and not empty; "
                "give an empty or new folder"
            )
    write_whole(root / RUN_FILE, to_json(asdict(run), indent=1) + "\n")
    return None


def _check_same(root: Path, there: Run, now: Run) -> None:
    for name, one in _settings(there).items():
        other = _settings(now)[name]
        if one != other:
            raise ClevrSkillsError(
                f"{root} was made with {name} {one}, not {other}; give another folder"
            )


def _settings(run: Run) -> dict[str, Any]:
    """All that must be the same, by name."""
    settings = json.loads(to_json(asdict(run)))
    del settings["versions"]
    return {**settings.pop("ppo"), **settings}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
