"""Sentences of the tasks that ask to count."""

from clevrskills.tasks.bank import Bank, Sentences

PARITY_TO_ZONE = Bank(
    paper="Move all blocks of a color that occur in {parity} numbers to the same colored zone.",
    seen=Sentences(
        terse="""
        Colors with an {parity} count: blocks to their zones.
        {parity} number of a color: onto its zone.
        Only colors in {parity} numbers, to the zones of their colors.
        Blocks of {parity}-numbered colors to matching zones.
        Count the colors; {parity} ones go to their zones.
        To the zones: every color with an {parity} number of blocks.
    """,
        plain="""
        Please put the blocks of every color that comes in an {parity} number on the zone of that \
        color.
        Can you move the blocks whose color occurs an {parity} number of times to the zone of the \
        same color?
        I want all blocks of the colors with an {parity} number of blocks on their own zones.
        If there is an {parity} number of blocks of a color, place them all on the zone of this \
        color.
        The blocks of a color belong on its zone if their number is {parity}.
        Count the blocks of each color and bring those of {parity} number to the zone they match.
        Sort the blocks into the zones of their colors, but only colors whose number is {parity}.
    """,
        elaborate="""
        Some colors come in {parity} numbers and some do not: the former go to the zones of \
        their colors, and the rest stays off the zones.
        When you are done, each color with an {parity} number of blocks lies on the zone of that \
        color, and no other block is on a zone.
        First count how many blocks of each color there are, then move all those whose count is \
        {parity} to the zone that looks the same.
        Leave a color alone unless the number of its blocks is {parity}; then all of them have to \
        lie on its zone.
        For each zone, look whether the number of blocks of its color is {parity}, and if so put \
        all of them on it.
        Zones are meant for colors with an {parity} number of blocks only, each for the blocks of \
        its own color.
    """,
    ),
    held_out=Sentences(
        terse="""
        Is the count {parity}? Then onto the zone of the color.
        Fill zones with the colors that are {parity} in number.
        {parity} totals only: blocks to zones by color.
    """,
        plain="""
        Would you transfer every block whose color has an {parity} total to the zone it matches?
        Let the blocks of each color with an {parity} total end up on the zone of that color.
        On a zone should be all blocks of its color, provided that their total is {parity}.
        Whichever color adds up to an {parity} number, carry its blocks over to its zone.
    """,
        elaborate="""
        Someone counted the blocks by color and wants those with an {parity} total on the zones \
        that share their colors, and nothing else there.
        Add up the blocks of a color: should the sum be {parity}, all of them are to be set down \
        on the zone of the color.
        The sums of some colors are {parity}; transfer exactly the blocks of these colors, each \
        to the zone of its own color.
    """,
    ),
)

STACK_MOST_FREQUENT = Bank(
    paper="Stack the blocks of the most frequent color on the {zone} zone.",
    seen=Sentences(
        terse="""
        Most frequent color: stack it on the {zone} zone.
        Stack the color with most blocks on the {zone} zone.
        {zone} zone: a stack of the most common color.
        One stack of the commonest color on the {zone} zone.
        Which color is most frequent? Stack it on the {zone} zone.
        On the {zone} zone, stack the most frequent color.
    """,
        plain="""
        Please stack all the blocks of the most common color on the {zone} zone.
        Can you build a tower on the {zone} zone from the blocks of the color that occurs most \
        often?
        I want the blocks of the color with the most blocks in one stack on the {zone} zone.
        Find the color that most blocks have and stack these blocks on the {zone} zone.
        The blocks of the most frequent color belong in a single stack on the {zone} zone.
        Count the blocks of each color and pile those of the largest number up on the {zone} zone.
        Put the blocks of the commonest color on top of each other on the {zone} zone.
    """,
        elaborate="""
        One color has more blocks than any other: stack all of its blocks on the {zone} zone and \
        leave the others off it.
        When you are done, the {zone} zone carries one tower of all blocks of the most frequent \
        color, and no others.
        First count the blocks of each color, then build a stack on the {zone} zone from all \
        those of the greatest count.
        Take the blocks of the color that you see most often, one after the other, and stack them \
        on the {zone} zone.
        Blocks of rarer colors are not needed; those of the most frequent one go into one stack on \
        the {zone} zone.
        Look which color there is most of, and make a single pile of all its blocks on the {zone} \
        zone.
    """,
    ),
    held_out=Sentences(
        terse="""
        The leading color in number, as one column on the {zone} zone.
        Column of the prevailing color, {zone} zone.
        Pile the color with the highest total up on the {zone} zone.
    """,
        plain="""
        Would you pile up the blocks of the prevailing color on the {zone} zone?
        Let all blocks of the color with the highest total form one column on the {zone} zone.
        The {zone} zone is where every block of the color in the majority should be stacked.
        Set the blocks of whichever color leads in number on each other on the {zone} zone.
    """,
        elaborate="""
        Someone wants to see the color with the highest total as one column on the {zone} zone, \
        without a single block of another color.
        The colors compete in number, and all blocks of the winner have to end up in one pile on \
        the {zone} zone.
        No color prevails over the one in question; heap its blocks, every one, up in a column on \
        the {zone} zone.
    """,
    ),
)

