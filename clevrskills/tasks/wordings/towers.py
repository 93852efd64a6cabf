"""Sentences of tasks about towers and the scale: ``stack`` and its kin, ``balance``."""

from clevrskills.tasks.bank import Bank, Sentences

STACK = Bank(
    paper="Stack {pairs}.",
    seen=Sentences(
        terse="""
            Tower, bottom to top: {order}.
            {pairs}.
            Stack as in {shown}.
            From the bottom up: {order}.
            Stack in this order: {order}.
            Stack to build: {order}.
        """,
        plain="""
            Please stack {pairs}.
            Can you build a tower from {order}, the first one at the bottom?
            I want a stack that has, from the bottom to the top, {order}.
            Stack the objects as in {shown}.
            Stack the objects in the order that these images show: {steps}.
            Put {pairs}, so that you get one stack.
            The stack should begin with {first} at the bottom and end with {last} at the top.
        """,
        elaborate="""
            Leave {first} on the table as the foot of a tower, and stack all else on it in this \
            order: {order}.
            A tower saves room, so stack {pairs}, and see to it that it stands by itself.
            Begin at the bottom, for each object has to rest on the one that I name before it: \
            {order}.
            From {first} up to {last}, everything should end up in one single stack: {pairs}.
            Stack carefully and let go of each object, until the tower consists of {order}, from \
            the bottom to the top.
            I would like to see how high you can build, so stack {pairs}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Build a stack: {pairs}.
            Bottom to top, one stack: {order}.
            A stack, from the bottom up: {order}.
        """,
        plain="""
            Would you stack {pairs}?
            From the bottom to the top, the tower should be {order}.
            Let the objects form a stack in this order, from the bottom up: {order}.
            From the bottom up, stack everything in this order: {order}.
        """,
        elaborate="""
            I give the order of the tower from the bottom to the top, so stack each object on the \
            one before it: {order}.
            With {first} as the lowest and {last} as the highest, stack the objects: {pairs}.
            When the last object has been put on top, one stack should be there, namely {order}, \
            from the bottom up.
        """,
    ),
)

STACK_REVERSED = Bank(
    paper="Stack {order} in the reversed order, so that the last one is at the bottom.",
    seen=Sentences(
        terse="""
            Tower, top to bottom: {order}.
            Stack reversed, the last at the bottom: {order}.
            From the top down: {order}.
            Reversed stack, {last} at the bottom: {order}.
            Stack, listed from top to bottom: {order}.
            {order}, stacked in the reversed order, the last lowest.
        """,
        plain="""
            Please stack {textures} in the reversed order, so that the last one is at the bottom.
            Can you build a tower in which {order} come from the top down?
            I want a stack that has, from the top to the bottom, {order}.
            Reverse my list when you stack the objects, with the last one at the bottom: {order}.
            Put each object on the one that is named after it: {order}.
            The stack should have {first} at the top and {last} at the bottom, in reversed order: \
            {order}.
            Of {order}, each goes on top of the one named next.
        """,
        elaborate="""
            Read the list backwards to know where to begin, since what comes last in it is at the \
            bottom of the stack: {order}.
            Leave {last} on the table and work through the list in reverse, ending with {first} at \
            the top: {order}.
            As if I looked down on the tower, I name what is highest first, so stack it in the \
            reversed order: {order}.
            Mind that the order is reversed: {first} comes to the top of the stack although it is \
            named first: {order}.
            Build from the end of this list to its beginning, so that {last} is the foot of the \
            tower: {order}.
            Everything should rest on what is named after it, which reverses the usual way to \
            stack: {order}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Top to bottom, one stack: {order}.
            Reversed, so {last} lowest: stack {order}.
            Stack in reverse, {first} at the top: {order}.
        """,
        plain="""
            Would you stack {order} in the reversed order, the last at the bottom?
            From the top to the bottom, the tower should be {order}.
            Let {first} be at the top and the last one at the bottom of the stack, in reversed \
            order: {order}.
            Reversed, with each object on the one named after it, stack {order}.
        """,
        elaborate="""
            The order of the tower is given from the top to the bottom, so reverse it as you \
            stack: {order}.
            Because each object rests on the one named after it, begin with the last, {last}, and \
            stack in reverse: {order}.
            What is named last carries all others, and the stack ends with what is named first, a \
            reversed order: {order}.
        """,
    ),
)

