"""Sentences of the tasks that ask for a shape."""

from clevrskills.tasks.bank import Bank, Sentences

LINE_BY_COLOR = Bank(
    paper="Align the boxes on the {line} line in rainbow order from left to right.",
    seen=Sentences(
        terse="""
        Boxes on the {line} line, rainbow order, left to right.
        Left to right on the {line} line: boxes as in a rainbow.
        Rainbow of boxes on the {line} line, red end left.
        {line} line: boxes in the order of the rainbow, from the left.
        Line up the boxes like a rainbow on the {line} line, left to right.
        Boxes along the {line} line, colors as in the rainbow from left to right.
    """,
        plain="""
        Please put the boxes on the {line} line in the order of the rainbow, from left to right.
        Can you line up the boxes on the {line} line so that their colors follow the rainbow from \
        left to right?
        I want a row of boxes on the {line} line, colored like a rainbow that begins on the left.
        Place the boxes along the {line} line, sorted as the colors of the rainbow, left to right.
        The boxes belong on the {line} line, in rainbow order from the left end to the right one.
        Sort the boxes by color on the {line} line, as in a rainbow read from left to right.
        Set the boxes down side by side on the {line} line, with rainbow colors from left to right.
    """,
        elaborate="""
        Think of the colors of a rainbow, beginning with red, and put the boxes on the {line} \
        line in that order from left to right.
        When you are done, the {line} line has all boxes on it, and from left to right their \
        colors follow each other as in a rainbow.
        The boxes lie all over the table; arrange them in one row on the {line} line, in rainbow \
        order, the first color on the left.
        On the {line} line there is room for all boxes: fill it from the left with the colors in \
        the order in which a rainbow shows them.
        Someone who reads the {line} line from left to right should see the colors of the boxes \
        in the order of the rainbow.
        Make a rainbow of the boxes: all of them on the {line} line, a little apart, red towards \
        the left and purple towards the right.
    """,
    ),
    held_out=Sentences(
        terse="""
        From the left, rainbow boxes on the {line} line.
        A rainbow along the {line} line, made of the boxes, left to right.
        Boxes in a row on the {line} line; spectrum, red side left.
    """,
        plain="""
        Would you arrange the boxes on the {line} line the way a rainbow orders its colors, left \
        to right?
        Let the boxes stand on the {line} line in rainbow order, starting at the left.
        Bring all boxes to the {line} line so that a rainbow appears from left to right.
        The row of boxes on the {line} line should run through the rainbow from left to right.
    """,
        elaborate="""
        A rainbow has its colors in a fixed order; give the boxes the same one on the {line} \
        line, going from left to right.
        Whatever color comes first in the rainbow comes first on the left of the {line} line, \
        and so on with the other boxes to the right.
        One box after the other goes onto the {line} line, until they form a rainbow from its \
        left to its right.
    """,
    ),
)

LINE_BY_SIZE = Bank(
    paper="Align the boxes on the {line} line in increasing size from left to right.",
    seen=Sentences(
        terse="""
        Boxes on the {line} line, smallest left, biggest right.
        Left to right on the {line} line: boxes from small to big.
        {line} line: boxes by size, increasing to the right.
        Boxes along the {line} line, bigger and bigger from left to right.
        Sort the boxes by size on the {line} line, left to right.
        Row of boxes on the {line} line, size growing from the left.
    """,
        plain="""
        Please put the boxes on the {line} line from the smallest on the left to the biggest on \
        the right.
        Can you line up the boxes on the {line} line so that they get bigger from left to right?
        I want a row of boxes on the {line} line that grows from left to right.
        Place the boxes along the {line} line, sorted by their size, the smallest at the left.
        The boxes belong on the {line} line, each one bigger than its neighbor to the left.
        Sort the boxes from small to big on the {line} line, going from left to right.
        Set the boxes down side by side on the {line} line, in increasing size from the left.
    """,
        elaborate="""
        Compare the sizes of the boxes, and put them on the {line} line so that each is bigger \
        than the one on its left.
        When you are done, the {line} line has all boxes on it, and from left to right they \
        become bigger and bigger.
        The boxes lie all over the table; arrange them in one row on the {line} line, the \
        smallest on the left and the biggest on the right.
        On the {line} line there is room for all boxes: fill it from the left, beginning with the \
        smallest box and ending with the biggest.
        Someone who looks along the {line} line from left to right should see each box a bit \
        bigger than the one before.
        Make a staircase of the boxes: all of them on the {line} line, a little apart, rising \
        from left to right.
    """,
    ),
    held_out=Sentences(
        terse="""
        From the left, ever bigger boxes on the {line} line.
        Ascending boxes along the {line} line, left to right.
        Boxes in a row on the {line} line; small end left, big end right.
    """,
        plain="""
        Would you arrange the boxes on the {line} line by size, the smallest one leftmost?
        Let the boxes stand on the {line} line in ascending size, starting at the left.
        Bring all boxes to the {line} line so that their sizes rise from left to right.
        The row of boxes on the {line} line should run from the smallest at the left to the \
        biggest at the right.
    """,
        elaborate="""
        No two boxes have the same size; let that decide their order on the {line} line, from \
        the smallest at its left to the biggest at its right.
        Whichever box is the smallest comes first on the left of the {line} line, and the next \
        bigger ones follow to the right.
        One box after the other goes onto the {line} line, until their sizes increase from its \
        left to its right.
    """,
    ),
)

