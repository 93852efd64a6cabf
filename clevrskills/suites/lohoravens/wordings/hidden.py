"""Sentences of the tasks with hidden blocks."""

from clevrskills.tasks.bank import Bank, Sentences

HIDDEN_UNDER_BLOCK = Bank(
    paper="Put the {hidden} block hidden under the {top} block into the bowl of the same color.",
    seen=Sentences(
        terse="""
        Hidden {hidden} block under the {top} one: into the {hidden} bowl.
        From under the {top} block, the {hidden} block into the bowl of its color.
        Uncover the {hidden} block below the {top} block; bowl of the same color.
        {hidden} block beneath the {top} block into its bowl.
        Below the {top} block: the {hidden} block, into the matching bowl.
        {top} block off, the {hidden} block under it into the {hidden} bowl.
    """,
        plain="""
        Please put the {hidden} block that is under the {top} block into the bowl of its color.
        Can you get the {hidden} block from under the {top} block and put it into the {hidden} \
        bowl?
        Below the {top} block there is one that is {hidden}; place it in the bowl of that color.
        I want the {hidden} block that the {top} block covers to lie in the bowl of its own color.
        What the {top} block stands on is {hidden} and belongs in the {hidden} bowl.
        Place the {hidden} block that hides beneath the {top} block in the matching bowl.
        Move the {hidden} block which lies under the {top} block to the bowl that has its color.
    """,
        elaborate="""
        You cannot see it, but the block under the {top} block is {hidden}: put that one into \
        the bowl of the same color.
        First take away the {top} block, then bring the {hidden} block that was under it to the \
        {hidden} bowl.
        Of the two {hidden} blocks, the one that is covered by the {top} block goes into the \
        bowl of its color.
        The {top} block has to give way, wherever it goes but into a bowl, so that the {hidden} \
        block below can go to the bowl of its color.
        Look under the {top} block, where one of the {hidden} blocks is, and drop it into the \
        bowl that matches it.
        When you are done, the {hidden} block that was out of sight beneath the {top} block lies \
        in the {hidden} bowl.
    """,
    ),
    held_out=Sentences(
        terse="""
        What is {hidden} and covered by the {top} block: into the {hidden} bowl.
        Free the {hidden} block of the {top} one; into the bowl like it.
        Concealed {hidden} block, {top} block above: same colored bowl.
    """,
        plain="""
        Would you fetch the {hidden} block from beneath the {top} block and lay it in the bowl of \
        its color?
        Let the {hidden} block that the {top} block conceals end up in the bowl of the same color.
        Dig out the {hidden} block under the {top} block and drop it into the {hidden} bowl.
        The bowl of the same color is where the {hidden} block below the {top} block should be.
    """,
        elaborate="""
        Someone has put the {top} block on one of the {hidden} blocks; uncover that one and \
        transfer it to the bowl that shares its color.
        It is not the {hidden} block in sight that is wanted in the {hidden} bowl, but the one \
        with the {top} block on it.
        To reach the {hidden} block, lift the {top} block off it; after that it can go where it \
        belongs, the bowl of its color.
    """,
    ),
)

HIDDEN_IN_TWO_LAYERS = Bank(
    paper="Put all blocks hidden in the two-layer towers into the bowls of the same colors.",
    seen=Sentences(
        terse="""
        Hidden blocks of the two-layer towers into the bowls of their colors.
        Bottom blocks of the towers of two: matching bowls.
        Uncover the lower blocks; each into the bowl of its color.
        From under the upper blocks, every block into its bowl, by color.
        Towers of two: the covered blocks into bowls of the same colors.
        Covered blocks into matching bowls.
    """,
        plain="""
        Please put every block that is hidden in a two-layer tower into the bowl of its color.
        Can you take the lower blocks of the towers of two to the bowls with the same colors?
        I want each block that is covered by another one to lie in the bowl that has its color.
        The blocks hidden below the big ones belong in the bowls of their own colors.
        Place the lower block of each two-layer tower in the bowl whose color it shares.
        Each tower of two hides a block, which goes into the bowl of the same color.
        Move what the upper blocks of the towers hide into the matching bowls.
    """,
        elaborate="""
        Under the upper block of each tower there is another one: bring it to the bowl that has \
        its color.
        First take the towers of two apart, then put what was hidden in them into the bowls of \
        the same colors.
        Only the blocks that are covered now are to go into the bowls, each into the one of its \
        own color.
        Look below the block on top of each tower of two, and drop what you find there into the \
        bowl that matches it.
        When you are done, all blocks that were out of sight in the two-layer towers lie in the \
        bowls of their colors.
        The blocks on top may go anywhere; those below them are wanted in the bowls, color by color.
    """,
    ),
    held_out=Sentences(
        terse="""
        What the two-layer towers hide: into bowls like it.
        Free the lower blocks of all towers; bowls of their colors.
        Concealed blocks, towers of two: same colored bowls.
    """,
        plain="""
        Would you fetch all blocks from beneath others and lay them in the bowls of their colors?
        Let each block that a tower of two conceals end up in the bowl of the same color.
        Dig out the lower blocks of the two-layer towers and drop them into the matching bowls.
        The bowls of the same colors are where the hidden blocks of the towers should be.
    """,
        elaborate="""
        Someone has covered some blocks with bigger ones; uncover them and transfer each to the \
        bowl that shares its color.
        It is not the blocks in sight that are wanted in the bowls, but those at the foot of the \
        two-layer towers, colors matching.
        To reach a hidden block, lift off the one above it; after that it can go to the bowl of \
        its color, and so on with every tower of two.
    """,
    ),
)

