"""Worker process that replays a recording or policy on a copy of the scene.

Run as a file, not as a module: the editor's package would bring a window library with it. A job is
a dictionary with `scene` (text), `base`, `name`, `execution`, `source`, `settings` and `report`,
the folder the report goes to; the answer is the report and its findings, or why there is none.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.processes.child_process import serve
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.editor.text import error_text
from mjrig.lab.replay.result import described, write_report
from mjrig.lab.replay.runner import replay
from mjrig.lab.report.content import Plots


def work(job: dict[str, Any], tell: Callable[[object], None]) -> None:
    """Replay, and answer the report without figures and its findings, or why it failed."""
    try:
        trusted = [Path(folder) for folder in job["trusted"]]
        scene = Scene.parse(job["scene"], job["base"], trust=trusted)
        world = World(scene, job["execution"])
        result = replay(Path(job["source"]), world, **job["settings"])
        result.scene = job["name"]
        write_report(result, Path(job["report"]))
    except MjrigError as error:
        tell(error_text(error))
        return
    report = described(result)
    sections = [s for s in report.sections if not isinstance(s, Plots)]  # long; on the page
    tell((replace(report, sections=sections, data={}), result.diagnosis))


if __name__ == "__main__":
    serve(work)
