"""Sentences of tasks about the end effector: ``match_pose``, ``trace`` and their kin."""

from clevrskills.tasks.bank import Bank, Sentences

MATCH_POSE = Bank(
    paper="Match the pose of the end effector in {shown}.",
    seen=Sentences(
        terse="""
            Pose of the end effector: {shown}.
            Copy the pose in {shown}.
            Gripper pose as in {shown}.
            Take the pose of {shown}.
            Match this pose: {shown}.
            Arm pose to take: {shown}.
        """,
        plain="""
            Please move the end effector into the pose shown in {shown}.
            Can you bring the gripper into the pose that it has in {shown}?
            I want the arm to take the same pose as in {shown}.
            The pose of the gripper should match {shown}.
            Look at {shown} and take the same pose.
            Move the arm until its pose matches {shown}.
            Imitate the pose of the robot in {shown}.
        """,
        elaborate="""
            Both where the gripper is and how it is turned count, so match the pose in {shown} as \
            well as you can.
            Imagine a mirror that shows {shown}, and bring your end effector into that pose.
            Nothing has to be picked up today; all that I ask is that the arm takes the pose of \
            {shown}.
            Someone held the end effector in a certain pose when {shown} was recorded. Take this \
            pose again.
            Move freely through the air, and hold the gripper in the end as in {shown}, with the \
            very same pose.
            For a photograph I need the robot in the pose in which you see it in {shown}.
        """,
    ),
    held_out=Sentences(
        terse="""
            Same pose as in {shown}.
            Match the gripper's pose in {shown}.
            Pose to match: {shown}.
        """,
        plain="""
            Would you take the pose that you see in {shown}?
            As in {shown} is the pose that the end effector should have.
            Let the gripper match the pose in {shown}.
            Bring the arm into the pose of {shown}.
        """,
        elaborate="""
            You see the robot in {shown}; move your own end effector until its pose is the same.
            It is the pose alone that matters, position and orientation, and it has to match \
            {shown}.
            Study {shown} with care, then move the arm so that the gripper has the same pose.
        """,
    ),
)

MOVE_WITHOUT_HITTING = Bank(
    paper="Match the pose of the end effector in {shown} without hitting any objects.",
    seen=Sentences(
        terse="""
            {shown}, without hitting anything.
            Pose as in {shown}, no collisions.
            To {shown}, around the obstacles.
            Take the pose of {shown}, hit nothing.
            Reach {shown} without a collision.
            Avoid all obstacles on the way to {shown}.
        """,
        plain="""
            Please move into the pose of {shown} without hitting any of the objects.
            Can you bring the gripper into the pose in {shown} and avoid all obstacles?
            I want the arm to match {shown} without touching anything on its way.
            Steer around the obstacles until your pose matches {shown}.
            The end effector should take the pose of {shown}, and no object may be hit.
            Without hitting the obstacles, move the arm as shown in {shown}.
            Find a free way to the pose in {shown}, past all obstacles.
        """,
        elaborate="""
            There are obstacles in the air, and you must not hit any of them while you move into \
            the pose of {shown}.
            The straight way to the pose in {shown} is blocked, so go around whatever you might hit.
            A single collision spoils it all: avoid every object as you bring the end effector \
            into the pose of {shown}.
            Imagine that the obstacles are made of glass, and move the gripper past them into the \
            pose that it has in {shown}, without hitting one.
            Take your time and keep your distance from the obstacles until the pose of the arm \
            matches {shown}.
            Safety comes first here, so plan a way to the pose in {shown} on which nothing is hit.
        """,
    ),
    held_out=Sentences(
        terse="""
            Match {shown} without hitting objects.
            Past the obstacles to {shown}.
            No hits on the way to the pose in {shown}.
        """,
        plain="""
            Would you take the pose of {shown} without hitting any objects?
            Avoiding all obstacles, match the pose in {shown}.
            Let the arm get to the pose of {shown} without a collision.
            Move to {shown}, and do not hit any obstacle.
        """,
        elaborate="""
            While you move into the pose of {shown}, stay clear of the obstacles, none of which \
            may be hit.
            What hangs in the air are obstacles, so find a way around them to the pose in {shown} \
            without a single collision.
            Matching the pose in {shown} counts only if you get there without hitting anything.
        """,
    ),
)

TRACE = Bank(
    paper="Trace the sequence of goals by moving to the next green goal.",
    seen=Sentences(
        terse="""
            Always to the green goal.
            Trace the {number} goals, green one next.
            Follow the green goal.
            From green goal to green goal.
            Next stop: whichever goal is green.
            Visit all goals, the green one first.
        """,
        plain="""
            Please move the end effector to the green goal, and then to the next one that turns \
            green.
            Can you visit the {number} goals, always going to the green one?
            I want the gripper to pass through the goals as they turn green.
            Move to the goal that is green, until all of them have been visited.
            The goal to go to next is always the green one; visit them all.
            Trace the goals one after the other, wherever green appears.
            Touch the green goal with the gripper, then go on to the next green one.
        """,
        elaborate="""
            Red goals have to wait and yellow ones are done with, so keep moving to the one that \
            is green until none is left.
            Only one of the goals is green at a time; move the end effector there, and another one \
            will turn green.
            Think of the green goal as a traffic light that calls you, and trace the {number} \
            goals in this way.
            The balls in the air are goals for the gripper: go to the green one, see which turns \
            green next, and go on.
            Nothing needs to be held or moved. Just trace the sequence of {number} goals by \
            heading for the green one each time.
            After each goal that you reach, another one turns green, and that is where I want the \
            gripper to go next.
        """,
    ),
    held_out=Sentences(
        terse="""
            Green goal next, until all are visited.
            Trace all goals by following green.
            Move on to the next green goal.
        """,
        plain="""
            Would you trace the {number} goals, each when it is green?
            Whenever a goal turns green, move to it.
            Let the end effector visit the goals in the order in which they turn green.
            To the green goal is where the gripper should always move next.
        """,
        elaborate="""
            As long as there is a green goal, move the gripper to it; when none is left you are \
            done.
            The color tells you the sequence of the goals: trace them by moving to the one that is \
            green now.
            Leave the red goals for later and visit the green one, which turns yellow as soon as \
            you have been there.
        """,
    ),
)
