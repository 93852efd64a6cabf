"""Sentences of the tasks that move blocks between areas; ``what`` are the blocks that are meant."""

from clevrskills.tasks.bank import Bank, Sentences

MOVE_AREA = Bank(
    paper="Move all the {what} in the {source} to the {target}.",
    seen=Sentences(
        terse="""
        {what}: {source} to {target}.
        From {source} to {target}: all the {what}.
        Move the {what} on the {source} to the {target}.
        All the {what}, {source} to {target}.
        Clear the {source} of the {what}, into the {target}.
        {what} in the {source} go to the {target}.
    """,
        plain="""
        Please move all the {what} on the {source} to the {target}.
        Can you bring the {what} from the {source} area to the {target} area?
        I want all the {what} of the {source} to be in the {target}.
        Take each of the {what} in the {source} and put it down in the {target}.
        The {what} that are on the {source} belong in the {target}.
        Carry the {what} in the {source} area over to the {target} area.
        Put all the {what} that you find in the {source} into the {target}.
    """,
        elaborate="""
        Look at the {source} of the table: all the {what} there have to go to the {target}, \
        and nothing else.
        When you are done, none of the {what} is left in the {source}, as all of them are in \
        the {target}.
        Take the {what} in the {source} area one by one and put them down anywhere in the \
        {target} area.
        I need the {source} free of the {what}, so please move them all to the {target}.
        Leave the blocks of the other areas alone, but move the {what} in the {source} to \
        the {target}.
        Only the {what} that lie in the {source} have to move, each to some free place in \
        the {target}.
    """,
    ),
    held_out=Sentences(
        terse="""
        Transfer the {what}, {source} to {target}.
        Into the {target} with the {what} of the {source}.
        New place of the {what} in the {source}: the {target}.
    """,
        plain="""
        Would you transfer all the {what} in the {source} to the {target}?
        Let all the {what} of the {source} end up in the {target}.
        The {target} is where the {what} from the {source} should be.
        Shift every one of the {what} in the {source} to the {target}.
    """,
        elaborate="""
        Someone wants to see all the {what} of the {source} in the {target}, and no other \
        block there.
        Go through the {source}, and whatever belongs to the {what} is to be set down in the \
        {target}.
        There is room in the {target} for all the {what} that are in the {source} now; \
        transfer them.
    """,
    ),
)
