"""Hub: published weights and vocabularies, in a folder or by their name on Hugging Face."""

from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import AutoTokenizer
from transformers.utils import cached_file

from clevrskills.baselines.prompts import ByteTokenizer, Tokenizer
from clevrskills.errors import ClevrSkillsError


@contextmanager
def loading(what: str, name: str) -> Iterator[None]:
    """Errors of ``from_pretrained`` in a line.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ClevrSkillsError(
            f"the {what} {name} cannot be loaded: {reason} Give the folder where its weights are, "
            "or its name on the Hugging Face Hub: --set in training (the entries are weights, "
            "language_model and image_encoder), --policy-arg weights=DIR in evaluating"
        ) from error


def hub_file(name: str, file: str) -> Path:
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


class LanguageTokenizer:
    """The tokenizer that belongs to a published language model.

    Args:
        name: A folder, or a name of the hub.
        image: The token that stands where an image is, one that no text has; ``None``: a new one,
            which the language model does not know.

    Attributes:
        size: How many numbers there are.
        pad: The number that stands after the end: that of the end of a text.
        image: The number that stands where an image is.

    Raises:
        ClevrSkillsError: It cannot be loaded, or does not have the token.
    """

    def __init__(self, name: str, image: str | None = None) -> None:
        with loading("tokenizer of", name):
            self._tokenizer = AutoTokenizer.from_pretrained(name)
        known = self._tokenizer.get_vocab()
        if image is not None and image not in known:
            raise ClevrSkillsError(f"the tokenizer of {name} has no token {image}")
        self.image: int = len(self._tokenizer) if image is None else known[image]
        self.size: int = len(self._tokenizer) + (image is None)
        self.pad: int = self._tokenizer.eos_token_id

    def encode(self, text: str) -> list[int]:
        """The numbers of a piece of a prompt, without those of beginning and end; spaces at its end
        are no tokens.
        """
        found: list[int] = self._tokenizer(text.rstrip(), add_special_tokens=False)["input_ids"]
        return found

    def save(self, folder: Path) -> None:
        """Write it into a new folder, which can stand for its name."""
        self._tokenizer.save_pretrained(folder)


def make_tokenizer(language_model: str, random: Container[str]) -> Tokenizer:
    """The tokenizer of a language model; those of random weights read bytes.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """
    return ByteTokenizer() if language_model in random else LanguageTokenizer(language_model)
