"""The example scenes that come with mjrig, with what they show in a sentence."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

#: Scenes whose names begin so are for measurements.
_BENCHMARK = "bench_"


@dataclass(frozen=True)
class Example:
    """One scene: its file, its name in words, and the comment at the top of the file."""

    path: Path
    title: str
    about: str


def examples() -> list[Example]:
    """All of them, the one that moves by itself first."""
    folder = Path(str(files("mjrig.config"))) / "scenes"
    paths = [p for p in sorted(folder.glob("*.yaml")) if not p.name.startswith(_BENCHMARK)]
    found = [Example(p, p.stem.replace("_", " "), _heading(p)) for p in paths]
    return sorted(found, key=lambda example: "trot" not in example.title)


def _heading(path: Path) -> str:
    """The comment a file begins with."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").strip())
    return " ".join(" ".join(lines).split())
