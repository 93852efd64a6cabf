import pickle

import numpy as np
import pytest
import torch

from clevrskills.baselines.prompts import ByteTokenizer, WordTokenizer, encode, pieces, stack
from clevrskills.core.policy import PromptInput
from clevrskills.errors import ClevrSkillsError

RED, BLUE = (np.full((32, 32, 3), shade, np.uint8) for shade in ((250, 0, 0), (0, 0, 250)))
PROMPT = PromptInput(
    "Put {obj:object_0} on {tex:area_1}, not {obj:object_0}",
    {"{obj:object_0}": RED, "{tex:area_1}": BLUE},
)


def test_pieces_are_in_order() -> None:
    words = [piece for piece in pieces(PROMPT) if isinstance(piece, str)]
    assert words == ["Put ", " on ", ", not "]
    kinds = [piece if isinstance(piece, str) else piece[0, 0].tolist() for piece in pieces(PROMPT)]
    assert kinds == ["Put ", [250, 0, 0], " on ", [0, 0, 250], ", not ", [250, 0, 0]]


def test_placeholders_without_pictures_stay_words() -> None:
    assert pieces(PromptInput("Touch {obj:object_0}", {})) == ["Touch ", "{obj:object_0}"]


def test_words_are_the_same_in_any_case_and_process() -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.encode("Put the RED cube") == tokenizer.encode("put  the red cube")
    assert tokenizer.encode("put") == [2 + 2928708052 % 4094]  # CRC-32, not Python's salted hash
    assert len(set(tokenizer.encode("move the red cube onto a blue one, then push it"))) == 12
    assert len(tokenizer.encode("one, then")) == 3
    small = WordTokenizer(16)
    assert set(small.encode("a b c d e f g h i j k l m n o p q r s t")) <= set(range(2, 16))
    assert pickle.loads(pickle.dumps(small)) == small


def test_bytes() -> None:
    assert ByteTokenizer().encode("aé") == [99, 2 + 0xC3, 2 + 0xA9]
    assert max(ByteTokenizer().encode("ÿ\x7f")) < ByteTokenizer.size


@pytest.mark.parametrize("tokenizer", [WordTokenizer(), ByteTokenizer()])
def test_images_stand_where_they_are_named(tokenizer: WordTokenizer | ByteTokenizer) -> None:
    encoded = encode(PROMPT, tokenizer, size_px=8)
    places = [k for k, token in enumerate(encoded.tokens) if token == tokenizer.image]
    assert len(places) == 3 and places[0] == len(tokenizer.encode("Put "))
    assert encoded.images.shape == (3, 3, 8, 8) and encoded.images.dtype == torch.uint8
    assert encoded.images[:, :, 0, 0].tolist() == [[250, 0, 0], [0, 0, 250], [250, 0, 0]]


def test_prompts_side_by_side() -> None:
    tokenizer = WordTokenizer()
    plain = encode(PromptInput("Put it there now please my friend, or do not", {}), tokenizer, 8)
    both = stack([plain, encode(PROMPT, tokenizer, 8)], tokenizer.pad)
    assert both.tokens.shape == both.mask.shape == both.image_index.shape == (2, 11)
    assert both.mask.sum(1).tolist() == [11, 7]
    assert (both.tokens[~both.mask] == tokenizer.pad).all()
    assert (both.image_index[0] == -1).all()
    assert both.image_index[1].tolist() == [-1, 0, -1, 1, -1, -1, 2, -1, -1, -1, -1]
    assert both.images.shape[0] == 3
    assert stack([plain], tokenizer.pad).images.shape == (0, 3, 8, 8)


def test_an_empty_prompt() -> None:
    with pytest.raises(ClevrSkillsError, match="the prompt is empty"):
        encode(PromptInput("", {}), WordTokenizer(), 8)
