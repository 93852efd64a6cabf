"""Sentences of tasks about areas: ``sort``, ``neighbour``, ``follow_order`` and its kin."""

from clevrskills.tasks.bank import Bank, Sentences

SORT = Bank(
    paper="Place the objects in the identically textured areas.",
    seen=Sentences(
        terse="""
            Put {pairs}.
            Sort the objects: {pairs}.
            Same texture, same area.
            Sort by texture.
            {pairs}, please.
            Into areas of their texture with all objects.
        """,
        plain="""
            Place {pairs}.
            Please put each object into the area that has the same texture.
            Can you sort the objects into the areas by texture?
            I want every object to lie in the area that looks like it.
            Sort everything on the table: {pairs}.
            Each object belongs in the area of its own texture, so put it there.
            Take the objects one after the other and place them in the areas with matching textures.
        """,
        elaborate="""
            For each object there is an area with the same texture; place it in there and go on \
            until all are sorted.
            This table needs some order, so please put {pairs}.
            Look at the texture of an object, find the area that has it too, and put the object \
            down in it.
            When you have finished sorting, no object should lie outside the area whose texture it \
            shares.
            What I would like to see at the end is easily said: put {pairs}.
            Shapes do not matter here, only textures do: each object goes into the area that is \
            covered alike.
        """,
    ),
    held_out=Sentences(
        terse="""
            Put objects in areas of their texture.
            Place, sorted by texture: {pairs}.
            Every object to its area of the same texture.
        """,
        plain="""
            Would you put {pairs}?
            Let each object lie in the area with the same texture.
            In the area of its texture is where each object should be placed.
            Sort the objects by putting them into the areas that match their textures.
        """,
        elaborate="""
            The areas tell you by their textures what belongs in them; put the objects there, one \
            by one.
            To sort this table, place {pairs}, and let go of everything.
            Whatever shape an object has, place it in the area with which it shares its texture.
        """,
    ),
)

FOLLOW_ORDER = Bank(
    paper="Follow the motion for {thing}: {shown}.",
    seen=Sentences(
        terse="""
            {thing}: {route}.
            Stop on {stops} with {thing}.
            Route of {thing}: {route}.
            Visit with {thing}: {route}.
            Move {thing} as in {shown}.
            Stops for {thing}, in order: {route}.
        """,
        plain="""
            Put {thing} on {stops}.
            Please bring {thing} to {route}.
            Can you take {thing} along this route: {route}?
            I want {thing} to visit {route}{in_order}.
            Follow the order that I give you and put {thing} on {stops}.
            {thing} should make the following stops: {route}.
            Let {thing} rest on {stops}, and let go of it each time.
        """,
        elaborate="""
            Carry {thing} from where it is now to {route}, and put it down at each stop.
            Think of {thing} as a traveler whose route leads to {route}{in_order}.
            The order matters: {thing} has to visit {route}, and each visit counts only if you let \
            go.
            Starting in the area where it is, take {thing} to {route}, and leave it at the last \
            stop.
            Watch what happens to {thing} in these images and follow the motion with your own \
            hand: {shown}.
            As a courier you carry {thing} and deliver it to {route}, without skipping a stop.
        """,
    ),
    held_out=Sentences(
        terse="""
            Order of stops for {thing}: {route}.
            Along this route with {thing}: {route}.
            {thing} visits these stops: {route}.
        """,
        plain="""
            Would you follow the order of stops and put {thing} on {stops}?
            The order of stops that {thing} should make is {route}.
            Let the route of {thing} lead to {route}.
            The route that {thing} should travel, stop by stop, leads to {route}.
        """,
        elaborate="""
            Keep to the order of stops as you carry {thing} along its route, which leads to {route}.
            Stop after stop, carry {thing} along the route that I give you: put it on {stops}.
            The visits of {thing} lead to {route}{in_order}, and you should let go of it at each \
            stop.
        """,
    ),
)

