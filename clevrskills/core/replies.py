"""Reader of replies: the command that a language model gives, without its reasoning and markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from clevrskills.core.policy import TextAction

Grammar = Callable[[str], str]
"""Returns a command as its environment writes it; empty: the text is no command."""
DONE = "done"
"""Command of a policy that declares that it is done."""
REPLIES = {"repaired": "replies repaired", "unreadable": "unreadable", "cut_off": "cut off"}
"""Counters of replies, with their labels."""
LINE = 200
"""Characters of a reply that is shown to its model as it was, at most."""

_TAGS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think"
_OPEN = rf"<(?:{_TAGS})\b[^<>]*>|\[THINK\]|◁think▷|<\|channel\|>\s*analysis"
_OPEN += r"|<\|(?:START_THINKING|begin_of_thought)\|>"
_CLOSE = rf"</(?:{_TAGS})\s*>|\[/THINK\]|◁/think▷|<\|channel\|>\s*final\s*<\|message\|>"
_CLOSE += r"|<\|(?:END_THINKING|end_of_thought)\|>"
_CLOSED, _OPENED, _ENDED, _ANSWER, _ANSWERED = (
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (f"(?:{_OPEN}).*?(?:{_CLOSE})", _OPEN, _CLOSE, "<answer>", "</answer>")
)
_NAMES = "action|instruction|command|answer"
_ELEMENT = re.compile(rf"<({_NAMES})>", re.IGNORECASE)
_JSON = re.compile(rf"""(["'])(?:next_)?({_NAMES})\1\s*:\s*(["'])((?:\\.|(?!\3).)*)\3""", re.I)
_TOKEN = re.compile(r"<\|[^|<>\n]*\|>|</?(?:s|output|response|end_of_turn)>|</\w+>", re.IGNORECASE)
_ITEM = re.compile(r"^\s*(?:\(?\d+[.):]|[-•+–—])\s+")
_MARK = re.compile(
    r"(?:(?:so|then|thus|therefore),? )?(?:(?:my|the|your) )?(?:(?:next|final|chosen|best) )*"
    rf"(?:{_NAMES})(?: to take)?(?: #?\d+)?\]?(?: (?:is|will be|would be|should be))?"
    r"\s*(?:[:=\uff1a\u2192]|->| [-\u2013\u2014] |(?<=\]) )(.*)",
    re.IGNORECASE,
)
_LATEX = re.compile(r"\\(?:boxed|text|texttt|textbf|mathrm)\s*\{([^{}]*)\}")
_AROUND = " .!,;:$\"'“”‘’«»[]{}<>"
_SENTENCE = re.compile(r"(?<=[^.\d])[.!] +| +(?:[-–—]|//) +")
_ASIDE = re.compile(r"(.*\w) \([^()]*\)")


def clean_command(text: str) -> str:
    """Return a command without Markdown, LaTeX, quotes or brackets around it, a full stop at its
    end, and doubled blanks.
    """
    text = " ".join(_without_markup(text).split()).strip(_AROUND)
    while text[:1] + text[-1:] in ("()", "__"):
        text = text[1:-1].strip(_AROUND)
    text = text.rstrip(") ") if text.count("(") < text.count(")") else text
    return text if any(map(str.isalnum, text)) else ""


def _without_markup(text: str) -> str:
    text = text.replace("\\_", "_").translate(str.maketrans("", "", "*`#"))
    text = re.sub(r"\\[()\[\]]", "", text)
    while (shorter := _LATEX.sub(r"\1", text)) != text:
        text = shorter
    return text


def answer_of(reply: str) -> str:
    """Return a reply without reasoning, finished or not; of several, its last ``<answer>``."""
    text = _ENDED.split(_CLOSED.sub("\n", reply))[-1]
    text = _ANSWER.split(_OPENED.split(text, 1)[0])[-1]
    return _ANSWERED.split(text, 1)[0]


def first_words(reply: str) -> str:
    """Return the beginning of a reply, without its reasoning if there is anything else, as a line
    of at most :data:`LINE` characters.
    """
    line = " ".join((answer_of(reply).strip() or reply).split()) or "(an empty reply)"
    return line if len(line) <= LINE else f"{line[:LINE]}…"


def read_reply(reply: str, grammar: Grammar | None = None) -> TextAction:
    """Read the command of a reply: the last well-formed one behind ``action:`` or the like at the
    start of a line; else the last that has a line of its own and is no entry of a list.

    Args:
        reply: The whole reply.
        grammar: Tells what a command is; ``None``: any text behind a mark is one.

    Returns:
        Its action is empty if there is none, and what stands behind the last mark if that is not
        well formed. Its usage counts ``repaired`` and ``unreadable`` replies.
    """
    text = _ELEMENT.sub(r"\n\1: ", answer_of(reply))
    text = _TOKEN.sub("\n", _JSON.sub(r"\n\2: \4\n", text))
    lines = _without_markup(text).splitlines()
    marked = [block for k in range(len(lines)) if (block := _behind_mark(lines[k:]))]
    action = _last(marked, grammar)
    if not action and grammar is not None:
        action = _last([[line] for line in _alone(lines, grammar)], grammar)
    if not action:
        action = next((clean_command(block[0])[:LINE] for block in marked[::-1]), "")
    plain = rf"(?:(?:action|instruction): *)?{re.escape(action)}\.?"
    usage = {}
    if not action:
        usage["unreadable"] = 1.0
    elif not any(re.fullmatch(plain, line.strip(), re.IGNORECASE) for line in reply.splitlines()):
        usage["repaired"] = 1.0
    return TextAction(action, stop=action.lower() == DONE, usage=usage)


def _last(blocks: list[list[str]], grammar: Grammar | None) -> str:
    """Return the last well-formed command of those that blocks of lines begin with."""
    for block in blocks[::-1]:
        first = clean_command(block[0])
        if first.lower() == DONE:
            return DONE
        if grammar is None:
            return first
        known = list(takewhile(grammar, map(clean_command, block)))
        joined = grammar("; ".join(known)) if len(known) > 1 else ""  # a listing
        if read := joined or _before_remark(block[0], grammar) or grammar(first):
            return read
    return ""


def _before_remark(text: str, grammar: Grammar) -> str:
    """Return the command before a remark that is no other one."""
    aside = _ASIDE.fullmatch(text)
    parts = [aside[1]] if aside and not grammar(clean_command(text)) else _SENTENCE.split(text)
    read = [grammar(clean_command(part)) for part in parts]
    return read[0] if sum(map(bool, read)) == 1 else ""


def _behind_mark(lines: list[str]) -> list[str]:
    """Return what stands behind a mark at the start of the first line, with the lines after it."""
    first = _bare(lines[0])
    if not _MARK.match(first):
        return []
    while found := _MARK.match(first):
        first = _bare(found[1])
    block = [first, *map(str.strip, lines[1:])]
    while block and not clean_command(block[0]):
        block = block[1:]
    return [
        _ITEM.sub("", line) for line in takewhile(lambda line: not _MARK.match(_bare(line)), block)
    ]


def _bare(line: str) -> str:
    return _ITEM.sub("", line.strip(" \t>$_")).lstrip("\"'“([{ ")


def _alone(lines: list[str], grammar: Grammar) -> Iterator[str]:
    """Yield the lines that are a command, do not follow or precede another, and are not listed,
    unless there is nothing else.
    """
    commands = [line for line in lines if clean_command(line)]
    if len(commands) == 1:
        yield _ITEM.sub("", commands[0])
        return
    is_command = [
        not _ITEM.match(line) and bool(grammar(clean_command(line))) for line in (*lines, "")
    ]
    for k, line in enumerate(lines):
        if is_command[k] and not is_command[k - 1] and not is_command[k + 1]:
            yield line
