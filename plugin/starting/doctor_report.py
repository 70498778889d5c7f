"""What `mjrig doctor` prints: a table of what is there, and how to get what is not."""

from collections.abc import Iterator

from mjrig.starting.doctor import NAME, PROGRAMS, Extra, Installation
from mjrig.terminal.table import format_table

#: Extras that only a checkout has a use for.
FOR_DEVELOPERS = ("dev", "docs")
#: What each extra is for.
PURPOSE = {
    "bridge": "mjrig serve: DDS, ZMQ and WebSocket",
    "cluster": "sweeps on Dask",
    "dev": "working on mjrig itself",
    "docs": "the documentation site",
    "editor": "the editor, on a desktop or in a browser",
    "fast": "compiled execution",
    "gym": "scenes as Gymnasium environments",
    "logs": "logs of real robots",
    "menagerie": "menagerie: models",
    "meshes": ".dae, .glb and .ply meshes",
    "parquet": "tables as Parquet",
    "plot": "plots as files",
    "policy": "ONNX policies",
    "record": "HDF5 recordings",
    "stream": "--stream: signals to Foxglove and Rerun",
    "tune": "mjrig optimise",
    "video": "videos",
    "warp": "sweeps on MuJoCo Warp",
}


def doctor_report(found: Installation) -> str:
    """The whole report."""
    lines = [f"{name} {version or 'missing'}" for name, version in found.versions.items()]
    lines += ["", *format_table(("extra", "for", "state"), [_row(e) for e in found.extras])]
    lines += ["", *_drawing(found), *_programs(found)]
    lines += ["", *_advice(found)]
    return "\n".join(lines)


def _row(extra: Extra) -> tuple[str, str, str]:
    missing = ", ".join(extra.missing)
    return extra.name, PURPOSE.get(extra.name, ""), f"without {missing}" if missing else "installed"


def _drawing(found: Installation) -> Iterator[str]:
    for drawing in found.drawings:
        yield f"pictures with {drawing.backend}: {drawing.problem or 'drawn'}"
    yield f"display: {found.display or 'none; mjrig edit --web shows the editor in a browser'}"


def _programs(found: Installation) -> Iterator[str]:
    for name, path in found.programs.items():
        yield f"{name}: {path or f'not found (for {PROGRAMS[name]})'}"


def _advice(found: Installation) -> Iterator[str]:
    """How to get what is missing; one line says so if nothing is."""
    count = 0
    for extra in found.extras:
        if extra.missing and extra.name not in FOR_DEVELOPERS:
            count += 1
            yield f'{extra.name}: pip install "{NAME}[{extra.name}]"'
    if not found.draws:
        count += 1
        yield "pictures: install a GL driver; on Debian and Ubuntu: apt install libegl1 libosmesa6"
    if not count:
        yield "nothing is missing"
