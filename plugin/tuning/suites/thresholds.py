"""Thresholds of a bench for continuous integration: shares of episodes that must stay up."""

from collections.abc import Sequence

from mjrig.errors import PropertyError
from mjrig.names import suggestion
from mjrig.tuning.suites.bench import Benched
from mjrig.tuning.suites.standings import success

#: Every task.
ALL = ""


def read_thresholds(texts: Sequence[str], tasks: Sequence[str]) -> dict[str, float]:
    """Read `0.8` for all tasks and `kick_1=0.5` for one.

    Raises:
        PropertyError: there is no such task, or the share is not from 0 to 1.
    """
    found = {}
    for text in texts:
        task, equals, said = text.rpartition("=")
        if equals and task not in tasks:
            raise PropertyError(f"--fail-below {text}: no task {task!r}; {suggestion(task, tasks)}")
        try:
            share = float(said)
        except ValueError:
            share = -1.0
        if not 0.0 <= share <= 1.0:
            raise PropertyError(
                f"--fail-below {text}: write a share from 0 to 1, as in 0.8 or {tasks[0]}=0.8"
            )
        found[task if equals else ALL] = share
    return found


def too_low(found: Benched, limits: dict[str, float]) -> list[str]:
    """A line per policy and task that stays up less often, and per policy that cannot run."""
    if not limits:
        return []
    lines = [f"FAIL {e.name}: not run: {e.problem}" for e in found.entrants if e.problem]
    for name, results in found.results.items():
        for task, result in results.items():
            limit = limits.get(task, limits.get(ALL))
            rate = success([result])
            if limit is not None and not rate.value >= limit:
                lines.append(f"FAIL {name}: {task}: {rate} is below {limit:g}")
    return lines
