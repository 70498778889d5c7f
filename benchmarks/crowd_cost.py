"""Cost of many actors: single-joint robots with a PD controller each, 10 to 500 in one world.

Each number of actors runs in a separate process. `step(1)` and `step(20)` are ratios to the bare
`mj_step` loop on the same model, interleaved; `mixed` is step(1) with one of the controllers in
Python. The next four columns are CPU time, which other processes disturb less than wall time.
`scene` adds the actors to a scene one by one, `loaded` reads the same scene from its file, and
`world` builds it. `MuJoCo` reads, attaches and compiles the same models without mjrig. Memory is
the increase over a process that only imports mjrig. Twice the actors should need twice the time
and memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mujoco

import mjrig
from benchmarks.memory_cost import peak
from benchmarks.step_cost import cost
from mjrig.components import PDController

COUNTS = (10, 50, 150, 500)
#: Bars: step(1) relative to the bare step, and CPU seconds until the world of 500 actors is built.
STEP_BAR, BUILD_BAR = 1.4, 2.5
MODEL = """
<mujoco model="swing">
  <worldbody>
    <body name="link">
      <joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="hinge" joint="hinge" ctrlrange="-20 20"/></actuator>
</mujoco>
"""


def scene_of(count: int, model: Path) -> mjrig.Scene:
    """A scene of that many robots, side by side."""
    scene = mjrig.Scene()
    for i in range(count):
        actor = scene.add_actor(f"robot{i}", model=model)
        actor.pose = mjrig.Pose(position=[2.0 * (i % 50), 2.0 * (i // 50), 0.5])
        actor.add_component(PDController(kp=40.0, kv=1.0))
    return scene


def bare_build(count: int, model: Path) -> None:
    """The same models in one world, without mjrig."""
    world = mujoco.MjSpec()
    for i in range(count):
        frame = world.worldbody.add_frame(pos=[2.0 * (i % 50), 2.0 * (i // 50), 0.5])
        world.attach(mujoco.MjSpec.from_file(str(model)), prefix=f"robot{i}/", frame=frame)
    world.compile()


def measure(count: int, execution: str, model: Path) -> dict[str, float]:
    """All figures of one number of actors, in this process."""
    empty = peak()
    times = [time.process_time()]
    scene = scene_of(count, model)
    times.append(time.process_time())
    world = mjrig.World(scene, execution)
    times.append(time.process_time())
    world.step(10)
    memory = peak() - empty
    scene.save(model.with_suffix(".yaml"))
    times.append(time.process_time())
    mjrig.Scene.load(model.with_suffix(".yaml"))
    times.append(time.process_time())
    bare_build(count, model)
    times.append(time.process_time())
    rounds = max(20, 3000 // count)
    bare, (single,) = cost(world, 1, rounds, 40)
    _, (chunk,) = cost(world, 20, rounds, 40)
    robot = world["robot0"]
    robot.remove_component(robot.components[0])
    robot.add_component(PDController(kp=40.0, kv=1.0))
    _, (mixed,) = cost(world, 1, rounds, 40)
    return {
        "bare": bare * 1e6,
        "step(1)": single,
        "step(20)": chunk,
        "mixed": mixed,
        "scene": times[1] - times[0],
        "world": times[2] - times[1],
        "loaded": times[4] - times[3],
        "MuJoCo": times[5] - times[4],
        "MB": memory,
    }


def main() -> None:
    """Print one line per number of actors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execution", default="auto")
    parser.add_argument("--count", type=int, nargs="*", default=list(COUNTS))
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model is not None:
        print(json.dumps(measure(options.count[0], options.execution, options.model)))
        return
    print("actors  bare step  step(1) step(20)  mixed   scene   loaded    world   MuJoCo      MB")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "swing.xml"
        model.write_text(MODEL, encoding="utf-8")
        for count in options.count:
            command = [sys.executable, "-m", "benchmarks.crowd_cost", "--count", str(count)]
            command += ["--execution", options.execution, "--model", str(model)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            row = json.loads(done.stdout.splitlines()[-1])
            missed = row["step(1)"] > STEP_BAR or row["scene"] + row["world"] > BUILD_BAR
            print(
                f"{count:6} {row['bare']:7.1f} µs {row['step(1)']:8.3f} {row['step(20)']:8.3f}"
                f" {row['mixed']:6.3f} {row['scene']:6.2f} s {row['loaded']:6.2f} s"
                f" {row['world']:6.2f} s {row['MuJoCo']:6.2f} s {row['MB']:7.1f}"
                f"{'  MISSED' if missed and options.execution == 'auto' else ''}",
                flush=True,
            )
    print(f"bars for auto: step(1) {STEP_BAR}, scene and world together {BUILD_BAR} s")


if __name__ == "__main__":
    main()
