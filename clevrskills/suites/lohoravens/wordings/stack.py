"""Sentences of the stacking tasks."""

from clevrskills.tasks.bank import Bank, Sentences

_SELECTED = Sentences(
    terse="""
        {what}: stack on the {zone} zone{order}.
        Stack only the {what} on the {zone} zone{order}.
        One stack on the {zone} zone: the {what}{order}.
        On the {zone} zone, stack the {what}{order}.
        Tower of the {what} on the {zone} zone{order}.
        Just the {what} onto the {zone} zone{order}, stacked.
    """,
    plain="""
        Please stack the {what} on the {zone} zone{order}.
        Can you pile the {what} up on the {zone} zone{order}?
        I want a stack of all the {what} on the {zone} zone{order}.
        Build one tower from the {what} on the {zone} zone{order}.
        The {what} belong in one stack on the {zone} zone{order}.
        Put the {what} on top of each other on the {zone} zone{order}.
        Make a pile of the {what}, and of nothing else, on the {zone} zone{order}.
    """,
    elaborate="""
        Look for all the {what} and stack them on the {zone} zone{order}, but leave the \
        others off it.
        Only the {what} are needed: they should form a single tower on the {zone} \
        zone{order}.
        When you are done, the {what} stand on each other on the {zone} zone{order}, and \
        nothing else is there.
        Take the {what} one after the other and build a stack of them on the {zone} \
        zone{order}.
        This table is to be sorted a little, so pile all the {what} on the {zone} \
        zone{order}.
        Ignore the blocks that are not asked for; the {what} go into one stack on the {zone} \
        zone{order}.
    """,
)
_SELECTED_HELD_OUT = Sentences(
    terse="""
        Make one pile on the {zone} zone: the {what}{order}.
        Heap the {what} in one column on the {zone} zone{order}.
        Column of the {what}, {zone} zone{order}.
    """,
    plain="""
        Would you build a column of the {what} on the {zone} zone{order}?
        Let the {what} stand on each other on the {zone} zone{order}.
        All the {what}, and only they, should be stacked on the {zone} zone{order}.
        The {zone} zone is where one tower of the {what} should be{order}.
    """,
    elaborate="""
        Someone wants to see every one of the {what} in a single column on the {zone} \
        zone{order}.
        Whatever is not among the {what} stays off the {zone} zone, on which you pile them \
        up{order}.
        Begin with one of the {what} on the {zone} zone and set the rest of them on it, one \
        by one{order}.
    """,
)
"""``what`` are the blocks that are meant, ``order`` how they follow each other, if it matters."""

STACK_KIND = Bank(
    paper="Pile up just the {what} on the {zone} zone{order}.",
    seen=_SELECTED,
    held_out=_SELECTED_HELD_OUT,
)
STACK_SIDE = Bank(
    paper="All the {what} go into one stack on the {zone} zone{order}.",
    seen=_SELECTED,
    held_out=_SELECTED_HELD_OUT,
)
STACK_AREA = Bank(
    paper="Stack the {what} on the {zone} zone{order}.",
    seen=_SELECTED,
    held_out=_SELECTED_HELD_OUT,
)
STACK_ALL = Bank(
    paper="Stack all the blocks on the {zone} zone.",
    seen=Sentences(
        terse="""
        All blocks: one stack on the {zone} zone.
        Stack everything on the {zone} zone.
        One tower on the {zone} zone.
        On the {zone} zone, stack all blocks.
        Pile all blocks on the {zone} zone.
        {zone} zone: a stack of every block.
    """,
        plain="""
        Please stack all the blocks on the {zone} zone.
        Can you build one tower from all blocks on the {zone} zone?
        I want every block to be in one stack on the {zone} zone.
        Put all the blocks on top of each other on the {zone} zone.
        The blocks belong in a single stack on the {zone} zone.
        Make a pile of all the blocks on the {zone} zone.
        Use each block for one tower on the {zone} zone.
    """,
        elaborate="""
        No block should be left on the table: stack all of them on the {zone} zone.
        Take the blocks one by one and build a tower of them on the {zone} zone, in any \
        order.
        When you are done, all the blocks stand on each other on the {zone} zone.
        Find the {zone} zone, put a block on it, and go on stacking until no block is left.
        The order does not matter, but all the blocks have to be in one stack on the {zone} \
        zone.
        I need the room on the table, so please pile all the blocks up on the {zone} zone.
    """,
    ),
    held_out=Sentences(
        terse="""
        Every block into one column on the {zone} zone.
        One pile of all blocks, on the {zone} zone.
        Heap all blocks up on the {zone} zone.
    """,
        plain="""
        Would you pile up every block on the {zone} zone?
        Let all the blocks form one column on the {zone} zone.
        The {zone} zone is where all the blocks should be stacked.
        Set the blocks on each other on the {zone} zone until none is left.
    """,
        elaborate="""
        Start a column on the {zone} zone with any block and set all the others on it.
        Someone wants to see a single tower of all blocks, and it should stand on the {zone} \
        zone.
        Whichever block you begin with, all of them have to end up in one pile on the {zone} \
        zone.
    """,
    ),
)

