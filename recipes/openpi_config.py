"""Training configuration of openpi for our exports, and a way to run openpi's programs with it.

Usage: openpi_config.py PROGRAM ARGUMENTS..., in openpi's folder and environment. The configuration
is pi05_clevrskills; CLEVRSKILLS_RECIPE_OUT says where its files go.
"""

import dataclasses
import os
import pathlib
import runpy
import sys
from typing import Any

import numpy as np
from openpi import transforms
from openpi.models import pi0_config
from openpi.training import config, weight_loaders

OUT = pathlib.Path(os.environ["CLEVRSKILLS_RECIPE_OUT"])
LORA = bool(os.environ.get("CLEVRSKILLS_RECIPE_LORA"))
BASE, HAND = "observation/base_camera", "observation/hand_camera"
FEATURES = {
    BASE: "observation.images.base_camera",
    HAND: "observation.images.hand_camera",
    "observation/state": "observation.state",
    "actions": "action",
    "prompt": "prompt",
}
"""Names that clients send, also used for the data, so evaluation needs no ``rename``."""


def image(values: Any) -> np.ndarray:
    """Return an image as (H, W, 3) uint8; data has (3, H, W) in [0, 1]."""
    values = np.asarray(values)
    if values.dtype == np.uint8:
        return values
    return np.moveaxis((values * 255).round().astype(np.uint8), 0, -1)


@dataclasses.dataclass(frozen=True)
class Inputs(transforms.DataTransformFn):
    """Conversion of observations to model inputs; the third camera is masked."""

    def __call__(self, data: dict) -> dict:
        base, hand = image(data[BASE]), image(data[HAND])
        shown = {"base_0_rgb": base, "left_wrist_0_rgb": hand, "right_wrist_0_rgb": base * 0}
        there = {"base_0_rgb": True, "left_wrist_0_rgb": True, "right_wrist_0_rgb": False}
        kept = {name: data[name] for name in ("actions", "prompt") if name in data}
        mask = {name: np.bool_(value) for name, value in there.items()}
        return {"state": data["observation/state"], "image": shown, "image_mask": mask, **kept}


@dataclasses.dataclass(frozen=True)
class Outputs(transforms.DataTransformFn):
    """Conversion of the model's 32 outputs to the 7 numbers of an action."""

    def __call__(self, data: dict) -> dict:
        return {"actions": np.asarray(data["actions"])[:, :7]}


@dataclasses.dataclass(frozen=True)
class Demonstrations(config.DataConfigFactory):
    """Configuration of our exports, without DeltaActions, as actions are already deltas."""

    def create(
        self, assets_dirs: pathlib.Path, model_config: pi0_config.Pi0Config
    ) -> config.DataConfig:
        """Return the data configuration."""
        return dataclasses.replace(
            self.create_base_config(assets_dirs, model_config),
            repack_transforms=transforms.Group(inputs=[transforms.RepackTransform(FEATURES)]),
            data_transforms=transforms.Group(inputs=[Inputs()], outputs=[Outputs()]),
            model_transforms=config.ModelTransformFactory()(model_config),
            action_sequence_keys=("action",),
            prompt_from_task=True,
        )


def training() -> config.TrainConfig:
    """Return the configuration. Other settings are openpi's defaults, including the learning rate:
    2.5e-5 with 1000 steps of warm-up and a cosine. State and actions are scaled by quantiles.
    """
    variants = {"paligemma_variant": "gemma_2b_lora", "action_expert_variant": "gemma_300m_lora"}
    # As openpi's pi05_libero, at 20 Hz too: chunks of 10 actions, and no state among the words.
    model = pi0_config.Pi0Config(
        pi05=True, action_horizon=10, discrete_state_input=False, **(variants if LORA else {})
    )
    adapters = {"freeze_filter": model.get_freeze_filter(), "ema_decay": None} if LORA else {}
    weights = "gs://openpi-assets/checkpoints/pi05_base/params"
    return config.TrainConfig(
        name="pi05_clevrskills",
        model=model,
        data=Demonstrations(repo_id="clevrskills/demonstrations"),
        weight_loader=weight_loaders.CheckpointWeightLoader(weights),
        assets_base_dir=str(OUT / "assets"),
        checkpoint_base_dir=str(OUT / "train"),
        keep_period=None,  # the last checkpoint only: each has about 70 GB
        wandb_enabled=False,
        **adapters,
    )


def main(program: str, *arguments: str) -> None:
    """Run an openpi program with this configuration registered."""
    own = training()
    config._CONFIGS_DICT[own.name] = own
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(pathlib.Path(program).parent))
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    import openpi_config  # by its name, under which processes that load data find its classes

    openpi_config.main(*sys.argv[1:])
