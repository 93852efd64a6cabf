"""Weights and vocabularies that others have published: in a folder, or by a name of the hub of
Hugging Face.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer
from transformers.utils import cached_file

from clevrskills.errors import ClevrSkillsError


def published_file(name: str, file: str) -> Path:
    """A file of a published model; from the hub it is downloaded once.

    Args:
        name: A folder, or a name of the hub such as ``jat-project/jat``.
        file: Path of the file in it.

    Raises:
        ClevrSkillsError: It is not there.
    """
    try:
        return Path(cached_file(name, file))
    except (OSError, ValueError) as error:
        raise ClevrSkillsError(
            f"{name} has no {file} here, and it could not be downloaded: name a folder that has it"
        ) from error


class SubwordTokenizer:
    """The tokenizer of a published language model, from its ``tokenizer.json``.

    Args:
        name: A folder, or a name of the hub.
        pad: The token that stands after the end.
        image: The token that stands where a picture is; one that no text has.

    Attributes:
        size: How many numbers there are.
        pad: The number that stands after the end.
        image: The number that stands where a picture is.

    Raises:
        ClevrSkillsError: It is not there, or is not such a tokenizer.
    """

    def __init__(self, name: str, pad: str, image: str) -> None:
        path = published_file(name, "tokenizer.json")
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            raise ClevrSkillsError(f"{path} is no tokenizer: {error}") from error
        self.size: int = self._tokenizer.get_vocab_size()
        self.pad, self.image = self._number(name, pad), self._number(name, image)

    def encode(self, text: str) -> list[int]:
        """The numbers of a piece of a prompt; spaces at its end are no tokens."""
        encoded = self._tokenizer.encode(text.rstrip(), add_special_tokens=False)
        return list(encoded.ids)

    def _number(self, name: str, token: str) -> int:
        number = self._tokenizer.token_to_id(token)
        if number is None:
            raise ClevrSkillsError(f"the tokenizer of {name} has no token {token}")
        return int(number)
