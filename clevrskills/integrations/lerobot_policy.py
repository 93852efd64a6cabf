"""LeRobot checkpoints as policies, ``lerobot:PATH`` of ``clevrskills evaluate``.

The checkpoint's pre- and postprocessors run as in ``lerobot-eval``. Requires LeRobot 0.6.1 or
later, and so Python 3.12 and numpy 2.
"""

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clevrskills.core.interface import Interface
from clevrskills.core.policy import Observation, ObservationOptions, PolicyError, PromptInput
from clevrskills.core.suite import Suite, all_cameras, all_robots
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.arguments import check_names
from clevrskills.jobs.files import read_json
from clevrskills.serving.message_fields import state_vector
from clevrskills.sim.state_vector import state_parts

INSTALL = "pip install 'lerobot[dataset,evaluation]>=0.6.1'"
CONFIG_FILE = "config.json"
IMAGES = "observation.images."
STATE = "observation.state"
ACTION = "action"
RENAMES = "rename_observations_processor"
"""Name of the preprocessor step that renames observations."""
AHEAD = (
    *("act", "eo1", "evo1", "groot", "molmoact2"),
    *("pi0", "pi05", "pi0_fast", "smolvla", "xvla"),
)
"""Types of policies that ignore observations while they execute an action chunk, so that no images
are rendered meanwhile."""
EMPTY_CAMERA = f"{IMAGES}empty_camera_"
"""Prefix of placeholder cameras, which do not exist."""


