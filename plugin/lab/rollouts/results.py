"""Results of experiments: the objective, and the table on disk, which a run resumes from.

A folder holds `results.csv` and `sweep.json`, the inputs of its results. Every line is written in
one piece as results arrive, so a kill can tear only the last line; a torn line is dropped when the
table is read again to resume.
"""

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from mjrig.core.attributes import CheckedAttributes
from mjrig.core.errors import MissingExtraError, MjrigError, PropertyError
from mjrig.core.files.atomic_writes import cannot_be_written, whole_file, write_atomically
from mjrig.core.names import how_many, listed, suggestion
from mjrig.lab.rollouts.experiment import OK, Engine, Rollout, Variation

# Objective ----------------------------------------------------------------------------------------
# Objective to minimise: a metric, or a weighted sum of metrics.


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


# Results ------------------------------------------------------------------------------------------
# The table of a sweep: one line per task, written as results arrive, read again to resume.
#
# A folder holds `results.csv` and `sweep.json`, the inputs of its results. Every line is
# written in one piece, so a kill can tear the last one at most; a torn line is cut off.


TABLE, ABOUT = "results.csv", "sweep.json"
_BEFORE, _AFTER = ("task", "seed"), ("seconds", "engine", "status", "error")
#: What a folder that does not say so was computed by.
_ENGINE = str(Engine.MUJOCO)


@dataclass(frozen=True)
class SweepRow:
    """One line of the table; no metrics where the task failed.

    `engine` is what computed it, and the width of its numbers.
    """

    task: str
    seed: int
    values: Mapping[str, Any]
    metrics: Mapping[str, float]
    seconds: float
    status: str
    error: str = ""
    engine: str = _ENGINE


@dataclass(frozen=True)
class Ranked:
    """A point with the mean of its objective over the seeds; infinite if one failed."""

    values: Mapping[str, Any]
    score: float
    rows: tuple[SweepRow, ...]

    def mean(self, metric: str) -> float:
        """The mean of a metric over the seeds."""
        found = [row.metrics[metric] for row in self.rows if metric in row.metrics]
        return float(np.mean(found)) if found else math.nan


class Results(CheckedAttributes):
    """Rows by task, at most one each."""

    parameters: Final[tuple[str, ...]]
    metrics: Final[tuple[str, ...]]

    def __init__(self, parameters: Sequence[str], metrics: Sequence[str]) -> None:
        self.parameters, self.metrics = tuple(parameters), tuple(metrics)
        self._rows: dict[str, SweepRow] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, task: str) -> bool:
        return task in self._rows

    def __iter__(self) -> Iterator[SweepRow]:
        return iter(self._rows.values())

    def add(self, rollout: Rollout) -> bool:
        """Add a rollout; false: its variation has one already, which stays."""
        variation = rollout.variation
        if variation.id in self._rows:
            return False
        self._rows[variation.id] = SweepRow(
            variation.id,
            variation.seed,
            dict(variation.values),
            dict(rollout.metrics),
            rollout.seconds,
            rollout.status,
            rollout.error,
            str(rollout.engine),
        )
        return True

    def rollout(self, variation: Variation) -> Rollout:
        """The rollout of a variation that has a row; traces are not in the table."""
        row = self._rows[variation.id]
        engine = next(engine for engine in Engine if str(engine) == row.engine)
        return Rollout(variation, row.status, row.metrics, row.seconds, row.error, engine)

    def only(self, tasks: Iterable[str]) -> "Results":
        """The rows of some tasks, in their order."""
        found = Results(self.parameters, self.metrics)
        found._rows = {task: self._rows[task] for task in tasks if task in self._rows}
        return found

    def ranking(self, objective: Objective) -> list[Ranked]:
        """The points, best first; those that failed last."""
        points: dict[str, list[SweepRow]] = {}
        for row in self:
            points.setdefault(json.dumps(dict(row.values), default=str), []).append(row)
        ranked = [
            Ranked(
                rows[0].values,
                float(np.mean([_score(objective, row) for row in rows])),
                tuple(rows),
            )
            for rows in points.values()
        ]
        return sorted(ranked, key=lambda r: r.score)

    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return (*_BEFORE, *self.parameters, *self.metrics, *_AFTER)

    def write_parquet(self, path: Path) -> None:
        """Write all rows as Parquet; non-numeric values as JSON.

        Raises:
            MissingExtraError: pyarrow is not installed.
            MjrigError: the file cannot be written.
        """
        try:
            from pyarrow import parquet, table
        except ImportError as error:
            raise MissingExtraError("a Parquet table", "parquet", error) from error
        rows = list(self)
        data: dict[str, list[Any]] = {
            "task": [r.task for r in rows],
            "seed": [r.seed for r in rows],
        }
        for name in self.parameters:
            values = [r.values[name] for r in rows]
            plain = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
            data[name] = [float(v) for v in values] if plain else [json.dumps(v) for v in values]
        data |= {name: [r.metrics.get(name) for r in rows] for name in self.metrics}
        data |= {name: [getattr(r, name) for r in rows] for name in _AFTER}
        with whole_file(path) as file:
            parquet.write_table(table(data), file)


