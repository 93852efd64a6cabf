"""Parser of a language model's replies: finds the command among reasoning and markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from clevrskills.core.policy import TextAction

Grammar = Callable[[str], str]
"""Function that returns the canonical form of a command, empty for an invalid one."""
DONE = "done"
"""Command by which a policy declares success."""
REPLIES = {"repaired": "replies repaired", "unreadable": "unreadable", "cut_off": "cut off"}
"""Counters of replies, with their labels."""
LINE = 200
"""Maximum number of characters of a reply quoted in a later prompt."""

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
_JSON = re.compile(
    rf"""(["'])(?:next_)?({_NAMES})\1\s*:\s*(["'])((?:\\.|(?!\3|\\).)*\\?)\3""", re.I
)
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
    """Return a command without Markdown, LaTeX, quotes, brackets, full stop and extra blanks."""
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
    """Return a reply without its reasoning, even if unfinished; the last ``<answer>`` if any."""
    text = _ENDED.split(_CLOSED.sub("\n", reply))[-1]
    text = _ANSWER.split(_OPENED.split(text, 1)[0])[-1]
    return _ANSWERED.split(text, 1)[0]


def first_words(reply: str) -> str:
    """Return the first :data:`LINE` characters of a reply as one line, if possible without its
    reasoning.
    """
    line = " ".join((answer_of(reply).strip() or reply).split()) or "(an empty reply)"
    return line if len(line) <= LINE else f"{line[:LINE]}…"


def read_reply(reply: str, grammar: Grammar | None = None) -> TextAction:
    """Read the command of a reply.

    This is the last valid command after a mark such as ``action:`` at the start of a line, else the
    last one on a line of its own that is not a list item.

    Args:
        reply: The whole reply.
        grammar: Grammar of the commands; ``None``: any text after a mark is a command.

    Returns:
        The action: the text after the last mark if no command is valid, empty without a mark. Its
        usage counts ``repaired`` and ``unreadable`` replies.
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
    """Return the last valid command at the start of a block of lines."""
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
    """Return the command before a remark, unless the remark is a command too."""
    aside = _ASIDE.fullmatch(text)
    parts = [aside[1]] if aside and not grammar(clean_command(text)) else _SENTENCE.split(text)
    read = [grammar(clean_command(part)) for part in parts]
    return read[0] if sum(map(bool, read)) == 1 else ""


def _behind_mark(lines: list[str]) -> list[str]:
    """Return the text after a mark at the start of the first line, and the lines that follow."""
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
    """Yield the lines that are commands, but not in a list or next to another command, or the only
    line.
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
