"""Does another machine start, simulate and draw the same episodes?

Each machine writes a file: scenes, states and success of oracle episodes, images, and, with a
policy, how it fared on its own images. Two such files are compared: the first step at which states
differ, success, differences of images, and the policy's successes in pairs.

    python benchmarks/machines.py write --out here.json --policy checkpoint:zoo/bc-compact-l0
    python benchmarks/machines.py compare here.json there.json
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from zlib import crc32

import numpy as np
import tyro
from common import print_table, without_salt
from PIL import Image
from scipy.stats import binomtest

from clevrskills import task_keys
from clevrskills.core.env_config import LOOKS, EnvConfig
from clevrskills.core.suite import TrajectoryRenderer, load_suite, make_renderer
from clevrskills.dataset_tools.dataset import Dataset, Episode
from clevrskills.dataset_tools.generate.command import GenerateArgs, generate
from clevrskills.errors import ClevrSkillsError
from clevrskills.evaluation.evaluate import EvaluateArgs, evaluate
from clevrskills.evaluation.results import read_results
from clevrskills.jobs.run_folder import versions
from clevrskills.sim.render.vulkan import renderer

CAMERAS = ("base_camera", "hand_camera")


@dataclass
class MachinesArgs:
    """Write what this machine does, or compare what two have done."""

    do: Annotated[Literal["write", "compare"], tyro.conf.Positional]
    """What to do."""
    files: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """compare: the two files."""
    out: Path | None = None
    """write: the file."""
    tasks: tuple[str, ...] = ()
    """write: the tasks; none: all."""
    episodes: int = 2
    """write: oracle episodes of each task."""
    seed: int = 80_000
    """write: their first seed."""
    size: int = 128
    """write: width and height of the images."""
    policy: str | None = None
    """write: a policy that is evaluated on frozen episodes of L0, by this machine's images."""
    policy_episodes: int = 5
    """write: how many of each task and split."""
    workers: int = 1
    """write: processes."""


def write(args: MachinesArgs) -> None:
    """Write the file of this machine."""
    if args.out is None:
        raise ClevrSkillsError("name the file to write: --out")
    with tempfile.TemporaryDirectory() as folder:
        demos = Path(folder) / "demos"
        generate(
            GenerateArgs(
                tasks=args.tasks or tuple(task_keys()),
                episodes=args.episodes,
                seed=args.seed,
                no_cameras=True,
                workers=args.workers,
                out=demos,
            )
        )
        episodes = {episode.id: facts(episode, args.size) for episode in Dataset(demos)}
        outcomes: dict[str, bool] = {}
        if args.policy:
            out = Path(folder) / "run"
            request = EvaluateArgs(
                policy=args.policy,
                level=("L0",),
                episodes=args.policy_episodes,
                workers=args.workers,
                out=out,
            )
            without_salt()
            evaluate(request)
            outcomes = {r.id: r.success_at_end for r in read_results(out) if r.counts}
    data = {
        "machine": platform.processor() or platform.machine(),
        "processor": processor(),
        "renderer": renderer(LOOKS[0]),
        "versions": versions(),
        "episodes": episodes,
        "policy": args.policy,
        "outcomes": outcomes,
    }
    args.out.write_text(json.dumps(data) + "\n")
    print(f"{args.out}: {len(episodes)} episodes, {len(outcomes)} of a policy")


def processor() -> str:
    """Name of the processor."""
    names = Path("/proc/cpuinfo")
    lines = names.read_text().splitlines() if names.exists() else []
    return next((ln.partition(": ")[2] for ln in lines if ln.startswith("model name")), "")


def facts(episode: Episode, size_px: int) -> dict[str, Any]:
    """What is compared of an oracle episode."""
    scene = json.dumps(episode.info["scene"], sort_keys=True, default=str)
    last = len(episode.states) - 1
    config = EnvConfig(episode.info["task"], cameras=CAMERAS, size_px=size_px)
    film = make_renderer(load_suite(), config)
    assert film is not None, "there are cameras"
    film.open(episode.info["scene"])
    return {
        "scene": hashlib.sha256(scene.encode()).hexdigest()[:16],
        "success": bool(episode.info["success"]),
        "states": [crc32(state.tobytes()) for state in episode.states],
        "final": [round(float(x), 6) for x in np.asarray(episode.states[last], float)],
        "images": {
            f"{camera} {step}": packed(image)
            for step in (0, last)
            for camera, image in drawn(film, episode, step).items()
        },
    }


