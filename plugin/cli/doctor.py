"""`mjrig doctor`: versions, extras, drawing, displays and system helpers, as a table."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata

from mjrig.lab.report.output import format_table

# Doctor -------------------------------------------------------------------------------------------
# What mjrig finds on this machine: versions, extras, drawing, displays, helpers of the system.


NAME = "mjrig"
#: Programs that a feature needs, and what for.
PROGRAMS = {
    "git": "menagerie: models",
    "Xvfb": "window tests without a screen",
    "chromium": "browser tests",
}
#: How long drawing a first picture may take before it counts as broken [s].
PATIENCE = 60.0
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)\s*([^;\[]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
#: Drawn in a process of its own: a broken driver ends that one.
_DRAW = """
import mujoco
spec = mujoco.MjSpec()
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
model = spec.compile()
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 32, 32) as renderer:
    renderer.update_scene(data)
    seen = renderer.render()
assert seen.max() > 0, "the picture is black"
"""


@dataclass(frozen=True)
class Package:
    """A package mjrig can use; `version` empty: not installed."""

    name: str
    wanted: str
    version: str


@dataclass(frozen=True)
class Extra:
    """One of mjrig's extras and its packages."""

    name: str
    packages: tuple[Package, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Packages of it that are not installed."""
        return tuple(p.name for p in self.packages if not p.version)


@dataclass(frozen=True)
class DrawingTest:
    """Whether MuJoCo draws without a window with one backend; `problem` empty: it does."""

    backend: str
    problem: str


@dataclass(frozen=True)
class Installation:
    """Everything that was found."""

    versions: Mapping[str, str]
    extras: tuple[Extra, ...]
    drawings: tuple[DrawingTest, ...]
    display: str
    programs: Mapping[str, str]

    @property
    def draws(self) -> bool:
        """Whether pictures can be made."""
        return any(not d.problem for d in self.drawings)

    def as_data(self) -> dict[str, object]:
        """The same as plain data."""
        return {**asdict(self), "draws": self.draws}


def diagnose() -> Installation:
    """Look at what is installed, and try to draw."""
    return Installation(
        versions=dict(_versions()),
        extras=tuple(_extras()),
        drawings=tuple(_drawings()),
        display=_display(),
        programs={name: shutil.which(name) or "" for name in PROGRAMS},
    )


def _versions() -> Iterator[tuple[str, str]]:
    yield "Python", platform.python_version()
    yield "system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    for name in (NAME, *(n for n, _, extra in _requirements() if not extra)):
        yield name, _version(name)


def _extras() -> Iterator[Extra]:
    """The extras of the installed distribution, but those that only collect others."""
    found: dict[str, list[Package]] = {}
    for name, wanted, extra in _requirements():
        if extra and name.lower() != NAME:
            found.setdefault(extra, []).append(Package(name, wanted, _version(name)))
    for extra, packages in sorted(found.items()):
        yield Extra(extra, tuple(packages))


def _requirements() -> Iterator[tuple[str, str, str]]:
    """Name, wanted versions and extra of everything the distribution names."""
    for line in metadata.requires(NAME) or ():
        if match := _REQUIREMENT.match(line):
            extra = _EXTRA.search(line)
            yield match[1], match[2].strip(" ()"), extra[1] if extra else ""


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _display() -> str:
    """Where a window would open; empty: nowhere."""
    if sys.platform in ("darwin", "win32"):
        return "the desktop"
    return os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or ""


def _drawings() -> Iterator[DrawingTest]:
    """One try per way MuJoCo can draw on this system."""
    chosen = os.environ.get("MUJOCO_GL", "")
    backends = ("egl", "osmesa") if sys.platform.startswith("linux") else ("",)
    for backend in (chosen,) if chosen else backends:
        yield DrawingTest(backend or "the system's", _drawn_with(backend))


def _drawn_with(backend: str) -> str:
    """What is wrong with a backend; empty: a picture was drawn."""
    environment = dict(os.environ)
    if backend:
        environment |= {"MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _DRAW],
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no picture within {PATIENCE:g} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(" ")]
    return lines[-1] if lines else f"ended with code {done.returncode}"


# Doctor report ------------------------------------------------------------------------------------
# What `mjrig doctor` prints: a table of what is there, and how to get what is not.


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