STACK_SAME_COLOR = Bank(
    paper="Stack the blocks of each color on the zone of that color.",
    seen=Sentences(
        terse="""
        Stack by color, each on its zone.
        Same color, same stack, same zone.
        Stack each color on the zone of that color.
        One stack per color, on the zone of the color.
        Blocks: stacked by color on matching zones.
        Each zone gets the stack of its color.
    """,
        plain="""
        Please stack the blocks of the same color on the zone with that color.
        Can you build a tower of each color on the zone of the same color?
        I want the blocks of each color stacked on the zone of their color.
        For each zone, stack the blocks of its color on it.
        The blocks of one color belong in one stack, on the zone with the same color.
        Make one pile for each color and put it on the zone of that color.
        Sort the blocks by color into stacks on the zones that match them.
    """,
        elaborate="""
        Each zone has a color; stack all the blocks of that color on it, and no others.
        When you are done, there is a tower of one color on the zone with the same color, \
        for each color that has a zone.
        Take the colors one after the other and stack the blocks of each on the zone that \
        looks the same.
        Blocks that share a color should stand on each other, on the zone that shares it \
        too.
        Look which zone a block matches, and stack all blocks that match the same zone on \
        it.
        No zone should carry a block of another color: stack the blocks of each color on \
        their own zone.
    """,
    ),
    held_out=Sentences(
        terse="""
        One column per color, on its zone.
        Piles by color on the zones of their colors.
        Match stacks and zones by color.
    """,
        plain="""
        Would you pile up the blocks of each color on the zone of that color?
        Let each zone carry a column of the blocks that share its color.
        On each zone should stand one tower of the blocks with its color.
        Heap up the blocks by color, each color on the zone that matches it.
    """,
        elaborate="""
        The zones tell by their colors which blocks are to be stacked on them.
        Someone wants the blocks in towers of one color each, and every tower on the zone of \
        its color.
        Go from zone to zone, and on each pile up all the blocks that have its color.
    """,
    ),
)

