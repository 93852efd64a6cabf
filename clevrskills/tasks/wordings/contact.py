"""Sentences of tasks about contact: ``push``, ``touch``, ``touch_push``, ``touch_topple``."""

from clevrskills.tasks.bank import Bank, Sentences

PUSH = Bank(
    paper="Push {thing} towards {other}.",
    seen=Sentences(
        terse="""
            {thing}: push towards {other}.
            Shove {thing} towards {other}.
            Push {thing:words} some way to {other:words}.
            Slide {thing} nearer to {other}.
            Push direction for {thing}: towards {other}.
            {thing} closer to {other}, by pushing.
        """,
        plain="""
            Push the object with {thing:texture} texture towards the object with {other:texture} \
            texture.
            Please push {thing} so that it gets closer to {other}.
            Can you push {thing:words} towards {other:words}?
            I want {thing} to slide along the table in the direction of {other}.
            Without picking it up, push {thing} towards {other}.
            The distance between {thing} and {other} should shrink; push the first one.
            Give {thing} a push that takes it towards {other}.
        """,
        elaborate="""
            Put the gripper behind {thing}, on the side away from {other}, and push it across the \
            table towards that one.
            There is too much of a gap between {thing} and {other}, so push the former towards the \
            latter for a good part of the way.
            Do not lift {thing}: it should slide over the table towards {other} because you push it.
            I plan to bring the two together later; for now, push {thing} some way towards {other}.
            {other} can stay where it is, while {thing} has to be pushed in its direction.
            Keep contact with {thing:words} and push it steadily until it is clearly closer to \
            {other:words}.
        """,
    ),
    held_out=Sentences(
        terse="""
            A push for {thing}, towards {other}.
            Nudge {thing} towards {other}.
            By pushing, {thing} closer to {other}.
        """,
        plain="""
            Would you push {thing} in the direction of {other}?
            Towards {other} is where {thing} should be pushed.
            Let {thing} slide towards {other} by pushing it.
            Push against {thing} until it has come closer to {other}.
        """,
        elaborate="""
            As {thing} is too far away from {other}, push it over the table in that direction \
            without holding it.
            Get behind {thing:words} first, and then push it towards {other:words}, at least a \
            third of the way.
            What counts is that {thing} ends up closer to {other} and that pushing is what brought \
            it there.
        """,
    ),
)

TOUCH = Bank(
    paper="Touch {things}.",
    seen=Sentences(
        terse="""
            To be touched: {things}.
            A gentle touch for {things}.
            {things}: touch, do not move.
            Just touch {things}.
            Touch gently: {things}.
            Tap {things} softly.
        """,
        plain="""
            Please touch {things} with the gripper, gently.
            Can you touch {things} without moving {it}?
            I want the gripper to have touched {things}.
            {things} should be touched and stay where {it_is}.
            Make contact with {things}, but do not shift {it}.
            Let the gripper touch {things} lightly.
            Bring the gripper to {things} until it touches {it}.
        """,
        elaborate="""
            Be careful as you touch {things}, since nothing on the table is supposed to move.
            Move the gripper slowly towards {things} and stop as soon as you touch {it}.
            To show me that you know what I mean, touch {things} and leave {it} in place.
            No pushing and no holding is needed here: a soft touch of {things} will do.
            I would like to check the contact sensor, so touch {things} once and gently.
            Lower the gripper until it touches {things}; the position of {it} must not change.
        """,
    ),
    held_out=Sentences(
        terse="""
            Touch only: {things}.
            Touch {things} lightly.
            Gripper to touch {things}, gently.
        """,
        plain="""
            Would you gently touch {things}?
            See that {things} get{s} touched by the gripper but not moved.
            What I ask for is a gentle touch of {things}.
            Without moving {it}, touch {things}.
        """,
        elaborate="""
            A light touch is all it takes, and {things} should remain exactly where {it_is}.
            Slowly bring the gripper to {things}, touch {it} gently and leave {it} in place.
            The test is passed as soon as the gripper did touch {things} softly and nothing was \
            moved.
        """,
    ),
)

