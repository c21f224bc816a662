"""Who waits for whom: one wait-for graph behind all verdicts about standing still.

Deadlock detectors and analyzers of collectives answer one question: follow "waits for" from whoever makes no
progress until nobody is waited for any more. What is found there is the cause, and everybody on the way is
a symptom. An order of stances (stopped, works, waits, still) cannot answer it: it believes a phase
before it looks at stillness, needs a peer that waits, and dates a cause by its waiters.

What was taken over and what was changed against the plain wait-for graph: the end of a path is a *strongly connected
component without a way out*, not a node. So a chain to a thread that sleeps, a cycle of locks, a meeting
that all have reached and two meetings that wait for each other's members are one definition, and
who is odd is asked only inside of a component. Meetings are nodes, not edges between all pairs: eight ranks
in one collective are eight edges.

``graph`` holds the records, ``components`` finds the ends, ``majority`` says who is odd, ``verdict`` tells what
each end is. All of these are pure and know nothing of frames. ``motion``, ``places``, ``meetings`` and ``build`` make
the graph of a frame; rules are labels on its ends.
"""