STACK_TOPPLE = Bank(
    paper="Stack {pairs}, and then topple the stack.",
    seen=Sentences(
        terse="""
            Tower, bottom to top, then topple it: {order}.
            {pairs}; then topple the stack.
            Stack as in {shown}, then topple.
            Stack and topple: {order}.
            Build up, {order}, and knock down.
            Stack, then knock over: {order}.
        """,
        plain="""
            Please stack {pairs}, and after that make the stack fall over.
            Can you build a tower from {order}, the first one at the bottom, and then topple it?
            I want a stack of {order}, from the bottom to the top, and then I want it toppled.
            Stack the objects as in {shown}, and then topple the stack.
            First stack {pairs}. Then knock the tower over.
            After you have put {pairs}, topple what you have built.
            The stack of {order}, from the bottom up, should stand for a moment and then be toppled.
        """,
        elaborate="""
            Building is only half of it: stack {pairs}, let go, and then push the tower until it \
            topples.
            Make a tower, bottom first, from {order}, and end by toppling it so that all lies on \
            the table.
            Like a child at play, stack {order}, from the bottom to the top, and knock the whole \
            thing over.
            Stack {pairs}, and as soon as the last object is on top, tip the stack over without \
            holding anything.
            I would like to film how a tower falls, so stack {pairs}, and topple it afterwards.
            No object may be on another in the end, but before you topple the stack it has to be \
            {order}, from the bottom up.
        """,
    ),
    held_out=Sentences(
        terse="""
            Build a stack and topple it: {pairs}.
            Bottom to top, then knocked over: {order}.
            One tower, then topple: {order}.
        """,
        plain="""
            Would you stack {pairs}, and then topple the stack?
            Once the stack of {order} stands, from the bottom to the top, topple it.
            Let the objects form a stack, {order}, from the bottom up, and then topple it.
            Topple the stack, but first build it: {pairs}.
        """,
        elaborate="""
            What you build here is meant to fall: stack {pairs}, and then topple the tower.
            Stack {order}, from the bottom to the top, and then push against the tower until it \
            topples and everything lies on the table.
            The tower, {order}, from the bottom up, needs to stand only until you knock it over \
            and it topples.
        """,
    ),
)

SORT_STACK = Bank(
    paper="Stack identically textured objects.",
    seen=Sentences(
        terse="""
            One stack for each texture.
            Same texture, same stack.
            Stack by texture.
            A tower of each texture.
            Stacks sorted by texture.
            All objects of a texture: one tower.
        """,
        plain="""
            Place identically textured objects on top of each other.
            Please stack all objects that have the same texture.
            Can you build one tower from the objects of each texture?
            I want all objects with the same texture to form one stack.
            For each texture there should be a single stack of all objects that have it.
            Sort the objects into stacks by texture.
            Objects that share a texture belong in one stack, in any order.
        """,
        elaborate="""
            Look at the textures and build a tower for each of them, until no object is left on \
            its own.
            In which order you stack them is up to you, as long as every stack has one texture \
            only and all objects of that texture.
            To keep this table tidy, stack the objects, those of one texture always on top of each \
            other.
            An object may rest only on another one of the same texture; stack them all in this way.
            Textures tell you what belongs together here: each group of identically textured \
            objects makes one stack.
            At the end I will count the towers, and there should be exactly one for each texture.
        """,
    ),
    held_out=Sentences(
        terse="""
            Sort into stacks of the same texture.
            Stack what has the same texture.
            For every texture a tower.
        """,
        plain="""
            Would you stack the objects that have the same texture?
            By texture, sort the objects into stacks.
            Let all objects of the same texture stand in one stack.
            Identically textured objects should be stacked on top of each other.
        """,
        elaborate="""
            Never mix textures in a stack, but do stack everything: one tower for all objects of a \
            texture.
            Go through the textures one by one, and for each build a stack of all objects that \
            have it.
            Whichever object you start with, those with the same texture have to go on top of each \
            other until every texture has its one tower.
        """,
    ),
)

BALANCE = Bank(
    paper="Place all the objects on the scale while keeping it in balance.",
    seen=Sentences(
        terse="""
            All objects onto the scale, in balance.
            Balance the scale with all objects.
            Scale: everything on it, level.
            {number} objects on the scale, balanced.
            Load the scale evenly with everything.
            All of it onto the plates, in balance.
        """,
        plain="""
            Place all objects with {block:texture} texture on the scale while keeping it in balance.
            Please put everything on the scale so that it balances.
            Can you balance the scale with the {number} objects on it?
            I want all objects on the two plates, and the scale to be level.
            Spread the {number} objects over the plates of the scale so that both sides weigh the \
            same.
            The scale should be in balance once all objects are on it.
            Divide the objects between the plates, and keep the scale level.
        """,
        elaborate="""
            Taller objects weigh more, so think about which go on which plate, and put the \
            {number} of them on the scale in balance.
            The beam must not tilt when you have finished loading the scale with every object from \
            the table.
            Both plates of the scale should carry the same weight, and no object should be left on \
            the table.
            Find out how to divide the {number} objects into two equal loads, and place them on \
            the scale so that it stays level.
            As a merchant would do, fill both plates of the scale until it is balanced, using \
            every object there is.
            It is easy to put all the objects on the scale, but please do it so that it is in \
            balance in the end.
        """,
    ),
    held_out=Sentences(
        terse="""
            Everything on the scale, balanced.
            Scale level, all objects on its plates.
            Both plates equal, with {number} objects on the scale.
        """,
        plain="""
            Would you put all objects on the scale and keep it in balance?
            Keeping the scale level, place the {number} objects on it.
            Let both plates of the scale carry the same weight, with all objects on them.
            On the plates of the scale is where all objects should be, in balance.
        """,
        elaborate="""
            No object may stay behind on the table and the scale may not tilt, so divide the \
            weight evenly between its plates.
            Work out two loads of the same weight from the {number} objects, and put one on each \
            plate of the scale.
            You have succeeded as soon as everything is on the scale and its beam is level again.
        """,
    ),
)
