"""Standings of a bench: rates with intervals, means over survivors, paired comparisons, margins."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mjrig.lab.bench.episode_metrics import METRICS
from mjrig.lab.bench.runner import Benched, TaskResult
from mjrig.lab.sweep.seed_statistics import Interval, holm, mcnemar, paired_difference, wilson

#: Metrics of falls are shown; of the others at least this share and number must have stayed up.
LEAST_SHARE, LEAST_COUNT = 0.2, 5
#: A policy that falls in this share of all episodes is looked at by the pre-flight.
FALLS_EVERYWHERE = 0.8
#: Metrics whose paired differences are compared.
COMPARED = ("lin_vel_rmse", "yaw_rate_rmse", "power", "action_rate")


def success(results: Iterable[TaskResult]) -> Interval:
    """The share of episodes without a fall."""
    fell = [fallen for result in results for fallen in result.fell.values()]
    return wilson(len(fell) - sum(fell), len(fell))


def mean_of(result: TaskResult, metric: str) -> float:
    """The mean of a metric over the episodes without a fall; NaN: too few of them.

    Survival is over all episodes, fell the share of falls.
    """
    if metric == "fell":
        return 1.0 - success([result]).value
    values = list(result.values(metric).values())
    if metric != "survival":
        episodes = len(result.fell)
        enough = len(values) >= max(min(LEAST_COUNT, episodes), LEAST_SHARE * episodes)
        values = values if enough else []
    return float(np.mean(values)) if values else math.nan


@dataclass(frozen=True)
class LeaderboardRow:
    """A line of the leaderboard; policies whose intervals overlap the first's share a `rank`."""

    rank: int
    name: str
    success: Interval
    episodes: int
    survived: int


def leaderboard(found: Benched) -> list[LeaderboardRow]:
    """The policies by their share of episodes without a fall, best first; ties share a rank.

    A policy ties with the best one of a rank if their intervals overlap.
    """
    rows = []
    for name, results in found.results.items():
        fell = [fallen for result in results.values() for fallen in result.fell.values()]
        rows.append((name, success(results.values()), len(fell), len(fell) - sum(fell)))
    rows.sort(key=lambda row: -1.0 if math.isnan(row[1].value) else row[1].value, reverse=True)
    standings: list[LeaderboardRow] = []
    first: Interval | None = None
    for place, (name, rate, episodes, survived) in enumerate(rows, 1):
        tied = first is not None and first.overlaps(rate)
        rank = standings[-1].rank if tied else place
        first = first if tied else rate
        standings.append(LeaderboardRow(rank, name, rate, episodes, survived))
    return standings


@dataclass(frozen=True)
class Pairing:
    """Two policies on one task, seed by seed.

    Attributes:
        only_first, only_second: seeds on which one alone stayed up.
        p: McNemar's exact p.
        adjusted: the same after Holm's correction over all tasks and pairs.
        differences: second − first of metrics, over seeds on which both stayed up.
    """

    first: str
    second: str
    task: str
    only_first: int
    only_second: int
    p: float
    adjusted: float
    differences: dict[str, Interval]


def pairings(found: Benched) -> list[Pairing]:
    """Every policy against the first of the leaderboard, task by task."""
    order = [standing.name for standing in leaderboard(found)]
    made = [
        _pairing(found, order[0], other, task)
        for other in order[1:]
        for task in found.tasks
        if task in found.results[other]
    ]
    adjusted = holm([pairing.p for pairing in made])
    return [replace(pairing, adjusted=p) for pairing, p in zip(made, adjusted, strict=True)]


def _pairing(found: Benched, first: str, second: str, task: str) -> Pairing:
    one, two = found.results[first][task], found.results[second][task]
    both = one.fell.keys() & two.fell.keys()
    only_first = sum(two.fell[s] and not one.fell[s] for s in both)
    only_second = sum(one.fell[s] and not two.fell[s] for s in both)
    differences = {}
    for metric in COMPARED:
        a, b = one.values(metric), two.values(metric)
        seeds = sorted(a.keys() & b.keys())
        if len(seeds) >= LEAST_COUNT:
            before, after = np.array([a[s] for s in seeds]), np.array([b[s] for s in seeds])
            differences[metric] = paired_difference(before, after)
    p = mcnemar(only_first, only_second)
    return Pairing(first, second, task, only_first, only_second, p, p, differences)


def margins(found: Benched, name: str) -> dict[str, float]:
    """Level of each ladder at which half of the episodes fall, interpolated.

    Infinite: more than half stay up on every level, or no two levels differ.
    """
    ladders: dict[str, list[tuple[float, float]]] = {}
    for result in found.results[name].values():
        if result.level.level is not None and result.fell:
            rate = success([result]).value
            ladders.setdefault(result.level.task.name, []).append((result.level.level, rate))
    return {task: _crossing(points) for task, points in ladders.items()}


def _crossing(points: list[tuple[float, float]]) -> float:
    for (level, rate), (other, lower) in pairwise(points):
        if rate >= 0.5 > lower:
            return level + (rate - 0.5) / (rate - lower) * (other - level)
    return math.inf if points[0][1] >= 0.5 else points[0][0]


def worst_seeds(found: Benched, name: str, count: int = 3) -> list[tuple[str, int, float]]:
    """Task, seed and survival of the earliest falls."""
    falls = [
        (task, row.seed, row.metrics.get("survival", 0.0))
        for task, result in found.results[name].items()
        for row in result.rows
        if result.fell.get(row.seed)
    ]
    return sorted(falls, key=lambda fall: fall[2])[:count]


def falls_everywhere(found: Benched, name: str) -> bool:
    """Whether a policy falls so often that its set-up is the likely reason."""
    rate = success(found.results[name].values()).value
    return not rate > 1.0 - FALLS_EVERYWHERE


__all__ = ["METRICS", "LeaderboardRow", "leaderboard", "mean_of", "pairings", "success"]
