"""Sentences of tasks about picking and placing: ``pick``, ``place``, ``simple_manipulation``."""

from clevrskills.tasks.bank import Bank, Sentences

PICK = Bank(
    paper="Pick up {thing}.",
    seen=Sentences(
        terse="""
            Grab {thing}.
            Lift {thing}.
            Object to pick up: {thing}.
            {thing}, off the table.
            Pick {thing:words}.
            Target of the grasp: {thing}.
        """,
        plain="""
            Pick up the object with {thing:texture} texture.
            Please take {thing:words} off the table and hold it.
            I want {thing} to be in the gripper, clear of everything else.
            Can you lift {thing} up for me?
            Grab the object with {thing:texture} texture and keep hold of it.
            The gripper should end up holding {thing:words}.
            Get hold of {thing}, then raise it.
        """,
        elaborate="""
            Of all that lies on the table, only {thing} is needed now: pick it up and keep it in \
            the air.
            Leave the other objects alone, move to {thing}, switch the vacuum on and lift.
            I would like to see what is below {thing:words}, so please pick it up.
            Before anything else can happen, {thing} has to be lifted clear of the table and of \
            whatever is beside it.
            Someone will need the object with {thing:texture} texture soon; grab it and hold it up.
            If you look around the table you will find {thing}. Pick it up without disturbing the \
            rest.
        """,
    ),
    held_out=Sentences(
        terse="""
            Grab and lift {thing}.
            Hold up {thing}.
            Gripper to pick up {thing}.
        """,
        plain="""
            Would you pick up {thing} and hold it in the air?
            {thing} needs to be lifted off the table.
            Once you have hold of {thing:words}, raise it clear of everything.
            Let the gripper grab {thing} and lift it.
        """,
        elaborate="""
            There are other objects on the table, but leave them alone: pick up {thing} and keep \
            it in the air.
            My next job needs the table free of {thing}, so take it up with the gripper and keep \
            holding it.
            Move to where {thing:words} lies, grab it, lift it off the table and hold it clear of \
            everything else.
        """,
    ),
)

PLACE = Bank(
    paper="Put {top} on {bottom}.",
    seen=Sentences(
        terse="""
            Set {top} down on {bottom}.
            From the gripper onto {bottom}: {top}.
            Release {top} on {bottom}.
            Held object, {top}: onto {bottom}.
            Get {top:words} onto {bottom:words}.
            Lower what you hold onto {bottom}.
        """,
        plain="""
            Put the object with {top:texture} texture on the object with {bottom:texture} texture.
            You are holding {top}. Put it down on {bottom}.
            Please let {top} rest on {bottom}.
            I want {bottom} to carry {top}, which is in your gripper.
            Can you put down {top:words} on top of {bottom:words}?
            What you hold belongs on {bottom}, so let it go there.
            {top} should stand on {bottom} when you let go.
        """,
        elaborate="""
            Your gripper already holds {top}; bring it over {bottom}, lower it gently and let go.
            Since {top} is in your hand, all that is left to do is to set it down on {bottom}.
            Do not drop {top} anywhere: the only right spot for it is on top of {bottom}.
            The table has to stay free, therefore put the object that you hold on {bottom:words} \
            and let go of it.
            Carry {top}, which you have in the gripper, to {bottom} and leave it there at rest.
            As soon as {bottom} is right below what you are holding, put {top} down and release \
            the vacuum.
        """,
    ),
    held_out=Sentences(
        terse="""
            Put down what you hold, {top}, on {bottom}.
            What you hold, {top}, on {bottom}.
            Let go of {top} on {bottom}.
        """,
        plain="""
            Would you set what you are holding, {top}, down on {bottom}?
            On {bottom} is where {top} from your gripper should come to rest.
            Let {bottom} be what {top} is put down on.
            Holding {top}, lower it onto {bottom} and release it.
        """,
        elaborate="""
            {top} is in your gripper and should leave it, but do not drop it: put it down on \
            {bottom} and let go.
            Without letting it fall, put {top:words}, the object in your gripper, down on \
            {bottom:words}.
            To finish what was begun when you were given {top}, set it down on {bottom}, let go, \
            and move away.
        """,
    ),
)

SIMPLE_MANIPULATION = Bank(
    paper="Pick and place {top} on {bottom}.",
    seen=Sentences(
        terse="""
            {top}: pick, then place on {bottom}.
            Pick {top}, place on {bottom}.
            From the table onto {bottom}: {top}.
            Pick up {top:words}, then place on {bottom:words}.
            Move {top} from the table onto {bottom}.
            Take {top}, put on {bottom}.
        """,
        plain="""
            Pick and place the object with {top:texture} texture on the object with \
            {bottom:texture} texture.
            Pick up {top} and place it on {bottom}.
            Please take {top} from the table, then put it on top of {bottom}.
            Can you pick up {top:words} and place it on {bottom:words}?
            I want {top}, which lies on the table, to be picked up and placed on {bottom}.
            First pick up {top}. After that, place it on {bottom}.
            {bottom} should carry {top} once you have picked it up and placed it there.
        """,
        elaborate="""
            To tidy up the table a little, pick up {top} and place it on {bottom}, where it takes \
            no room.
            Go to {top}, pick it up with the vacuum, carry it over to {bottom} and place it on top.
            Other objects may lie on the table as well; what you should pick up is {top}, and \
            {bottom} is where you should place it.
            {top} is lying on the table. Pick it up from there and place it on {bottom}, then let \
            go.
            When you are done, I expect to find {top:words} on top of {bottom:words} and no longer \
            on the table, so pick it up and place it there.
            I have no hand free, so please pick up {top} from the table for me and place it on \
            {bottom}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Pick up {top} and place on {bottom}.
            Table to {bottom}: pick and place {top}.
            Pick {top} first, then place it on {bottom}.
        """,
        plain="""
            Would you pick {top} up from the table and place it on {bottom}?
            After picking up {top}, place it on {bottom}.
            On {bottom} is the place for {top}; pick it up from the table and put it there.
            Let {top} be picked up and then placed on {bottom}.
        """,
        elaborate="""
            Something is missing on {bottom}, namely {top}: pick it up from the table and place it \
            there.
            Without touching what else is on the table, pick up {top:words}, bring it to \
            {bottom:words} and place it on top.
            Two steps are needed here. Pick up {top} from the table, and then place it on {bottom}.
        """,
    ),
)
