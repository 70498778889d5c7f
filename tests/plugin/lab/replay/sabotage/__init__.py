"""Mistakes people make when they bring a policy or a recording to a simulation.

`fixtures` are runs that are reproduced here; `table` lists the mistakes, one at a time, `drawn`
draws others at random, also two at once; `judging` says whether the diagnosis names them.
`python -m tests.plugin.lab.replay.sabotage` runs both and logs every case.
"""
