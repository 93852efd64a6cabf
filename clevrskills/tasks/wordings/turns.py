"""Sentences of tasks about turning: ``rotate``, ``rotate_restore``, ``rotate_symmetry``."""

from clevrskills.tasks.bank import Bank, Sentences

ROTATE = Bank(
    paper="Rotate {thing} {turn}.",
    seen=Sentences(
        terse="""
            {thing}: {turn}.
            Turn {thing} by {turn}.
            In place, rotate {thing:words} {turn}.
            {turn} for {thing}.
            Rotation of {thing}: {turn}.
            Spin {thing} {turn}.
        """,
        plain="""
            Rotate the object with {thing:texture} texture {turn}.
            Please turn {thing} {turn}, right where it lies.
            Can you rotate {thing:words} by {turn}?
            I want {thing} to be rotated {turn}.
            {thing} should lie where it is, but rotated by {turn}.
            Give {thing} a turn of {turn}.
            Rotate {thing} on the spot, {turn}, and let go.
        """,
        elaborate="""
            Seen from above, {thing} should be rotated {turn}, without leaving its spot.
            Lift {thing} a little if you must, rotate it {turn} and set it down where it was lying.
            It is not quite the right way round yet, so rotate {thing} by {turn} and leave it there.
            The position of {thing} is fine as it is; only its orientation should change, by {turn}.
            For a better view of the other side, rotate {thing:words} {turn} in place.
            Take hold of {thing}, turn the wrist by {turn}, and then release it on the same spot.
        """,
    ),
    held_out=Sentences(
        terse="""
            Spin on the spot: {thing}, {turn}.
            In place, a turn of {turn} for {thing}.
            {thing}: a rotation, {turn}.
        """,
        plain="""
            Would you turn {thing} {turn}, right where it lies?
            On the spot, {thing} should be rotated {turn}.
            Let {thing} stay where it lies and rotate it {turn} in place.
            What I want is {thing}, rotated {turn} on the same spot.
        """,
        elaborate="""
            Only the orientation of {thing} should change: rotate it {turn} on the spot, seen from \
            above.
            I am happy with the position of {thing:words}, but not with its orientation, so rotate \
            it {turn} in place.
            Without leaving its spot, {thing} should be turned by {turn} and be let go where it \
            was lying.
        """,
    ),
)

ROTATE_RESTORE = Bank(
    paper="Rotate {thing} {turn} and then restore.",
    seen=Sentences(
        terse="""
            Rotate {thing} {turn}, then back.
            {thing}: {turn}, and back again.
            Turn {thing} by {turn}, then restore it.
            There and back: rotate {thing} by {turn}.
            Rotate {thing:words} {turn} and restore.
            {turn} for {thing}, then undo it.
        """,
        plain="""
            Rotate the object with {thing:texture} texture {turn} and then restore it.
            Please turn {thing} {turn}, and then turn it back to how it was.
            Can you rotate {thing:words} by {turn} and restore it afterwards?
            I want {thing} to be rotated {turn} and, after that, to lie as it did at first.
            First rotate {thing} {turn}. Then bring it back to its original orientation.
            {thing} should go through a turn of {turn} and return to how it lay at the start.
            After you have rotated {thing} by {turn}, undo the rotation.
        """,
        elaborate="""
            Seen from above, rotate {thing} {turn} and let it rest; then restore the orientation \
            that it had at first.
            Remember how {thing} lies now, rotate it {turn}, and in the end restore exactly that.
            This is only a trial, so rotate {thing} by {turn}, but put it back as it was before.
            Someone wants to see the other side of {thing}: rotate it {turn}, and then back to the \
            way it was at the start.
            Nothing should look changed in the end, although {thing:words} has been rotated by \
            {turn} in the meantime and then restored.
            Take {thing}, rotate it {turn} on the spot, let go, and afterwards restore the way it \
            lay.
        """,
    ),
    held_out=Sentences(
        terse="""
            Rotate {thing} by {turn}, restore after.
            {turn} and back again: rotate {thing}.
            Rotate, then restore {thing}: {turn}.
        """,
        plain="""
            Would you rotate {thing} {turn} and then put it back as it was?
            Once {thing} has been rotated {turn}, restore how it lay at the start.
            Let {thing} be rotated by {turn} and then restored.
            Rotate {thing} {turn} and return it to its original orientation afterwards.
        """,
        elaborate="""
            There are two parts to this: rotate {thing} by {turn}, seen from above, and then \
            restore it as it was.
            Do not leave {thing} rotated; after the turn of {turn}, bring it back to how it lay at \
            first.
            I will compare before and after, so rotate {thing:words} {turn} and then restore it \
            with care.
        """,
    ),
)

ROTATE_SYMMETRY = Bank(
    paper="Rotate objects with {thing:texture} texture {turn}.",
    seen=Sentences(
        terse="""
            Rotate identically textured objects {turn}.
            Same texture: rotate {turn}.
            {turn} for the two objects with the same texture.
            All objects with {thing:texture} texture: {turn}.
            Turn both objects with {thing:texture} texture by {turn}.
            The matching pair, rotated {turn}.
        """,
        plain="""
            Please rotate every one of the objects with {thing:texture} texture by {turn}.
            Can you rotate the objects that share a texture {turn}?
            I want both objects with {thing:texture} texture to be rotated {turn}.
            Two objects have the same texture. Rotate both of them {turn}.
            The objects with {thing:texture} texture should each be rotated by {turn}.
            Find the identically textured objects and rotate them {turn}.
            Rotate one of the objects with {thing:texture} texture {turn}, then the other one too.
        """,
        elaborate="""
            Look for the two objects that have the same texture, and rotate each of them {turn} on \
            the spot, seen from above.
            Any object whose texture no other one has can stay as it is; rotate the matching ones \
            {turn}.
            The objects with {thing:texture} texture are a pair, so whatever happens to one \
            happens to both: rotate them {turn}.
            Leave everything in its place, but rotate both objects with {thing:texture} texture by \
            {turn}.
            Compare the textures before you begin; those two objects that share one are to be \
            rotated {turn}.
            To keep the pair alike, rotate all objects with {thing:texture} texture in the same \
            way, namely {turn}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Objects of the same texture: rotate both {turn}.
            Same texture, same turn: rotate both {turn}.
            Both identically textured objects, {turn}.
        """,
        plain="""
            Would you rotate both objects with {thing:texture} texture {turn}?
            Those two objects that have the same texture should be rotated by {turn}.
            Let the identically textured objects be rotated {turn}.
            {turn} is how far both objects with {thing:texture} texture should be rotated.
        """,
        elaborate="""
            Only two of the objects share a texture, and it is these that I want rotated {turn}, \
            each where it lies.
            Go by texture alone: rotate the objects with {thing:texture} texture {turn}, both of \
            them.
            Seen from above, both objects of the matching pair should be rotated by {turn} and \
            stay in their places.
        """,
    ),
)