CIRCLE_BY_SIZE = Bank(
    paper="Place the boxes on the circle so that their size increases counter-clockwise.",
    seen=Sentences(
        terse="""
        Boxes on the circle, size increasing counter-clockwise.
        Counter-clockwise on the circle: boxes from small to big.
        Boxes around the circle, bigger and bigger counter-clockwise.
        Circle of boxes by size, counter-clockwise.
        Sort the boxes counter-clockwise by size on the circle.
        On the circle, boxes growing counter-clockwise.
    """,
        plain="""
        Please put the boxes on the circle so that they get bigger counter-clockwise.
        Can you spread the boxes over the circle, counter-clockwise from the smallest to the \
        biggest?
        I want the boxes on the circle, growing in size as one goes counter-clockwise.
        Place the boxes around the circle, sorted by size in the counter-clockwise direction.
        The boxes belong on the circle, each followed counter-clockwise by the next bigger one.
        Sort the boxes from small to big on the circle, going counter-clockwise.
        Set the boxes down all around the circle, in increasing size counter-clockwise.
    """,
        elaborate="""
        Begin anywhere on the circle with the smallest box, and go on counter-clockwise with \
        bigger and bigger boxes until all are on it.
        When you are done, the boxes are spread evenly over the circle, and seen from above they \
        become bigger counter-clockwise.
        The boxes lie beside the circle; arrange all of them on it so that, against the clock, \
        each is followed by the next bigger one.
        On the circle there is room for all boxes: fill it counter-clockwise, beginning with the \
        smallest box and ending with the biggest.
        Someone who walks around the circle against the direction of a clock should meet bigger \
        and bigger boxes.
        It does not matter where on the circle the smallest box is, as long as the sizes of the \
        others increase counter-clockwise from there.
    """,
    ),
    held_out=Sentences(
        terse="""
        Against the clock, ever bigger boxes on the circle.
        Ascending boxes around the circle, counter-clockwise.
        Boxes all around the circle; sizes rise counter-clockwise.
    """,
        plain="""
        Would you arrange the boxes on the circle by size, in the counter-clockwise direction?
        Let the boxes stand on the circle in ascending size, counter-clockwise.
        Bring all boxes to the circle so that their sizes rise against the clock.
        The boxes on the circle should run counter-clockwise from the smallest to the biggest.
    """,
        elaborate="""
        No two boxes have the same size; let that decide their order on the circle, \
        counter-clockwise from the smallest to the biggest.
        Whichever box is the smallest may go anywhere on the circle, and the next bigger ones \
        follow it counter-clockwise at even distances.
        One box after the other goes onto the circle, until their sizes increase as one turns \
        counter-clockwise.
    """,
    ),
)

