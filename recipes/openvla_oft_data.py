"""Registration of our RLDS exports with OpenVLA-OFT, and a way to run its programs with it.

Usage: openvla_oft_data.py PROGRAM ARGUMENTS..., in OpenVLA-OFT's folder and environment.
"""

import pathlib
import runpy
import sys
from typing import Any

from prismatic.vla.datasets.rlds.oxe import configs, materialize, mixtures

NAME = "clevrskills"
"""Names of the dataset in the export and of the statistics in the checkpoint."""


def as_it_is(trajectory: dict[str, Any]) -> dict[str, Any]:
    """Return a trajectory unchanged: actions are 7 numbers in [-1, 1], the gripper last."""
    return trajectory


def register() -> None:
    """Register the dataset."""
    configs.OXE_DATASET_CONFIGS[NAME] = {
        "image_obs_keys": {"primary": "image", "secondary": None, "wrist": "wrist_image"},
        "depth_obs_keys": {"primary": None, "secondary": None, "wrist": None},
        "state_obs_keys": ["state"],  # position (m), quaternion w x y z, whether the vacuum is on
        "state_encoding": configs.StateEncoding.POS_QUAT,
        "action_encoding": configs.ActionEncoding.EEF_POS,  # the gripper is not scaled
    }
    materialize.OXE_STANDARDIZATION_TRANSFORMS[NAME] = as_it_is
    mixtures.OXE_NAMED_MIXTURES[NAME] = [(NAME, 1.0)]


def main(program: str, *arguments: str) -> None:
    """Run an openvla-oft program with this dataset registered."""
    register()
    sys.argv = [program, *arguments]
    sys.path[:0] = [str(pathlib.Path.cwd()), str(pathlib.Path(program).parent)]
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