TOUCH_PUSH = Bank(
    paper="Touch and push {things}.",
    seen=Sentences(
        terse="""
            {things}: touch and push away.
            Touch, then push {things}.
            Push away {things}.
            Touch and shove {things}.
            To be touched and pushed: {things}.
            Push {things} somewhere else.
        """,
        plain="""
            Please touch {things} and push {it} away.
            Can you touch {things} and then push {it} a little further?
            I want {things} to be pushed away from where {it_is}.
            Touch {things} first. After that, push {it} across the table.
            {things} should be touched and pushed by ten centimeters or more.
            Move {things} by pushing, in any direction you like.
            With the gripper, touch {things} and push {it} aside.
        """,
        elaborate="""
            The new place does not matter, but touch {things} and push far enough that one sees \
            the difference.
            Bring the gripper gently against {things}, keep touching and push {it} at least ten \
            centimeters away.
            I need the room that {things} take{s} up, so touch {it} and push {it} out of the way.
            Neither lift nor strike {things}: touch {it} and push until {it_has} moved by a hand's \
            width.
            Any direction is fine as long as {things} get{s} touched and pushed away from the \
            present spot.
            To find out how easily things slide on this table, touch {things} and push {it} a fair \
            distance.
        """,
    ),
    held_out=Sentences(
        terse="""
            Touch {things} and push {it} away.
            Touch {things}, push {it} aside.
            Touch and push away: {things}.
        """,
        plain="""
            Would you touch {things} and push {it} to another spot?
            By touching and pushing, get {things} away from here.
            See that {things} get{s} pushed ten centimeters away, starting with a touch.
            After touching {things}, push {it} further along.
        """,
        elaborate="""
            It is up to you in which direction, but do touch {things} and push {it} by more than a \
            hand's width.
            Something should be different afterwards: {things} {is} to be touched and pushed away \
            from where {it_is} now.
            Slowly approach {things}, touch {it}, and go on pushing until {it_has} slid well away.
        """,
    ),
)

TOUCH_TOPPLE = Bank(
    paper="Touch and topple {things}.",
    seen=Sentences(
        terse="""
            {things}: touch and topple.
            Topple {things}.
            Touch, then tip over {things}.
            Knock over {things}, gently.
            To be toppled: {things}.
            Tip {things} over.
        """,
        plain="""
            Please touch {things} and make {it} topple.
            Can you tip over {things} by touching {it}?
            I want {things} to fall over.
            Touch {things} near the top so that {it} topple{s}.
            {things} should be lying on the side in the end, toppled by a touch of the gripper.
            Push {things} over until {it} topple{s}.
            With the gripper, touch {things} and tip {it} over.
        """,
        elaborate="""
            Since {things} stand{s} upright, a push high up is the best way to make {it} topple.
            Nothing should stay standing: touch {things} with the gripper and topple {it}, without \
            striking.
            Lean against the upper end of {things} and push gently until {it} topple{s}.
            Neither hold nor hit {things}; a touch that tips {it} over is what I am after.
            I would like {things} to lie flat on the table, so touch {it} and tip {it} over.
            If you touch {things} well above the middle, {it} will fall over, and that is what I \
            want.
        """,
    ),
    held_out=Sentences(
        terse="""
            Touch {things}, topple {it}.
            Make {things} topple.
            Tip over by touch: {things}.
        """,
        plain="""
            Would you touch {things} and tip {it} over?
            By touching {it}, cause {things} to topple.
            See that {things} topple{s} by a touch of the gripper.
            Touching {things}, make {it} fall over.
        """,
        elaborate="""
            What now stands upright should fall over: touch {things} and topple {it} with care.
            Go to {things}, touch high up, and push gently until {it} topple{s} onto the table.
            Only when {things} lie{s} flat on the table, touched and toppled, is the job done.
        """,
    ),
)