CONCENTRIC_CIRCLES = Bank(
    paper="Build two concentric circles, the {inner_number} {inner} blocks inside, the "
    "{outer_number} {outer} blocks outside.",
    seen=Sentences(
        terse="""
        Two concentric circles: {inner_number} {inner} blocks inside, {outer_number} {outer} \
        blocks outside.
        {inner} circle inside, {outer} circle outside, same middle.
        Concentric circles, {inner} blocks inside, {outer} ones outside.
        Inner circle: {inner_number} {inner} blocks. Outer circle, same middle: {outer_number} \
        {outer} blocks.
        Circle of {inner} blocks, around it a circle of {outer} blocks.
        {outer} blocks in a circle around a circle of {inner} blocks.
    """,
        plain="""
        Please build a circle of the {inner} blocks and around it, with the same middle, one of \
        the {outer} blocks.
        Can you arrange the {inner_number} {inner} blocks in a circle and the {outer_number} \
        {outer} blocks in a larger one around it?
        I want two circles with one middle, the inner of {inner} and the outer of {outer} blocks.
        Place the {inner} blocks in a small circle and the {outer} blocks in a large circle about \
        the same middle.
        The {inner_number} {inner} blocks form the inner and the {outer_number} {outer} blocks the \
        outer one of two concentric circles.
        Lay two concentric circles, the smaller one with the {inner} blocks and the larger one \
        with the {outer} blocks.
        Make a circle of the {outer} blocks, and inside it a smaller circle of the {inner} blocks.
    """,
        elaborate="""
        Choose a middle, spread the {inner_number} {inner} blocks evenly on a circle around it, \
        and the {outer_number} {outer} blocks on a larger circle around both.
        When you are done, there are two circles with the same middle on the table: {inner} \
        blocks in the inner one, {outer} blocks in the outer one.
        The blocks lie all over the table; make them into a target with two rings, the {inner} \
        ones near the middle and the {outer} ones further out.
        Think of two rings in water around a stone: the inner ring is of the {inner} blocks, the \
        outer one of the {outer} blocks.
        All {inner} blocks have the same distance from a point, and all {outer} blocks a larger \
        one from the same point; build these two circles.
        Begin with a circle of the {inner} blocks, and then enclose it with a circle of the \
        {outer} blocks that has the same middle.
    """,
    ),
    held_out=Sentences(
        terse="""
        Ring of {inner} blocks within a ring of {outer} blocks, one middle.
        Two rings about one middle: {inner} in, {outer} out.
        {inner_number} {inner} blocks as inner ring, {outer_number} {outer} blocks as outer ring.
    """,
        plain="""
        Would you form two rings around one point, the nearer of {inner} and the farther of \
        {outer} blocks?
        Let the {outer} blocks surround the {inner} blocks, both as circles with the same middle.
        Bring the {inner} blocks into a circle and the {outer} blocks into a concentric one \
        outside it.
        The {inner} circle should lie in the middle of the {outer} circle.
    """,
        elaborate="""
        A dartboard has rings around one point; make two such rings, the inner one of the {inner} \
        blocks and the outer one of the {outer} blocks.
        The color decides where a block belongs: {inner} to the inner circle, {outer} to the \
        outer circle, and both circles have one middle.
        One block after the other finds its place until {inner_number} {inner} blocks make a \
        circle and {outer_number} {outer} blocks a larger one around it.
    """,
    ),
)

CIRCLE_WITH_MIDDLE = Bank(
    paper="Arrange the {around} blocks in a circle with the {middle} block in the middle.",
    seen=Sentences(
        terse="""
        {around} blocks in a circle, {middle} block in the middle.
        Circle of {around} blocks around the {middle} block.
        {middle} block in the middle of a circle of {around} blocks.
        Middle: {middle} block. Circle around it: {around} blocks.
        {around} blocks all around the {middle} one, in a circle.
        {middle} block, encircled by the {around} blocks.
    """,
        plain="""
        Please build a circle of the {around} blocks with the {middle} block in its middle.
        Can you put the {around} blocks around the {middle} block in a circle?
        I want the {middle} block to be the middle of a circle of {around} blocks.
        Place the {around} blocks in a circle and the {middle} block at its center.
        The {middle} block belongs in the middle, the {around} blocks in a circle around it.
        Form a circle with all {around} blocks, and put the {middle} block in the middle of it.
        Surround the {middle} block with a circle of the {around} blocks.
    """,
        elaborate="""
        Spread the {around} blocks evenly on a circle, so that each is as far as the others from \
        the {middle} block in the middle.
        When you are done, the {around} blocks form a circle, and the {middle} block lies at its \
        middle.
        The blocks lie all over the table; bring the {around} ones into a circle, and leave room \
        in its middle for the {middle} block.
        Think of a flower: the {middle} block is its middle, and the {around} blocks are the \
        petals in a circle around it.
        All {around} blocks have the same distance from the {middle} block; arrange them all \
        around it.
        It does not matter how large the circle of {around} blocks is, as long as the {middle} \
        block is in the middle.
    """,
    ),
    held_out=Sentences(
        terse="""
        Ring of {around} blocks, {middle} block at its center.
        {middle} center, {around} ring.
        Round the {middle} block, a ring of {around} blocks.
    """,
        plain="""
        Would you form a ring of the {around} blocks whose center is the {middle} block?
        Let the {around} blocks stand in a ring around the {middle} block.
        Bring the {around} blocks into a circle that has the {middle} block at its center.
        The {middle} block should lie at the center of a ring of {around} blocks.
    """,
        elaborate="""
        The sun is the {middle} block, and the {around} blocks are planets on one orbit around \
        it, evenly spread.
        The color decides where a block belongs: {around} to the circle, {middle} to its middle.
        One {around} block after the other finds its place on a circle, at the center of which \
        the {middle} block lies.
    """,
    ),
)