FOLLOW_ORDER_RESTORE = Bank(
    paper="Follow the motion for {thing}: {shown}, and then restore.",
    seen=Sentences(
        terse="""
            {thing}: {route}, then back.
            Put {thing} on {stops}, then restore.
            Route of {thing}: {route}, and back to the start.
            Visit {route} with {thing} and return.
            Move {thing} as in {shown}, then restore.
            {thing} to {route} and home again.
        """,
        plain="""
            Put {thing} on {stops}, and then restore it.
            Please bring {thing} to {route}, and then back to where it was.
            Can you take {thing} along this route, {route}, and restore its place afterwards?
            I want {thing} to visit {route}{in_order}, and to return to its original place.
            First put {thing} on {stops}. Then put it back where it came from.
            {thing} should stop at {route} and end up exactly as it lay at the start.
            After {thing} has been on {stops}, restore it.
        """,
        elaborate="""
            Carry {thing} to {route}, put it down at each stop, and finally restore it to where it \
            stands now.
            Think of {thing} as a traveler on a round trip: it visits {route}{in_order}, and comes \
            back home.
            Remember how {thing} lies at the start, because after its visit to {route} it has to \
            be restored.
            Each stop counts only if you let go, so take {thing} to {route} and afterwards back to \
            its original pose.
            Follow the motion of {thing} that these images show, and restore it in the end: {shown}.
            Once the round is over, {thing} should look as if it had never left, but on the way it \
            visits {route}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Stops of {thing}: {route}, and then restore.
            Round trip of {thing}: visit {route} and come back.
            {thing} visits {route}, then returns home.
        """,
        plain="""
            Would you put {thing} on {stops}, and then restore it?
            Once it has visited {route}, return {thing} to where it was at the start.
            Let the round trip of {thing} lead to {route} and back.
            To {route} and then back to its original place: that is the way of {thing}.
        """,
        elaborate="""
            Do not leave {thing} at its last stop: it visits {route}, and after that it is \
            restored to the original pose.
            The round trip that I have in mind for {thing} goes to {route}, and then back to where \
            it started.
            Remember where {thing} is at the start, stop with it on {stops}, and restore it to its \
            place when the round trip is over.
        """,
    ),
)

NEIGHBOUR = Bank(
    paper="First put {thing} in {area} and then put the object that was next to it {direction} in \
the same area.",
    seen=Sentences(
        terse="""
            {thing} into {area}, then its neighbor {direction}.
            Into {area}: {thing}, then the object next to it {direction}.
            {area} takes {thing} and then its neighbor {direction}.
            First {thing}, then its old neighbor {direction}, both into {area}.
            Put {thing} and then its neighbor {direction} in {area}.
            Two objects for {area}: {thing}, then the one next to it {direction}.
        """,
        plain="""
            Put {thing} in {area}. After that, put its former neighbor {direction} there too.
            Please bring {thing} to {area}, and then the object that was next to it {direction}.
            Can you put {thing} in {area}, followed by the object that lay next to it {direction}?
            I want {thing} in {area} first, and its neighbor {direction} to follow.
            The object next to {thing} {direction} should join it in {area} once it is there.
            Note which object is next to {thing} {direction}; put the first in {area}, then the \
            noted one.
            Once {thing} lies in {area}, add the object that used to be next to it {direction}.
        """,
        elaborate="""
            Two neighbors are moving to {area}: {thing} goes first, and the object that was next \
            to it {direction} comes second.
            Before you touch {thing}, look what is next to it {direction}, because after you put \
            it in {area} that object has to follow.
            There should be company for {thing} in {area}, so put it there and then bring the \
            neighbor that it had {direction}.
            Start with {thing} and put it in {area}; what was next to it {direction}, and nothing \
            else, comes in afterwards.
            I care about the order: {area} gets {thing} first and only then the neighbor that \
            stood {direction}.
            Not every object is meant, only {thing} and its neighbor {direction}; put them in \
            {area} one after the other.
        """,
    ),
    held_out=Sentences(
        terse="""
            First {thing}, next its neighbor {direction}: into {area}.
            {thing} and, second, its neighbor {direction}, into {area}.
            After {thing}, its neighbor {direction}: into {area}.
        """,
        plain="""
            Would you put {thing} in {area} and then the neighbor that it had {direction}?
            After {thing}, put the object that was next to it {direction} in {area}.
            In {area} there should be {thing}, then also the object that was its neighbor \
            {direction}.
            Let {thing} be put in {area} first and its former neighbor {direction} second.
        """,
        elaborate="""
            Keep in mind which object is the neighbor of {thing} {direction}: as soon as {thing} \
            is in {area}, it is that object's turn.
            Objects that were next to each other shall meet again, so put {thing} in {area} and \
            then the one that was next to it {direction}.
            It takes two moves to fill {area} as I want it: {thing} is first, and second comes the \
            object that was its neighbor {direction}.
        """,
    ),
)
