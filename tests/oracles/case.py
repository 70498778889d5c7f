"""One frozen result: its name, the function that computes it, and how exactly it must agree."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.oracles.comparing import (
    TOLERANCE,
    Differences,
    Result,
    data_differences,
    separate,
    text_differences,
)
from tests.oracles.workspace import Workspace

EXPECTED = Path(__file__).resolve().parent / "expected"
DATA, TEXTS = EXPECTED / "data", EXPECTED / "texts"
Compute = Callable[[Workspace], Any]
CASES: dict[str, "Case"] = {}


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        rel: relative tolerance of numbers; larger where contacts or a search amplify rounding.
        shared: whether it needs ../shared.
        long: whether it runs in `make campaign` only.
    """

    name: str
    compute: Compute
    rel: float = TOLERANCE
    shared: bool = False
    long: bool = False

    def result(self) -> Result:
        """Compute it in a temporary folder; as it would be read from JSON."""
        with TemporaryDirectory(prefix="oracle-") as folder:
            # Some messages name the last folders of a path: they must not be random.
            value = self.compute(Workspace(Path(folder) / "work"))
        result = separate(value)
        return Result(*(json.loads(json.dumps(part)) for part in (result.data, result.texts)))

    def compare(self, result: Result, *, exact: bool = False) -> Differences:
        """How a result differs from the expected one."""
        differences = Differences()
        if not self._path(DATA).exists():
            hint = f"run python -m tests.oracles --write {self.name}"
            return Differences([f"{self.name} has no expected data; {hint}"])
        expected = _read(self._path(DATA))
        differences.data.extend(data_differences(expected, result.data, exact=exact, rel=self.rel))
        texts = _read(self._path(TEXTS)) if self._path(TEXTS).exists() else {}
        text_differences(texts, result.texts, differences, exact=exact or self.rel <= TOLERANCE)
        return differences

    def write_data(self, data: Any) -> None:
        """Replace the expected data."""
        _write(self._path(DATA), data)

    def write_texts(self, texts: Any) -> None:
        """Replace the expected texts; a case without texts has no such file."""
        if texts:
            _write(self._path(TEXTS), texts)
        else:
            self._path(TEXTS).unlink(missing_ok=True)

    def _path(self, folder: Path) -> Path:
        return folder / f"{self.name}.json"


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def case(
    *, rel: float = TOLERANCE, shared: bool = False, long: bool = False
) -> Callable[[Compute], Compute]:
    """Add a function to the cases, under its own name."""

    def add(compute: Compute) -> Compute:
        name = compute.__name__
        assert name not in CASES, name
        CASES[name] = Case(name, compute, rel, shared, long)
        return compute

    return add
