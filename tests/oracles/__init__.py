"""Frozen results of the commands on fixed seeds: a restructuring must leave them as they are.

`expected/data` has JSON outputs, tables and exit codes; `expected/texts` has printed lines, pages
and sentences. `python -m tests.oracles` compares both, `--exact` compares bits. After a deliberate
change of sentences or layouts, `--write-texts` replaces the texts whose figures are the same.
`--write [NAME …]` replaces everything. Read the diff of the JSON files before you commit it.
"""
