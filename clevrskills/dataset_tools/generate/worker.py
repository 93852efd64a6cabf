"""Worker that records demonstrations."""

import time
from dataclasses import replace
from pathlib import Path

import torch

from clevrskills.core.env import Env
from clevrskills.core.env import Episode as Start
from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import (
    NO_ROBOT,
    EpisodeOracle,
    KeptEnv,
    MomentRenderer,
    Suite,
    all_views,
    find_interface,
    make_renderer,
    perturbed,
    step_interface,
)
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.layout import Header
from clevrskills.dataset_tools.manifest import Attempt, file_hashes
from clevrskills.dataset_tools.record.arm_turns import ArmTurnRecorder
from clevrskills.dataset_tools.record.recorder import Recorder
from clevrskills.dataset_tools.record.rollout import EpisodeRecorder, rollout
from clevrskills.dataset_tools.record.turns import TurnRecorder
from clevrskills.dataset_tools.storage import has_episode
from clevrskills.errors import ClevrSkillsError, one_line
from clevrskills.jobs.files import StorageError, TakenError
from clevrskills.jobs.process_setup import (
    block_pandas_import,
    return_freed_memory,
    trim_heap,
    worker_name,
)


class GenerateWorker:
    """Worker that runs attempts, with ``frozen`` on the frozen episodes with their seeds, and keeps
    the environment while the config stays the same.
    """

    def __init__(
        self, root: Path, suite: Suite, header: Header, writer: str = "local", frozen: bool = False
    ) -> None:
        self._root, self._suite, self._header = root, suite, header
        self._writer, self._frozen = writer, frozen
        kinds = all_views(suite) if header.views else {}
        self._images = tuple(view for view in header.views if kinds[view] == "image")
        self._interface = (
            find_interface(suite, header.interface) if header.in_turns else step_interface(suite)
        )
        self._kept = KeptEnv(self._make)

    def __call__(self, attempt: Attempt) -> Attempt:
        """Roll out one seed, and keep the episode if it succeeds or exists already.

        Raises:
            ClevrSkillsError: The environment cannot be built, or a write failed.
        """
        final = self._root / attempt.id
        if has_episode(final):
            return self._adopt(attempt, final)
        config = self._header.config(attempt.task, attempt.split)
        env, oracle, film = self._kept(config)
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        start = self._start(attempt)
        drawn_s = time.process_time() - cpu_s
        if isinstance(start, str):
            kind = "axis" if self._header.axes else "crash"
            return attempt.end(kind, start, worker=worker_name())
        with self._recorder(config, start, film) as recorder:
            times_s = recorder.times_s
            times_s["reset"] = times_s.get("reset", 0.0) + drawn_s
            try:
                done = rollout(env, oracle, recorder)
                kind, reason = done.kind, done.reason
                steps, total_reward = done.turns, done.total_reward
                if done.success:
                    recorder.commit(success=True)
            except TakenError:
                pass  # another worker, presumed dead, recorded the same episode
            except StorageError:
                raise
            except Exception as error:
                self._kept.config = None  # do not reuse the environment
                kind, reason = "crash", one_line(error)
                steps, total_reward, times_s = len(recorder), 0.0, {}
        files = {} if kind else file_hashes(final)
        trim_heap()
        times_s["total_cpu"] = time.process_time() - cpu_s
        times_s["total_wall"] = time.perf_counter() - wall_s
        return attempt.end(
            kind,
            reason,
            steps=steps,
            total_reward=total_reward,
            worker=worker_name(),
            times_s={name: round(value, 6) for name, value in times_s.items()},
            files=files,
        )

    def _recorder(
        self, config: EnvConfig, start: Start, film: MomentRenderer | None
    ) -> EpisodeRecorder:
        suite, views = self._suite, self._header.views
        if not self._header.in_turns:
            return Recorder(self._root, config, start, suite, film, self._writer)
        if config.robot == NO_ROBOT:
            shown = replace(config, cameras=self._images)
            return TurnRecorder(
                self._root, shown, start, suite, self._interface, views, self._writer
            )
        return ArmTurnRecorder(
            *(self._root, config, start, suite, self._interface, views, self._images, film),
            self._writer,
        )

    def _start(self, attempt: Attempt) -> Start | str:
        """Return the episode of an attempt, or the reason why there is none."""
        suite, header, seed = self._suite, self._header, attempt.seed
        if self._frozen:
            frozen = suite.frozen(attempt.task, attempt.split)
            found = next(episode for episode in frozen if episode.seed == seed)
            return perturbed(suite, found, header.axes)
        task_args = header.task_args.get(attempt.task, {})
        of = attempt.task, attempt.split, seed, 0, header.robot, task_args
        try:
            drawn = suite.draw(*of, wording=None if header.axes or not header.in_turns else 0)
        except ClevrSkillsError as error:  # no scene fits
            return one_line(error)
        return perturbed(suite, drawn, header.axes)

    def _adopt(self, attempt: Attempt, path: Path) -> Attempt:
        info = Episode(path).info
        return attempt.end(
            steps=info["turns" if self._header.in_turns else "steps"],
            total_reward=info["return"],
            worker=worker_name(),
            files=file_hashes(path),
        )

    def _make(self, config: EnvConfig) -> tuple[Env, EpisodeOracle, MomentRenderer | None]:
        env = self._suite.make(replace(config, cameras=self._images))
        return env, self._suite.oracle(env, self._interface), make_renderer(self._suite, config)


def make_worker(
    root: Path, suite: Suite, header: Header, writer: str = "local", frozen: bool = False
) -> GenerateWorker:
    """Return a worker after limiting the memory and threads of its process."""
    return_freed_memory()
    block_pandas_import()
    torch.set_num_threads(1)
    return GenerateWorker(root, suite, header, writer, frozen)
