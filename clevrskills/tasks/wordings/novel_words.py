"""Sentences of tasks with invented words: ``novel_adjective``, ``novel_noun`` and both at once."""

from clevrskills.tasks.bank import Bank, Sentences

NOVEL_ADJECTIVE = Bank(
    paper="{examples}. Put the {adjective} {thing} on {base}.",
    seen=Sentences(
        terse="""
            {comparisons}. The {adjective} {thing}: onto {base}.
            {comparisons}. Onto {base} with the {adjective} {thing}.
            {comparisons}. Set the {adjective} {thing} on {base}.
            Note: {comparisons}. Now the {adjective} {thing} onto {base}.
            Given that {comparisons}: put the {adjective} {thing} on {base}.
            {comparisons}. For {base}: the {adjective} {thing}.
        """,
        plain="""
            {comparisons}. Please place the {adjective} {thing} on {base}.
            {comparisons}. Can you put the {adjective} {thing} on top of {base}?
            {comparisons}. I want the {adjective} {thing} to be on {base}.
            {comparisons}. So which one is the {adjective} {thing}? Put it on {base}.
            If {comparisons}, then put the {adjective} {thing} on {base}.
            {comparisons}. The {adjective} {thing} should rest on {base}.
            Put the {adjective} {thing} on {base}, given that {comparisons}.
        """,
        elaborate="""
            Let me teach you what {adjective} means: {comparisons}. With that in mind, put the \
            {adjective} {thing} on {base}.
            Two objects on the table are alike but for one thing, and {comparisons}; pick up the \
            {adjective} {thing} and place it on {base}.
            Where I come from we say that {comparisons}. Following that, set the {adjective} \
            {thing} down on {base}.
            You may not know the word, but {comparisons}, and that is how you find the {adjective} \
            {thing}, which goes on {base}.
            Look closely before you act: {comparisons}. What belongs on {base} is the {adjective} \
            {thing}, not its twin.
            From the fact that {comparisons} you can tell which one I mean when I ask you to put \
            the {adjective} {thing} on {base}.
        """,
    ),
    held_out=Sentences(
        terse="""
            {comparisons}. Place the {adjective} {thing} on {base}.
            {comparisons}. On {base}: the {adjective} {thing}.
            As {comparisons}, the {adjective} {thing} onto {base}.
        """,
        plain="""
            {comparisons}. Would you put the {adjective} {thing} on {base}?
            {comparisons}. Let the {adjective} {thing} be put on {base}.
            Since {comparisons}, you can tell which one is the {adjective} {thing}. Put that one \
            on {base}.
            {comparisons}. On {base} is where the {adjective} {thing} should go.
        """,
        elaborate="""
            Let me tell you what {adjective} stands for: {comparisons}. Of the two objects on the \
            table that are alike, put the {adjective} {thing} on {base}.
            Remember that {comparisons}, then compare the two on the table, and place the \
            {adjective} {thing} on {base}.
            Only one of the twins deserves the word: {comparisons}. That one, the {adjective} \
            {thing}, should be put on {base}.
        """,
    ),
)

