"""Replays a recording or policy on a copy of the scene, in a process of its own.

Run as a file, not as a module: the editor's package would bring a window library with it. The
input is JSON with `scene` (text), `base`, `trusted` (folders), `execution`, `source`, `settings`
and `report`, the folder the report goes to; the output says why it could not be done, or is empty.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mjrig.errors import MjrigError
from mjrig.scene.scene import Scene
from mjrig.sim.world import World
from mjrig.sim2sim.replay import replay
from mjrig.sim2sim.report.report import write_report


def answer(job: dict[str, Any]) -> str:
    """Why it could not be done; empty if it was."""
    try:
        trusted = [Path(folder) for folder in job["trusted"]]
        scene = Scene.parse(job["scene"], job["base"], trust=trusted)
        world = World(scene, job["execution"])
        result = replay(Path(job["source"]), world, **job["settings"])
        result.scene = job["name"]
        write_report(result, Path(job["report"]))
    except MjrigError as error:
        return str(error)
    return ""


def main() -> None:
    """One job, then the end."""
    print(answer(json.load(sys.stdin)), end="", flush=True)


if __name__ == "__main__":
    main()
