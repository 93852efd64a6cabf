"""Worker that renders recorded episodes."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from clevrskills.core.env_config import EnvConfig
from clevrskills.core.suite import MomentRenderer, Suite, image_views, make_renderer
from clevrskills.dataset_tools.dataset import Episode
from clevrskills.dataset_tools.layout import STATES_FILE, STEPS_FILE, TURNS_FILE
from clevrskills.dataset_tools.manifest import Attempt, file_hashes, latest_lines
from clevrskills.dataset_tools.record.camera_tracks import CameraTracks, cpu_timer
from clevrskills.dataset_tools.record.recorder import write_info
from clevrskills.dataset_tools.storage import has_episode
from clevrskills.errors import ClevrSkillsError
from clevrskills.jobs.files import PartialDirectory, storage_errors
from clevrskills.jobs.process_setup import now, return_freed_memory, trim_heap, worker_name


class RenderWorker:
    """Worker that renders episodes of the dataset ``recorded`` into ``root`` and keeps the renderer
    while the task stays the same.
    """

    def __init__(self, recorded: Path, root: Path, config: EnvConfig, suite: Suite) -> None:
        return_freed_memory()
        self._recorded, self._root = recorded, root
        self._config, self._suite = config, suite
        self._film: MomentRenderer | None = None
        self._lines = latest_lines(recorded)

    def __call__(self, name: str) -> Attempt:
        """Render an episode, unless it exists; return its manifest line.

        Raises:
            ClevrSkillsError: The recording is damaged, or a write failed.
        """
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        times_s = {"render": 0.0, "encode": 0.0, "write": 0.0}
        episode, final = Episode(self._recorded / name), self._root / name
        if not has_episode(final):
            with PartialDirectory(self._root, final) as directory:
                try:
                    self._film_into(directory.path, episode, times_s)
                    directory.commit()
                except ClevrSkillsError:
                    raise
                except Exception as error:
                    raise ClevrSkillsError(f"{name} cannot be rendered: {error!r}") from error
            trim_heap()
        times_s["total_cpu"] = time.process_time() - cpu_s
        times_s["total_wall"] = time.perf_counter() - wall_s
        return replace(
            self._lines.get(name) or Attempt.of(episode.info),
            worker=worker_name(),
            ended=now(),
            times_s={phase: round(value, 6) for phase, value in times_s.items()},
            files=file_hashes(final),
        )

    def _film_into(self, path: Path, episode: Episode, times_s: dict[str, float]) -> None:
        info = episode.info
        if self._film is None or info["task"] != self._config.task:
            self._config = replace(self._config, task=info["task"])
            self._film = make_renderer(self._suite, self._config)
            assert self._film is not None, "there are cameras"
        views, scene = self._suite.tasks[info["task"]].views, info["scene"]
        keystep_camera = image_views(views)[0]
        tracks = CameraTracks(
            path, self._film, scene, info["fps"], self._config, keystep_camera, times_s
        )
        try:
            images = tracks.keep_prompt(info["prompt"]["data"])
            keysteps = episode.keysteps
            textures: Mapping[str, str] = {}
            repaints = {entry["step"]: entry["textures"] for entry in info["repaints"]}
            moments = zip(episode.proprioception("qpos"), episode.object_poses, strict=True)
            for step, (qpos, poses) in enumerate(moments):
                textures = repaints.get(step, textures)
                tracks.add(qpos, poses, textures)
                for keystep in keysteps:
                    if keystep["step"] == step:
                        keystep["image"] = tracks.keep(keystep["index"])
            cameras = tracks.close(episode.turn_images(), info)
        except BaseException:
            tracks.abandon()
            raise
        with cpu_timer(times_s, "write"), storage_errors(path):
            for name in (STEPS_FILE, STATES_FILE, *([TURNS_FILE] if episode.has_turns else [])):
                (path / name).write_bytes(episode.files[name].read())
            prompt = {**info["prompt"], "images": images}
            write_info(path, {**info, "prompt": prompt, "keysteps": keysteps, "cameras": cameras})
