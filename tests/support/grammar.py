"""Grammar of instructions: reads sentences of ClevrSkills, with what a scene's bodies are called.

It knows no template and no task. Names become tokens in angle brackets; an idiom of :data:`IDIOMS`
becomes what it means, or nothing. Of the rest only verbs, tokens and the words of :data:`MEANING`
count, and each of these words must be part of a relation or of an order: a sentence with one that
is not understood is not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from clevrskills.sim.body import Body
from clevrskills.tasks.layout import Layout

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
O = "<[a-z]+(?:_[0-9]+)?>"  # noqa: E741
LIST = f"{O}(?:(?:,? and then|,? and|, then|,) {O})*"
K, TURN, SIDE = "<k[0-9]+>", "<turn -?[0-9]+>", "<side -?[0-9] -?[0-9]>"
NOUN, ADJECTIVE = "(?:dax|blicket|wug|zup)", "(?:daxer|blicker|modier|kobar)"
SIDES = {
    "on the side away from the robot": (1, 0),
    "on the side towards the robot": (-1, 0),
    "on the left": (0, -1),
    "on the right": (0, 1),
}
"""Directions of the table; left and right as the base camera sees them."""
MEANING = set(
    "on onto in into inside to towards at over under over out away nearer closer next beside "
    "below left right clockwise anti-clockwise first then last before after afterwards finally "
    "second followed top bottom lowest highest reversed reverse reverses backwards not no neither "
    "either nor never none nothing without cannot matter matters two three four five six seven "
    "eight nine ten both pair single green red yellow carry direction skipping moving tilt".split()
)
RELATIONS = {
    "on": "on|onto|on top of|over",
    "in": "in|into",
    "towards": "towards|closer to|nearer to|in the direction of",
    "to": "to|at",
}
ACTS = {
    "throw": r"throw\w*|thrown|toss|fling|missile",
    "push": r"push\w*|shove|slide|slid|nudge",
    "touch": r"touch\w*|tap|contact",
    "topple": r"toppl\w*|tip|tips|knock\w*|fall|falls|bowl\w*",
    "swap": r"swap\w*|exchange|trade",
    "stack": r"stack\w*|tower\w*",
    "lift": r"lift\w*|pick\w*|grab|hold\w*|held|grasp|raise",
    "hit": r"hit\w*|collisions?|strike|striking|struck",
    "trace": r"goals?",
    "balance": r"balanc\w*|level|scale",
    "pose": r"pose",
    "restore": r"restor\w*|back|return\w*|home|undo",
    "visit": r"visit\w*|stops?|route|courier|traveler|round",
    "neighbor": r"neighbou?rs?",
    "alike": r"textures?|textured|matching|alike",
    "area": r"areas?",
}
FREE = ("then", "first", "finally", "afterwards")
"""Words for the order in which objects are named."""
DEFINITIONS = (
    *("this one, O, is an? W", "this one, O, an? W", "this is an? W: O", "an? W: O", "O = W"),
    *("i call O an? W", "O is called an? W", "O is known as an? W", "the word for O is W"),
    *("an? W looks like O", "an? W like O", "an? W, shaped like O", "an? W has the shape of O"),
    *("an? W that of O", "whatever is shaped like O i call an? W", "what is shaped like O an? W"),
    *("for W see O", "let a thing like O be an? W", "a thing like O an? W", "called an? W is O"),
    *("the word W stands for O", "W as in O", "with W for O", "say W to O", "W means O"),
    *("O is an? W", "O as an? W", "O, an? W", "O an? W"),
    *("W for O", "W to O", "O for W", "W is O", "W: O", "O: W", "O, W"),
)
"""Definitions of a new noun W: an object of the shape of O."""
# In idioms, A and B are bodies that are meant, O is any body, L a list of them, R a turn.
IDIOMS: Sequence[tuple[str, str]] = (
    # what no sentence says
    (r"by (?:hitting|disturbing|lifting|leaving|skipping|holding|striking|letting)", "not"),
    (r"by (?:a (?:single )?collision|touching (?:anything|what)|moving (?:it|them)|ever)", "not"),
    (r"one (?:objects|goals|of them|loads|moves|words|parts|halves|things|steps|neighbors)", "not"),
    (r"(?:one|three|four) (?:new names|halves|moments|parts|plates)|(?:two|four) pushes", "not"),
    (r"of the (?:one|three) on the table", "not"),
    (r"compare the (?:one|three)|at the first stop|you may know", "not"),
    (r"you have ever heard|(?:one|three) of these words", "not"),
    (r"these (?:one|three)(?: up| words)?", "not"),
    (r"do (?:drop|move|shift|leave|hit)|but moved|must change|need be gentle|, its twin", "not"),
    (
        r"(?<!nothing )(?<!nothing on the table )is supposed to move|into the way",
        "not",
    ),
    (r"will help|hit will do|is enough, for both", "not"),
    (r"is quite the right|but with its|whatever is where", "not"),
    (r"a (?:hand free|room|other one has|object (?:may|should)|pushing|holding|area is)", "not"),
    (r"(?:does|do) matter|(?<!not )only the places", "not"),
    (r"is allowed(?<!not allowed)|(?:but )?one (?:place|word)s", "not"),
    # what stands for something else
    (r"A is too far away from B, push it over the table in that direction", "push A towards B"),
    (r"both where the gripper is|(?:by|ten) centimeters", ""),
    (r"ten centimeters or more|bring the two together", ""),
    (r"(?:at least )?ten centimeters(?: or more)?|by ten centimeters", ""),
    (r"see A lying down", "topple A"),
    (r"(?:move )?to where A lies", "A"),
    (r"place it in there", "%sort"),
    (r"throw it in there", "throw %sort"),
    (r"(?:to|in|into) the area that looks like it", "%sort texture"),
    (r"into which distant area", "%sort"),
    (r"until none is left", ""),
    (r"A: throw it", "throw A"),
    (r"in balance", "balanced"),
    (r"goal:", ""),
    (r"in the same area|original pose", ""),
    (r"bowl over", "hit topple"),
    (r"in the end nothing should have changed, although", "restore"),
    (r"i will check two moments", ""),
    (r"to where(?= <k)", ""),
    (
        r"no object may be on another in the end, but before you topple the stack it has to be",
        "stack, then topple",
    ),
    (r"leave the red goals for later", "goals"),
    (r"red goals have to wait and yellow ones are done with", "goals"),
    (r"with A as the pin", "A"),
    (r"A as what you throw", "throw A"),
    (r"(?<!stops )for A: (?:the )?B(?= ?\.)", "B on A"),
    (r"without being picked up|without lifting,|with three pushes|use pushes", "push"),
    (r"without ever being picked up", "push"),
    (r"as holding is forbidden", ""),
    (r"compared with before|which turns yellow as soon as you have been there", ""),
    (r"change places|complete the swap|A for B, B for A", "swap A B"),
    (r"as if it had never left", "restore"),
    (r"past the obstacles", "%avoid"),
    (r"target of the throw: A", "throw <held> to A"),
    (r"tower in which", "tower"),
    (r"in the identically textured areas", "%sort texture"),
    (r"into the one with its own texture", "%sort texture"),
    (r"build(?: up)?(?=,| from the end of this list)", "stack"),
    (r"as the foot of a tower, and stack all else on it", "stack"),
    (r"before you topple the stack it has to be", "stack, then topple"),
    (r"from the end of this list to its beginning", "%down"),
    (r"the gripper slowly towards (L) and stop", "L"),
    (r"and stop as soon as", "and"),
    (r"swing the arm, let go of", "throw"),
    (r"to fly from the gripper", "throw"),
    (r"flies into A and knocks it over", "thrown at A topple"),
    (r"A is out of reach, too far away to put B there, so a well-aimed throw", "throw B to A"),
    (r"its its|single stack of", "single stack, a stack of"),
    (r"one tower|single stack|(?:into|in) (?:one )?stacks?", "stack %alike"),
    (r"on top of each other", "stack %alike"),
    (r"what (?:you hold|it holds|you are holding)", "<held>"),
    (r"the object (?:that you hold|in your gripper)", "<held>"),
    (r"held object", "<held>"),
    (r"(?:throw|throwing) a", "throw"),
    # words about words and twins
    (r"two objects on the table are alike but for one thing", ""),
    (r"let me teach you (?:two|three) words", ""),
    (r"learn from these examples|seen from above|where i come from|my next job|from the fact", ""),
    (r"two new names first|(?:for )?(?:these )?two (?:of these )?words|then a new property", ""),
    (r"you have never heard (?:these words|of.* before)", ""),
    (r"not its twin", ""),
    (r"(?:of )?the two (?:objects )?on the table(?: that are alike)?|then compare", ""),
    (r"before you (?:act|begin)|you may not know the word|before anything else can happen", ""),
    (r"look at A and B, in this order, and then put the one on the other", "A %pair B"),
    (r"pick up the first and put it on the second", "%pair"),
    # stacks
    (r"leave A on the table|from A up(?= to)|begin with the last, A", "%low A"),
    (r"to A, everything should end up in one single stack", "%high A"),
    (
        r"A (?:at the bottom|as the lowest|lowest|as the foot of a tower|is the foot of the tower)",
        "%low A",
    ),
    (r"A (?:at the top|as the highest|comes to the top of the stack|be at the top)", "%high A"),
    (r"(?:be )?at the bottom of the stack(?=:)", "at the bottom"),
    (r"as the foot of a tower|stack all else on it|when the last object has been put on top", ""),
    (r"as soon as the last object is on top", ""),
    (r"looked down on the tower|although it is named first", ""),
    (r"bottom to top|(?:from )?the bottom (?:up|to the top)|the first one at the bottom", "%up"),
    (r"bottom first|each object (?:has to rest )?on the one (?:that i name )?before it", "%up"),
    (r"begin at the bottom, for", ""),
    (r"no object may be on another in the end, but before you topple the stack it has to be", ""),
    (r"and after that (?=make)", "then"),
    (r"top to bottom|(?:from )?the top (?:down|to the bottom)", "%down"),
    (r"name what is highest first", "%down"),
    (r"the last (?:one )?(?:is )?(?:at the bottom|lowest)(?: of the stack)?", "%down"),
    (r"what comes last in it is at the bottom|what is named last carries all others", "%down"),
    (
        r"(?:each|everything) .{0,20}on (?:top of )?(?:the one|what) (?:that )?(?:is )?named "
        r"(?:after it|next)",
        "%down",
    ),
    (r"ends with what is named first|read the list backwards", "%down"),
    (r"(?:in (?:the |a )?)?revers(?:ed?|es)(?: order| stack| the usual way)?", "%down"),
    (r"on top of each other|on another one of the same texture", "%alike"),
    (r"(?:in|into) (?:one |a )?stacks?", "%alike"),
    (r"in which order|in any order|until no object is left", "%alike"),
    (r"a single stack|never mix textures %alike", "%alike"),
    # the scale
    (r"(?:on|onto) (?:the|its|each) (?:two )?(?:plates?|scale)(?: of the scale)?", "%scale"),
    (r"on (?:it|them)(?=,| *[.?]| so)|on which plate", "%scale"),
    (r"go %scale|into two equal loads|two loads", "%scale"),
    (r"no object (?:should be left|may stay behind)", ""),
    (r"must not tilt|may not tilt|should carry the same", ""),
    (r"carry the same weight|both (?:sides weigh|plates equal)", ""),
    (r"(?:both|two) plates", "%scale"),
    # goals in the air
    (r"(?:by|keep) moving to|next stop|going to", ""),
    (r"nothing needs to be held or moved|go on|move on to", ""),
    (r"red goals have to wait and yellow ones are done with|leave the red goals for later", ""),
    (r"which turns yellow as soon as|(?:to|in) the order in which|go (?:to )?next|move next", ""),
    (r"the next|green next|one next", "green"),
    (r"green goal next", "green goal"),
    (r"not only the places of|lying on the side in the end|the same area", ""),
    (r"and after that|nothing is in the right place yet", "then"),
    (r"go on until (?:all|none)|(?:is|in) , and pick up", ""),
    # where things are at the start, and where the gripper goes
    (r"and no longer on the table", ""),
    (r"(?:off|from|on|onto|over|across|along|around|in) (?:the|this) table", ""),
    (r"(?:on|onto|off) (?:the|this|its|your|a) (?:way|spot|own|route)|on the same spot", ""),
    (r"(?:on its|to the) side|on a round trip", ""),
    (r"(?:in|from|to) (?:the|your) (?:gripper|hand|air|end|meantime|same way|usual way)", ""),
    (r"in (?:place|mind|mid-swing|this way|my language|any order|order|between|reach)", ""),
    (r"in (?:its|their|the) (?:new |right )?places?(?! of)", ""),
    (r"in (?:this|these) (?:order|images)", ""),
    (r"right where it lies|the only right spot|at the right moment|all that is left to do", ""),
    (r"switch the vacuum on|what is below|whatever is beside it|right way round|keep on", ""),
    (r"the gripper (?:slowly |gently )?(?:to|towards|against)(?= <)", ""),
    (r"(?:move|go|slowly) to(?= <o)", ""),
    (r"one (?:object )?after the other|one throw after the other|(?:tell|told) you into", ""),
    (r"without disturbing the rest|without touching what else is|where it takes no room", ""),
    (r"i have no hand free|two steps are needed here|keep going|(?:move|far|moves) away", ""),
    # put
    (r"do not drop A anywhere", "A"),
    (r"but do not drop it|without letting it fall", ""),
    (r"A is right below <held>, put B", "B on A"),
    (r"let A be what B is put down on", "B on A"),
    (r"what you should pick up is A, and B is where you should place it", "A on B"),
    (r"carry it over to", "to"),
    (r"place it on top(?! of)", ""),
    # push
    (r"without ever being picked up", ""),
    (r"without (?:holding|picking|lifting)(?: it up| it| either)?", ""),
    (r"do not lift A", "A"),
    (r"push direction for", "push"),
    (r"in the direction of", "towards"),
    (r"between A and B should shrink; push the first one", "push A towards B"),
    (r"behind A, on the side away from B, and push it +towards that one", "push A towards B"),
    (r"between A and B, so push the former towards the latter", "push A towards B"),
    (r"A can stay where it is, while B has to be pushed in its direction", "push B towards A"),
    (
        r"A is too far away from B, push it (?:over the table )?in that direction",
        "push A towards B",
    ),
    (r"picking things up is not allowed", ""),
    # touch
    (r"(?:do not lift|free of) A", "A"),
    (r"is what i am after|the side in the end|as long as|a fair distance|how easily", ""),
    (r"do not move|without moving (?:it|them)|but (?:do not shift (?:it|them)|not moved)", ""),
    (r"since nothing is supposed to move|since nothing +is supposed to move", ""),
    (r"no pushing and no holding is needed here|nothing has to be picked up today", ""),
    (r"must not change|nothing was moved|the new place does not matter", ""),
    (r"neither (?:lift nor strike|hold nor hit)", ""),
    (r"nothing should stay standing|without striking", ""),
    (r"they must neither be held nor struck", ""),
    (r"in any direction(?: you like)?|in which direction", ""),
    (r"away from where (?:it is|they are)(?: now)?|away from (?:here|the present spot)", ""),
    (r"out of the way|away(?= ?[.,:]|$)|push away", "push"),
    (r"centimeters away|go on pushing|slid well away", "push"),
    (r"away(?= <)|push (?:it|them) away", ""),
    (r"near the top|from the top of", ""),
    (r"(?:topple|knock|bowl|tip|push)(?:s|ped|ing)? (?:L )?over", "topple L"),
    (r"(?:tip|knock)s? (?:it|them) over|falls? over|knocked over", "topple"),
    # throw
    (r"the arm cannot (?:get to|reach) A", "A"),
    (r"too far away|out of reach|cannot reach", ""),
    (r"carrying will not help|why|a mere hit will not do", ""),
    (r"A, and B to put it there; a well-aimed throw", "throw A to B"),
    (r"A is , to put B there, so a well-aimed throw", "throw B to A"),
    (r"take aim at A", "A"),
    (r"it does not matter what A does afterwards", "A"),
    (r"to where A is", "to A"),
    (r"after (?:being thrown|you throw)|throws? .{0,9}at its upper half", "throw"),
    # swap
    (r"put one aside first", ""),
    (r"and nothing else should change|in the place of the other|to where(?= <)", "%swap"),
    (r"(?:and )?the other way round", "%swap"),
    (r"and that one (?:where|to the place of) the first was", "%swap"),
    (r"and that one to the place of the first|place of the first|where the first was", "%swap"),
    (r"where that one is, the first|(?:so that )?each is where the other was", "%swap"),
    (r"to the place of|there|three pushes|if the first one makes room|then complete the swap", ""),
    (r"two things should change about", ""),
    (r"a mere swap of L is not enough", "swap L"),
    # turn
    (r"find out how|works? out|find a free way|find out|any direction is fine|the side ,", ""),
    (r"without leaving its spot|not quite the", ""),
    (r"but not with its orientation|nothing should look", ""),
    (r"(?:compared )?with before|as it was before|as it did at first|at first|but that", "back"),
    (r"restore after(?! its)|at the (?:start|beginning)", "restore"),
    (r"two (?:parts|halves) to this|i will compare before and after|from how it lay", ""),
    (r"do not leave A rotated", r"A"),
    (r"after the turn of|after being", ""),
    (r"any object whose texture no other one has can stay", ""),
    # areas
    (r"no object should lie outside the area whose texture it shares", "%sort texture"),
    (r"shapes do not matter here|no area is within reach|sorting need not be gentle", ""),
    (r"go on until all are sorted|until none is left|when none is left|anything into", ""),
    (
        r"(?:in|into)(?: the| which| that)?(?: identically textured| matching| distant)? areas?",
        "%sort",
    ),
    (r"(?:in|into) (?:it|them|there|the one with its own texture)", "%sort"),
    (r"every object to its area", "%sort"),
    (r"textures first", "textures"),
    (r"first takes", ""),
    # routes
    (r"without skipping a stop|as if it had never left|stop after stop|order matters", ""),
    (r"leave it at the last stop|watch what happens|from where it is now|where it came", ""),
    (r"do not leave A at its last stop", r"A"),
    (r"and after that (?:it is |put )", "then "),
    (r"starting %sort where it is", ""),
    (r"after its visit to", "visit"),
    (r"after A has been on", r"visit A on"),
    # neighbors
    (r"the same area|and nothing else|not every object is meant|two moves|in afterwards", ""),
    (r"next to", "%next"),
    (r"first A, next its neighbor", r"A, then its neighbor"),
    (r"and, second,|and second comes|comes second|second\.", ", then"),
    (r"before you touch A, look what", r"A,"),
    (r"because after you put it in", "put in"),
    (r"put the first in", "put in"),
    (r"followed by", "then"),
    (r"A (?:takes|gets) B", "B in A"),
    (r"to fill A", "in A"),
    (r"two (?:neighbors|objects) (?:are moving|for) (?:to )?A", "neighbors to A"),
    # key-steps and poses
    (r"(?:as )?(?:shown |wanted: )?(?:in|of)(?= <k)|in the order", ""),
    (r"in which you see it|(?:in|into) (?:the|that|a certain) poses?", ""),
    (r"whatever is not where it should be|does not matter", ""),
    (r"nothing is in|nothing should have changed", ""),
    (r"alone that matters|after all objects had been moved", ""),
    (r"by moving the objects|after rearranging", ""),
    (r"after which|where they were before", "back"),
    (r"as in a rehearsal|as before|do not leave the table", "back"),
    (r"safety comes first here", ""),
    (
        r"without (?:hitting|touching) (?:any of the|any|the|anything|objects?|one)"
        r"(?: obstacles| objects)?",
        "%avoid",
    ),
    (r"without (?:a|a single) collision|no collisions", "%avoid"),
    (r"no hits|hit nothing|no object may be hit", "%avoid"),
    (r"you must not hit any of them|do not hit any obstacle|none of which may be hit", "%avoid"),
    (r"on which nothing is hit|on which  hit|keep your distance from the obstacles", "%avoid"),
    (r"avoid (?:all|every) \w+|avoiding all obstacles|a single collision spoils it all", "%avoid"),
    (r"go around whatever you might hit|keep your distance", "%avoid"),
    (r"around the obstacles|past all obstacles", "%avoid"),
)


def scene_names(bodies: Sequence[Body]) -> dict[str, str]:
    """Return the tokens of all phrases for some bodies, and for their textures."""
    found: dict[str, str] = {}
    for k in range(5):
        for body in bodies:
            if texture := body.texture_called(k, bodies):
                found[f"{texture} texture".lower()] = f"<tex {body.texture}>"
    for k in range(5):
        for body in bodies:
            article = "" if body.key == "thing" else "the "
            found[f"{article}{body.called(k, bodies)}".lower()] = f"<{body.key}>"
    return found


def _compiled(pattern: str) -> re.Pattern[str]:
    number = count()
    named = {"A": O, "B": O, "L": LIST}
    text = re.sub(r"\bO\b", O, pattern)
    text = re.sub(r"\b[ABL]\b", lambda m: f"(?P<{m[0]}{next(number)}>{named[m[0]]})", text)
    return re.compile(rf"(?<![\w<-])(?:{text})(?![\w>-])")


def _meant(match: re.Match[str], meaning: str) -> str:
    """Return what an idiom means, with the bodies that it names."""
    found = {name[0]: text for name, text in match.groupdict().items() if text}
    return re.sub(r"\b[ABL]\b", lambda m: found.get(m[0], ""), meaning)


_IDIOMS = [(_compiled(pattern), meaning) for pattern, meaning in IDIOMS]
_RELATED = "|".join(f"@{name}" for name in RELATIONS)
_SCAN = re.compile(
    rf"(?P<a>{O}) (?P<rel>{_RELATED}) (?P<b>{O}(?:(?: (?P=rel) {O})+|(?: {O}(?! (?:{_RELATED})))*))"
    rf"|(?P<rel2>{_RELATED}) (?P<b2>{O}) (?P<a2>{O})(?! (?:{_RELATED}))"
    rf"|%low (?P<low>{O})|%high (?P<high>{O})|(?P<rel3>{_RELATED}) (?P<b3>{O})"
    rf"|(?P<carrier>{O}) carry (?P<load>{O})"
    rf"|(?P<named>{O})|(?P<step>{K})|(?P<turn>{TURN})|(?P<side>{SIDE})|(?P<all><all [^>]+>)"
    rf"|(?P<mark>%\w+)|(?P<number>\b(?:{'|'.join(NUMBERS[2:])}|both|pair)\b)"
    rf"|(?P<color>green)|(?P<free>carry(?= {O}))"
)


@dataclass
class Reading:
    """What stands in a sentence."""

    acts: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    related: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    turns: set[int] = field(default_factory=set)
    sides: set[tuple[int, int]] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    textures: set[str] = field(default_factory=set)
    ends: dict[str, str] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    text: str = ""


class Grammar:
    """Reader of the sentences of a scene."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.here = [body for body in layout.bodies if body]
        self.bodies = {body.key: body for body in (*self.here, *layout.examples)}
        self.names = scene_names(list(self.bodies.values()))
        longest = sorted(self.names, key=len, reverse=True)
        self.named = re.compile(rf"(?<![\w<-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])")

    def tokens(self, text: str) -> str:
        """Return a sentence with tokens for the objects of the scene."""
        text = text.lower()
        text = self.named.sub(lambda m: self.names[m[0]], text)
        text = re.sub(r"the scene at key-step (\d+)", r"<k\1>", text)
        for side, (x, y) in SIDES.items():
            text = text.replace(side, f"<side {x} {y}>")
        text = re.sub(r"(\d+) degrees clockwise", r"<turn -\1>", text)
        text = re.sub(r"(\d+) degrees anti-clockwise", r"<turn \1>", text)
        text = re.sub(r"objects with <tex ([^>]+)>", r"<all \1>", text)
        return re.sub(r"the object with <tex ([^>]+)>", self._only, text)

    def _only(self, match: re.Match[str]) -> str:
        found = [b.key for b in self.here if b.texture == match[1] and not b.ghost]
        return f"<{found[0]}>" if len(found) == 1 else match[0]

    def defined(self, text: str) -> str:
        """Return a sentence with bodies for the words that it explains."""
        new = {*re.findall(rf"\b(?:{ADJECTIVE}|{NOUN})\b", text)}
        taught = re.search(r"teach you (\w+) words", text)
        if taught and taught[1] != NUMBERS[len(new)]:
            return "not"
        if in_turn := self._in_turn(text):
            return in_turn
        text = re.sub(
            rf"find the ({NOUN}), which looks like (<noun_\d>), that is ({ADJECTIVE})",
            r"\2 is a \1. take the \3 \1",
            text,
        )
        words = re.findall(rf"\b{ADJECTIVE}\b", text)
        if words:
            pairs = re.findall(rf"<(example_\d)> is {words[0]} than <(example_\d)>", text)
            given = {(self.bodies[a].qualifier, self.bodies[b].qualifier) for a, b in pairs}
            like = [[(self.bodies[x].shape, self.bodies[x].texture) for x in two] for two in pairs]
            if any(one != other for one, other in like) or any(len({*two}) < 2 for two in pairs):
                return "not"
            if len(given) != 1 or len({*words}) != 1 or not pairs:
                return "not"
            qualifier = given.pop()[0]
            text = re.sub(r"<example_\d> is \w+ than <example_\d>", "", text)
            meant = [b.key for b in self.here if b.qualifier == qualifier]
            text = re.sub(rf"{words[0]} <thing>", f"<{meant[0]}>", text)
        for noun in dict.fromkeys(re.findall(rf"\b{NOUN}\b", text)):
            for pattern in DEFINITIONS:
                said = pattern.replace("W", noun).replace("O", "<(noun_[0-9])>")
                if match := re.search(rf"(?<![\w<-]){said}(?![\w>-])", text):
                    shape = self.bodies[match[1]].shape
                    text = text.replace(match[0], "", 1)
                    fits = [b for b in self.here if b.shape == shape]
                    if words and any(b.qualifier for b in fits):
                        text = re.sub(
                            rf"{words[0]} {noun}|{noun}, .{{0,40}} that is {words[0]}", noun, text
                        )
                        fits = [b for b in fits if b.qualifier == qualifier]
                    if len(fits) == 1:
                        text = re.sub(rf"(?:the |an? )?\b{noun}\b", f"<{fits[0].key}>", text)
                    break
        return text

    def _in_turn(self, text: str) -> str:
        """Return the meanings of "the first" and "the one", in the order of the examples."""
        if not re.search(
            r"pick up the first and put it on the second\.$|and then put the one on the other\.$",
            text,
        ):
            return ""
        shown = re.findall(r"<noun_\d>", text)
        words = re.findall(rf"an? ({NOUN})\b", text)
        if len({*words}) != 2 or len(shown) != 2:
            return "not"
        shapes = [self.bodies[name[1:-1]].shape for name in shown]
        top, bottom = ([b.key for b in self.here if b.shape == shape][0] for shape in shapes)
        return f"<{top}> on <{bottom}>"

    def reading(self, text: str) -> Reading | None:
        """Return what stands in a sentence, none where a word is not understood."""
        text = self.defined(self.tokens(text))
        if "key-step" in text:
            return None
        for pattern, meaning in _IDIOMS:
            text = pattern.sub(lambda m, meaning=meaning: _meant(m, meaning), text)
        if self.layout.in_gripper >= 0:
            held = self.layout.slot(self.layout.in_gripper).key
            text = text.replace("<held>", f"<{held}>")
        text = re.sub(r"(?:^|(?<=[.,;:] ))after (?:that|all objects)?", "then ", text)
        text = re.sub(r"\b(?:to|at|over|below)\b(?! <[a-z]+(?:_\d)?>)", "", text)
        found = Reading()
        words = re.findall(r"<[^>]+>|%\w+|[\w'-]+", text)
        for act, verbs in ACTS.items():
            if any(re.fullmatch(verbs, word) for word in words):
                found.acts.add(act)
        joined = " ".join(words)
        for name, said in RELATIONS.items():
            longest = sorted(said.split("|"), key=len, reverse=True)
            joined = re.sub(rf"\b(?<!@)(?:{'|'.join(longest)})\b", f"@{name}", joined)
        kept = [w for w in re.findall(r"<[^>]+>|[@%]\w+|[\w'-]+", joined)]
        left = " ".join(w for w in kept if (w in MEANING and w not in FREE) or w[0] in "<@%")
        found.text = text
        if "visit" in found.acts:
            left = re.sub(rf"(?:{_RELATED}) (?={O})", "", left)
        while left:
            match = _SCAN.match(left)
            if not match:
                return None
            self._note(found, match)
            left = left[match.end() :].lstrip()
        return found

    def _note(self, found: Reading, match: re.Match[str]) -> None:
        """Enter what a token says."""
        part = {name: text for name, text in match.groupdict().items() if text}
        if "rel" in part:
            found.related.append((part["rel"][1:], part["a"], tuple(re.findall(O, part["b"]))))
        elif "rel2" in part:
            found.related.append((part["rel2"][1:], part["a2"], (part["b2"],)))
        elif "rel3" in part:
            found.places.append(part["b3"])
        elif "low" in part or "high" in part:
            name = "low" if "low" in part else "high"
            if found.ends.setdefault(name, part[name]) != part[name]:
                found.marks |= {"up", "down"}
        elif "color" in part:
            found.marks.add("green")
        elif "carrier" in part:
            found.related.append(("on", part["load"], (part["carrier"],)))
        elif "named" in part:
            found.named.append(part["named"])
        elif "step" in part:
            found.steps.append(int(part["step"][2:-1]))
        elif "turn" in part:
            found.turns.add(int(part["turn"][6:-1]))
        elif "side" in part:
            x, y = map(int, part["side"][6:-1].split())
            found.sides.add((x, y))
        elif "all" in part:
            found.textures.add(part["all"][5:-1])
        elif "mark" in part:
            found.marks.add(part["mark"][1:])
        elif "number" in part:
            number = {"both": 2, "pair": 2}.get(part["number"])
            found.numbers.add(number or NUMBERS.index(part["number"]))

    def read(self, text: str) -> Said | None:
        """Return what a sentence asks for; none where it is not understood."""
        found = self.reading(text)
        if found is None:
            return None
        acts = found.acts | ({"swap"} if "swap" in found.marks else set())
        acts |= {"balance"} if "scale" in found.marks else set()
        said = Said(acts, found.marks, found.steps, found.numbers)
        given = [(a, rel, b) for rel, a, places in found.related for b in places]
        keys = list(dict.fromkeys(found.named))
        area_of = {b.texture: f"<{b.key}>" for b in self.here if b.noun == "area"}
        movable = [b for b in self.here if b.key.startswith("object")]
        if "trace" in acts or found.steps:
            said.about = [*keys, *found.places]
            return said if "trace" not in acts or "green" in found.marks else None
        if "balance" in acts:
            all_of = [b for b in movable if not found.textures or b.texture in found.textures]
            said.leaves = [("balance", tuple(f"<{b.key}>" for b in all_of))]
            return said if "scale" in found.marks or "balance" in acts else None
        if "neighbor" in acts or "next" in found.marks:
            first = [a for a, *_ in given] or keys
            places = found.places or [b for *_, b in given]
            if len({*first}) != 1 or len({*places}) != 1 or len(found.sides) != 1:
                return None
            then = self._beside(first[0], *found.sides)
            said.leaves = [("in", first[0], places[0]), ("in", then, places[0])]
        elif "visit" in acts:
            said.leaves = self._visits(found)
        elif "stack" in acts or found.marks & {"up", "down", "low"} or "alike" in found.marks:
            said.leaves = self._stacked(found, given, keys, movable)
        elif len(keys) > 1 and not given and not acts - {"restore"}:
            said.leaves = [("in", keys[0], key) for key in keys[1:]]
        elif "swap" in acts:
            both = {*keys, *found.places, *(x for a, _, b in given for x in (a, b))}
            said.leaves = [("swap", frozenset(both), *found.turns)]
        elif found.turns:
            alike = [b.texture for b in movable if b.texture]
            twins = {t for t in alike if alike.count(t) > 1}
            of = keys or [f"<{b.key}>" for b in movable if b.texture in (found.textures or twins)]
            said.leaves = [("rotate", key, *found.turns) for key in of]
        elif "alike" in acts and not given:
            said.leaves = [("in", f"<{b.key}>", area_of.get(b.texture, "")) for b in movable]
        elif acts & {"throw", "hit"} and not given:
            said.leaves = self._thrown(found)
        else:
            said.leaves = [(rel, a, b) for a, rel, b in given] or [("one", key) for key in keys]
            if given and {*keys, *found.places} - {x for a, _, b in given for x in (a, b)}:
                return None
        return said if said.leaves else None

    def _beside(self, key: str, side: tuple[int, int]) -> str:
        """Return the nearest object on a side of another."""
        here = np.array(self.bodies[key[1:-1]].pose[:2])
        ways = {
            f"<{b.key}>": np.array(b.pose[:2]) - here
            for b in self.here
            if b.key.startswith("object") and f"<{b.key}>" != key
        }
        along = {k: way for k, way in ways.items() if way @ side > abs(way @ side[::-1])}
        return min(along, key=lambda k: float(np.hypot(*along[k])), default="")

    def _visits(self, found: Reading) -> list[tuple[object, ...]]:
        """Return the stops of the carried object: the stated one, or the one named first."""
        keys = list(dict.fromkeys(re.findall(O, found.text)))
        if not keys:
            return []
        before = re.match(rf".*?(?:\bof|with|return) ({O})", found.text)
        thing = before[1] if before else keys[0]
        return [("in", thing, key) for key in keys if key != thing]

    def _stacked(
        self,
        found: Reading,
        given: Sequence[tuple[str, str, str]],
        keys: Sequence[str],
        movable: Sequence[Body],
    ) -> list[tuple[object, ...]]:
        """Return what rests on what, from below."""
        if "down" in found.marks and "up" in found.marks:
            return []
        if not given and not keys and found.ends:
            return []
        if not given and not keys:
            groups: dict[str | None, list[str]] = {}
            for body in movable:
                groups.setdefault(body.texture, []).append(f"<{body.key}>")
            return [("same stack", *keys) for keys in groups.values()]
        order = list(keys)
        if given:
            tower = [given[0][2], *(a for a, *_ in given)]
            if any(rel != "on" for _, rel, _ in given) or [b for *_, b in given] != tower[:-1]:
                return []
            order = tower
        elif "down" in found.marks:
            order.reverse()
        if not order:
            return []
        ends = {"low": order[0], "high": order[-1]}
        if any(ends[name] != key for name, key in found.ends.items()):
            return []
        return [("on", a, b) for b, a in zip(order, order[1:], strict=False)]

    def _thrown(self, found: Reading) -> list[tuple[object, ...]]:
        """Return the thrown object and its target."""
        keys = list(dict.fromkeys(found.named))
        thrown = {*re.findall(rf"(?:throw(?:ing)?(?: of)?|toss|fling|with|hold) ({O})", found.text)}
        thrown |= {*re.findall(rf"({O})[^<]* hits? {O}", found.text)}
        thrown |= (
            {*re.findall(rf"({O}),? (?:hits?|topples?|: throw)\b", found.text)}
            if not thrown
            else set()
        )
        if len(keys) != 2 or len(thrown & {*keys}) != 1:
            return []
        thing = (thrown & {*keys}).pop()
        return [("to", thing, next(key for key in keys if key != thing))]


@dataclass
class Said:
    """What a sentence asks for: leaves in order, or key-steps to copy."""

    acts: set[str]
    marks: set[str]
    steps: list[int]
    numbers: set[int]
    leaves: list[tuple[object, ...]] = field(default_factory=list)
    about: list[str] = field(default_factory=list)