class LeRobotPolicy:
    """Policy that acts like a LeRobot checkpoint in ``lerobot-eval``.

    Cameras, image size, state and chunk size are those of its configuration. The look of the images
    is that of its training dataset, if this export still exists.

    Args:
        path: Folder of the checkpoint: ``pretrained_model``, or the output folder of
            ``lerobot-train``, whose last checkpoint is used.
        suite: The suite.
        interface: The action interface.
        device: Device; ``None``: that of its configuration, or an available one.
        rename: Names of the checkpoint's cameras by those of the suite; ``None``: as in its
            preprocessor.
        settings: Fields that override its configuration, like ``--policy.NAME`` of
            ``lerobot-eval``, e.g. ``n_action_steps``.

    Raises:
        ClevrSkillsError: There is no checkpoint, LeRobot is not installed, or the checkpoint has
            other observations or actions.
    """

    def __init__(
        self,
        path: str,
        suite: Suite,
        interface: Interface,
        device: str | None = None,
        rename: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        check_names(camera=(rename or (), all_cameras(suite)))
        self._folder = find_checkpoint(Path(path))
        data = trained_on(self._folder)
        rate_hz = interface.spec["rate_hz"]
        if data.get("fps", rate_hz) != rate_hz:
            raise ClevrSkillsError(f"{path} was trained at {data['fps']} Hz; here it is {rate_hz}")
        self._configure({"device": device, **settings} if device else settings, rename)
        inputs = {name: tuple(f.shape) for name, f in self._config.input_features.items()}
        outputs = {name: tuple(f.shape) for name, f in self._config.output_features.items()}
        try:
            shown = self._shown(inputs, suite)
            if outputs.get(ACTION) != (*interface.spec["shape"],):
                raise ClevrSkillsError(
                    f"its actions are {outputs.get(ACTION)}, here {(*interface.spec['shape'],)}"
                )
        except ClevrSkillsError as error:
            raise ClevrSkillsError(f"the checkpoint {path} does not fit: {error}") from None
        self._load_weights()
        looks = {"look": data["look"]} if "look" in data else {}
        self.observation = ObservationOptions(prompt="language", **shown, **looks)
        self._has_state, self._text = STATE in inputs, ""
        self._chunk_is_known = _acts_ahead(self._config, self._preprocess)
        self._random: list[torch.Tensor] = []

    def reset(self, prompt: PromptInput) -> None:
        """Begin an episode and discard queued actions."""
        self._text = prompt.text
        with self._own_random(prompt.seed):
            self._model.reset()

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action (n,) or a chunk of actions (H, n).

        Raises:
            PolicyError: The checkpoint expects a state of another size.
        """
        batch = self._batch(observation)
        with self._own_random():
            actions = [self._next_action(batch)]
            while self._chunk_is_known and len(_queue(self._model)):
                actions.append(self._next_action(batch))
        return np.concatenate(actions) if len(actions) > 1 else actions[0][0]

    def _configure(self, settings: Mapping[str, Any], rename: Mapping[str, str] | None) -> None:
        """Read the configuration and the processors."""
        try:
            from lerobot.configs import PreTrainedConfig
            from lerobot.envs.utils import freeze_after_episode_end  # noqa: F401 (since 0.6.1)
            from lerobot.policies import make_pre_post_processors
            from lerobot.utils.import_utils import register_third_party_plugins
        except ImportError as error:
            raise ClevrSkillsError(
                f"lerobot:DIR needs LeRobot 0.6.1, in Python 3.12 ({error}): {INSTALL}"
            ) from None
        register_third_party_plugins()
        kind = read_json(self._folder / CONFIG_FILE).get("type")
        known = PreTrainedConfig.get_known_choices()
        check_names(**{"type of LeRobot's policies": ((kind,), sorted(known))})
        names = [f.name for f in fields(known[kind])]
        check_names(**{f"field of the configuration of {kind}": (settings, names)})
        given = [f"--{name}={json.dumps(value).strip(chr(34))}" for name, value in settings.items()]
        config = PreTrainedConfig.from_pretrained(str(self._folder), cli_overrides=given)
        overrides: dict[str, Any] = {"device_processor": {"device": str(config.device)}}
        if rename is not None:
            theirs = {f"{IMAGES}{ours}": f"{IMAGES}{name}" for ours, name in rename.items()}
            overrides[RENAMES] = {"rename_map": theirs}
        self._config = config
        self._preprocess, self._postprocess = make_pre_post_processors(
            config, str(self._folder), preprocessor_overrides=overrides
        )

    def _load_weights(self) -> None:
        from lerobot.policies import get_policy_class

        kind, folder = get_policy_class(self._config.type), str(self._folder)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints while loading
            if self._config.use_peft:
                from peft import PeftConfig, PeftModel

                adapter = PeftConfig.from_pretrained(folder)
                base = kind.from_pretrained(adapter.base_model_name_or_path, config=self._config)
                model = PeftModel.from_pretrained(base, folder, config=adapter)
            else:
                model = kind.from_pretrained(folder, config=self._config)
        self._model = model.to(self._config.device).eval()

    def _shown(self, inputs: Mapping[str, tuple[int, ...]], suite: Suite) -> dict[str, Any]:
        """Return the observation options of the checkpoint."""
        cameras, renames = all_cameras(suite), dict[str, str]()
        for step in self._preprocess.steps:
            renames |= getattr(step, "rename_map", {})
        ours = {renames.get(f"{IMAGES}{name}", f"{IMAGES}{name}"): name for name in cameras}
        names = [name for name in inputs if not name.startswith(EMPTY_CAMERA)]
        asked = [name for name in names if name.startswith(IMAGES)]
        for name in set(names) - {*asked, STATE}:
            raise ClevrSkillsError(f"it takes {name}, which is not shown here")
        may_lack = hasattr(self._config, "empty_cameras") and any(name in ours for name in asked)
        for name in asked:
            if name not in ours and not may_lack:
                here, missing = ", ".join(cameras), name.removeprefix(IMAGES)
                raise ClevrSkillsError(
                    f"it takes images of {missing}; here are {here}; "
                    f"""--policy-arg rename='{{"{cameras[0]}": "{missing}"}}' says which is which"""
                )
        sizes = {inputs[name][-2:] for name in asked if name in ours}
        if len({side for size in sizes for side in size}) > 1:
            raise ClevrSkillsError(
                f"it takes images of {' and '.join(f'{w} x {h}' for h, w in sorted(sizes))}; "
                "here all are squares of one size"
            )
        parts = [state_parts(robot) for robot in all_robots(suite)]
        known = sorted({sum(part.size for part in of.values()) for of in parts})
        size = inputs.get(STATE, (known[0],))[0]
        numbers = " or ".join(map(str, known))
        if size not in known and not hasattr(self._config, "max_state_dim"):
            raise ClevrSkillsError(f"it takes a state of {size} numbers; here it has {numbers}")
        return {
            "cameras": tuple(ours[name] for name in asked if name in ours),
            "size_px": next(iter(sizes))[0] if sizes else None,
            "proprioception": STATE in inputs,
        }

    def _batch(self, observation: Observation) -> dict[str, Any]:
        from lerobot.envs import preprocess_observation

        shown: dict[str, Any] = {}
        if observation["images"]:
            shown["pixels"] = {name: image[None] for name, image in observation["images"].items()}
        state = state_vector(observation)
        if self._has_state and state is not None:
            wanted = self._config.input_features[STATE].shape[0]
            if len(state) != wanted and not hasattr(self._config, "max_state_dim"):
                raise PolicyError(
                    f"the state of this robot has {len(state)} numbers, that of the checkpoint "
                    f"{wanted}"
                )
            shown["agent_pos"] = state[None]
        return {**preprocess_observation(shown), "task": [self._text]}

    def _next_action(self, batch: Mapping[str, Any]) -> np.ndarray:
        config = self._config
        kind = str(config.device).partition(":")[0]
        mixed = torch.autocast(kind) if config.use_amp else contextlib.nullcontext()
        with torch.inference_mode(), mixed:
            action = self._postprocess(self._model.select_action(self._preprocess(dict(batch))))
        found: np.ndarray = action.float().cpu().numpy()
        return found

    @contextlib.contextmanager
    def _own_random(self, seed: int | None = None) -> Iterator[None]:
        """Use random states of the episode inside, independent of other code."""
        device = torch.device(self._config.device)
        on_gpu = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(on_gpu):
            if seed is not None:
                torch.manual_seed(seed)
            else:
                own, *others = self._random
                torch.random.set_rng_state(own)
                for state in others:
                    torch.cuda.set_rng_state(state, device)
            yield
            others = [torch.cuda.get_rng_state(each) for each in on_gpu]
            self._random = [torch.random.get_rng_state(), *others]


def find_checkpoint(path: Path) -> Path:
    """Return the folder of a checkpoint with its configuration.

    Raises:
        ClevrSkillsError: There is no checkpoint.
    """
    for folder in (path, path / "pretrained_model", path / "checkpoints/last/pretrained_model"):
        if (folder / CONFIG_FILE).is_file():
            return folder
    raise ClevrSkillsError(f"{path} is not a checkpoint of LeRobot: it has no {CONFIG_FILE}")


def trained_on(folder: Path) -> Mapping[str, Any]:
    """Return the ``info.json`` of a checkpoint's training dataset, if it still exists."""
    file = folder / "train_config.json"
    config = read_json(file) if file.is_file() else {}
    root = (config.get("dataset") or {}).get("root")
    info = Path(root) / "meta/info.json" if root else None
    if info is None or not info.is_file():
        return {}
    found: Mapping[str, Any] = read_json(info)
    return found


def _acts_ahead(config: Any, preprocess: Any) -> bool:
    """Return whether queued actions are executed without further observations."""
    relative = any(getattr(step, "enabled", False) for step in preprocess.steps)
    return config.type in AHEAD and config.n_obs_steps == 1 and not relative


def _queue(model: Any) -> Any:
    """Return the queue of remaining actions."""
    queues = getattr(model, "_queues", None) or {}
    return queues.get(ACTION, ()) or getattr(model, "_action_queue", None) or ()
