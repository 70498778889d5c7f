"""What mjrig finds on this machine: versions, extras, drawing, displays, helpers of the system."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata

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
