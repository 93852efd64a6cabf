"""Sentences of the tasks with bowls."""

from clevrskills.tasks.bank import Bank, Sentences

BOWLS_MATCHING = Bank(
    paper="Put the blocks into the bowls with matching colors.",
    seen=Sentences(
        terse="""
        Blocks into bowls of their color.
        Same color: block into bowl.
        Match blocks and bowls by color.
        Sort the blocks into the bowls by color.
        Each block into its bowl, by color.
        Bowls and blocks: same colors together.
    """,
        plain="""
        Please put each block into the bowl with the same color.
        Can you sort the blocks into the bowls by color?
        I want every block to lie in the bowl that has its color.
        Place the blocks in the bowls whose colors they share.
        Each block belongs in the bowl of its own color, so put it there.
        For each bowl, find the block of the same color and put it in.
        Take the blocks one after the other and place them in the matching bowls.
    """,
        elaborate="""
        Look at the color of each block, find the bowl that has it too, and put the block \
        in.
        When you are done, each block that has a bowl of its color lies in it.
        The blocks lie all over the table; tidy up by putting each into the bowl that \
        matches it.
        A block and a bowl of the same color belong together, so bring them together for all \
        colors.
        Go from bowl to bowl and drop the block of the same color into each.
        No block should be in a bowl of another color: put each into the one that matches.
    """,
    ),
    held_out=Sentences(
        terse="""
        Color by color, blocks into bowls.
        Fill each bowl with the block of its color.
        To each block the bowl of its color.
    """,
        plain="""
        Would you fill the bowls with the blocks of their colors?
        Let each block end up in the bowl with which it shares the color.
        The bowl of the same color is where each block should be.
        Drop the blocks into the bowls, equal colors together.
    """,
        elaborate="""
        The bowls tell by their colors which blocks should be in them.
        Someone wants every bowl to hold the block that has the same color.
        Whatever color a block has, transfer it to the bowl that has this color too.
    """,
    ),
)

BOWLS_MISMATCHING = Bank(
    paper="Put the blocks into the bowls with mismatching colors.",
    seen=Sentences(
        terse="""
        Blocks into bowls of other colors.
        No color match: blocks into bowls.
        Mismatch blocks and bowls.
        Each block into a bowl of another color.
        Blocks into bowls, never the same color.
        Bowls and blocks: different colors together.
    """,
        plain="""
        Please put each block into a bowl of a different color.
        Can you place all blocks in bowls that do not match them?
        I want every block to lie in a bowl that has another color.
        Place the blocks in bowls whose colors they do not share.
        Each block belongs in a bowl, but not in that of its own color.
        For each block, choose any bowl of another color and put it in.
        Take the blocks one after the other and place them in bowls of other colors.
    """,
        elaborate="""
        Look at the color of each block, find a bowl that has another one, and put the block \
        in.
        When you are done, all blocks are in bowls, and none is in the bowl of its own \
        color.
        Any bowl will do for a block as long as its color is a different one, so put all of \
        them into bowls.
        A block and a bowl of the same color must not come together, but every block has to \
        be in a bowl.
        Mix up the colors: all the blocks go into bowls that do not match them.
        No block should be left on the table, and none should be in a bowl of the same \
        color.
    """,
    ),
    held_out=Sentences(
        terse="""
        Colors crossed, blocks into bowls.
        Fill the bowls with blocks of wrong colors.
        To each block a bowl of a color not its own.
    """,
        plain="""
        Would you fill the bowls with blocks of colors that differ from theirs?
        Let each block end up in a bowl with which it does not share the color.
        Any bowl of another color is where a block should be.
        Drop the blocks into the bowls, equal colors apart.
    """,
        elaborate="""
        The bowls tell by their colors which blocks should not be in them; put all blocks \
        into the others.
        Someone wants each block in a bowl, and no bowl to hold a block of the same color.
        Whatever color a block has, transfer it to a bowl that has a different one.
    """,
    ),
)
