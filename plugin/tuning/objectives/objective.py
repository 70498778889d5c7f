"""Objective to minimise: a metric, or a weighted sum of metrics."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mjrig.errors import PropertyError
from mjrig.names import suggestion

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TERM = re.compile(
    rf"\s*(?P<sign>[+-])?\s*(?:(?P<weight>{_NUMBER})\s*\*\s*)?(?P<name>[A-Za-z_]\w*)\s*"
)


@dataclass(frozen=True)
class Objective:
    """Σ weight · metric, to be minimised; a negative weight maximises its metric.

    `text` is as it was written.
    """

    terms: tuple[tuple[float, str], ...]
    text: str

    @classmethod
    def read(cls, text: str, metrics: Iterable[str]) -> "Objective":
        """Read `rmse`, `rmse + 0.01*effort`, `-travel`.

        Raises:
            PropertyError: it is not such a sum, or a metric is unknown.
        """
        metrics, at = list(metrics), 0
        terms: list[tuple[float, str]] = []
        while at < len(text) or not terms:
            found = _TERM.match(text, at)
            if found is None or (terms and not found["sign"]):
                raise PropertyError(
                    f"{text!r} is not a sum of metrics; write rmse, or rmse + 0.01*effort"
                )
            if found["name"] not in metrics:
                hint = suggestion(found["name"], metrics)
                raise PropertyError(f"unknown metric {found['name']!r}; {hint}")
            weight = float(found["weight"] or 1.0)
            terms.append((-weight if found["sign"] == "-" else weight, found["name"]))
            at = found.end()
        return cls(tuple(terms), text.strip())

    def value(self, metrics: Mapping[str, float]) -> float:
        """The sum; infinite where a metric is missing or NaN."""
        if any(name not in metrics for _, name in self.terms):
            return math.inf
        total = sum(weight * metrics[name] for weight, name in self.terms)
        return total if not math.isnan(total) else math.inf