def _score(objective: Objective, row: SweepRow) -> float:
    return objective.value(row.metrics) if row.status == OK else math.inf


class ResultsFile(Results):
    """Results in a folder; a context manager that locks the folder.

    Raises:
        MjrigError: the folder cannot be written, another process writes there, or it holds
            results of something else and `mix` is not given.
    """

    folder: Final[Path]
    path: Final[Path]

    def __init__(
        self,
        folder: Path,
        parameters: Sequence[str],
        metrics: Sequence[str],
        about: Mapping[str, object],
        *,
        mix: bool = False,
    ) -> None:
        super().__init__(parameters, metrics)
        self._is_old = False  # its table has no column for the engine
        self.folder, self._about, self._mix = folder, dict(about), mix
        self.path = folder / TABLE

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "ab", buffering=0)  # closed by __exit__
        except OSError as error:
            raise MjrigError(f"{self.path}: cannot be written: {error.strerror}") from error
        try:
            self._lock()
            self._check_about()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, rollout: Rollout) -> bool:
        if not super().add(rollout):
            return False
        self._write(self._line(self._rows[rollout.variation.id]))
        return True

    def _write(self, line: str) -> None:
        """Hand a line to the operating system, so that a kill does not lose it; all or nothing."""
        left, size = line.encode(), os.fstat(self._file.fileno()).st_size
        with cannot_be_written(self.path, "; finished tasks are kept, run it again to resume"):
            try:
                while left:
                    left = left[self._file.write(left) or 0 :]
            except OSError:
                self._file.truncate(size)
                raise

    def _line(self, row: SweepRow) -> str:
        values = [_said(row.values[name]) for name in self.parameters]
        numbers = [repr(row.metrics[n]) if n in row.metrics else "" for n in self.metrics]
        error = " ".join(row.error.split())
        engine = [] if self._is_old else [row.engine]
        after = [f"{row.seconds:.6f}", *engine, row.status, error]
        return _csv([row.task, row.seed, *values, *numbers, *after])

    def columns(self) -> tuple[str, ...]:
        return tuple(c for c in super().columns() if not (self._is_old and c == "engine"))

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on every system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MjrigError(f"{self.path}: another process is writing to it") from None

    def _check_about(self) -> None:
        path = self.folder / ABOUT
        try:
            known = json.loads(path.read_text("utf-8")) if path.is_file() else None
        except (OSError, ValueError):
            known = {}
        if known is None:
            with cannot_be_written(path):
                text = json.dumps(self._about, indent=2, ensure_ascii=False)
                write_atomically(path, f"{text}\n")
            return
        if isinstance(known, dict) and known:
            known.setdefault("engine", _ENGINE)
        said = json.loads(json.dumps(self._about))
        differ = [name for name, value in said.items() if known.get(name) != value]
        if differ and not self._mix:
            raise MjrigError(
                f"{self.folder}: holds results of something else: {listed(differ)} "
                "changed; choose another folder, or mix them on purpose with --mix"
            )

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):  # the last line was torn by a kill
            self._file.truncate(len(whole))
        lines = list(csv.reader(io.StringIO(whole.decode("utf-8", "replace"))))
        if not lines:
            self._write(_csv(self.columns()))
            return
        self._is_old = "engine" not in lines[0] and self._about.get("engine", _ENGINE) == _ENGINE
        if lines[0] != list(self.columns()):
            raise MjrigError(
                f"{self.path}: has the columns {listed(lines[0])}; these results have "
                f"{listed(self.columns())}; choose another folder"
            )
        for number, line in enumerate(lines[1:], 2):
            row = self._row(line, number)
            self._rows.setdefault(row.task, row)

    def _row(self, line: list[str], number: int) -> SweepRow:
        if len(line) != len(self.columns()):
            raise MjrigError(
                f"{self.path}:{number}: has {how_many(len(line), 'column')} instead of "
                f"{len(self.columns())}; remove the line, its task runs again"
            )
        by_name = dict(zip(self.columns(), line, strict=True))
        try:
            return SweepRow(
                by_name["task"],
                int(by_name["seed"]),
                {name: json.loads(by_name[name]) for name in self.parameters},
                {name: float(by_name[name]) for name in self.metrics if by_name[name]},
                float(by_name["seconds"]),
                by_name["status"],
                by_name["error"],
                by_name.get("engine", _ENGINE),
            )
        except ValueError as error:
            raise MjrigError(
                f"{self.path}:{number}: {error}; remove the line, its task runs again"
            ) from None


def _said(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _csv(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