NOVEL_NOUN = Bank(
    paper="{noun_0} is a {top} and {noun_1} is a {bottom}. Put the {top} on the {bottom}.",
    seen=Sentences(
        terse="""
            {Top}: {noun_0}. {Bottom}: {noun_1}. {Top} onto {bottom}.
            {noun_0} = {top}, {noun_1} = {bottom}. Put the {top} on the {bottom}.
            {noun_0}: {top}. {noun_1}: {bottom}. Set the {top} on the {bottom}.
            A {top}: {noun_0}. A {bottom}: {noun_1}. Onto the {bottom} with the {top}.
            Names: {noun_0}, {top}; {noun_1}, {bottom}. Task: {top} onto {bottom}.
            With {top} for {noun_0} and {bottom} for {noun_1}: {top} on {bottom}.
        """,
        plain="""
            This is a {top}: {noun_0}. This is a {bottom}: {noun_1}. Put the {top} on the {bottom}.
            Say {top} to {noun_0} and {bottom} to {noun_1}. Please place the {top} on the {bottom}.
            If {noun_0} is a {top} and {noun_1} is a {bottom}, can you put the {top} on the \
            {bottom}?
            I call {noun_0} a {top} and {noun_1} a {bottom}. I want the {top} to be on the {bottom}.
            A {top} looks like {noun_0}, a {bottom} like {noun_1}. The {top} should rest on the \
            {bottom}.
            Put the {top} on the {bottom}, where {top} means {noun_0} and {bottom} means {noun_1}.
            There is a {top}, shaped like {noun_0}, and a {bottom}, shaped like {noun_1}. Pick up \
            the first and put it on the second.
        """,
        elaborate="""
            In my language, {noun_0} is called a {top}, and the word for {noun_1} is {bottom}. \
            Find the {top} on the table and put it on the {bottom}.
            Let me teach you two words: {noun_0} is a {top}, {noun_1} is a {bottom}. With what you \
            learned, put the {top} on the {bottom}.
            The colors may differ, but a {top} has the shape of {noun_0} and a {bottom} that of \
            {noun_1}; place the {top} on top of the {bottom}.
            You have never heard of a {top} or a {bottom} before, so look at {noun_0} and \
            {noun_1}, in this order, and then put the one on the other.
            Two new names first, {top} for {noun_0} and {bottom} for {noun_1}. Now pick up the \
            {top} and set it down on the {bottom}.
            Whatever is shaped like {noun_0} I call a {top}, and what is shaped like {noun_1} a \
            {bottom}, so please put the {top} on the {bottom}.
        """,
    ),
    held_out=Sentences(
        terse="""
            {Top} is {noun_0}, {bottom} is {noun_1}. Place {top} on {bottom}.
            {noun_0}, a {top}; {noun_1}, a {bottom}. The {top} onto the {bottom}.
            For {top} see {noun_0}, for {bottom} see {noun_1}. Put {top} on {bottom}.
        """,
        plain="""
            This one, {noun_0}, is a {top}, and this one, {noun_1}, a {bottom}. Would you put the \
            {top} on the {bottom}?
            Let a thing like {noun_0} be a {top} and a thing like {noun_1} a {bottom}. Put the \
            {top} on the {bottom}.
            The word {top} stands for {noun_0} and {bottom} for {noun_1}. On the {bottom} is where \
            the {top} should go.
            Called a {top} is {noun_0}, called a {bottom} is {noun_1}. Place the {top} on the \
            {bottom}.
        """,
        elaborate="""
            Somebody told me that {noun_0} is known as a {top} and {noun_1} as a {bottom}. There \
            is one of each on the table; put the {top} on the {bottom}.
            Only shapes count for these two words, {top} as in {noun_0} and {bottom} as in \
            {noun_1}. Pick the {top} up and place it on the {bottom}.
            Learn from these examples, {noun_0} for {top} and {noun_1} for {bottom}, and then make \
            the {bottom} on the table carry the {top}.
        """,
    ),
)

