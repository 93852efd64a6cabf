"""Sentences of tasks about where things are: ``rearrange``, ``swap`` and their kin."""

from clevrskills.tasks.bank import Bank, Sentences

REARRANGE = Bank(
    paper="Rearrange to {shown}.",
    seen=Sentences(
        terse="""
            Make it look like {shown}.
            Arrangement wanted: {shown}.
            Objects to their places in {shown}.
            Rearrange as in {shown}.
            Goal: {shown}.
            Match {shown}.
        """,
        plain="""
            Please rearrange the objects as shown in {shown}.
            Can you move everything to where it is in {shown}?
            I want the table to look like {shown}.
            The objects should be arranged as in {shown}.
            Rearrange the scene until it matches {shown}.
            In {shown} you see where each object belongs; move it there.
            Move the objects so that they stand as they do in {shown}.
        """,
        elaborate="""
            Someone has taken an image of how the table should look, namely {shown}; rearrange the \
            objects accordingly.
            Compare the table with {shown} and move whatever is not where it should be.
            How an object is turned does not matter, but rearrange them all to the places that \
            they have in {shown}.
            Take {shown} as your plan, and rearrange the objects one by one until all are in place.
            When you are done, another image of the table should look just like {shown}.
            It was tidier once, and {shown} tells you how: rearrange the objects to look like that.
        """,
    ),
    held_out=Sentences(
        terse="""
            Rearrange everything to match {shown}.
            Wanted: objects as in {shown}.
            Look of the table to reach: {shown}.
        """,
        plain="""
            Would you rearrange the objects to look like {shown}?
            As shown in {shown} is how the objects should be arranged.
            Let the table look like {shown} by moving the objects.
            Bring each object to the place that it has in {shown}.
        """,
        elaborate="""
            What you see in {shown} is the table after all objects had been moved; rearrange them \
            in the same way.
            Nothing is in the right place yet, so rearrange the objects until the table looks as \
            in {shown}.
            Use {shown} as a map that tells you where to move each of the objects.
        """,
    ),
)

REARRANGE_RESTORE = Bank(
    paper="Rearrange to {shown} and then restore.",
    seen=Sentences(
        terse="""
            Make it look like {shown}, then restore.
            {shown}, and then back to the start.
            Objects to their places in {shown}, then home again.
            Rearrange as in {shown} and restore.
            Match {shown}, then undo it.
            First {shown}, then as before.
        """,
        plain="""
            Please rearrange the objects as shown in {shown}, and then put everything back.
            Can you move everything to where it is in {shown} and restore it afterwards?
            I want the table to look like {shown} first, and then as it did at the start.
            Rearrange the scene to match {shown}. After that, restore the original arrangement.
            The objects should be arranged as in {shown} and then return to where they were.
            After rearranging the objects as in {shown}, undo all of it.
            Move the objects to where {shown} has them, let go, and then bring them back.
        """,
        elaborate="""
            Remember where everything stands and how it is turned; rearrange it to {shown}, and \
            then restore what you remember.
            I need the table to look like {shown} for a moment only, so rearrange it and then put \
            everything back.
            There are two halves to this: rearrange the objects to their places in {shown}, and \
            then restore the original scene.
            Take {shown} as your plan, but once all is in place, restore how the table was at the \
            beginning.
            In the end nothing should have changed, although all objects were rearranged to \
            {shown} in between.
            As in a rehearsal, rearrange the objects to {shown}, and afterwards bring every one \
            back to its original pose.
        """,
    ),
    held_out=Sentences(
        terse="""
            Rearrange to match {shown}, restore after.
            To {shown} and back again.
            Arrange as in {shown}, then return everything.
        """,
        plain="""
            Would you rearrange the objects to look like {shown} and then restore them?
            Once the table looks like {shown}, put everything back to where it was at the start.
            Let the objects be rearranged as in {shown} and then restored.
            Rearrange as {shown} tells you, and return to the original arrangement afterwards.
        """,
        elaborate="""
            Do not leave the table as in {shown}: having rearranged everything that way, restore \
            how it was at first.
            The arrangement in {shown} is only a stop on the way, after which all objects go back \
            to where they were before.
            I will check two moments, one when it looks like {shown}, and one when you have \
            restored the start.
        """,
    ),
)

SWAP = Bank(
    paper="Swap the positions of {one} and {other}.",
    seen=Sentences(
        terse="""
            Swap {one} and {other}.
            {one} and {other}: swap places.
            Exchange {one} with {other}.
            Swap {one:words} with {other:words}.
            Trade places: {one}, {other}.
            {one} for {other}, {other} for {one}.
        """,
        plain="""
            Please swap the positions of {one} and {other}.
            Can you exchange {one:words} and {other:words}?
            I want {one} to lie where {other} is, and the other way round.
            {one} and {other} should trade places.
            Put {one} where {other} is now, and that one where the first was.
            Let {one} and {other} change places with each other.
            Swap the object with {one:texture} texture and the object with {other:texture} texture.
        """,
        elaborate="""
            Each of two objects is in the place of the other, {one} and {other}; swap them.
            Put {one} aside for a moment, move {other} to the free place, and then complete the \
            swap.
            I mixed these two up when I laid the table, so exchange {one} and {other} for me.
            Where {one} is now, I would rather have {other}, and where that one is, the first: \
            swap their places.
            How you turn them is up to you, as long as {one} and {other} have swapped places.
            Only {one} and {other} are concerned: they trade places, and everything else stays put.
        """,
    ),
    held_out=Sentences(
        terse="""
            Swap places: {one} and {other}.
            An exchange: {one} with {other}.
            {one}, trade places with {other}.
        """,
        plain="""
            Would you swap {one} and {other}?
            What should trade places is {one} and {other}.
            Let {other} lie where {one} was, and the other way round.
            Between {one} and {other}, exchange the places.
        """,
        elaborate="""
            The place of {one} is meant for {other} and the other way round, so please exchange \
            them.
            As there is only one gripper, put one aside first to exchange {one} and {other}, until \
            each lies in the place of the other.
            Two objects should trade places, and nothing else should change: {one} and {other}.
        """,
    ),
)

