"""How long tests wait for what must happen.

A test that waits for an event ends when it comes, and fails when it never does. The limit says
nothing of how fast anything is: it is as long as a machine under any load may need.
"""

#: Seconds after which what was waited for counts as never happening.
PATIENCE = 120.0
