"""ManiSkill environment of all tasks with an arm."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from inspect import signature
from typing import Any

import gymnasium as gym
import numpy as np
import sapien
import torch
from gymnasium.utils import seeding
from mani_skill.envs.sapien_env import BaseEnv
from mani_skill.sensors.camera import CameraConfig
from mani_skill.utils import sapien_utils
from mani_skill.utils.structs.types import DefaultMaterialsConfig, SceneConfig, SimConfig
from torch import Tensor

from clevrskills.core.env import CLOSED, ClosedError
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.episode import as_seed
from clevrskills.core.goal.tree import Node, nodes, outcomes, reasons
from clevrskills.core.interface import as_numbers, in_range
from clevrskills.core.policy import ActionError
from clevrskills.core.threads import single_threaded
from clevrskills.envs.disturbances import DisturbanceInjector
from clevrskills.envs.episode import EpisodeSpec
from clevrskills.envs.events.tabletop import TabletopWatcher
from clevrskills.envs.recorder_view import RecorderView
from clevrskills.envs.scene_reuse import SceneReuse
from clevrskills.envs.scene_sampling import DrawnScene, NeutralPose, draw_scene, scene_of, slots_of
from clevrskills.envs.scene_text import STATE_VIEW, scene_text
from clevrskills.envs.state_codec import StateCodec
from clevrskills.envs.state_observation import ROBOT, StateObserver, flat
from clevrskills.errors import ClevrSkillsError, UnknownNameError, check_arguments
from clevrskills.jobs.arguments import check_names
from clevrskills.predicates import GoalState, Outcome, Predicate, criteria
from clevrskills.sim.actors import AT_REST, attach_hinges, build_body, put_body
from clevrskills.sim.body_geometry import Solids
from clevrskills.sim.cameras import FAR_M, NEAR_M, FixedCamera
from clevrskills.sim.conditions import Conditions
from clevrskills.sim.render import scene_visuals, shaders
from clevrskills.sim.render.image_noise import NoisyCamera
from clevrskills.sim.robots.agent import CONTROL_MODE, VacuumAgent, agent_uid
from clevrskills.sim.robots.delta_action import ACTION_SPEC, CONTROL_HZ
from clevrskills.sim.robots.description import robot
from clevrskills.sim.robots.vacuum import Vacuum
from clevrskills.sim.simulation import SIM_HZ, Simulation, SimWorld
from clevrskills.sim.tensor_world import TensorWorld
from clevrskills.tasks import Task, task
from clevrskills.tasks.bank import STYLES

__all__ = ["ClevrSkillsEnv"]

RENDER_BACKENDS = ("cpu", "gpu", "none")
TEXTURES = ("rgb", "depth", "segmentation", "position")
"""Camera modalities; an ``obs_mode`` can combine several with +."""
CONTACT_OFFSET_M = 0.005
"""Distance from a shape within which PhysX computes contacts, half of that of two shapes."""
MANISKILL_OPTIONS = ("env_idx", "reconfigure")
RESET_OPTIONS = ("episode", "head_start", *MANISKILL_OPTIONS)


class ClevrSkillsEnv(SceneReuse, StateCodec, RecorderView):
    """ManiSkill environment of a task, with batched torch tensors.

    Args:
        task_key: Key of the task, e.g. ``sort``.
        split: Name of a split of the task.
        robot_name: Name of the robot; ``None``: the first robot of the task.
        criteria_name: Tolerances of success: ``paper`` or ``released``.
        obs_mode: ``rgb`` (images and proprioception), ``state`` (privileged), ``none`` or another
            mode of ManiSkill, such as ``rgbd`` or ``state_dict+rgb``.
        cameras: Cameras of observations; ``None``: the default of the setting.
        prompt_index: Index of the wording, seen ones before held-out ones; ``None``: a seen one
            sampled from the seed of the episode.
        prompt_style: Style of the sampled wording: ``terse``, ``plain`` or ``elaborate``; ``None``:
            any.
        task_args: Arguments of the task, e.g. ``{"num_objects": 3}``; see
            :func:`clevrskills.tasks.task`.
        look: Look of images, one of :data:`~clevrskills.core.env_config.LOOKS`.
        render_backend: ``cpu``, ``gpu`` or ``none``; ``None``: the best available, or ``none``
            without images.
        reward_mode: ``potential`` (increase of progress), ``dense`` (scale of the published
            numbers), ``normalized_dense`` (progress), ``sparse`` (1 on success) or ``none``.
        reconfiguration_freq: ``None`` or 1, as every episode has new bodies.
        control_mode: ``None`` or ``pd_ee_delta_pose``.
        robot_uids: ManiSkill's name of ``robot_name``.
        kwargs: Arguments of ManiSkill's ``BaseEnv``.

    Attributes:
        after_step: Functions called after each control step of the current episode.

    Raises:
        ClevrSkillsError: A name is unknown, or the machine does not support an option.
    """

    SUPPORTED_OBS_MODES = ("rgb", "state", "state_dict", "none", "sensor_data", "any_textures")
    SUPPORTED_REWARD_MODES = ("potential", "dense", "normalized_dense", "sparse", "none")
    agent: VacuumAgent

    def __init__(
        self,
        task_key: str,
        *,
        split: str = "train",
        robot_name: str | None = None,
        criteria_name: str = "paper",
        obs_mode: str | None = "rgb",
        cameras: Sequence[str] | None = None,
        prompt_index: int | None = None,
        prompt_style: str | None = None,
        task_args: Mapping[str, Any] | None = None,
        look: str = LOOKS[0],
        render_backend: str | None = None,
        reward_mode: str = "potential",
        num_envs: int = 1,
        render_mode: str | None = None,
        reconfiguration_freq: int | None = None,
        control_mode: str | None = None,
        robot_uids: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(kwargs, allowed_arguments())
        robot_name, obs_mode = robot_name or robot_uids, _known_obs_mode(obs_mode)
        self.task = task(task_key, **(task_args or {})).in_split(split)
        self.split, self._limit = split, 0
        self.robot_name = robot_name = robot_name or self.task.all_robots[0]
        self.criteria = criteria(criteria_name)
        self.prompt_index, self.prompt_style = prompt_index, prompt_style
        self.setting = self._own_setting = setting = replace(self.task.setting, look=look)
        self.conditions = Conditions()
        self._camera_names = setting.watch if cameras is None else tuple(cameras)
        fixed = {name: setting.camera(name) for name in self._camera_names}
        self._fixed_cameras = {name: camera for name, camera in fixed.items() if camera}
        if robot(robot_name).name not in self.task.all_robots:
            raise UnknownNameError(f"robot for {task_key}", robot_name, self.task.all_robots)
        if num_envs != 1:
            raise ClevrSkillsError(
                f"num_envs={num_envs}: only 1 (CPU simulation) is supported so far"
            )
        if reconfiguration_freq not in (None, 1):
            raise ClevrSkillsError(
                f"reconfiguration_freq={reconfiguration_freq}; allowed: 1, as every episode has "
                "new bodies"
            )
        for kind, value, allowed in (
            ("reward_mode", reward_mode, self.SUPPORTED_REWARD_MODES),
            ("render_backend", render_backend, RENDER_BACKENDS),
            ("prompt_style", prompt_style, STYLES),
            ("control_mode", control_mode, (CONTROL_MODE,)),
        ):
            if value is not None and value not in allowed:
                raise UnknownNameError(kind, value, allowed)
        images = render_mode is not None or obs_mode not in ("state", "state_dict", "none")
        if render_backend is None:
            render_backend = shaders.default_backend() if images else "none"
        geometry = not {"rgb", "state", "state_dict", "none"}.issuperset(_parts(obs_mode))
        self._shader_pack = (
            "minimal" if render_backend == "none" else shaders.prepare(look, geometry)
        )
        if images and render_backend == "none":
            raise ClevrSkillsError(
                f"{obs_mode=}, {render_mode=} needs images, but render_backend is 'none'"
            )
        _freeze_imports()
        super().__init__(
            num_envs=num_envs,
            obs_mode=obs_mode,
            robot_uids=agent_uid(robot_name),
            render_backend=render_backend,
            render_mode=render_mode,
            reward_mode=reward_mode,
            reconfiguration_freq=1,
            **kwargs,
        )

    # ---- set-up ----

    @property
    def _default_sim_config(self) -> SimConfig:
        return SimConfig(
            sim_freq=SIM_HZ,
            control_freq=CONTROL_HZ,
            scene_config=SceneConfig(contact_offset=CONTACT_OFFSET_M),
            default_materials_config=DefaultMaterialsConfig(1.0, 1.0, 0.0),
        )

    @property
    def _default_sensor_configs(self) -> list[CameraConfig]:
        return [self._camera(name, camera) for name, camera in self._fixed_cameras.items()]

    @property
    def _default_human_render_camera_configs(self) -> list[CameraConfig]:
        camera = self.setting.cameras["render_camera"]
        return [self._camera("human", camera)] if self.render_mode else []

    def _camera(self, name: str, camera: FixedCamera) -> CameraConfig:
        return CameraConfig(
            name,
            pose=sapien_utils.look_at(camera.eye_m, camera.target_m, camera.up),
            width=camera.width_of(camera.size_px),
            height=camera.size_px,
            fov=camera.fov_rad,
            near=NEAR_M,
            far=FAR_M,
            shader_pack=self._shader_pack,
        )

    def _setup_sensors(self, options: dict) -> None:
        super()._setup_sensors(options)
        for name, camera in self._fixed_cameras.items():
            if camera.orthographic_m is not None:  # not supported by ManiSkill
                (lens,) = self._sensors[name].camera._render_cameras
                lens.set_orthographic_parameters(NEAR_M, FAR_M, camera.orthographic_m / 2)

    def _load_scene(self, options: dict) -> None:
        drawn = self.can_draw = self.scene.can_render()
        episode = options.get("episode")
        self._set_conditions(episode.conditions if episode is not None else Conditions())
        self._load_table()
        self.scenes = [self._scene(int(seed), episode) for seed in self._episode_seed]
        self.layouts = [scene.layout for scene in self.scenes]
        self._repainted: dict[str, str] = {}
        build = partial(build_body, drawn=True) if drawn else put_body
        self._actors = [
            build(self.scene, body) if body else None for body in self.layouts[0].bodies
        ]
        attach_hinges(self.layouts[0].bodies, self._actors)
        self.goal: Predicate = self.scenes[0].goal
        self._failure_flags = self.goal.failure_flags
        self._make_world()

    def _set_conditions(self, conditions: Conditions) -> None:
        """Apply the conditions of an episode to cameras, light and arm."""
        if conditions is self.conditions or not (conditions or self.conditions):
            return
        self.conditions, own = conditions, self._own_setting
        self.setting = conditions.of(own, self.robot_name) if conditions else own
        fixed = {name: self.setting.camera(name) for name in self._camera_names}
        self._fixed_cameras = {name: camera for name, camera in fixed.items() if camera}

    def _scene(self, seed: int, episode: EpisodeSpec | None) -> DrawnScene:
        robot_name, criteria = self.robot_name, self.criteria
        if episode is not None:
            qpos = np.array(episode.conditions.start_qpos)
            home = NeutralPose.at(robot_name, qpos) if len(qpos) else None
            scene = scene_of(self.task, episode.layout, robot_name, criteria, episode.prompt, home)
        else:
            wording = self.prompt_index, self.prompt_style
            scene = draw_scene(self.task, seed, self.split, robot_name, criteria, *wording)
        setting = self._own_setting
        return replace(scene, ask=lambda _: replace(scene.prompt, setting=setting))

    @cached_property
    def _nodes(self) -> list[Node]:  # type: ignore[override]
        """Nodes of the goal, not needed by vector environments."""
        return nodes(self.goal)

    def _make_world(self) -> None:
        entities = [actor._objs[0] if actor else None for actor in self._actors]
        agent, table = self.agent, self.table._objs[0]
        self.vacuum = Vacuum(agent.description, agent.tcp._objs[0], entities, self.sim_timestep)
        slots = slots_of(self.task, self.layouts[0])
        self.simulation = Simulation(slots, entities, table, agent, self.vacuum, self.scene.px)
        solids = Solids.stack([scene.solids for scene in self.scenes])
        self.world = SimWorld(slots, solids, [self.simulation])

    @cached_property
    def observer(self) -> StateObserver:
        """Observer of the state."""
        return StateObserver(self.goal, self.world)

    def _load_lighting(self, options: dict) -> None:
        scene_visuals.load_lighting(self.scene, self.setting.look, self.setting.light)

    # ---- episodes ----

    def _initialize_episode(self, env_idx: Tensor, options: dict) -> None:
        self._start(options)
        self._evaluate_first()

    def _evaluate_first(self) -> None:
        """Evaluate the goal for the first time in an episode."""
        self._evaluate_goal()
        self.goal_state = self.outcome.state

    def _start(self, options: dict[str, Any]) -> None:
        """Set all poses of the start of an episode and settle the scene."""
        description, arm = self.agent.description, self.agent.robot._objs[0]
        happens, image = self.conditions.disturbances, self.conditions.image
        self._injector = DisturbanceInjector(happens, self.simulation) if happens else None
        self._image_noise = NoisyCamera(image) if image else None
        self.after_step: list[Callable[[], None]] = []
        self.vacuum.release()
        arm.qpos = self.setting.qpos_at_start(self.robot_name).astype(np.float32)
        arm.root_pose = sapien.Pose(description.base_position)
        self.agent.controller.reset()
        for body, actor in zip(self.layouts[0].bodies, self._actors, strict=True):
            if body and actor and not body.static:
                actor._objs[0].pose = sapien.Pose(body.pose[:3], body.pose[3:])
        self.world.invalidate()
        held = self.layouts[0].in_gripper
        if held >= 0:
            index = torch.tensor([held])
            self.world.hold(index, self.scenes[0].start.pose(index))
        hinged = any(body and body.hinge for body in self.layouts[0].bodies)
        spaced = self.scenes[0].start.spaced(2 * CONTACT_OFFSET_M)
        self._settle(apart=held < 0 and spaced and not hinged)
        self.agent.controller.vacuum_on = held >= 0
        self.start = TensorWorld.snapshot(self.world)
        self.goal_state: GoalState = self.goal.initial_state(self.world)
        self._start_ahead(float(options.get("head_start", 0.0)))

    def _start_ahead(self, share: float) -> None:
        """Achieve a share in [0, 1) of the parts of the goal, rounded down."""
        if not 0.0 <= share < 1.0:
            raise ClevrSkillsError(f"options['head_start'] is {share}; allowed: 0 to below 1")
        parts = list(self.goal.steps()) if share else []
        for part in parts[: int(share * len(parts))]:
            part.realize(self.world)
            self._settle()
            self.goal_state = self.goal.evaluate(self.world, self.goal_state).state

    def _settle(self, apart: bool = False) -> None:
        self.simulation.settle(apart)
        self.world.invalidate()
        if self.can_draw:
            self._clear_sim_state()
            return
        for body in filter(None, self.simulation.components):
            body.linear_velocity = body.angular_velocity = AT_REST
        arm = self.agent.robot._objs[0]
        arm.qvel = np.zeros(arm.dof, np.float32)

    def reset(
        self, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start the episode of a seed; without a seed, a random one based on the previous seed.

        ``options={"episode": spec}`` starts an :class:`~clevrskills.envs.episode.EpisodeSpec`.
        ``options={"head_start": share}`` starts with a share in [0, 1) of the parts of the goal
        achieved, rounded down.

        Raises:
            ClevrSkillsError: The spec is for another task, split, robot or seed, the share is out
                of range, or an option is unknown.
        """
        return _clone_inference(self.reset_inference(seed, options))

    @single_threaded
    def reset_inference(
        self, seed: int | list[int] | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode like :meth:`reset`, without copies; see :meth:`step_inference`."""
        options = dict(options or {})
        for name in options:
            if name not in RESET_OPTIONS:
                raise UnknownNameError("reset option", name, RESET_OPTIONS)
        if seed is not None:
            given: Any = seed
            seeds = list(given) if np.ndim(given) else [given]
            if len(seeds) != self.num_envs:
                raise ClevrSkillsError(f"{len(seeds)} seeds; allowed: {self.num_envs}")
            seed = as_seed(seeds[0])
        if "episode" in options:
            seed = _seed_of(options["episode"], self.task, self.split, self.robot_name, seed)
        if seed is not None:
            self._np_random, self._np_random_seed = None, seed
        with torch.inference_mode():
            if options.keys() & MANISKILL_OPTIONS:
                found: tuple[Any, dict[str, Any]] = BaseEnv.reset(self, seed=seed, options=options)
                return found
            self.begin(seed, options)
            self._evaluate_first()
            info = self.get_info()
            self._last_obs = self.get_obs(info)
            return self._last_obs, {**info, "reconfigure": True}

    @gym.Env.np_random.getter
    def np_random(self) -> np.random.Generator:
        """Return Gymnasium's generator of the last seed, created on demand."""
        if self._np_random is None and self._np_random_seed is not None:
            self._np_random, _ = seeding.np_random(self._np_random_seed)
        return super().np_random

    def begin(self, seed: int | None, options: dict[str, Any]) -> None:
        """Start an episode like :meth:`reset` in inference mode, without evaluating its goal, which
        vector environments do in a batch.

        Unlike ``BaseEnv.reset``, it does not seed the generators of all devices and recreates none.
        """
        if seed is None:
            self._set_main_rng(None)
        else:
            self._main_seed = [seed]
            self._main_rng.seed(seed)
            self._batched_main_rng.rngs[0].seed(seed)
        drawn = int(self._batched_main_rng.rngs[0].randint(2**31)) if seed is None else seed
        self._episode_seed = np.array([drawn])
        if self._batched_episode_rng is None:
            self._set_episode_rng(drawn, np.arange(1))
        self._batched_episode_rng.rngs[0].seed(drawn)
        state = torch.get_rng_state()
        torch.default_generator.manual_seed(int(self._episode_seed[0]))
        try:
            self._reconfigure(options)
            self._after_reconfigure(options)
            self._reconfig_counter = 0
            self._elapsed_steps[:] = 0
            torch.default_generator.manual_seed(int(self._episode_seed[0]))
            self._start(options)
        finally:
            torch.set_rng_state(state)
        self.agent.controller.reset()

    def _step_action(self, action: Any) -> Any:
        given = np.asarray(action, np.float64).reshape(1, 7)
        if self._injector is not None:
            step, holding = int(self.elapsed_steps[0]), self.vacuum.held >= 0
            given = self._injector(given[0], step, holding)[None]
        self.world.step(given)
        self.advance_goal()
        return action

    @single_threaded
    def step(self, action: Any) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Run one control step with an action (7,) or (B, 7), clipped to [-1, 1], which sets
        ``info["clipped"]``; ``truncated`` once :attr:`limit` is reached.

        Raises:
            ActionError: The action has another shape, or entries that are not finite.
            ClosedError: The environment is closed.
        """
        return _clone_inference(self.step_inference(action))

    @single_threaded
    @torch.inference_mode()
    def step_inference(self, action: Any) -> tuple[Any, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Run a step like :meth:`step`, but return inference tensors that the environment may still
        use; callers must copy.
        """
        if self.scene is None:
            raise ClosedError(CLOSED)
        action = as_numbers(action, np.float64)
        if action.shape not in ((7,), (self.num_envs, 7)):
            allowed = f"(7,) or ({self.num_envs}, 7)"
            raise ActionError(f"action of shape {action.shape}; allowed: {allowed}")
        action, clipped = in_range(action.reshape(-1, 7))
        self._step_action(action)
        self._elapsed_steps += 1
        info = self.get_info()
        obs = self._last_obs = self.get_obs(info)
        reward = self.get_reward(obs, action, info)
        info["clipped"] = torch.as_tensor(clipped)
        return obs, reward, info["success"], self.elapsed_steps >= self.limit, info

    def advance_goal(self) -> None:
        """Evaluate the goal and update its state, once per control step."""
        before = self.outcome.progress
        self._evaluate_goal()
        self._gain = self.outcome.progress - before
        self.goal_state = self.outcome.state
        for look in self.after_step:
            look()

    def _evaluate_goal(self) -> None:
        self.outcome = self.goal.evaluate(self.world, self.goal_state)
        self._gain = torch.zeros_like(self.outcome.progress)
        if self.can_draw:
            self.repaint(self.outcome)

    def set_state_dict(self, state: dict[str, Any], env_idx: Tensor | None = None) -> None:
        super().set_state_dict(state, env_idx)
        self._evaluate_goal()

    def get_info(self) -> dict[str, Any]:
        """Return the number of steps and the entries of :meth:`evaluate`."""
        return {**super().get_info(), "elapsed_steps": self._elapsed_steps.clone()}

    def evaluate(self) -> dict[str, Any]:
        """Return success, progress, reward terms and the index into :attr:`reasons` of why the goal
        is unsolvable, (B,) int64, 0 if it is solvable; without side effects.
        """
        found = zip(self._nodes, outcomes(self.goal, self.outcome), strict=True)
        causes = reasons(self.goal, self._failure_flags, self.outcome.state)
        numbers = [self.reasons.index(reason) for reason in causes or ()]
        return {
            "success": self.outcome.holds,
            "progress": self.outcome.progress,
            "reward_terms": {node.path: outcome.reward for node, outcome in found},
            "unsolvable": torch.tensor(numbers or [0] * self.num_envs),
        }

    @property
    def reasons(self) -> list[str]:
        """Reasons why the goal can become unsolvable, by index in infos; the first is empty."""
        return ["", *self.goal.unsolvable(self.outcome.state)]

    def repaint(self, outcome: Outcome, env: int = 0) -> None:
        """Update the textures of an environment to the current outcome of the goal."""
        textures = dict(self.task.textures(self.layouts[0], outcome, env))
        if textures == self._repainted:
            return
        for body, actor in zip(self.layouts[0].bodies, self._actors, strict=True):
            if body and actor:
                texture = textures.get(body.key, body.texture)
                if texture != self._repainted.get(body.key, body.texture):
                    scene_visuals.repaint(actor._objs[0], body.geometry, texture)
        self._repainted = textures

    def compute_dense_reward(self, obs: Any, action: Tensor, info: dict) -> Tensor:
        """Return the reward on the scale of the published numbers, (B,)."""
        return self.outcome.reward

    def compute_normalized_dense_reward(self, obs: Any, action: Tensor, info: dict) -> Tensor:
        """Return the reward in [0, 1], 1 exactly on success, (B,)."""
        return self.outcome.progress

    def get_reward(self, obs: Any, action: Tensor, info: dict) -> Tensor:
        """Return the reward of the last step for the reward mode, (B,)."""
        if self._reward_mode == "potential":
            return self._gain
        return super().get_reward(obs, action, info)

    # ---- observations ----

    @property
    def action_spec(self) -> dict[str, Any]:
        """Specification of an action as data."""
        return ACTION_SPEC

    def watcher(self) -> TabletopWatcher:
        return TabletopWatcher(self)

    def look(self, views: Sequence[str]) -> Mapping[str, str]:
        """Return views of the scene as text: ``state``, see
        :func:`clevrskills.envs.scene_text.scene_text`.

        Raises:
            UnknownNameError: A view is unknown.
        """
        check_names(view=(views, (STATE_VIEW,)))
        return {view: scene_text(self) for view in views}

    @property
    def limit(self) -> int:
        """Step limit of an episode, by default that of the task."""
        return self._limit or self._default_limit()

    @limit.setter
    def limit(self, steps: int) -> None:
        self._limit = steps

    def _default_limit(self) -> int:
        return self.task.max_steps

    def _get_obs_agent(self) -> dict[str, Tensor]:
        velocity = self.simulation.end_effector_velocity().astype(np.float32, copy=False)
        return {
            **self.agent.get_proprioception(),
            "ee_velocity": torch.from_numpy(velocity)[
                None
            ],  # after restoring a state, that of the state
            "vacuum_on": torch.tensor([[float(self.agent.controller.vacuum_on)]]),
            "holding": (self.world.held >= 0)[:, None].float(),
        }

    def _get_obs_extra(self, info: dict) -> dict[str, Tensor]:
        """Return the pose of the end effector under the name used by ManiSkill's tasks."""
        return {"tcp_pose": self.agent.tcp.pose.raw_pose}

    def _get_obs_state_dict(self, info: dict) -> dict[str, Tensor]:
        return self.observer(self.outcome)

    def _flatten_raw_obs(self, obs: Any) -> Any:
        if self._obs_mode == "state":
            return flat(obs)
        alone, asked = self._obs_mode == "state_dict", "state" in self._obs_mode
        entries = obs if alone else self.observer(self.outcome) if asked else {}
        if self.obs_mode_struct.state:
            rest = {name: value for name, value in obs.items() if name not in ("agent", "extra")}
            return {**rest, "state": flat(entries)}
        own = {
            name.removeprefix(ROBOT): entries[name] for name in entries if name.startswith(ROBOT)
        }
        world = {name: value for name, value in entries.items() if not name.startswith(ROBOT)}
        if alone:
            return {"agent": own, "extra": world}
        return {**obs, "extra": obs["extra"] | world} if world else obs

    def _get_obs_with_sensor_data(self, info: dict, apply_texture_transforms: bool = True) -> dict:
        if self.obs_mode != "rgb":
            return super()._get_obs_with_sensor_data(info, apply_texture_transforms)
        images = self.capture()
        return {
            "agent": self._get_obs_agent(),
            "extra": self._get_obs_extra(info),
            "sensor_param": self.get_sensor_params(),
            "sensor_data": {n: {"rgb": torch.as_tensor(p)[None]} for n, p in images.items()},
        }


@cache
def allowed_arguments() -> frozenset[str]:
    """Return the names of the arguments of environments, those of ManiSkill included."""
    names = {*signature(ClevrSkillsEnv).parameters, *signature(BaseEnv).parameters}
    return frozenset(names - {"kwargs"})


def _clone_inference(found: Any) -> Any:
    """Return clones of inference tensors, for callers that need gradients."""
    if isinstance(found, Tensor):
        return found.clone() if found.is_inference() else found
    if isinstance(found, dict):
        return {name: _clone_inference(value) for name, value in found.items()}
    return tuple(map(_clone_inference, found)) if isinstance(found, tuple) else found


def _seed_of(episode: Any, task: Task, split: str, robot_name: str, seed: int | None) -> int:
    """Return the seed of a frozen episode after checking that it fits."""
    if not isinstance(episode, EpisodeSpec):
        raise ClevrSkillsError(
            f"options['episode'] is of type {type(episode).__name__}; allowed: EpisodeSpec"
        )
    episode.check(task, split, robot_name)
    if seed not in (None, episode.seed):
        raise ClevrSkillsError(
            f"the episode has seed {episode.seed}, not {seed}; leave the seed out"
        )
    return episode.seed


def _known_obs_mode(obs_mode: str | None) -> str | None:
    """Return an observation mode of :class:`BaseEnv`."""
    found = "rgb+depth" if obs_mode == "rgbd" else obs_mode
    whole, parts = ("none", "sensor_data", "pointcloud"), ("state", "state_dict", *TEXTURES)
    if found not in whole and not {*parts}.issuperset(_parts(found)):
        allowed = (*whole, *parts, "rgbd", "several joined by +")
        raise UnknownNameError("obs_mode", obs_mode, allowed)
    return found


def _parts(obs_mode: str | None) -> list[str]:
    return (obs_mode or "rgb").split("+")


@cache
def _freeze_imports() -> None:
    """Exclude imported modules from garbage collection, once.

    ManiSkill collects garbage whenever a scene is rebuilt; scanning all imported modules took four
    fifths of a reset (145 of 180 CPU-ms).
    """
    gc.collect()
    gc.freeze()


def _sizes(config: EnvConfig) -> dict[str, Any]:
    """Return ManiSkill's configuration of image sizes: for all cameras, and for cameras with images
    that are not square; empty for default sizes.
    """
    if config.size_px is None:
        return {}
    sizes: dict[str, Any] = {"width": config.size_px, "height": config.size_px}
    setting = task(config.task).setting
    for name in config.cameras:
        camera = setting.camera(name)
        if camera is not None:
            height = camera.height_of(config.size_px)
            own = {"width": camera.width_of(height), "height": height}
            sizes |= {name: own} if own["width"] != own["height"] else {}
    return sizes


def make_env(
    config: EnvConfig, kind: type[ClevrSkillsEnv] = ClevrSkillsEnv, **options: Any
) -> ClevrSkillsEnv:
    """Make an environment from its configuration; images are rendered on demand.

    Args:
        config: The configuration; without cameras, no renderer is needed.
        kind: Class of the environment.
        **options: Arguments of the class, which override the configuration.

    Raises:
        ClevrSkillsError: A name is unknown, or the machine does not support an option.
    """
    names = {"split": config.split, "robot_name": config.robot, "criteria_name": config.criteria}
    backend = (config.render_backend or shaders.default_backend()) if config.cameras else "none"
    arguments: dict[str, Any] = {
        **{name: value for name, value in names.items() if value},
        "look": config.look,
        "task_args": config.task_args,
        "obs_mode": "none",
        "cameras": config.cameras,
        "sensor_configs": _sizes(config),
        "render_backend": backend,
        **options,
    }
    return kind(config.task, **arguments)
