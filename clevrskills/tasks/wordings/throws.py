"""Sentences of tasks about throwing: ``throw``, ``throw_topple``, ``throw_sort``."""

from clevrskills.tasks.bank import Bank, Sentences

THROW = Bank(
    paper="Throw {thing} to {target}.",
    seen=Sentences(
        terse="""
            Hit {target} with {thing}.
            {thing}: throw at {target}.
            Target of the throw: {target}.
            Toss {thing} at {target}.
            Throw {thing:words} at {target:words}.
            Fling {thing} over to {target}.
        """,
        plain="""
            Throw what you hold at {target}.
            Please throw {thing} so that it hits {target}.
            Can you hit {target} with {thing}?
            I want {thing} to fly from the gripper to {target}.
            {target} is out of reach, so throw {thing} there.
            Throw the object with {thing:texture} texture to where {target} is.
            {thing} should land at {target} after being thrown.
        """,
        elaborate="""
            The arm cannot get to {target}, but what it holds can: throw {thing} and hit it.
            Swing the arm, let go of {thing} at the right moment and have it land at {target}.
            You hold {thing}, and {target} is too far away to put it there; a well-aimed throw \
            will do.
            Take aim at {target}, which the gripper cannot reach, and throw {thing} there.
            Carrying will not help this time, so throw {thing} through the air until it hits \
            {target}.
            Anyone can put things down. Show me that you can throw {thing} and hit {target} with it.
        """,
    ),
    held_out=Sentences(
        terse="""
            A throw: {thing} at {target}.
            Throw and hit {target} with {thing}.
            Toss over to {target}: {thing}.
        """,
        plain="""
            Would you throw {thing} at {target}?
            At {target} is where you should throw {thing}.
            Let {thing} fly and hit {target}.
            With a throw, bring {thing} to {target}.
        """,
        elaborate="""
            {target} is out of reach, too far away to put {thing} there, so a well-aimed throw has \
            to do.
            Swing the arm and throw {thing:words} through the air so that it lands at \
            {target:words}.
            It does not matter what {thing} does afterwards, as long as your throw hits {target}.
        """,
    ),
)

THROW_TOPPLE = Bank(
    paper="Throw {thing} to {target} such that it falls over.",
    seen=Sentences(
        terse="""
            Hit {target} with {thing} such that it falls over.
            Throw {thing}, knock over {target}.
            {thing}: throw it and topple {target}.
            Knock down {target} by throwing {thing}.
            {target} to be toppled by a throw of {thing}.
            Bowl over {target} with {thing}.
        """,
        plain="""
            Please throw {thing} at {target} so that it falls over.
            Can you knock over {target} by throwing {thing:words} at it?
            I want {target} to fall over when {thing} hits it.
            {target} should topple because you throw {thing} at it.
            Throw {thing} hard enough to make {target} fall over.
            With {thing} as the missile, knock {target:words} over.
            Throw the object that you hold at {target} and make it topple.
        """,
        elaborate="""
            The arm cannot reach {target}, yet it should fall over: throw {thing} at its upper half.
            Think of it as bowling, with {target} as the pin and {thing} as what you throw to \
            knock it over.
            A mere hit will not do; throw {thing} with enough force that {target} falls over.
            Let go of {thing} in mid-swing so that it flies into {target} and knocks it over.
            I would like to see {target} lying down, and the only way is to throw {thing} at it.
            You hold {thing}. Throw it at {target}, which stands too far away, and make that one \
            topple.
        """,
    ),
    held_out=Sentences(
        terse="""
            Throw {thing} and topple {target}.
            {target}: knock over by throwing {thing}.
            Make {target} fall over, thrown at with {thing}.
        """,
        plain="""
            Would you throw {thing} at {target} and knock it over?
            By throwing {thing} at it, topple {target}.
            Let {thing} hit {target} so that it falls over.
            Throw {thing:words} such that {target:words} gets knocked over.
        """,
        elaborate="""
            It takes a hit near the top to knock over {target}, so aim high when you throw {thing}.
            {target} is standing out of reach; a forceful throw of {thing} should make it fall over.
            Success means that {target} falls over after you throw {thing} and hit it.
        """,
    ),
)

THROW_SORT = Bank(
    paper="Place the objects in the identically textured areas by throwing.",
    seen=Sentences(
        terse="""
            Throw {pairs}.
            To be thrown: {pairs}.
            Sort by texture, by throwing.
            Same texture, same area: throw.
            Toss {pairs}.
            Throws that sort the table: {pairs}.
        """,
        plain="""
            Throw each object into the area that has the same texture.
            Please sort everything by texture, throwing it into the matching areas.
            Can you throw {pairs}?
            I want you to throw {pairs}, one throw after the other.
            Every object should be thrown to the area that looks like it.
            The areas are out of reach, so throw {pairs}.
            Pick up one object after the other and throw it into the area of its texture.
        """,
        elaborate="""
            No area is within reach of the arm, which is why each object has to be thrown into the \
            one with its own texture.
            Grab an object, see which area has its texture, throw it in there, and go on until all \
            are sorted.
            What I have in mind for this table is the following: throw {pairs}.
            Look at the textures first; they tell you into which distant area you should throw \
            each object.
            Sorting need not be gentle, so throw {pairs}, each with one good swing.
            If an object and an area have the same texture, throw the object into that area; do so \
            until none is left.
        """,
    ),
    held_out=Sentences(
        terse="""
            Sort by throwing: {pairs}.
            Throw by texture, into matching areas.
            Sort by throwing: same texture, same area.
        """,
        plain="""
            Would you throw {pairs}?
            Throwing is how each object should get to the area that shares its texture.
            Let every object be thrown into the area with the same texture.
            By throwing it there, sort each object into the area of its texture.
        """,
        elaborate="""
            Because the arm is too short to put anything into the areas, throw {pairs}.
            One throw for each object is enough if you aim well: its area is the one that has the \
            same texture.
            Look at the textures, take aim and throw each object, one after the other, into the \
            area that has the same texture.
        """,
    ),
)