STACK_ALTERNATE = Bank(
    paper="On the {zone} zone, build a stack whose colors alternate, {first} lowest.",
    seen=Sentences(
        terse="""
        {zone} zone: a stack of alternating colors, {first} lowest.
        Alternate colors in a stack on the {zone} zone, {first} lowest.
        Stack on the {zone} zone, colors in turn, {first} first.
        Start with {first}, alternate colors, stack on the {zone} zone.
        Tower on the {zone} zone: {first}, {second}, {first} and so on.
        All blocks, colors alternating from {first}, on the {zone} zone.
    """,
        plain="""
        Please stack the blocks on the {zone} zone with alternating colors, starting with \
        {first}.
        Can you build a tower on the {zone} zone in which the colors take turns, {first} at \
        the bottom?
        I want a stack on the {zone} zone whose colors alternate, the lowest block being \
        {first}.
        Begin with a {first} block on the {zone} zone and stack the blocks so that the \
        colors take turns.
        Put a {first} block on the {zone} zone, a {second} one on it, and go on like that.
        The blocks belong in one stack on the {zone} zone, {first} and {second} in turn, \
        {first} lowest.
        Use all the blocks for a tower on the {zone} zone, no two of the same color on each \
        other, {first} lowest.
    """,
        elaborate="""
        Build a striped tower on the {zone} zone: it starts with a {first} block, then the \
        colors alternate until no block is left.
        When you are done, the blocks stand on each other on the {zone} zone, and the colors \
        alternate from {first} at the bottom.
        A {first} block comes first, on the {zone} zone; above it {second} and {first} \
        blocks take turns.
        Two blocks of the same color must not touch in the stack on the {zone} zone, and the \
        lowest one is {first}.
        Take {first} and {second} blocks by turns, the first one {first}, and stack all of \
        them on the {zone} zone.
        There are two colors of blocks; stack them by turns on the {zone} zone, beginning \
        with {first}.
    """,
    ),
    held_out=Sentences(
        terse="""
        Column on the {zone} zone, colors by turns, {first} at the bottom.
        Striped pile on the {zone} zone, {first} lowest.
        From {first} on, colors by turns, one pile on the {zone} zone.
    """,
        plain="""
        Would you pile the blocks up on the {zone} zone, switching colors at each level, \
        {first} at the bottom?
        Let the colors of a column on the {zone} zone change from block to block, {first} \
        being lowest.
        On the {zone} zone should stand all the blocks, {first} and {second} by turns, with \
        {first} at the bottom.
        Switch between {first} and {second} as you pile all the blocks up on the {zone} \
        zone, {first} to begin with.
    """,
        elaborate="""
        Someone wants to see stripes: a column of all the blocks on the {zone} zone, its \
        colors switching at each level, {first} lowest.
        The foot of the column on the {zone} zone is {first}, what rests on it is {second}, \
        and so it goes on to the top.
        Whatever you set on a block in the pile on the {zone} zone has the other color, and \
        the lowest block is {first}.
    """,
    ),
)

STACK_SAME_SIZE = Bank(
    paper="Stack the bigger blocks on the {one} zone and the smaller blocks on the {two} zone.",
    seen=Sentences(
        terse="""
        Bigger blocks on the {one} zone, smaller on the {two} zone, stacked.
        Stack by size: bigger on {one}, smaller on {two}.
        {one} zone: the bigger ones. {two} zone: the smaller ones. Stack both.
        Two stacks: bigger on the {one} zone, smaller on the {two} zone.
        Stack the bigger on {one} and the smaller on {two}.
        Bigger to {one}, smaller to {two}, in stacks.
    """,
        plain="""
        Please stack the bigger blocks on the {one} zone and the smaller ones on the {two} \
        zone.
        Can you build a tower of the bigger blocks on the {one} zone and one of the smaller \
        blocks on the {two} zone?
        I want all bigger blocks stacked on the {one} zone and all smaller ones on the {two} \
        zone.
        Put the bigger blocks on each other on the {one} zone, the smaller ones on the {two} \
        zone.
        The bigger blocks belong in a stack on the {one} zone, the smaller ones in a stack \
        on the {two} zone.
        Make a pile of the smaller blocks on the {two} zone and one of the bigger blocks on \
        the {one} zone.
        Sort the blocks by size into two stacks, the bigger on the {one} zone, the smaller \
        on the {two} zone.
    """,
        elaborate="""
        There are two sizes of blocks: stack the bigger ones on the {one} zone, then the \
        smaller ones on the {two} zone.
        When you are done, the {one} zone carries a tower of all bigger blocks and the {two} \
        zone one of all smaller blocks.
        Sizes must not be mixed: the bigger blocks go into a stack on the {one} zone, the \
        smaller ones on the {two} zone.
        Look at the size of each block, and stack it on the {one} zone if it is a bigger \
        one, else on the {two} zone.
        The colors of the blocks do not matter; stack the bigger ones on the {one} zone and \
        the smaller ones on the {two} zone.
        Build two towers, one of the smaller blocks on the {two} zone, and one of the bigger \
        blocks on the {one} zone.
    """,
    ),
    held_out=Sentences(
        terse="""
        Columns by size: bigger, {one} zone; smaller, {two} zone.
        Pile the bigger up on {one}, the smaller on {two}.
        Two columns: {one} zone bigger, {two} zone smaller.
    """,
        plain="""
        Would you pile up the bigger blocks on the {one} zone and the smaller ones on the \
        {two} zone?
        Let the bigger blocks form a column on the {one} zone, and the smaller ones a column \
        on the {two} zone.
        On the {one} zone should stand all bigger blocks, on the {two} zone all smaller \
        ones, each in one pile.
        Heap the smaller blocks up on the {two} zone and the bigger ones on the {one} zone.
    """,
        elaborate="""
        Someone wants the sizes apart: a column of the bigger blocks on the {one} zone, and \
        of the smaller ones on the {two} zone.
        Every block has its place by its size, on the pile of the bigger ones on the {one} \
        zone or of the smaller ones on the {two} zone.
        Whatever its color, a bigger block goes on the column on the {one} zone and a \
        smaller one on that on the {two} zone.
    """,
    ),
)

