"""Files of banks: keys are those of tasks; faults are named in one line."""

import re

import pytest

from clevrskills.assets import shape_names, shape_words
from clevrskills.assets.names import HELD_OUT_NAMES, SEEN_NAMES
from clevrskills.errors import ClevrSkillsError
from clevrskills.suites.clevrskills.wording_checks import draw_layout
from clevrskills.tasks import Sentences, Task, WordingSet, stack_roles, task, tasks
from clevrskills.tasks.bank_files import read_banks
from tests.support.lexicon import goal_words_of

PUSH = """
[push]
slots = ["thing", "other"]
paper = "Push {thing:words}."

[push.seen]
terse = \"\"\"
Push {thing}.
Shove {thing} to {other:texture}.
\"\"\"

[shove]
like = "push"
paper = "Shove it."
"""


def test_a_bank_inherits_missing_entries(tmp_path):
    (tmp_path / "pushes.toml").write_text(PUSH)
    seen = Sentences(terse="Push {thing}.\nShove {thing} to {other:texture}.\n")
    assert read_banks(tmp_path) == {
        "push": WordingSet("Push {thing:words}.", seen),
        "shove": WordingSet("Shove it.", seen),
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[push.seen]", "[push.seen", "pushes.toml is not valid TOML: Expected ']'"),
        ('paper = "Push {thing:words}."', "", "pushes.toml: push.paper is missing"),
        ("paper =", "papers =", "unknown entry of .*pushes.toml: push 'papers'; allowed: like, sl"),
        ("terse =", "curt =", "unknown entry of .*push.seen 'curt'; allowed: terse, plain, elab"),
        ('"Shove it."', "5", "pushes.toml: shove.paper must be a str, not 5"),
        ("[shove]", "shove = 1\n[other]", "unknown entry of .*push.seen 'shove'"),
        ('like = "push"', 'like = "pull"', "earlier bank in .*shove.like 'pull'; allowed: push"),
        ("Shove {thing}", "Shove {thin}", "slot in .*push.seen.terse 'thin'; allowed: thing, oth"),
        ("{thing:words}", "{thing:word}", "form of {thing} in .*push.paper 'word'; allowed: wor"),
        ("{thing}.", "{thing.", "pushes.toml: push.seen.terse: "),
    ],
)
def test_faults_in_a_file_are_named(tmp_path, old, new, message):
    assert PUSH.count(old) >= 1
    (tmp_path / "pushes.toml").write_text(PUSH.replace(old, new))
    with pytest.raises(ClevrSkillsError, match=message) as error:
        read_banks(tmp_path)
    assert "\n" not in str(error.value)


def test_a_key_is_in_one_file(tmp_path):
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(PUSH)
    with pytest.raises(ClevrSkillsError, match=r"b.toml: push is in another file of the folder"):
        read_banks(tmp_path)


def test_keys_are_those_of_tasks():
    assert {*read_banks(Task.bank_folder)} <= {*tasks()}


def test_words_of_goals_are_slots():
    """Words for objects, relations, directions, order and counts come from the leaves."""
    names = {shape_words(name, k) for name in shape_names() for k in (*SEEN_NAMES, *HELD_OUT_NAMES)}
    things = re.compile(rf"(?<![{{\w])(?:{'|'.join(map(re.escape, names))})s?(?![}}:\w])")
    for key, bank in read_banks(Task.bank_folder).items():
        for _, text, _ in bank.sentences():
            assert not goal_words_of(text), (key, text)
            assert not things.search(text.replace("the present", "")), (key, text)


def test_a_word_that_the_goal_does_not_have_is_refused():
    made = task("place")
    layout = draw_layout(made, 0, "train")
    for text in ("Put {top} {in} {bottom}.", "Put {two} objects {in} {bottom}.", "{top} {away}."):
        bank = WordingSet(text, leaves=made.bank.leaves)
        with pytest.raises(ClevrSkillsError, match="slot '(in|two|away)' has no value"):
            bank.wordings({}, layout, made.goal(stack_roles([layout])))
