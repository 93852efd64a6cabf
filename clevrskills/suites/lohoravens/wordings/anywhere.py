"""Sentences of the stacking tasks without a zone: a stack may stand anywhere."""

from clevrskills.tasks.bank import Bank, Sentences

ALL_ANYWHERE = Bank(
    paper="Stack all the blocks.",
    seen=Sentences(
        terse="""
        All blocks: one stack.
        Stack everything.
        One tower of all blocks.
        Pile all blocks up.
        A single stack, please.
        Every block into one stack.
    """,
        plain="""
        Please stack all the blocks, wherever you like.
        Can you build one tower from all blocks?
        I want every block to be in one stack.
        Put all the blocks on top of each other.
        The blocks belong in a single stack.
        Make a pile of all the blocks.
        Use each block for one tower.
    """,
        elaborate="""
        Only one block should touch the table in the end: stack all of them.
        Take the blocks one by one and build a tower of them, in any order and any place.
        When you are done, all the blocks stand on each other.
        Choose a block and go on stacking on it until no block is left.
        Neither the order nor the place matters, but all the blocks have to be in one stack.
        I need the room on the table, so please pile all the blocks up.
    """,
    ),
    held_out=Sentences(
        terse="""
        Every block into one column.
        One pile of all there is.
        Heap all blocks up.
    """,
        plain="""
        Would you pile up every block?
        Let all the blocks form one column.
        A column of all the blocks is what should be there.
        Set the blocks on each other until none is left.
    """,
        elaborate="""
        Start a column with any block and set all the others on it.
        Someone wants to see a single tower of all blocks, no matter where it stands.
        Whichever block you begin with, all of them have to end up in one pile.
    """,
    ),
)

SAME_COLOR_ANYWHERE = Bank(
    paper="Stack the blocks of each color.",
    seen=Sentences(
        terse="""
        Stack by color.
        Same color, same stack.
        One stack per color.
        Blocks into stacks, by color.
        A tower of each color.
        Pile up each color.
    """,
        plain="""
        Please stack the blocks of the same color.
        Can you build a tower of each color?
        I want the blocks of each color in one stack.
        For every color that comes more than once, stack its blocks.
        The blocks of one color belong in one stack.
        Make one pile for each color.
        Sort the blocks by color into stacks.
    """,
        elaborate="""
        Blocks that share a color should stand on each other, wherever that is.
        When you are done, there is a tower of one color for each color.
        Take the colors one after the other and stack all the blocks of each.
        No stack should have two colors, and no color two stacks.
        Look for blocks that have the same color and put them on top of each other.
        The place of a stack does not matter, as long as it has all blocks of its color and no \
        others.
    """,
    ),
    held_out=Sentences(
        terse="""
        One column per color.
        Piles by color.
        Heap up color by color.
    """,
        plain="""
        Would you pile up the blocks of each color?
        Let the blocks of every color form a column.
        There should be one tower for each color that you see.
        Set blocks on others that look the same.
    """,
        elaborate="""
        Someone wants the blocks in towers of one color each, anywhere on the table.
        Whatever color a block has, it should end up in a pile with all others of that color.
        Go through the colors, and of each pile up all the blocks in one column.
    """,
    ),
)

ALTERNATE_ANYWHERE = Bank(
    paper="Build a stack whose colors alternate, {first} lowest.",
    seen=Sentences(
        terse="""
        A stack of alternating colors, {first} lowest.
        Alternate colors in a stack, {first} lowest.
        Stack with colors in turn, {first} first.
        Start with {first}, alternate colors, stack.
        Tower: {first}, {second}, {first} and so on.
        All blocks, colors alternating from {first}, in one stack.
    """,
        plain="""
        Please stack the blocks with alternating colors, starting with {first}.
        Can you build a tower in which the colors take turns, {first} at the bottom?
        I want a stack whose colors alternate, the lowest block being {first}.
        Begin with a {first} block and stack the blocks so that the colors take turns.
        Put a {second} block on a {first} one, a {first} one on that, and go on until none is left.
        The blocks belong in one stack, {first} and {second} in turn, {first} lowest.
        Use all the blocks for a tower, no two of the same color on each other, {first} lowest.
    """,
        elaborate="""
        Build a striped tower: it starts with a {first} block, then the colors alternate until no \
        block is left.
        When you are done, the blocks stand on each other, and the colors alternate from {first} \
        at the bottom.
        A {first} block comes first; above it {second} and {first} blocks take turns.
        Two blocks of the same color must not touch in the stack, and the lowest one is {first}.
        Take {first} and {second} blocks by turns, the first one {first}, and stack all of them.
        There are two colors of blocks; stack them by turns, beginning with {first}, wherever you \
        like.
    """,
    ),
    held_out=Sentences(
        terse="""
        Column of colors by turns, {first} at the bottom.
        Striped pile, {first} lowest.
        From {first} on, colors by turns, one pile.
    """,
        plain="""
        Would you pile the blocks up, switching colors at each level, {first} at the bottom?
        Let the colors of a column change from block to block, {first} being lowest.
        There should stand a column of all the blocks, {first} and {second} by turns, with {first} \
        at the bottom.
        Switch between {first} and {second} as you pile all the blocks up, {first} to begin with.
    """,
        elaborate="""
        Someone wants to see stripes: a column of all the blocks, its colors switching at each \
        level, {first} lowest.
        The foot of the column is {first}, what rests on it is {second}, and so it goes on to the \
        top.
        Whatever you set on a block in the pile has the other color, and the lowest block is \
        {first}.
    """,
    ),
)

SAME_SIZE_ANYWHERE = Bank(
    paper="Stack the blocks of the same size.",
    seen=Sentences(
        terse="""
        Stack by size.
        Same size, same stack.
        Two stacks: bigger ones, smaller ones.
        One stack per size.
        Bigger with bigger, smaller with smaller, stacked.
        A tower of each size.
    """,
        plain="""
        Please stack the bigger blocks, and the smaller ones in a stack of their own.
        Can you build a tower of the bigger blocks and one of the smaller blocks?
        I want all bigger blocks in one stack and all smaller ones in another.
        Put the bigger blocks on each other, and likewise the smaller ones.
        The bigger blocks belong in one stack, the smaller ones in a second one.
        Make a pile of the smaller blocks and one of the bigger blocks.
        Sort the blocks by size into two stacks.
    """,
        elaborate="""
        There are two sizes of blocks: stack the bigger ones, then the smaller ones beside them.
        When you are done, there is a tower of all bigger blocks and one of all smaller blocks.
        Sizes must not be mixed: each of the two has a stack for itself.
        Look at the size of each block, and stack it with those that are as big.
        The colors of the blocks do not matter; stack those of the same size.
        Build two towers wherever you like, one of the smaller blocks and one of the bigger blocks.
    """,
    ),
    held_out=Sentences(
        terse="""
        Columns by size.
        Pile equal sizes up.
        Two columns, sizes apart.
    """,
        plain="""
        Would you pile up the bigger blocks, and the smaller ones separately?
        Let the bigger blocks form a column, and the smaller ones another.
        There should stand two columns, each of blocks of one size.
        Heap the smaller blocks up, and the bigger ones too, but apart.
    """,
        elaborate="""
        Someone wants the sizes apart: a column of the bigger blocks, and one of the smaller ones.
        Every block has its place by its size, on the pile of the bigger ones or of the smaller \
        ones.
        Whatever its color, a bigger block goes on the column of bigger ones and a smaller one on \
        the other.
    """,
    ),
)