STACK_SMALL_ON_BIG = Bank(
    paper="Stack each smaller block on the bigger block of the same color.",
    seen=Sentences(
        terse="""
        Smaller on bigger, same color.
        Each smaller block on the bigger one of its color.
        Same color: smaller on bigger.
        By color, put the smaller on the bigger block.
        Every bigger block gets the smaller one of its color on top.
        Small onto big, matched by color.
    """,
        plain="""
        Please put each smaller block on the bigger block with the same color.
        Can you stack the smaller blocks on the bigger ones of their colors?
        I want every smaller block to stand on the bigger block of its color.
        For each color, place the smaller block on top of the bigger one.
        The smaller block of a color belongs on the bigger block of that color.
        Match smaller and bigger blocks by color and stack them, the bigger one below.
        Take the smaller blocks one by one and set each on the bigger block of its color.
    """,
        elaborate="""
        Look at the color of each smaller block, find the bigger block that has it too, and put \
        the smaller one on top.
        When you are done, there is a smaller block of the same color on each bigger block.
        A smaller and a bigger block of one color make a pair; stack each pair, the bigger one \
        below.
        Colors must not be mixed: each smaller block goes on the bigger block that looks like it.
        Go from bigger block to bigger block and put the smaller one of the same color on each.
        All bigger blocks of a color that comes in both sizes are to carry the smaller block of \
        that color.
    """,
    ),
    held_out=Sentences(
        terse="""
        Color by color, smaller atop bigger.
        Crown each bigger block with the smaller one of its color.
        Two sizes of a color: the smaller goes atop.
    """,
        plain="""
        Would you set every smaller block atop the bigger one with its color?
        Let each bigger block end up under the smaller block of the same color.
        Atop each bigger block is where the smaller one with the same color should be.
        Lift every smaller block onto the bigger block with which it shares the color.
    """,
        elaborate="""
        Someone wants the two sizes of each color on each other, and the smaller one should be \
        atop.
        Bigger blocks tell by their colors which of the smaller ones is to be set on them.
        Whatever color a smaller block has, transfer it to the top of the bigger block that \
        shares it.
    """,
    ),
)