HIDDEN_IN_THREE_LAYERS = Bank(
    paper="Put the bottom blocks of the three-layer towers into the bowls of the same colors.",
    seen=Sentences(
        terse="""
        Bottom blocks of the three-layer towers into the bowls of their colors.
        Lowest blocks of the towers of three: matching bowls.
        Uncover the lowest blocks; each into the bowl of its color.
        From the foot of each tower, the block into its bowl, by color.
        Towers of three: bottom blocks into bowls of the same colors.
        Only the bottom blocks into matching bowls.
    """,
        plain="""
        Please put the lowest block of each three-layer tower into the bowl of its color.
        Can you take the bottom blocks of the towers of three to the bowls with the same colors?
        I want each block at the foot of a tower to lie in the bowl that has its color.
        The blocks at the bottom of the three-layer towers belong in the bowls of their own colors.
        Place the bottom block of each tower of three in the bowl whose color it shares.
        Each tower of three stands on a block, which goes into the bowl of the same color.
        Move the blocks that carry the three-layer towers into the matching bowls.
    """,
        elaborate="""
        Below the two upper blocks of each tower there is a third one: bring it to the bowl that \
        has its color.
        First take the towers of three apart, then put their lowest blocks into the bowls of the \
        same colors.
        Not the ones in the middle, only the blocks at the very bottom of the towers are to go \
        into the bowls, each into the one of its own color.
        Look below the two blocks on top of each tower, and drop the one you find there into the \
        bowl that matches it.
        When you are done, the blocks that were at the bottom of the three-layer towers lie in \
        the bowls of their colors.
        The two upper blocks of each tower may go anywhere; the third one is wanted in the bowl \
        of its color.
    """,
    ),
    held_out=Sentences(
        terse="""
        What the three-layer towers stand on: into bowls like it.
        Free the lowest blocks of both towers; bowls of their colors.
        Undermost blocks, towers of three: same colored bowls.
    """,
        plain="""
        Would you fetch the lowest block of each tower of three and lay it in the bowl of its color?
        Let each block that carries two others end up in the bowl of the same color.
        Dig out the bottom blocks of the three-layer towers and drop them into the matching bowls.
        The bowls of the same colors are where the undermost blocks of the towers should be.
    """,
        elaborate="""
        Someone has put two blocks on a third one, twice; uncover the lowest ones and transfer \
        each to the bowl that shares its color.
        It is not the blocks in sight that are wanted in the bowls, but those at the foot of the \
        three-layer towers, colors matching.
        To reach a bottom block, lift off the two above it, one after the other; after that it \
        can go to the bowl of its color.
    """,
    ),
)

HIDDEN_IN_PYRAMID = Bank(
    paper="Put the blocks in the lowest row of the pyramid into the bowls of the same colors.",
    seen=Sentences(
        terse="""
        Lowest row of the pyramid into the bowls of its colors.
        Bottom three of the pyramid: matching bowls.
        Uncover the bottom row; each block into the bowl of its color.
        From the foot of the pyramid, every block into its bowl, by color.
        Pyramid: the lowest blocks into bowls of the same colors.
        Only the bottom row into matching bowls.
    """,
        plain="""
        Please put each block of the bottom row of the pyramid into the bowl of its color.
        Can you take the three lowest blocks of the pyramid to the bowls with the same colors?
        I want each block of the row that lies on the table to lie in the bowl that has its color.
        The blocks at the bottom of the pyramid belong in the bowls of their own colors.
        Place the blocks on which the pyramid stands in the bowls whose colors they share.
        The lowest row of the pyramid has three blocks, which go into the bowls of the same colors.
        Move the three blocks that carry the pyramid into the matching bowls.
    """,
        elaborate="""
        Below the two upper rows of the pyramid there is a third one: bring each of its blocks to \
        the bowl that has its color.
        First take the pyramid apart, then put the blocks of its lowest row into the bowls of the \
        same colors.
        Not the upper three, only the blocks at the very bottom of the pyramid are to go into the \
        bowls, each into the one of its own color.
        Clear away the top of the pyramid and the row below it, and drop the remaining blocks \
        into the bowls that match them.
        When you are done, the blocks that were in the lowest row of the pyramid lie in the bowls \
        of their colors.
        The three upper blocks may go anywhere; the three below them are wanted in the bowls, \
        color by color.
    """,
    ),
    held_out=Sentences(
        terse="""
        What the pyramid stands on: into bowls like it.
        Free the pyramid's lowest blocks; bowls of their colors.
        Undermost row of the pyramid: same colored bowls.
    """,
        plain="""
        Would you fetch the bottom row of the pyramid and lay its blocks in the bowls of their \
        colors?
        Let each block that is at the foot of the pyramid end up in the bowl of the same color.
        Dig out the lowest row of the pyramid and drop its blocks into the matching bowls.
        The bowls of the same colors are where the undermost blocks of the pyramid should be.
    """,
        elaborate="""
        Someone has piled up six blocks as a pyramid; uncover the lowest three and transfer each \
        to the bowl that shares its color.
        It is not the upper blocks that are wanted in the bowls, but those of the row that lies \
        on the table, colors matching.
        To reach the bottom row, lift off what is above it, from the top down; after that its \
        blocks can go to the bowls of their colors.
    """,
    ),
)
