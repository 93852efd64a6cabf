"""Sentences of the primitives."""

from clevrskills.tasks.bank import Bank, Sentences

_ONTO = Sentences(
    terse="""
        {thing} onto the {target}.
        Put the {thing} on the {target}.
        {thing}: to the {target}.
        Take the {thing}, place it on the {target}.
        Target {target}, object {thing}.
        Move the {thing} to the {target}.
    """,
    plain="""
        Please put the {thing} on the {target}.
        Can you move the {thing} onto the {target}?
        I want the {thing} to be on the {target}.
        The {thing} belongs on the {target}; put it there.
        Grab the {thing} and set it down on the {target}.
        Bring the {thing} to the {target} and let go of it.
        Place the {thing} so that it ends up on the {target}.
    """,
    elaborate="""
        Of everything on the table only the {thing} has to move: put it on the {target}.
        Find the {thing}, pick it up with the gripper and place it on the {target}.
        There is a {target} on the table, and the {thing} should be on it when you are done.
        Leave the rest as it is and carry the {thing} over to the {target}.
        I need the {thing} out of its present place, so please put it down on the {target}.
        First pick the {thing} up, then place it on the {target}, and touch nothing else.
    """,
)
_ONTO_HELD_OUT = Sentences(
    terse="""
        Set the {thing} on the {target}.
        Destination of the {thing}: the {target}.
        On the {target} goes the {thing}.
    """,
    plain="""
        Would you place the {thing} on the {target}?
        Let the {thing} come to rest on the {target}.
        On the {target} is where the {thing} should end up.
        Lift the {thing} and put it down on the {target}.
    """,
    elaborate="""
        Have a look for the {target}; the {thing} is to be placed on it, and nothing else is \
        to be moved.
        What is missing on the {target} is the {thing}: get it and lower it there.
        All other objects may stay where they are, but transfer the {thing} to the {target}.
    """,
)
"""Both say the same of a block, whether its size is named or not."""

PICK_PLACE_COLOR = Bank(
    paper="Pick up the {thing} and place it on the {target}.",
    seen=_ONTO,
    held_out=_ONTO_HELD_OUT,
)
PICK_PLACE_SIZE = Bank(
    paper="Pick up the {thing} and place it on the {target}.",
    seen=_ONTO,
    held_out=_ONTO_HELD_OUT,
)

PICK_PLACE_AREA = Bank(
    paper="Pick up the {thing} on the {source} and place it on the {target}.",
    seen=Sentences(
        terse="""
            {thing}: from the {source} to the {target}.
            Put the {thing} on the {target} area.
            Pick up the {thing} and place it on the {target} area.
            {thing} to the {target}.
            Move the {thing} from {source} to {target}.
            Bring the {thing} to the {target} area.
        """,
        plain="""
            Please move the {thing} on the {source} to the {target}.
            Can you put the {thing} from the {source} area into the {target} area?
            I want the {thing} to lie in the {target} area.
            Take the {thing} that is on the {source} and set it down on the {target}.
            The {thing} on the {source} area belongs on the {target} area.
            Carry the {thing} over to the {target} of the table.
            Pick the {thing} up on the {source} and let it go on the {target}.
        """,
        elaborate="""
            On the {source} of the table you find the {thing}; place it on the {target} and \
            leave the rest alone.
            Of all objects only the {thing} has to move, from the {source} area to the {target} \
            area.
            Go to the {source}, grab the {thing} there, and put it down anywhere on the \
            {target}.
            When you are done, the {thing} should no longer be on the {source} but on the \
            {target}.
            Somebody put the {thing} on the {source}, but it should be on the {target}, so \
            please move it.
            Without touching anything else, take the {thing} to the {target} area of the table.
        """,
    ),
    held_out=Sentences(
        terse="""
            Transfer the {thing} to the {target} area.
            {source} to {target}: the {thing}.
            New place of the {thing}: the {target}.
        """,
        plain="""
            Would you move the {thing} from the {source} over to the {target}?
            Let the {thing} end up in the {target} area.
            The {target} area is where the {thing} should be.
            Shift the {thing} on the {source} to somewhere on the {target}.
        """,
        elaborate="""
            Look for the {thing} on the {source} of the table, lift it and lower it on the \
            {target}.
            Nothing but the {thing} is in the wrong place: it has to go from the {source} to the \
            {target}.
            The {target} area still has room, so set the {thing} from the {source} down in it.
        """,
    ),
)

PICK_PLACE_SIDE = Bank(
    paper="Pick up the {thing} and place it on the {side} of the {other}.",
    seen=Sentences(
        terse="""
            {thing} to the {side} of the {other}.
            Put the {thing} on the {side} side of the {other}.
            {side} of the {other}: the {thing}.
            Place the {thing} beside the {other}, {side} side.
            {thing}, {side} of the {other}, please.
            Move the {thing} to the {side} side of the {other}.
        """,
        plain="""
            Please place the {thing} on the {side} of the {other}.
            Can you put the {thing} down on the {side} side of the {other}?
            I want the {thing} to lie on the {side} of the {other}.
            Take the {thing} and set it down on the {side} side of the {other}.
            The {thing} belongs on the {side} of the {other}, a hand away.
            Bring the {thing} to the {other} and put it on its {side} side.
            Grab the {thing} and let it go on the {side} of the {other}.
        """,
        elaborate="""
            Look for the {other}, and on its {side} side, about sixteen centimeters away, put \
            the {thing}.
            Only the {thing} has to move: it should be on the {side} side of the {other}.
            Leave the {other} where it is and put the {thing} down on the {side} of it.
            When you are done, one sees the {thing} on the {side} of the {other}.
            First find the {thing}, then carry it to the table's surface on the {side} side of \
            the {other}.
            I would like the two blocks side by side, so place the {thing} on the {side} of the \
            {other}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Set the {thing} down {side} of the {other}.
            On the {side} side of the {other} goes the {thing}.
            {thing} beside the {other}, on the {side}.
        """,
        plain="""
            Would you put the {thing} on the {side} side of the {other}?
            Let the {thing} come to rest on the {side} of the {other}.
            The {side} side of the {other} is where the {thing} should be.
            Shift the {thing} to the {side} side of the {other}.
        """,
        elaborate="""
            There is free room on the {side} of the {other}; place the {thing} there and nothing \
            else.
            Keep the {other} in its place, lift the {thing} and lower it on the {side} side of \
            it.
            Seen from the {other}, the {thing} has to end up on the {side}, so carry it over \
            there.
        """,
    ),
)
