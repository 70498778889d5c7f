"""Cost and accuracy of fitting 12 joints of a quadruped.

Suspended, kp, kv and delay are fitted to 4 s of its motion at 1 kHz, and five parameters of each
joint to 20 s at 500 Hz; trotting, to 1.5 s of its efforts. `--only 20` runs those whose names hold
that.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.identification import Fit, fit

SCENES = Path(__file__).parent.parent / "config" / "scenes"
CONTROLLER = "quadruped.PDController"
PARAMETERS = ["kp", "kv", "delay"]
FIVE = [*PARAMETERS, "armature", "frictionloss"]
#: Noise of positions, velocities and efforts [rad, rad/s, N·m].
NOISE = (1e-3, 2e-2, 0.1)


def truth() -> dict[str, FloatArray]:
    """The robot's parameters, which the scene does not have."""
    random = np.random.default_rng(0)
    return {
        "kp": random.uniform(120, 240, 12),
        "kv": random.uniform(4, 6, 12),
        "delay": random.integers(0, 4, 12).astype(float),
        "armature": random.uniform(0.01, 0.03, 12),
        "frictionloss": random.uniform(0.2, 0.8, 12),
    }


def suspended(timestep: float) -> mjrig.Scene:
    """The quadruped with its trunk held."""
    scene = mjrig.Scene.load(SCENES / "quadruped.yaml")
    scene.set("quadruped.base", "fixed")
    scene.set("sim.contact", False)
    scene.set("sim.timestep", timestep)
    return scene


def main() -> None:
    """Print one line per fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="fits whose names contain this")
    options = parser.parse_args()
    true = truth()
    three = {name: true[name] for name in PARAMETERS}
    if options.only in (name := "suspended, 4 s of motion"):
        scene = suspended(0.001)
        print_fit(name, scene, record(scene, three, 0.0, 4.0, chirp=True), three, "60")
    if options.only in (name := "suspended, 20 s of motion at 500 Hz"):
        scene = suspended(0.002)
        print_fit(name, scene, record(scene, true, 0.0, 20.0, chirp=True), true, "60")
    if options.only in (name := "trotting, 1.5 s of efforts"):
        scene = mjrig.Scene.load(SCENES / "quadruped_trot.yaml")
        print_fit(name, scene, record(scene, three, 0.5, 1.5, chirp=False), three, "none")


def record(
    scene: mjrig.Scene,
    true: dict[str, FloatArray],
    start: float,
    duration: float,
    *,
    chirp: bool,
    seed: int = 1,
) -> mjrig.Recording:
    """What a robot with other parameters does, measured with noise."""
    other = mjrig.Scene.parse(scene.to_text(), scene.base)
    other.set(f"{CONTROLLER}.kp", true["kp"].tolist())
    other.set(f"{CONTROLLER}.kv", true["kv"].tolist())
    other.set(f"{CONTROLLER}.delay", {"steps": true["delay"].tolist()})
    joints = mjrig.World(scene)["quadruped"].controllers[0].bindings
    for name in ("armature", "frictionloss"):
        if name in true:
            values = {b.joint: v for b, v in zip(joints, true[name].tolist(), strict=True)}
            other.set(f"quadruped.dynamics.{name}", values)
    world = mjrig.World(other)
    robot = world["quadruped"]
    world.step(round(start / world.timestep))
    home, phases = robot.setpoints.position.copy(), np.arange(12)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fit.h5"
        with mjrig.Recorder(world, path):
            for _ in range(round(duration / world.timestep)):
                if chirp:  # from 0.5 Hz to 8 Hz
                    cycles = (0.5 + 3.75 * world.time / duration) * world.time
                    swing = np.sin(2.0 * np.pi * cycles + phases) - np.sin(phases)
                    robot.setpoints.position[:] = home + 0.15 * swing
                world.step()
        return measured(mjrig.read_recording(path), seed)


def measured(recording: mjrig.Recording, seed: int = 1) -> mjrig.Recording:
    """The same with noise in joints and efforts, and no efforts before clamps."""
    random = np.random.default_rng(seed)
    share = recording.actors["quadruped"]
    assert share.efforts is not None
    assert share.qvel is not None
    qpos, qvel, effort = (x.copy() for x in (share.qpos, share.qvel, share.efforts.effort))
    qpos[:, -12:] += NOISE[0] * random.normal(size=(len(qpos), 12))
    qvel[:, -12:] += NOISE[1] * random.normal(size=(len(qvel), 12))
    effort += NOISE[2] * random.normal(size=effort.shape)
    efforts = replace(share.efforts, effort=effort, raw=None)
    noisy = replace(share, qpos=qpos, qvel=qvel, efforts=efforts)
    return replace(recording, actors={"quadruped": noisy})


def print_fit(
    what: str,
    scene: mjrig.Scene,
    recording: mjrig.Recording,
    true: dict[str, FloatArray],
    bar: str,
) -> None:
    """Fit, and print one line."""
    began = time.process_time()
    found = fit(scene, [recording], list(true))
    cpu = time.process_time() - began
    errors, unknown = errors_of(found, true)
    said = [f"{name} {100 * max(own):.2f} %" for name, own in errors.items() if name != "delay"]
    wrong = int(np.count_nonzero(errors["delay"]))
    print(
        f"12 joints {what}: {found.seconds:.1f} s, {cpu:.1f} s of CPU (bar: {bar} s on two cores); "
        f"largest errors: {', '.join(said)}; {wrong} of {len(errors['delay'])} delays wrong; "
        f"{unknown} not identified{'; rejected' if found.rejection else ''}",
        flush=True,
    )


def errors_of(found: Fit, true: dict[str, FloatArray]) -> tuple[dict[str, list[float]], int]:
    """Parameter → errors of its identified values, as shares (of delays in steps); and the rest."""
    off: dict[str, list[float]] = {name: [0.0] for name in true}
    unknown = 0
    for name, values in true.items():
        own = [e for e in found.estimates if e.parameter == name]
        for e, value in zip(own, values, strict=True):
            if e.identifiable:
                off[name].append(abs(e.value - value) / (1.0 if name == "delay" else value))
            else:
                unknown += 1
    return off, unknown


if __name__ == "__main__":
    main()
