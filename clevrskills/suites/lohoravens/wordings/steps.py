"""Sentences that say the goal, and how to get there step by step."""

from clevrskills.tasks.bank import STYLES, Bank, Sentences

LEADS = ("Step by step:", "The steps are these:", "Do it like this:", "One after the other:")
"""What comes between the goal and the steps."""


def with_steps(bank: Bank) -> Bank:
    """A bank with the steps ``{steps}`` behind each of its sentences."""
    return Bank(f"{bank.paper} {LEADS[0]} {{steps}}", _led(bank.seen), _led(bank.held_out))


def _led(sentences: Sentences) -> Sentences:
    found: dict[str, list[str]] = {style: [] for style in STYLES}
    for number, (style, text) in enumerate(sentences.in_turn()):
        found[style].append(f"{text} {LEADS[number % len(LEADS)]} {{steps}}")
    return Sentences(**{style: "\n".join(lines) for style, lines in found.items()})