LETTER_M = Bank(
    paper="Construct the letter {letter} with the blocks.",
    seen=Sentences(
        terse="""
        Letter {letter} of blocks.
        Blocks: letter {letter}.
        Build an {letter} with the blocks.
        Lay the letter {letter}.
        All blocks into the shape of an {letter}.
        An {letter} made of the blocks.
    """,
        plain="""
        Please build the letter {letter} with the blocks.
        Can you lay the blocks in the shape of the letter {letter}?
        I want to read the letter {letter} in the blocks.
        Place the blocks on the table so that they form an {letter}.
        Use all of the blocks to make the letter {letter}.
        Arrange the blocks as the letter {letter}, its top towards the robot.
        Write a capital {letter} with the blocks.
    """,
        elaborate="""
        The blocks are to be the letter {letter}: two upright strokes, and between them two that \
        meet in the middle.
        When you are done, someone who looks from the front reads the letter {letter}.
        The blocks lie all over the table; bring them together to a large {letter} that lies flat \
        on it.
        Think of how the capital {letter} is written, and set the blocks down along its strokes.
        There are just enough blocks for an {letter}, so use all of them, and let its top point \
        to the robot.
        It does not matter where on the table it lies, but the blocks have to make up the letter \
        {letter}.
    """,
    ),
    held_out=Sentences(
        terse="""
        Spell {letter} with the blocks.
        Blocks laid as a capital {letter}.
        One {letter}, out of all blocks.
    """,
        plain="""
        Would you spell the letter {letter} with the blocks?
        Let the blocks make up the letter {letter}.
        Turn the blocks that lie about into an {letter}.
        The blocks should look like the letter {letter} from above.
    """,
        elaborate="""
        Whoever looks down on the table should see a capital {letter}, drawn with blocks instead \
        of ink.
        One block after the other finds its place in a stroke until the letter {letter} is \
        complete.
        A sign maker has only these blocks and needs the letter {letter}; lay it out flat on the \
        table.
    """,
    ),
)

RECTANGLE_ON_ZONE = Bank(
    paper="Build a rectangle with the blocks on the {zone} zone.",
    seen=Sentences(
        terse="""
        Rectangle of blocks on the {zone} zone.
        Blocks on the {zone} zone, as a rectangle.
        {zone} zone: rectangle made of the blocks.
        Lay a rectangle on the {zone} zone with the blocks.
        All blocks into a rectangle on the {zone} zone.
        On the {zone} zone, the outline of a rectangle.
    """,
        plain="""
        Please lay the blocks as a rectangle on the {zone} zone.
        Can you make a rectangle out of all blocks on the {zone} zone?
        I want the blocks to form a rectangle that lies on the {zone} zone.
        Place the blocks on the {zone} zone so that they are the outline of a rectangle.
        Use all of the blocks to build a rectangle inside the {zone} zone.
        Arrange the blocks along the sides of a rectangle on the {zone} zone.
        The blocks belong on the {zone} zone, in the shape of a rectangle.
    """,
        elaborate="""
        Put a block at each corner of a rectangle on the {zone} zone, and the others close \
        together along its sides.
        When you are done, all blocks lie on the {zone} zone and form the outline of a rectangle \
        without large gaps.
        The blocks lie beside the {zone} zone; bring all of them onto it and build a rectangle \
        with them.
        Think of a picture frame on the {zone} zone, whose four sides are rows of blocks.
        It does not matter how long its sides are, but all blocks have to be part of one \
        rectangle on the {zone} zone.
        Build a fence of all the blocks on the {zone} zone, with four corners and straight sides.
    """,
    ),
    held_out=Sentences(
        terse="""
        Frame of blocks on the {zone} zone, four corners.
        Four straight sides of blocks on the {zone} zone.
        Rectangular outline of all blocks, {zone} zone.
    """,
        plain="""
        Would you form a rectangle from the blocks within the {zone} zone?
        Let the blocks make up a rectangle on top of the {zone} zone.
        Bring all blocks to the {zone} zone and lay them as a rectangle.
        The {zone} zone should carry a rectangle that is made of all blocks.
    """,
        elaborate="""
        Whoever looks down on the {zone} zone should see a rectangle, drawn with blocks instead of \
        ink.
        One block after the other goes onto the {zone} zone, first those at the corners, until a \
        rectangle is complete.
        A wall around a yard has four corners; build such a wall of the blocks on the {zone} zone, \
        one block high.
    """,
    ),
)
