"""Run by .venv-clients with vla-eval: two episodes, images in a format."""

import json
import sys

import anyio
import numpy as np
from vla_eval.connection import Connection
from vla_eval.protocol.numpy_codec import set_image_format
from vla_eval.specs import GRIPPER_CLOSE_POS, POSITION_DELTA, ROTATION_AA, DimSpec, check_specs

address, form, out = sys.argv[1:]
set_image_format(form)


async def main() -> dict:
    actions = []
    async with Connection(address) as connection:
        for prompt in ("push it", "push it"):
            await connection.start_episode({"task": {"name": "push"}})
            for step in range(4):
                image = np.full((4, 4, 3), 10 * step, np.uint8)
                shown = {"images": {"base_camera": image}, "task_description": prompt}
                shown["states"] = np.arange(5, dtype=np.float32) + step
                actions.append((await connection.act(shown))["actions"].tolist())
            await connection.end_episode({"metrics": {"success": True}, "steps": 4})
        error = ""
        try:
            await connection.act({"task_description": 3})
        except RuntimeError as raised:
            error = str(raised)
        theirs = {k: DimSpec.from_dict(v) for k, v in connection.server_info["action_spec"].items()}
        ours = {"position": POSITION_DELTA, "rotation": ROTATION_AA, "gripper": GRIPPER_CLOSE_POS}
        seen = connection.server_info["observation_spec"].items()
        wanted = {k: DimSpec.from_dict(v) for k, v in seen}
        mismatches = check_specs(theirs, ours, wanted, wanted)
        info = connection.server_info
    return {"actions": actions, "info": info, "error": error, "mismatches": mismatches}


with open(out, "w") as file:
    json.dump(anyio.run(main), file)