STACK_SMALL_ON_BIG_IN_ZONE = Bank(
    paper=("Stack the blocks of each color in the zone of the same color, the bigger block below."),
    seen=Sentences(
        terse="""
        By color into the zones: bigger below, smaller on top.
        Each zone: the bigger, then the smaller block of its color.
        Stack each color in its zone, bigger below.
        Zone by color, bigger block first, smaller on it.
        Same color, same zone, smaller on bigger.
        Per zone a stack of its color, the bigger block lowest.
    """,
        plain="""
        Please stack the two blocks of each color on the zone of that color, the bigger one below.
        Can you put the bigger block of each color in its zone and the smaller one on top?
        I want the blocks of each color stacked in the zone of their color, bigger ones below.
        For each zone, place the bigger block of its color there and the smaller one on it.
        The blocks of a color belong in the zone of that color, the smaller on the bigger one.
        Sort the blocks by color into the zones and stack them there, the bigger block lowest.
        Put each smaller block on the bigger one of its color, and have them stand in the zone of \
        that color.
    """,
        elaborate="""
        Each zone has a color: stack the blocks of this color in it, first the bigger one, then \
        the smaller one.
        When you are done, in each zone stands the bigger block of its color, with the smaller \
        block of the same color on it.
        First bring the bigger blocks to the zones of their colors, then put the smaller block of \
        the same color on each.
        Blocks that share a color go into the zone that shares it too, and there the bigger one \
        has to be below.
        Go from zone to zone and build a stack of the two blocks that have its color, the bigger \
        one below.
        Neither colors nor sizes may be mixed up: a zone carries its own color, and the smaller \
        block is on the bigger one.
    """,
    ),
    held_out=Sentences(
        terse="""
        Columns by color on their zones, the bigger block at the bottom.
        Pile each color up on its zone, smaller atop bigger.
        Zone, bigger block, smaller block: all of one color.
    """,
        plain="""
        Would you pile up both blocks of each color on the zone it matches, the bigger one at the \
        bottom?
        Let each zone carry the bigger block of its color and, atop it, the smaller one.
        On each zone should stand a column of its color with the smaller block at the top.
        Set the bigger blocks down on the zones of their colors and the smaller ones atop them.
    """,
        elaborate="""
        Someone wants one column of each color, on the zone of its color, and the smaller block \
        at its top.
        The zones tell by their colors which bigger block is to be set on them, and which smaller \
        one atop that.
        Whatever color a zone has, a column of both blocks of this color should end up on it, the \
        bigger one at the bottom.
    """,
    ),
)

STACK_IN_AREA = Bank(
    paper="Stack all the blocks in the {area} area.",
    seen=Sentences(
        terse="""
        All blocks: one stack in the {area} area.
        Stack everything in the {area} area.
        One tower in the {area} area.
        In the {area} area, stack all blocks.
        Pile all blocks in the {area} area.
        {area} area: a stack of every block.
    """,
        plain="""
        Please stack all the blocks in the {area} area of the table.
        Can you build one tower from all blocks in the {area} area?
        I want every block to be in one stack somewhere in the {area} area.
        Put all the blocks on top of each other in the {area} area.
        The blocks belong in a single stack in the {area} area.
        Make a pile of all the blocks in the {area} area.
        Use each block for one tower that stands in the {area} area.
    """,
        elaborate="""
        No block should be left elsewhere: bring all of them to the {area} area and stack them \
        there.
        Take the blocks one by one and build a tower of them in the {area} area, in any order.
        When you are done, all the blocks stand on each other in the {area} area.
        Put a block anywhere in the {area} area, and go on stacking on it until no block is left.
        The order does not matter, but all the blocks have to be in one stack in the {area} area.
        I need the rest of the table, so please pile all the blocks up in the {area} area.
    """,
    ),
    held_out=Sentences(
        terse="""
        Every block into one column in the {area} area.
        One pile of all blocks, {area} area.
        Heap all blocks up in the {area} area.
    """,
        plain="""
        Would you pile up every block in the {area} area?
        Let all the blocks form one column in the {area} area.
        The {area} area is where all the blocks should be stacked.
        Set the blocks on each other in the {area} area until none is left.
    """,
        elaborate="""
        Start a column with any block in the {area} area and set all the others on it.
        Someone wants to see a single tower of all blocks, and it should stand in the {area} area.
        Whichever block you begin with, all of them have to end up in one pile in the {area} area.
    """,
    ),
)
