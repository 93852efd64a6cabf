"""Construct the letter M with blocks."""

from __future__ import annotations

from dataclasses import dataclass

from clevrskills.suites.lohoravens.tasks.base import block_slots
from clevrskills.suites.lohoravens.tasks.shape._letters import LETTERS_CM, BuildLetter


@dataclass(kw_only=True, eq=False)
class LetterM(BuildLetter):
    """Nine blocks: two uprights of three, and three between them."""

    key = "letter_m"
    level = "unseen"
    moves = (6, 10)
    sentence = "Construct the letter M with the blocks"
    letter = "M"
    slots = block_slots(len(LETTERS_CM["M"]))
