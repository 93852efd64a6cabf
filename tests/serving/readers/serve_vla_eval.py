"""Run by .venv-clients with vla-eval: one of its model servers; prints its address.

The first of two actions says what was seen, see ``digest`` of the test.
"""

import sys

import numpy as np
from vla_eval.api import serve_background
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.specs import (
    GRIPPER_CLOSE_POS,
    IMAGE_RGB,
    LANGUAGE,
    POSITION_DELTA,
    ROTATION_AA,
    ROTATION_EULER,
)

ROTATION = {"axis_angle": ROTATION_AA, "euler": ROTATION_EULER}[sys.argv[1]]


class Server(PredictModelServer):
    def get_action_spec(self) -> dict:
        return {"position": POSITION_DELTA, "rotation": ROTATION, "gripper": GRIPPER_CLOSE_POS}

    def get_observation_spec(self) -> dict:
        return {"image": IMAGE_RGB, "language": LANGUAGE}

    def predict(self, shown: dict, ctx) -> dict:
        if shown["task_description"] == "fail":
            raise KeyError("wrist")
        cameras = [np.mean(shown["images"][f"{name}_camera"]) / 255 for name in ("base", "hand")]
        state = shown["states"]
        more = [len(shown.get("prompt_images", {})) / 10, ctx.is_first, shown["step"] / 10]
        return {"actions": [[*cameras, state[0] / 10, state[-1] / 10, *more], np.ones(7)]}


with serve_background(Server()) as handle:
    print(handle.url, flush=True)
    sys.stdin.read()
