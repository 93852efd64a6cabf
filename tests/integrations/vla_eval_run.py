"""Runs a configuration of vla-eval against a server of its own; prints what it wrote as JSON.

Usage: vla_eval_run.py CONFIG OVERRIDES OUT [actions], with vla_eval on PYTHONPATH.
"""

import json
import sys
from pathlib import Path

import numpy as np
from vla_eval.api import evaluate
from vla_eval.cli.smoke import _make_echo_server
from vla_eval.model_servers.predict import PredictModelServer


class Watcher(PredictModelServer):
    """Answers with the actions given to it, and notes what it was shown."""

    def __init__(self, actions: list[list[float]]) -> None:
        super().__init__()
        self.actions, self.seen = actions, []

    def predict(self, obs, ctx):
        task = {key: obs[key] for key in ("task_description", "step", "seed")}
        arrays = {
            **{f"images/{name}": image for name, image in obs["images"].items()},
            **{f"prompt_images/{n}": image for n, image in obs.get("prompt_images", {}).items()},
            "states": obs["states"],
        }
        shapes = {name: [*array.shape, array.dtype.name] for name, array in arrays.items()}
        self.seen.append({**task, "shapes": shapes})
        return {"actions": np.array(self.actions[ctx.step % len(self.actions)], dtype=np.float32)}


def main(config: str, overrides: str, out: str, actions: str = "") -> None:
    server = Watcher(json.loads(actions)) if actions else _make_echo_server(7)
    results = evaluate(
        server, config, output_dir=out, benchmark_overrides=json.loads(overrides), docker=False
    )
    files = {path.name: path.read_text() for path in Path(out).glob("*_aggregate.json")}
    seen = getattr(server, "seen", [])
    Path(out, "told.json").write_text(json.dumps({"results": results, "seen": seen}, default=str))
    assert len(files) == len(results)


if __name__ == "__main__":
    main(*sys.argv[1:])
