"""Makes a small ACT policy of LeRobot, with random weights, that fits our environments.

Usage: lerobot_policy.py FOLDER OUT, in an environment with lerobot and our plug-in.
"""

import sys

import torch
from lerobot.configs import FeatureType, NormalizationMode
from lerobot.envs import env_to_policy_features, make_env_config
from lerobot.policies import make_pre_post_processors
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.utils.import_utils import register_third_party_plugins

KINDS = ("VISUAL", "STATE", "ACTION")


def main(folder: str, out: str) -> None:
    register_third_party_plugins()
    config = make_env_config("clevrskills", task="pick", frozen=folder)
    features = env_to_policy_features(config)
    torch.manual_seed(0)
    act = ACTConfig(
        input_features={k: v for k, v in features.items() if v.type is not FeatureType.ACTION},
        output_features={k: v for k, v in features.items() if v.type is FeatureType.ACTION},
        normalization_mapping=dict.fromkeys(
            ("VISUAL", "STATE", "ACTION"), NormalizationMode.IDENTITY
        ),
        pretrained_backbone_weights=None,
        dim_model=32,
        n_heads=2,
        dim_feedforward=32,
        n_encoder_layers=1,
        use_vae=False,
        device="cpu",
    )
    ACTPolicy(act).save_pretrained(out)
    for processor in make_pre_post_processors(act):
        processor.save_pretrained(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