NOVEL_ADJECTIVE_NOUN = Bank(
    paper="This is a {noun}: {noun_0}. This is a {base}: {noun_1}. {examples}. Put the \
{adjective} {noun} on the {base}.",
    seen=Sentences(
        terse="""
            A {noun}: {noun_0}. A {base}: {noun_1}. {comparisons}. The {adjective} {noun} onto the \
            {base}.
            {noun_0}: {noun}. {noun_1}: {base}. {comparisons}. Set the {adjective} {noun} on the \
            {base}.
            {noun_0} = {noun}, {noun_1} = {base}; {comparisons}. Onto the {base} with the \
            {adjective} {noun}.
            {comparisons}. {noun_0} is a {noun}, {noun_1} a {base}. For the {base}: the \
            {adjective} {noun}.
            Names: {noun_0}, {noun}; {noun_1}, {base}. {comparisons}. Task: {adjective} {noun} \
            onto {base}.
            With {noun} for {noun_0} and {base} for {noun_1}: {comparisons}, so put the \
            {adjective} {noun} on the {base}.
        """,
        plain="""
            {noun_0} is a {noun} and {noun_1} is a {base}. {comparisons}. Please place the \
            {adjective} {noun} on the {base}.
            If {noun_0} is a {noun}, {noun_1} is a {base} and {comparisons}, can you put the \
            {adjective} {noun} on the {base}?
            I call {noun_0} a {noun} and {noun_1} a {base}. {comparisons}. I want the {adjective} \
            {noun} to be on the {base}.
            A {noun} looks like {noun_0}, a {base} like {noun_1}. {comparisons}. The {adjective} \
            {noun} should rest on the {base}.
            {comparisons}. This is a {base}: {noun_1}. Find the {noun}, which looks like {noun_0}, \
            that is {adjective} and put it on the {base}.
            Put the {adjective} {noun} on the {base}, where {noun} means {noun_0}, {base} means \
            {noun_1}, and {comparisons}.
            Say {noun} to {noun_0} and {base} to {noun_1}. {comparisons}. Pick up the {adjective} \
            {noun} and put it on the {base}.
        """,
        elaborate="""
            In my language, {noun_0} is called a {noun}, the word for {noun_1} is {base}, and we \
            say that {comparisons}. Put the {adjective} {noun} on the {base}.
            Let me teach you three words: {noun_0} is a {noun}, {noun_1} is a {base}, and \
            {comparisons}. With what you learned, put the {adjective} {noun} on the {base}.
            The colors may differ, but a {noun} has the shape of {noun_0} and a {base} that of \
            {noun_1}. Of the two on the table, and given that {comparisons}, place the {adjective} \
            {noun} on the {base}.
            Two new names first, {noun} for {noun_0} and {base} for {noun_1}; then a new property, \
            for {comparisons}. Now set the {adjective} {noun} down on the {base}.
            You have never heard these words, so look: {noun_0} is a {noun}, {noun_1} is a {base}. \
            {comparisons}. Only the {adjective} {noun} belongs on the {base}, not its twin.
            Whatever is shaped like {noun_0} I call a {noun}, what is shaped like {noun_1} a \
            {base}, and I say that {comparisons}; please put the {adjective} {noun} on the {base}.
        """,
    ),
    held_out=Sentences(
        terse="""
            {Noun} is {noun_0}, {base} is {noun_1}. {comparisons}. Place the {adjective} {noun} on \
            the {base}.
            {comparisons}. {noun_0}, a {noun}; {noun_1}, a {base}. The {adjective} {noun} onto the \
            {base}.
            For {noun} see {noun_0}, for {base} see {noun_1}. {comparisons}. Put the {adjective} \
            {noun} on the {base}.
        """,
        plain="""
            This one, {noun_0}, is a {noun}, and this one, {noun_1}, a {base}. {comparisons}. \
            Would you put the {adjective} {noun} on the {base}?
            Let a thing like {noun_0} be a {noun} and a thing like {noun_1} a {base}. Since \
            {comparisons}, put the {adjective} {noun} on the {base}.
            The word {noun} stands for {noun_0} and {base} for {noun_1}. {comparisons}. On the \
            {base} is where the {adjective} {noun} should go.
            {comparisons}. Called a {noun} is {noun_0}, called a {base} is {noun_1}. Place the \
            {adjective} {noun} on the {base}.
        """,
        elaborate="""
            Somebody told me that {noun_0} is known as a {noun}, {noun_1} as a {base}, and that \
            {comparisons}. Put the {adjective} {noun} of the two on the table on the {base}.
            Only shapes count for two of these words, {noun} as in {noun_0} and {base} as in \
            {noun_1}. {comparisons}. Pick the {adjective} {noun} up and place it on the {base}.
            Learn from these examples, {noun_0} for {noun} and {noun_1} for {base}, and that \
            {comparisons}. Then make the {base} on the table carry the {adjective} {noun}.
        """,
    ),
)
