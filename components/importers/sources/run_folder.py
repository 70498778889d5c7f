"""Files of a run that belong together: a folder for its files, and what lies beside a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mjrig.errors import SceneError
from mjrig.names import listed

ENV, AGENT, DEPLOY = "env.yaml", "agent.yaml", "deploy.yaml"
_DESCRIPTORS = "*IO_descriptors.yaml"
#: Where the files of a run are, below its folder.
_CONFIGS = (f"params/{ENV}", ENV)
_NETWORKS = ("exported/policy.onnx", "policy.onnx", "exported/policy.pt", "policy.pt")


def expanded(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The files that are meant, and those among them that nobody named.

    A run's folder stands for its files; agent.yaml, deploy.yaml and IO descriptors beside an
    env.yaml are taken too. A folder of another kind is kept as it is.

    Raises:
        SceneError: a folder has several networks to choose from.
    """
    files: list[Path] = []
    for path in paths:
        files += list(_of_folder(path, paths)) if path.is_dir() else [path]
    beside = [near for path in files if path.name == ENV for near in _beside(path)]
    added = [path for path in dict.fromkeys(beside) if not _among(path, files)]
    named = [path for path in files if _among(path, list(paths))]
    return [*files, *added], [path for path in (*files, *added) if path not in named]


def _among(path: Path, others: Sequence[Path]) -> bool:
    return any(path.resolve() == other.resolve() for other in others)


def _of_folder(folder: Path, given: Sequence[Path]) -> Iterator[Path]:
    """The files of a run, or the folder itself where it is none."""
    env = next((folder / name for name in _CONFIGS if (folder / name).is_file()), None)
    if env is None:
        bundles = [p for p in sorted(folder.glob("*.yaml")) if _is_bundle(p)]
        if len(bundles) > 1:
            raise SceneError(f"{folder}: has several bundles: {listed(p.name for p in bundles)}")
        yield from bundles or [folder]
        return
    yield env
    if any(path.suffix.lower() in (".onnx", ".pt") for path in given):
        return
    network = next((folder / name for name in _NETWORKS if (folder / name).is_file()), None)
    if network is not None:
        yield network


def _is_bundle(path: Path) -> bool:
    """Whether a file is the description of a LEAPP bundle, by its top-level keys."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return {"models:", "pipeline:"} <= {line.rstrip() for line in lines}


def _beside(env: Path) -> Iterator[Path]:
    for name in (AGENT, DEPLOY):
        if env.with_name(name).is_file():
            yield env.with_name(name)
    for folder in (env.parent, env.parent.parent / "io_descriptors"):
        found = sorted(folder.glob(_DESCRIPTORS)) if folder.is_dir() else []
        if found:
            yield found[0]
            return
