"""Sentences that ask for the tasks of the household."""

from __future__ import annotations

from clevrskills.tasks.bank import Bank, Sentences

BANKS: dict[str, Bank] = {
    "coffee": Bank(
        "Have a mug of coffee, then wash the mug and stow it in a cabinet.",
        Sentences(
            terse="""
            Drink a mug of coffee, clean the mug, stow it in a cabinet.
            Coffee from the mug first, then the mug, washed, into a cabinet.
            One mug of coffee to drink; after that the mug goes clean into a cabinet.
            Drink coffee, wash up the mug, back into a cabinet with it.
            Coffee break: drink a mug of it, wash the mug, put it in a cabinet.
            Empty a mug of coffee by drinking it; wash and stow the mug.
            """,
            plain="""
            Please drink a mug of coffee, and put the mug, clean again, into a cabinet.
            I want you to have some coffee from the mug and then to put the washed mug away.
            Can you drink coffee from the mug and afterwards clean it and stow it?
            Treat yourself to a mug of coffee, then wash the mug and put it in a cabinet.
            First comes a mug of coffee, then the dishes: wash the mug and put it in a cabinet.
            Drink a coffee from the mug, wash it, and place it in one of the cabinets.
            The mug should hold coffee, be drunk from, be washed and end up in a cabinet.
            """,
            elaborate="""
            It is time for a break, so drink a mug of coffee, and leave no trace: wash the mug \
            and put it in a cabinet.
            Have your coffee, but remember that the mug is to be clean and back in a cabinet \
            when you are done.
            Somebody left us one mug, so after you have had coffee from it, wash it and store \
            it in a cabinet.
            See that you get a mug of coffee to drink; when it is finished, the mug has to be \
            washed and stowed in a cabinet.
            Nobody likes a dirty mug on the counter: after your coffee, clean it and put it \
            in a cabinet.
            Start with a coffee, which you drink from the mug, and finish with the clean mug \
            in a cabinet.
            """,
        ),
        Sentences(
            terse="""
            A mug of coffee for you, then the mug washed and shelved in a cabinet.
            Sip a mug of coffee up, rinse the mug, cabinet.
            Get coffee into the mug, down your throat, and the clean mug into a cabinet.
            """,
            plain="""
            Would you enjoy a mug of coffee and then tidy the mug, clean, into a cabinet?
            Make sure that you drink a mug of coffee and that the mug is stored clean in a cabinet.
            Pour yourself a mug of coffee and drink it up; the mug, washed, belongs in a cabinet.
            Finish a mug of coffee, and return the mug to a cabinet after washing it.
            """,
            elaborate="""
            Guests come at noon, so finish your mug of coffee before, and have the mug washed \
            and hidden in a cabinet.
            Before you go on working, take a mug of coffee, and do not forget to wash the mug \
            and to put it into a cabinet.
            All I ask is that a mug of coffee is drunk and that its mug is clean in a cabinet \
            afterwards.
            """,
        ),
    ),
    "cook_potato": Bank(
        "Cook a potato in the microwave and serve it in a bowl.",
        Sentences(
            terse="""
            Microwave a potato, serve it in a bowl.
            Potato: microwave first, then bowl.
            One cooked potato, in a bowl.
            Bowl of cooked potato, from the microwave.
            Heat a potato in the microwave; into a bowl with it.
            A microwaved potato in a bowl, please.
            """,
            plain="""
            Please cook a whole potato in the microwave and put it into a bowl.
            Can you make a potato in the microwave and serve it in a bowl?
            I would like a cooked potato, served in a bowl; use the microwave.
            Let the microwave cook a potato, and lay the potato into a bowl.
            Put a potato through the microwave and then into a bowl.
            The potato has to be cooked in the microwave and be in a bowl at the end.
            Prepare a potato with the microwave and bring it to the bowl.
            """,
            elaborate="""
            Somebody is hungry, so cook a potato in the microwave, whole as it is, and serve \
            it in a bowl.
            Take a potato, have the microwave cook it, and give it to us in a bowl.
            For lunch there is one potato, which you cook in the microwave and serve in a bowl.
            The stove is not needed today: the microwave cooks the potato, and a bowl is what \
            it is served in.
            When you are done, a potato that the microwave has cooked lies in a bowl.
            Do not cut the potato; cook it in the microwave as it is and serve it in a bowl.
            """,
        ),
        Sentences(
            terse="""
            Zap a potato and bowl it up.
            Potato out of the microwave, cooked, into a bowl.
            Serve in a bowl: one potato, microwaved.
            """,
            plain="""
            Would you heat a potato until it is done, in the microwave, and dish it up in a bowl?
            Get a potato cooked by the microwave and leave it in a bowl.
            A potato, done in the microwave, is what I want to find in the bowl.
            Use the microwave to cook one potato, and the bowl to serve it.
            """,
            elaborate="""
            My sister eats nothing but potatoes, so please microwave one and dish it up in a bowl.
            What the bowl should hold in the end is a potato, and the microwave should have \
            cooked it.
            There must be a potato somewhere; once it is cooked in the microwave, serve it in \
            a bowl.
            """,
        ),
    ),
    "cook_egg": Bank(
        "Fry an egg in the pan, then serve it on a plate.",
        Sentences(
            terse="""
            Fry an egg in a pan, serve it on a plate.
            Egg: pan first, then plate.
            One fried egg, on a plate.
            Plate of fried egg, from the pan.
            Fry an egg; onto a plate with it.
            A fried egg on a plate, please.
            """,
            plain="""
            Please fry an egg in the pan and put it onto a plate.
            Can you make an egg in the pan and serve it on a plate?
            I would like a fried egg, served on a plate.
            Crack an egg into the pan, cook it, and lay it onto a plate.
            Let an egg fry in the pan before you move it to a plate.
            The egg has to be cooked in the pan and be on a plate at the end.
            Prepare an egg in the pan and bring it to the plate.
            """,
            elaborate="""
            Somebody is hungry, so crack an egg into a pan, fry it on the stove, and serve it \
            on a plate.
            Take an egg, cook it in the pan, and give it to us on a plate.
            For breakfast there is one egg, which you fry in a pan and serve on a plate.
            The microwave is not needed today: the egg cooks in the pan, and a plate is what \
            it is served on.
            When you are done, an egg that was cooked in the pan lies on a plate.
            Do not boil the egg; crack it into the pan, fry it, and serve it on a plate.
            """,
        ),
        Sentences(
            terse="""
            Sunny side up: one egg, pan to plate.
            Egg out of the pan, cooked, onto a plate.
            Serve on a plate: one egg, done in the pan.
            """,
            plain="""
            Would you do an egg in the pan and dish it up on a plate?
            Get an egg cooked on the stove, in the pan, and leave it on a plate.
            An egg, done in the pan, is what I want to find on the plate.
            Use the pan to cook one egg, and the plate to serve it.
            """,
            elaborate="""
            My brother eats nothing but eggs, so please fry one in the pan and dish it up on \
            a plate.
            What the plate should hold in the end is an egg, and it should have been cooked in \
            the pan.
            There must be an egg somewhere; once it is fried in the pan, serve it on a plate.
            """,
        ),
    ),
    "cook_toast": Bank(
        "Serve one slice of toast on a plate.",
        Sentences(
            terse="""
            Toast a slice of bread, serve it on a plate.
            Bread: slice, toast, plate.
            One slice of toast, on a plate.
            Plate with a slice of toast.
            Toast one slice of bread; onto a plate with it.
            A slice of toast on a plate, please.
            """,
            plain="""
            Please toast a slice of bread and put it onto a plate.
            Can you make some toast, one slice, and serve it on a plate?
            I would like some toast, a single slice, served on a plate.
            Cut a slice of bread, toast it, and lay it onto a plate.
            Let the toaster brown one slice of bread, then move it to a plate.
            A slice of bread has to be toasted and be on a plate at the end.
            Prepare one slice of toast and bring it to the plate.
            """,
            elaborate="""
            Somebody is hungry, so cut the bread, brown a slice of it in the toaster, and \
            serve it on a plate.
            Take the bread, have the toaster do one slice of it, and give it to us on a plate.
            For breakfast there is toast: one slice, which you serve on a plate.
            The stove is not needed today: the toaster browns a slice of bread, and a plate \
            is what it is served on.
            When you are done, a slice of bread that the toaster has browned lies on a plate.
            One slice is enough, so toast no more than that, and serve it on a plate.
            """,
        ),
        Sentences(
            terse="""
            Plate up one toasted slice of bread.
            Slice of bread out of the toaster, brown, onto a plate.
            Serve on a plate: bread, one slice, toasted.
            """,
            plain="""
            Would you brown a slice of bread and dish it up on a plate?
            Get a slice of bread toasted and leave it on a plate.
            Toast, a slice of it, is what I want to find on the plate.
            Use the toaster for one slice of bread, and the plate to serve it.
            """,
            elaborate="""
            My aunt eats nothing but toast, so please brown one slice for her and dish it up \
            on a plate.
            What the plate should hold in the end is a slice of bread, and the toaster should \
            have browned it.
            There must be bread somewhere; once a slice of it is toasted, serve it on a plate.
            """,
        ),
    ),
    "cook_potato_slice": Bank(
        "Fry a slice of potato in the pan, then serve it on a plate.",
        Sentences(
            terse="""
            Slice a potato, fry one slice in a pan, serve it on a plate.
            Potato: slice, pan, plate.
            One fried slice of potato, on a plate.
            Plate with a slice of potato, fried in the pan.
            Fry a potato slice; onto a plate with it.
            A slice of fried potato on a plate, please.
            """,
            plain="""
            Please fry a slice of potato in the pan and put it onto a plate.
            Can you make a slice of potato in the pan and serve it on a plate?
            I would like a fried slice of potato, served on a plate.
            Cut a potato, cook a slice of it in the pan, and lay that onto a plate.
            Let a slice of potato fry in the pan, then move it to a plate.
            A slice of potato has to be cooked in the pan and be on a plate at the end.
            Prepare one slice of potato in the pan and bring it to the plate.
            """,
            elaborate="""
            Somebody is hungry, so cut a potato, fry a slice of it in the pan, and serve it on \
            a plate.
            Take a potato, slice it, cook a slice in the pan, and give it to us on a plate.
            For lunch there is potato: one slice, which you fry in a pan and serve on a plate.
            The microwave is not needed today: a slice of potato cooks in the pan, and a plate \
            is what it is served on.
            When you are done, a slice of potato that was cooked in the pan lies on a plate.
            One slice is enough, so fry no more potato than that, and serve it on a plate.
            """,
        ),
        Sentences(
            terse="""
            Plate up one pan-fried slice of potato.
            Slice of potato out of the pan, cooked, onto a plate.
            Serve on a plate: potato, one slice, fried.
            """,
            plain="""
            Would you do a slice of potato in the pan and dish it up on a plate?
            Get a slice of potato cooked on the stove, in the pan, and leave it on a plate.
            Potato, a slice of it, fried, is what I want to find on the plate.
            Use the pan to cook one slice of potato, and the plate to serve it.
            """,
            elaborate="""
            My uncle eats nothing but potatoes, so please fry one slice for him in the pan and \
            dish it up on a plate.
            What the plate should hold in the end is a slice of potato, and it should have been \
            cooked in the pan.
            There must be a potato somewhere; once a slice of it is fried in the pan, serve it \
            on a plate.
            """,
        ),
    ),
    "put_away_dishes": Bank(
        "Put away the {objects}; what is put away must be clean.",
        Sentences(
            terse="""
            Stow these dishes, all clean: {objects}.
            Dishes to put away, washed if need be: {objects}.
            Clean and in their places: {objects}.
            Put away, and clean at that: {objects}.
            Tidy up the dishes, wash what is dirty: {objects}.
            Dishes in order, none dirty: {objects}.
            """,
            plain="""
            Please put the following dishes where they belong, clean: {objects}.
            Can you put away the {objects}, and wash first what is dirty?
            I want these dishes to be stowed, and none of them dirty: {objects}.
            Bring the dishes to their places, which are for clean ones alone: {objects}.
            These dishes are to be put away, and to be clean then: {objects}.
            Store the dishes in the list, each of them clean: {objects}.
            Wash what is not clean, then put all of these dishes away: {objects}.
            """,
            elaborate="""
            Nobody wants to find a dirty dish in its place, so put these away clean: {objects}.
            The kitchen is to be tidied, so put the dishes in the list where they belong, and \
            wash them first if they are dirty: {objects}.
            When you are done, each of these dishes is clean and in its place: {objects}.
            Go through the list, see whether the dish is clean, and put it away: {objects}.
            Each dish has its home in a kitchen, so take these there, clean: {objects}.
            Dinner is over, and these dishes have to be put away, without any dirt on them: \
            {objects}.
            """,
        ),
        Sentences(
            terse="""
            Home with the dishes, spotless: {objects}.
            Away, and free of dirt: {objects}.
            Spotless into storage, these dishes: {objects}.
            """,
            plain="""
            Would you see to it that these dishes are clean and stored: {objects}?
            Make room on the counters and put these dishes away, spotless: {objects}.
            Let these dishes find their way home, washed where needed: {objects}.
            Return the dishes to where they are kept, and none of them dirty: {objects}.
            """,
            elaborate="""
            Guests come at noon, and by then these dishes should be spotless and out of sight: \
            {objects}.
            Whoever comes next should find these dishes where they are kept, ready for use: \
            {objects}.
            Some of the dishes may need the sponge before they are stored, so look at each of \
            these: {objects}.
            """,
        ),
    ),
    "clean_mirror": Bank(
        "Clean the mirror.",
        Sentences(
            terse="""
            Mirror: clean it.
            Wipe the mirror clean.
            Spray and wipe the mirror.
            Make the mirror clean.
            Get the mirror clean.
            A clean mirror, please.
            """,
            plain="""
            Please clean the mirror in this room.
            Can you make the mirror clean again?
            I want the mirror to be clean.
            Spray the mirror and wipe it with the cloth.
            Take the dirt off the mirror.
            The mirror is dirty and has to be cleaned.
            See to it that the mirror is clean.
            """,
            elaborate="""
            One can hardly see anything in the mirror, so clean it, please.
            The mirror is full of smears, which you should wipe off with the cloth after you \
            have sprayed it.
            When you are done, there is no dirt left on the mirror.
            With the spray and the cloth that are somewhere here, clean the mirror.
            Leave everything else as it is, but the mirror has to be cleaned.
            Whoever looks into the mirror should see no smears, so clean it.
            """,
        ),
        Sentences(
            terse="""
            Polish the mirror.
            No more smears on the mirror.
            Mirror, smears off.
            """,
            plain="""
            Would you polish the mirror until it is clean?
            Let the mirror shine again.
            Rid the mirror of its smears.
            What this room needs is a clean mirror.
            """,
            elaborate="""
            Guests will use this bathroom, so polish its mirror until no smear is left.
            Somebody has touched the mirror all over; spray it, wipe it, and it will shine again.
            Of all the things in this room only the mirror needs you: get its smears off.
            """,
        ),
    ),
    "turn_on_tv": Bank(
        "Switch the television on.",
        Sentences(
            terse="""
            Television on.
            Turn the television on.
            TV: switch it on.
            Turn on the TV.
            Put the television on.
            The TV on, please.
            """,
            plain="""
            Please switch the television in this room on.
            Can you turn on the television?
            I want the television to be on.
            Use the remote control to switch on the television.
            The television is off and should be on.
            See to it that the television is running.
            Let us watch television: turn it on.
            """,
            elaborate="""
            The news is about to begin, so switch the television on.
            Find the remote control, wherever it is, and turn on the television with it.
            When you are done, the screen of the television is lit.
            I would like to watch something, so could you turn the television on for me?
            Leave everything else as it is, but the television should be switched on.
            It is quiet in here, so let the television run.
            """,
        ),
        Sentences(
            terse="""
            Get the TV going.
            Screen on, of the television.
            Start the television.
            """,
            plain="""
            Would you start the television?
            Make the television show a picture.
            Wake the TV with its remote control.
            What this room needs is a television that runs.
            """,
            elaborate="""
            The match starts in a minute, so get the television going.
            Its remote control lies somewhere in this room, and the television waits for it: \
            start it.
            Of all the things in this room only the television needs you: make it show a picture.
            """,
        ),
    ),
    "set_table": Bank(
        "Clear the dining table, then set it with coffee in a mug and toast on a plate.",
        Sentences(
            terse="""
            Dining table: clear it, then coffee in a mug and a slice of toast on a plate.
            Clear the dining table; set a mug of coffee and a plate with a slice of toast.
            On the dining table, nothing but a slice of toast on a plate and coffee in a mug.
            Breakfast on the cleared dining table: mug of coffee, slice of toast, plate.
            Empty the dining table, then coffee and, on a plate, toast.
            Set the cleared dining table: one mug of coffee, one plate with toast.
            """,
            plain="""
            Please take everything off the dining table, and put coffee in a mug and toast on a \
            plate there.
            Can you clear the dining table and serve a mug of coffee and, on a plate, a slice \
            of toast there?
            I want a mug of coffee and a plate with a slice of toast on the dining table, and \
            nothing else.
            Make room on the dining table for a slice of toast on a plate and coffee in a mug.
            Set the dining table for breakfast, with coffee in a mug and toast on a plate, after \
            you have cleared it.
            All that is on the dining table has to go; bring a mug of coffee and a plate with \
            a slice of toast.
            Lay the dining table with coffee in a mug and a slice of toast on a plate, once it \
            is empty.
            """,
            elaborate="""
            Somebody wants to have breakfast, so clear the dining table and bring a mug of \
            coffee and a plate with a slice of toast.
            The dining table is full of things that do not belong there; put them away, and \
            set it with a slice of toast on a plate and coffee in a mug.
            When you are done, all there is on the dining table is a mug of coffee, and a plate \
            with a slice of toast on it.
            First clear the dining table, then make coffee and toast, and serve them there in \
            a mug and on a plate.
            A good morning needs a tidy dining table with a mug of coffee and, on a plate, a \
            slice of toast, so see to it.
            Nothing may stand on the dining table but a mug with coffee in it and a plate with \
            a slice of toast on it.
            """,
        ),
        Sentences(
            terse="""
            Clean slate on the dining table, then a mug of coffee and a plate of toast.
            Dining table for one: mug of coffee, toast on a plate, no more.
            All off the dining table, coffee mug and plate of toast on.
            """,
            plain="""
            Would you free the dining table and lay it with a mug of coffee and a plate of toast?
            Get the dining table ready: no clutter, a mug of coffee, a slice of toast on a plate.
            A plate of toast and a mug of coffee are what the dining table should hold, alone.
            Turn the cluttered dining table into one that is set with a mug of coffee and a \
            plate of toast.
            """,
            elaborate="""
            My grandmother is coming down, so free the dining table for her and lay it with \
            coffee in a mug and toast on a plate.
            Whatever lies on the dining table now is in the way of a mug of coffee and a plate \
            of toast, which are to be all there is.
            Breakfast is one mug of coffee and one slice of toast on a plate, and the dining \
            table should hold nothing besides.
            """,
        ),
    ),
    "distribute": Bank(
        "Slice the {food} and put one piece into each of: {objects}.",
        Sentences(
            terse="""
            {food}: slice it, a piece into each of: {objects}.
            A slice of {food} for each of: {objects}.
            {food} in pieces, one each for: {objects}.
            Cut up the {food}; one piece each into: {objects}.
            {food} sliced, shared out to: {objects}.
            For each of these a piece of {food}: {objects}.
            """,
            plain="""
            Please slice the {food} and put one of its pieces into each of these: {objects}.
            Can you cut the {food} and lay a piece of it into each of these: {objects}?
            I want a slice of {food} in each of these: {objects}.
            Cut the {food} into pieces and serve one in each of these: {objects}.
            Each of these should hold a slice of {food}: {objects}.
            The {food} has to be sliced and shared out, a piece for each of these: {objects}.
            Share the {food} out, slice by slice, to these: {objects}.
            """,
            elaborate="""
            Everybody should get some {food}, so slice it, and put a piece into each of these: \
            {objects}.
            Take a knife to the {food}, and see that a piece of it ends up in each of these: \
            {objects}.
            When you are done, each of these holds a slice of {food}: {objects}.
            Nothing is served dirty here, so put a slice of {food} into each of these, and wash \
            them before if need be: {objects}.
            There is one {food}, which you cut up and share out, one piece each, to these: \
            {objects}.
            None of these may go without a slice of {food}: {objects}.
            """,
        ),
        Sentences(
            terse="""
            Portion the {food}, one slice per dish: {objects}.
            Dish by dish a slice of {food}: {objects}.
            Chop the {food}, a bit for each: {objects}.
            """,
            plain="""
            Would you portion the {food}, with a slice in each of these dishes: {objects}?
            Let each of these dishes have its slice of {food}: {objects}.
            Give every one of these dishes a piece of the {food} that you cut: {objects}.
            A slice of {food} is what I want to find in each of these dishes: {objects}.
            """,
            elaborate="""
            Guests are waiting, so chop the {food} and give a slice of it to each of these \
            dishes: {objects}.
            How you cut the {food} is up to you, as long as these dishes get a slice each: \
            {objects}.
            The dishes that are to hold a slice of the {food} in the end are these: {objects}.
            """,
        ),
    ),
}
"""The sentences of each family; ``{objects}`` and ``{food}`` are what an instance is about."""


