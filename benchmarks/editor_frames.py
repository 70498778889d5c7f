"""Cost of the editor: frames per second, real-time factor, the paused window, overhead of `sync`.

The default layout at 1280x720 shows the trotting quadruped at 1 kHz. Without a display the window
opens on a private Xvfb; without that or imgui-bundle the benchmark prints so and ends.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mjrig.core.scene.editing.scene import Scene

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped_trot.yaml"
TIMESTEP = 0.001
#: Frames drawn before anything is measured: fonts, textures and the quality settle.
WARM_UP = 2.0
#: The pointer rests outside of the window while the paused one is measured.
SETTLED = 4.0
ROBOTS = 50
PARTS = {
    "playing": "the default layout, the quadruped trotting at 1 kHz",
    "paused": "the same, paused, without input",
    "many": f"{ROBOTS} quadrupeds, paused",
    "sync": "what `view(world).sync()` costs a script when it does not draw",
}
FPS_BAR, FACTOR_BAR, SYNC_BAR = 25.0, 0.01, 50e-6
#: Share of a core that the paused window may take, and the memory of many robots [bytes].
PAUSED_BAR, MEMORY_BAR = 0.08, 1e9


@contextmanager
def display() -> Iterator[str]:
    """A display to open windows on: the one there is, else an Xvfb; empty if there is neither."""
    if os.environ.get("DISPLAY"):
        yield os.environ["DISPLAY"]
        return
    if shutil.which("Xvfb") is None:
        yield ""
        return
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x720x24"]
    server = subprocess.Popen(
        [*command, "-nolisten", "tcp"], pass_fds=(write,), stderr=subprocess.DEVNULL
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            os.environ["DISPLAY"] = f":{pipe.readline().strip()}"
        yield os.environ["DISPLAY"]
    finally:
        server.terminate()
        server.wait()


def frames(seconds: float) -> None:
    """Open the editor for a while and print its frame rate."""
    from mjrig.editor.main import Editor

    editor = Editor(_trotting())
    window, simulation = editor.window, editor.simulation
    marks: list[tuple[float, float, float]] = []  # wall, simulated and processor time [s]
    began = time.perf_counter()
    each_frame = window.app.frame

    def watched() -> None:
        each_frame()
        now = time.perf_counter()
        if now - began > WARM_UP:
            marks.append((now, simulation.frame.time, time.process_time()))
        if now - began > WARM_UP + seconds:
            window.state.wants_to_close = True

    window.app.frame = watched  # type: ignore[method-assign]
    window.state.session.play()
    editor.run()
    took = [after[0] - before[0] for before, after in pairwise(marks)]
    wall, simulated, busy = (b - a for a, b in zip(marks[0], marks[-1], strict=True))
    slowest = sorted(took)[int(0.95 * len(took))]
    fps = 1.0 / statistics.median(took)
    print(f"  median {fps:.1f} fps, 95 % of the frames within {slowest * 1e3:.0f} ms", end="")
    print(f", {busy / len(took) * 1e3:.0f} ms of processor time a frame", end="")
    print(f", view at {window.quality.scale:.0%}")
    print(f"  {fps / FPS_BAR:.2f} x the bar of {FPS_BAR:g} fps")
    print(f"  real-time factor {simulated / wall:.3f} (bar: 1.00 ± {FACTOR_BAR})")


def paused(seconds: float) -> None:
    """Open the editor for a while, paused, and print what it takes of the processor."""
    busy, wall, _ = _idle(_trotting(), seconds)
    print(f"  {busy / wall:.1%} of a core (bar: {PAUSED_BAR:.0%})")


def many(seconds: float) -> None:
    """Print memory and processor time of a window with many robots."""
    from mjrig.core.properties import registry
    from mjrig.core.properties.component import ActorComponent
    from mjrig.core.scene.editing.scene import Scene

    scene = Scene()
    for i in range(ROBOTS):
        dog = scene.add_actor(
            f"dog{i}",
            model="package:mjrig.assets/quadruped/quadruped.xml",
            keyframe="home",
            scenery=i == 0,
            pose={"position": [i % 10, i // 10, 0]},
        )
        dog.add_component(registry.get("PDController", ActorComponent)())
    busy, wall, memory = _idle(scene, seconds)
    print(f"  {memory / 1e6:.0f} MB (bar: {MEMORY_BAR / 1e6:.0f} MB)", end="")
    print(f", {busy / wall:.1%} of a core (bar: {PAUSED_BAR:.0%})")


def _idle(scene: "Scene", seconds: float) -> tuple[float, float, float]:
    """Processor and wall time [s] of the paused editor, and its memory [bytes]."""
    from mjrig.editor.main import Editor

    editor = Editor(scene)
    window, each_frame = editor.window, editor.window.app.frame
    marks: list[tuple[float, float]] = []
    began: list[float] = []

    def watched() -> None:
        each_frame()
        now = time.perf_counter()
        if not began or window.check.preflight.is_running:  # the first check is over before
            began[:] = [now]
        if now - began[0] > SETTLED:
            marks.append((now, time.process_time()))
        if now - began[0] > SETTLED + seconds:
            window.state.wants_to_close = True

    window.app.frame = watched  # type: ignore[method-assign]
    editor.run()
    wall, busy = (b - a for a, b in zip(marks[0], marks[-1], strict=True))
    return busy, wall, _memory()


def _memory() -> float:
    """Memory that the process holds now [bytes]."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return 1024.0 * float(line.split()[1])
    return float("nan")


def _trotting() -> "Scene":
    from mjrig.core.scene.editing.scene import Scene

    scene = Scene.load(SCENE)
    scene.set("sim.timestep", TIMESTEP)
    return scene


def sync(calls: int) -> None:
    """Print what `sync` costs a script's loop when it does not draw."""
    import mjrig
    import mjrig.editor

    world = mjrig.World(SCENE)
    took: list[float] = []
    with mjrig.editor.view(world) as viewer:
        while len(took) < calls and not viewer.closed:
            world.step()
            start = time.perf_counter()
            drew = viewer.sync()
            if not drew:
                took.append(time.perf_counter() - start)
    cost = statistics.median(took)
    print(f"  {cost * 1e6:.1f} µs, {cost / SYNC_BAR:.2f} x the bar of {SYNC_BAR * 1e6:g} µs")


def main() -> None:
    """Measure in one process per window, so that windows do not affect each other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--part", choices=tuple(PARTS))
    options = parser.parse_args()
    if options.part == "sync":
        sync(2000)
    elif options.part is not None:
        {"playing": frames, "paused": paused, "many": many}[options.part](options.seconds)
    else:
        _all_parts(options.seconds)


def _all_parts(seconds: float) -> None:
    if find_spec("imgui_bundle") is None:
        print("editor: not measured, imgui-bundle is not installed")
        return
    with display() as screen, tempfile.TemporaryDirectory() as settings:
        if not screen:
            print("editor: not measured, there is neither a display nor Xvfb")
            return
        environment = {**os.environ, "XDG_CONFIG_HOME": settings, "XDG_CACHE_HOME": settings}
        for part, what in PARTS.items():
            print(f"editor: {what}", flush=True)
            command = [sys.executable, __file__, "--part", part, "--seconds", str(seconds)]
            subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