SWAP_PUSH = Bank(
    paper="Swap the positions of {one} and {other} by pushing.",
    seen=Sentences(
        terse="""
            Swap {one} and {other} by pushing.
            {one} and {other}: swap places, push only.
            Push to swap: {one}, {other}.
            Swap {one:words} with {other:words} by pushing.
            Without lifting, swap {one} and {other}.
            Exchange {one} with {other}, pushing.
        """,
        plain="""
            Please push {one} and {other} until they have swapped places.
            Can you swap {one:words} and {other:words} just by pushing them?
            I want {one} and {other} to trade places, and you may only push.
            By pushing, bring {one} to where {other} is, and the other way round.
            {one} and {other} should swap positions without ever being picked up.
            Push {one} to the place of {other} and that one to the place of the first.
            Swap the object with {one:texture} texture and the object with {other:texture} texture \
            by pushing.
        """,
        elaborate="""
            Keep the vacuum off: {one} and {other} have to swap places by being pushed over the \
            table.
            First push {one} out of the way, then push {other} to the free place, and complete the \
            swap by pushing.
            Picking things up is not allowed this time, so push {one} and {other} around until \
            each is where the other was.
            I mixed these two up, {one} and {other}; swap them, but slide them along by pushing.
            With three pushes you can swap {one} and {other}, if the first one makes room.
            They must neither be held nor struck, yet {one} and {other} should trade places: push \
            them.
        """,
    ),
    held_out=Sentences(
        terse="""
            Pushing only: swap {one} and {other}.
            Swap places by pushes: {one} and {other}.
            Swap, by pushing, {one} and {other}.
        """,
        plain="""
            Would you swap {one} and {other} by pushing them?
            Pushing is how {one} and {other} should swap places.
            Let {one} and {other} exchange positions without lifting either, by pushing.
            Push until {one} and {other} have swapped positions.
        """,
        elaborate="""
            Everything stays on the table while you push {one} and {other} to swap their places.
            As holding is forbidden, use pushes to get {one} to where {other} was, and that one to \
            where the first was, a full swap.
            Slide {one} aside by pushing, then {other} to the free place, and finish the swap in \
            the same way.
        """,
    ),
)

SWAP_ROTATE = Bank(
    paper="Swap the positions of {one} and {other} while rotating them by {turn}.",
    seen=Sentences(
        terse="""
            Swap {one} and {other}, rotate both {turn}.
            {one} and {other}: swap places, each rotated {turn}.
            Swap and rotate by {turn}: {one}, {other}.
            Swap {one:words} with {other:words}, rotating both {turn}.
            {turn} for {one} and {other}, swapped.
            Exchange {one} with {other}, turning both by {turn}.
        """,
        plain="""
            Please swap {one} and {other}, and rotate each of them {turn}.
            Can you exchange {one:words} and {other:words} and rotate both by {turn}?
            I want {one} and {other} to trade places and to be rotated {turn}.
            {one} and {other} should swap positions, each rotated by {turn} from how it lay.
            Put {one} where {other} is and the other way round, rotating both {turn}.
            Swap the places of {one} and {other}; on the way, turn each by {turn}.
            Rotate {one} and {other} by {turn} as you swap them.
        """,
        elaborate="""
            When they have swapped places, {one} and {other} should both be rotated {turn}, seen \
            from above.
            Put {one} aside, move {other} to the free place, complete the swap, and make sure that \
            each is rotated {turn} in the end.
            A mere swap of {one} and {other} is not enough, for both of them have to be rotated by \
            {turn} as well.
            Two things should change about {one} and {other}: they swap places, and each is \
            rotated {turn}.
            Carry {one} to the place of {other} and that one to the place of the first, rotating \
            your wrist by {turn} each time.
            Remember how {one} and {other} lie, then swap them so that each is rotated {turn} \
            compared with before.
        """,
    ),
    held_out=Sentences(
        terse="""
            Swap, rotating by {turn}: {one} and {other}.
            Swap places and rotate both {turn}: {one}, {other}.
            Swap both and rotate each {turn}: {one} and {other}.
        """,
        plain="""
            Would you swap {one} and {other} and rotate both of them {turn}?
            While {one} and {other} swap positions, rotate each by {turn}.
            Let {one} and {other} exchange places, each rotated {turn}.
            Swap {one} and {other}, then see that both are rotated by {turn}.
        """,
        elaborate="""
            The swap of {one} and {other} comes with a twist: each is to be rotated {turn} as well.
            As you bring {one} to where {other} was, and the other way round, rotate both by \
            {turn}, seen from above.
            Not only the places of {one} and {other} should be swapped; both also have to be \
            rotated {turn}.
        """,
    ),
)