MOST_EVEN = Bank(
    paper="For each color, put the largest even number of blocks into the zone of that color.",
    seen=Sentences(
        terse="""
        Each color: largest even number into its zone.
        Largest even number of each color, to the zone of the color.
        As many as are even, color by color, into the zones.
        Per color, the largest even number to the matching zone.
        Zones get the largest even number of their colors.
        Even numbers only, as large as can be, into the zones by color.
    """,
        plain="""
        Please put the largest possible even number of blocks of each color into the zone of that \
        color.
        Can you fill each zone with the largest even number of blocks of its color?
        I want as many blocks of each color as possible in their zone, but an even number of them.
        Of each color, move the largest even number of blocks that there is to the zone of the \
        color.
        In each zone belongs an even number of blocks of its color, the largest one possible.
        Count the blocks of each color and place the largest even number of them in the zone that \
        matches.
        Bring blocks to the zones of their colors so that each has the largest even number that \
        the color allows.
    """,
        elaborate="""
        Each zone is to hold an even number of blocks of its own color, and as many of them as \
        this allows; what is left over stays outside.
        When you are done, the number of blocks in every zone is the largest even one that the \
        color of the zone has.
        First count the blocks of a color, take one off if the count is odd, and put so many of \
        them into the zone of the color.
        If a color has an odd number of blocks, one of them stays outside, and all the others go \
        into the zone of the color.
        Go through the colors: as many of the blocks as make the largest even number have to lie \
        in the zone of their color.
        It does not matter which blocks you choose, as long as each zone has the largest even \
        number of its color.
    """,
    ),
    held_out=Sentences(
        terse="""
        Pairs only: as many as can be, into the zone of the color.
        Greatest even total of each color, onto its zone.
        Zone by zone: the greatest even total of the color.
    """,
        plain="""
        Would you transfer the greatest even number of blocks of every color to the zone it \
        matches?
        Let each zone end up with the greatest even total that its color can give.
        On each zone should be as many whole pairs of its color as there are.
        Carry as many pairs of blocks of a color as you find over to its zone, for all colors.
    """,
        elaborate="""
        Someone likes pairs: every zone should have all the pairs that the blocks of its color \
        make, and a block without a partner stays off the zones.
        Think of the blocks of a color as pairs; set all the pairs down on the zone of the color, \
        and a single one that remains elsewhere.
        The total on a zone has to be even and as great as the blocks of its color permit, \
        whichever of them you use.
    """,
    ),
)

MOST_ODD = Bank(
    paper=(
        "For each color, stack the largest odd number of blocks in the zone of that color,"
        " from big to small."
    ),
    seen=Sentences(
        terse="""
        Each color: largest odd number, stacked in its zone, big ones below.
        Stack the largest odd number of each color on its zone, from big to small.
        Per color one stack of the largest odd number, big to small, in its zone.
        Largest odd numbers, stacked by color on the zones, big below small.
        In each zone a stack of the largest odd number of its color, big ones first.
        Odd stacks by color, as large as can be, on their zones, from big to small.
    """,
        plain="""
        Please stack the largest possible odd number of blocks of each color on the zone of that \
        color, the big ones below.
        Can you build a tower of the largest odd number of blocks of each color in its zone, from \
        big to small?
        I want a stack in each zone, of an odd number of blocks of its color, as large as \
        possible, with big ones below small ones.
        Of each color, stack the largest odd number of blocks that there is in the zone of the \
        color, big ones first.
        In each zone belongs a stack of its color with the largest odd number of blocks, the \
        small ones on top.
        Count the blocks of each color and stack the largest odd number of them on the zone that \
        matches, from big to small.
        Make one pile for each color in its zone, of the largest odd number of blocks, no big one \
        on a small one.
    """,
        elaborate="""
        Each zone is to carry one tower of its own color, with an odd number of blocks, as many \
        as this allows, and with the big ones below the small ones.
        When you are done, in every zone stands a stack of the largest odd number of blocks that \
        the color has, sorted from big to small.
        First count the blocks of a color, take one off if the count is even, and stack so many \
        of them in the zone of the color, big ones first.
        If a color has an even number of blocks, one of them stays outside, and all the others \
        are stacked in the zone of the color from big to small.
        Go through the colors: as many blocks as make the largest odd number form a stack in the \
        zone of their color, no big one above a small one.
        It does not matter which blocks you choose, as long as each zone has a stack of the \
        largest odd number of its color, big ones below.
    """,
    ),
    held_out=Sentences(
        terse="""
        Columns by color: greatest odd total, on the zones, sizes falling.
        Pile up the greatest odd total of each color on its zone, big ones at the bottom.
        Zone by zone: a column of the greatest odd total of the color, sizes falling.
    """,
        plain="""
        Would you pile up the greatest odd number of blocks of every color on the zone it \
        matches, big ones at the bottom?
        Let each zone carry a column of the greatest odd total of its color, the sizes falling \
        towards the top.
        On each zone should stand a column of its color with the greatest odd total, no big block \
        above a small one.
        Heap up as many blocks of a color as are odd in number on its zone, for all colors, the \
        big ones at the bottom.
    """,
        elaborate="""
        Someone likes odd numbers: every zone should carry the highest column with an odd total \
        that its color permits, its sizes falling towards the top.
        The total of a column has to be odd and as great as the blocks of its color permit; on \
        the zone of the color, set big blocks down before small ones.
        Whichever blocks of a color you leave out, those in the column on its zone are odd in \
        number, as many as can be, and big at the bottom.
    """,
    ),
)
