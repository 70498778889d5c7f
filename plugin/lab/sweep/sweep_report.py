"""Report of a sweep or a search: the best points, and the objective over each parameter."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.properties.declaration import number
from mjrig.lab.report.content import (
    BAD,
    BLUE,
    FAIR,
    GOOD,
    Plots,
    Report,
    ReportColumn,
    ReportCurves,
    ReportTable,
    ReportText,
    Series,
)
from mjrig.lab.rollouts.metrics import metric
from mjrig.lab.rollouts.results import Ranked
from mjrig.lab.sweep.results_plot import PlotAxis, varying, worked
from mjrig.lab.sweep.seed_statistics import wilson

#: Points that are listed in a terminal.
SHOWN = 5
#: Ratios that are shown as percentages.
PERCENT = ("overshoot", "saturation")


def described(
    title: str,
    ranking: Sequence[Ranked],
    names: Sequence[str],
    metrics: Sequence[str],
    objective: str,
    facts: Iterable[tuple[str, str]] = (),
    files: Sequence[str] = (),
) -> Report:
    """The ranking, best first, and the objective over each parameter that varies.

    Args:
        title: what was examined.
        ranking: of the points.
        names: property paths that differ between points.
        metrics: names of the metrics of the scenario.
        objective: what was minimised, as it was written.
        facts: about the whole.
        files: what was written, one line each.
    """
    failed = sum(row.status != "ok" for ranked in ranking for row in ranked.rows)
    best = ranking[0].score if ranking else math.inf
    is_successful = math.isfinite(best)
    verdict = f"best {objective} {best:.6g}" if is_successful else "no point succeeded"
    return Report(
        title,
        f"{verdict}, {failed} failed" if failed else verdict,
        BAD if not is_successful else FAIR if failed else GOOD,
        list(facts),
        [
            ranking_table(ranking, names, metrics),
            Plots(title="objective", figures=_curves(ranking, names, objective)),
            ReportText(title="files", lines=files),
        ],
        {
            "objective": objective,
            "points": [
                {
                    "values": dict(ranked.values),
                    "objective": ranked.score,
                    "metrics": {name: ranked.mean(name) for name in metrics},
                    "runs": len(ranked.rows),
                    "failed": sum(row.status != "ok" for row in ranked.rows),
                }
                for ranked in ranking
            ],
            "facts": dict(facts),
            "files": list(files),
        },
    )


def ranking_table(
    ranking: Sequence[Ranked], names: Sequence[str], metrics: Sequence[str]
) -> ReportTable:
    """One row per point: its values, its objective, and the means of its metrics."""
    return ReportTable(
        title="best points",
        columns=[
            *(ReportColumn(name, form="") for name in (*names, "objective")),
            *(ReportColumn(name, _unit(name), ".4g") for name in metrics),
        ],
        rows=[
            (
                *(_text(ranked.values[name]) for name in names),
                f"{ranked.score:.6g}" if math.isfinite(ranked.score) else "failed",
                *(_mean(ranked, name) for name in metrics),
            )
            for ranked in ranking
        ],
        shown=SHOWN,
    )


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _unit(name: str) -> str:
    try:
        return "%" if name in PERCENT else metric(name).unit
    except PropertyError:  # of a scenario outside of mjrig
        return ""


def _mean(ranked: Ranked, name: str) -> object:
    """The mean of a metric; a rate of falls over several seeds with its 95 % interval."""
    fell = [row.metrics["fell"] for row in ranked.rows if "fell" in row.metrics]
    if name == "fell" and len(fell) > 1:
        return str(wilson(round(sum(fell)), len(fell)))
    return ranked.mean(name) * (100.0 if name in PERCENT else 1.0)


def _curves(ranking: Sequence[Ranked], names: Sequence[str], objective: str) -> list[ReportCurves]:
    """The best objective at each value of a numeric parameter, or in each cell of its range."""
    if not any(math.isfinite(ranked.score) for ranked in ranking):
        return []
    shown, figures = worked(ranking), []
    for name in varying(ranking, names):
        values = [number(ranked.values[name]) for ranked in shown]
        if any(value is None for value in values):
            continue
        x = np.array(values, float)
        cells = np.array(PlotAxis(values).places)
        scores = np.array([ranked.score for ranked in shown])
        best = [int(np.flatnonzero(cells == cell)[scores[cells == cell].argmin()])
                for cell in np.unique(cells)]  # fmt: skip
        order = sorted(best, key=lambda i: x[i])
        series = [Series("best", BLUE, x[order], scores[order])]
        figures.append(ReportCurves(f"best {objective} over {name}", "", series, x_unit=""))
    return figures