def drawn(film: TrajectoryRenderer, episode: Episode, step: int) -> dict[str, np.ndarray]:
    """What each camera sees after so many steps, (H, W, 3) uint8."""
    repaints = [e for e in episode.info["repaints"] if e["step"] <= step]
    textures = repaints[-1]["textures"] if repaints else {}
    qpos, poses = episode.proprioception("qpos")[step], episode.object_poses[step]
    shown = film.render(qpos, poses, textures)
    return {camera: shown[camera].color for camera in CAMERAS}


def packed(image: np.ndarray) -> str:
    """An image as text, without loss."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def unpacked(text: str) -> np.ndarray:
    """The image of a text, (H, W, 3)."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))), np.int16)


def compare(args: MachinesArgs) -> None:
    """Print how two machines differ."""
    if len(args.files) != 2:
        raise ClevrSkillsError("name the two files that are compared")
    one, other = (json.loads(path.read_text()) for path in args.files)
    for name in ("processor", "renderer", "versions"):
        same = one[name] == other[name]
        print(f"{name}: {'the same' if same else f'{one[name]} | {other[name]}'}")
    print_table(
        "episodes of the oracle",
        ["task", "episodes", "same scenes", "same states", "first step that differs",
         "greatest difference at the end", "both succeed", "images equal", "mean", "largest"],
        [*rows(one["episodes"], other["episodes"])],
    )  # fmt: skip
    ids = sorted(one["outcomes"].keys() & other["outcomes"].keys())
    if ids:
        pairs = [(one["outcomes"][k], other["outcomes"][k]) for k in ids]
        lost, won = pairs.count((True, False)), pairs.count((False, True))
        p = binomtest(lost, lost + won).pvalue if lost + won else 1.0
        print(
            f"{one['policy']}: {sum(a for a, _ in pairs)} and {sum(b for _, b in pairs)} of "
            f"{len(ids)} solved; only by one: {lost} and {won}, McNemar's p {p:.2g}"
        )


def rows(one: dict[str, Any], other: dict[str, Any]) -> Iterator[list[object]]:
    """A row for each task, and one for all."""
    common = sorted(one.keys() & other.keys())
    if not common:
        raise ClevrSkillsError("the files have no episode in common")
    for task in [*dict.fromkeys(name.partition("/")[0] for name in common), "all"]:
        mine = [name for name in common if task in ("all", name.partition("/")[0])]
        pairs = [(one[name], other[name]) for name in mine]
        steps = [s for a, b in pairs if (s := differs(a["states"], b["states"])) is not None]
        ends = [
            float(np.abs(np.subtract(a["final"], b["final"])).max())
            for a, b in pairs
            if len(a["final"]) == len(b["final"])
        ]
        apart = [
            np.abs(unpacked(a["images"][k]) - unpacked(b["images"][k]))
            for a, b in pairs
            for k in a["images"].keys() & b["images"].keys()
        ]
        yield [
            task,
            len(pairs),
            sum(a["scene"] == b["scene"] for a, b in pairs),
            len(pairs) - len(steps),
            min(steps) if steps else "",
            max(ends, default=0.0),
            sum(a["success"] and b["success"] for a, b in pairs),
            f"{sum(not d.any() for d in apart)}/{len(apart)}",
            float(np.mean([d.mean() for d in apart])),
            max((int(d.max()) for d in apart), default=0),
        ]


def differs(one: list[int], other: list[int]) -> int | None:
    """The first step at which states differ; ``None``: they never do."""
    for step, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return step
    return None if len(one) == len(other) else min(len(one), len(other))


def main(args: MachinesArgs) -> int:
    """Write or compare."""
    try:
        (write if args.do == "write" else compare)(args)
    except ClevrSkillsError as error:
        print(f"machines: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(MachinesArgs, description=__doc__)))
