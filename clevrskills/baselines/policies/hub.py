"""Published weights and vocabularies, from a folder or from the Hugging Face Hub.

A name on the hub is ``facebook/opt-1.3b``, or ``facebook/opt-1.3b@REVISION``.
"""

import re
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer
from transformers.utils import cached_file, logging

from clevrskills.baselines.prompts import Tokenizer, WordTokenizer
from clevrskills.errors import ClevrSkillsError, UnknownNameError


@contextmanager
def loading(what: str, name: str) -> Iterator[None]:
    """Turn errors of ``from_pretrained`` into one line, without reports and progress bars.

    Raises:
        ClevrSkillsError: The model cannot be loaded.
    """
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ClevrSkillsError(
            f"the {what} {name} cannot be loaded: {reason} Give the folder where its weights are, "
            "or its name on the Hugging Face Hub: --published-weights DIR or --set in training "
            "(the entries are weights, language_model and image_encoder), "
            "--policy-arg weights=DIR in evaluating"
        ) from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def language_dtype(name: str) -> torch.dtype:
    """Return the type named ``float32`` or ``bfloat16``.

    Raises:
        UnknownNameError: It has another name.
    """
    kinds = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if name not in kinds:
        raise UnknownNameError("language_dtype", name, tuple(kinds))
    return kinds[name]


def address(name: str) -> dict[str, Any]:
    """Return the address of a published model for ``from_pretrained`` and ``cached_file``."""
    if "@" not in name or Path(name).exists():
        return {"path_or_repo_id": name}
    repository, _, revision = name.rpartition("@")
    return {"path_or_repo_id": repository, "revision": revision}


def load_model(kind: Any, what: str, name: str, dtype: torch.dtype, **options: Any) -> Any:
    """Return a published model with all its weights.

    Args:
        kind: Its class, of transformers.
        what: Kind of model in messages.
        name: A folder, or a name on the hub.
        dtype: Type of its weights.
        options: Further arguments of ``from_pretrained``.

    Raises:
        ClevrSkillsError: It cannot be loaded, or lacks weights.
    """
    place = address(name)
    with loading(what, name):
        model, report = kind.from_pretrained(
            place.pop("path_or_repo_id"), dtype=dtype, output_loading_info=True, **place, **options
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ClevrSkillsError(
            f"the {what} {name} lacks {len(missing)} weights, such as {missing[0]}"
        )
    return model


def revision(name: str) -> str | None:
    """Return the commit on the hub of a downloaded model; ``None``: unknown.

    Args:
        name: A folder, e.g. of ``hf download --local-dir``, or a name on the hub.
    """
    folder = Path(name)
    if folder.is_dir():
        notes = sorted(folder.glob(".cache/huggingface/download/**/*.metadata"))
        text = notes[0].read_text(encoding="utf-8") if notes else str(folder.resolve())
    else:
        found = cached_file(
            **address(name), filename="config.json", local_files_only=True,
            _raise_exceptions_for_missing_entries=False,
            _raise_exceptions_for_connection_errors=False,
        )  # fmt: skip
        text = str(found or "")
    commit = re.search(r"(?:^|snapshots/)([0-9a-f]{40})\b", text)
    return commit and commit[1]


class LanguageTokenizer:
    """Tokenizer of a published language model.

    Args:
        name: A folder, or a name on the hub.
        image: Token of images; ``None``: a new one, unknown to the language model.

    Attributes:
        size: Number of tokens.
        pad: Token of padding, that of the end of a text.
        image: Token of an image.

    Raises:
        ClevrSkillsError: It cannot be loaded, or lacks the token.
    """

    def __init__(self, name: str, image: str | None = None) -> None:
        with loading("tokenizer of", name):
            place = address(name)
            self._tokenizer = AutoTokenizer.from_pretrained(place.pop("path_or_repo_id"), **place)
        known = self._tokenizer.get_vocab()
        if image is not None and image not in known:
            raise ClevrSkillsError(f"the tokenizer of {name} has no token {image}")
        self.image: int = len(self._tokenizer) if image is None else known[image]
        self.size: int = len(self._tokenizer) + (image is None)
        self.pad: int = self._tokenizer.eos_token_id

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text without trailing spaces, without special tokens."""
        found: list[int] = self._tokenizer(text.rstrip(), add_special_tokens=False)["input_ids"]
        return found

    def save(self, folder: Path) -> None:
        """Write the tokenizer to a new folder, which can be loaded by its path."""
        self._tokenizer.save_pretrained(folder)


def make_tokenizer(language_model: str, random: Container[str]) -> Tokenizer:
    """Return the tokenizer of a language model, of words for one with random weights.

    Raises:
        ClevrSkillsError: It cannot be loaded.
    """
    return WordTokenizer() if language_model in random else LanguageTokenizer(language_model)
