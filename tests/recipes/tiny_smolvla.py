"""SmolVLA with tiny random weights, in the form of lerobot/smolvla_base, for a try of the recipe.

Usage: tiny_smolvla.py FOLDER, in an environment with LeRobot and transformers. FOLDER/base is the
policy, FOLDER/vlm the vision-language model that it names.
"""

import sys
from pathlib import Path

from lerobot.configs import FeatureType, PolicyFeature
from lerobot.policies import make_pre_post_processors
from lerobot.policies.smolvla.configuration_smolvla import SmolVLAConfig
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    SmolVLMConfig,
    SmolVLMImageProcessor,
    SmolVLMProcessor,
    SmolVLMVideoProcessor,
)

SIZE_PX = 32
SPECIAL = {
    "fake_image_token": "<fake_token_around_image>",
    "image_token": "<image>",
    "global_image_token": "<global-img>",
    "end_of_utterance_token": "<end_of_utterance>",
}


def write_language_model(folder: Path) -> None:
    """Configuration and processor; the weights are drawn when the policy is made."""
    letters = sorted({chr(code) for code in range(32, 127)} | {"\n"})
    vocabulary = {word: k for k, word in enumerate(["<pad>", *SPECIAL.values(), *letters])}
    bytewise = Tokenizer(models.BPE(vocabulary, []))
    bytewise.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytewise, pad_token="<pad>", extra_special_tokens=SPECIAL
    )
    text = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 32, "head_dim": 8}
    text |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    text |= {"vocab_size": len(vocabulary), "pad_token_id": 0}
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    vision |= {"num_attention_heads": 2, "image_size": SIZE_PX, "patch_size": 8}
    SmolVLMConfig(
        text_config=text, vision_config=vision, scale_factor=2, image_token_id=2, pad_token_id=0
    ).save_pretrained(folder)
    images = SmolVLMImageProcessor(size={"longest_edge": SIZE_PX})
    SmolVLMProcessor(images, tokenizer, SmolVLMVideoProcessor()).save_pretrained(folder)


def write_policy(folder: Path, language_model: Path) -> None:
    """Weights, configuration with the base model's names, processors."""
    camera = PolicyFeature(FeatureType.VISUAL, (3, 256, 256))
    inputs = {f"observation.images.camera{k}": camera for k in (1, 2, 3)}
    config = SmolVLAConfig(
        vlm_model_name=str(language_model),
        resize_imgs_with_padding=(SIZE_PX, SIZE_PX),
        num_vlm_layers=2,
        device="cpu",
        push_to_hub=False,
        input_features={**inputs, "observation.state": PolicyFeature(FeatureType.STATE, (6,))},
        output_features={"action": PolicyFeature(FeatureType.ACTION, (6,))},
    )
    SmolVLAPolicy(config).save_pretrained(folder)
    for part in make_pre_post_processors(config):
        part.save_pretrained(folder)


def main(folder: str) -> None:
    out = Path(folder).resolve()
    write_language_model(out / "vlm")
    write_policy(out / "base", out / "vlm")


if __name__ == "__main__":
    main(*sys.argv[1:])
