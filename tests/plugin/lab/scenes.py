"""Small scenes on disk that the tests of tuning share."""

from importlib.resources import files
from pathlib import Path

from mjrig.core.scene.editing.scene import Scene

BUNDLED = Path(str(files("mjrig.config").joinpath("scenes")))
PD = "{type: PDController, kp: 50, kv: 5}"


def write_scene(
    folder: Path,
    xml: str,
    *controllers: str,
    sim: str = "",
    actors: tuple[str, ...] = ("robot",),
) -> Path:
    """A scene file with actors of one model, each with the controllers given as YAML."""
    (folder / "robot.xml").write_text(xml)
    lines = ["mjrig: 1", *([f"sim: {sim}"] if sim else []), "actors:"]
    for name in actors:
        lines += [f"  - name: {name}", "    model: robot.xml  # the same for all"]
        if controllers:
            lines += ["    components:", *(f"      - {c}" for c in controllers)]
    path = folder / "scene.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def scene(folder: Path, xml: str, *controllers: str, sim: str = "") -> Scene:
    """The same, loaded."""
    return Scene.load(write_scene(folder, xml, *controllers, sim=sim))