def _put_away(what: str, place: str, doing: str) -> Bank:
    """Sentences that ask to put away what is clean."""

    def named(sentences: str) -> str:
        for word, stands_for in (("WHAT", what), ("PLACE", place), ("DOING", doing)):
            sentences = sentences.replace(word, stands_for)
        return sentences

    return Bank(
        "Put away the {objects}.",
        Sentences(
            terse=named("""
            Stow this WHAT: {objects}.
            WHAT to put away: {objects}.
            Into PLACE: {objects}.
            To PLACE with: {objects}.
            Tidy up the WHAT: {objects}.
            WHAT, back in PLACE: {objects}.
            """),
            plain=named("""
            Please put the following WHAT where it belongs: {objects}.
            Can you put away the WHAT in this list: {objects}?
            I want this WHAT to be in PLACE: {objects}.
            Bring the WHAT to PLACE, namely the {objects}.
            This WHAT is to be put away: {objects}.
            Store the WHAT in the list in PLACE: {objects}.
            Put the {objects} into PLACE.
            """),
            elaborate=named("""
            The kitchen is to be tidied, so put the WHAT in the list where it belongs: {objects}.
            When you are done, all of this WHAT is in PLACE: {objects}.
            Go through the list and put one after the other into PLACE: {objects}.
            WHAT has its home in PLACE, so take this there: {objects}.
            Dinner is over, and some WHAT has to be put away: {objects}.
            Nothing of this should lie around, as it belongs in PLACE: {objects}.
            """),
        ),
        Sentences(
            terse=named("""
            Home with the WHAT: {objects}.
            Out of sight with this WHAT: {objects}.
            No more WHAT on the counters: {objects}.
            """),
            plain=named("""
            Would you see to it that this WHAT is stored: {objects}?
            Make room on the counters and put this WHAT away: {objects}.
            Let this WHAT find its way home: {objects}.
            Return the WHAT to where it is kept, I mean the {objects}.
            """),
            elaborate=named("""
            Guests come at noon, and by then this WHAT should be out of sight: {objects}.
            Whoever DOING next should find it in PLACE, so put this there: {objects}.
            There is WHAT lying about that has to be stored before you leave: {objects}.
            """),
        ),
    )


BANKS["put_away_food"] = _put_away("food", "the fridge", "wants to eat")
BANKS["put_away_silverware"] = _put_away("cutlery", "a drawer", "wants to cook")
