"""Cost and accuracy of fitting kp, kv and delay of 12 joints.

A suspended quadruped is fitted to 4 s of its motion, a trotting one to 1.5 s of its efforts.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import mjrig
from mjrig.arrays import FloatArray
from mjrig.tuning.fitting.fit import Fit, fit

SCENES = Path(__file__).parent.parent / "config" / "scenes"
CONTROLLER = "quadruped.PDController"
PARAMETERS = ["kp", "kv", "delay"]
#: Noise of positions, velocities and efforts [rad, rad/s, N·m].
NOISE = (1e-3, 2e-2, 0.1)


def main() -> None:
    """Print one line per fit."""
    random = np.random.default_rng(0)
    true = {
        "kp": random.uniform(120, 240, 12),
        "kv": random.uniform(4, 6, 12),
        "delay": random.integers(0, 4, 12).astype(float),
    }
    hanging = mjrig.Scene.load(SCENES / "quadruped.yaml")
    hanging.set("quadruped.base", "fixed")
    hanging.set("sim.contact", False)
    recording = record(hanging, true, 0.0, 4.0, chirp=True)
    print_fit("suspended, by motion", fit(hanging, [recording], PARAMETERS), true, "60")
    trotting = mjrig.Scene.load(SCENES / "quadruped_trot.yaml")
    recording = record(trotting, true, 0.5, 1.5, chirp=False)
    print_fit("trotting, by efforts", fit(trotting, [recording], PARAMETERS), true, "none")


def record(
    scene: mjrig.Scene, true: dict[str, FloatArray], start: float, duration: float, *, chirp: bool
) -> mjrig.Recording:
    """What a robot with other gains does, measured with noise."""
    other = mjrig.Scene.parse(scene.to_text(), scene.base)
    other.set(f"{CONTROLLER}.kp", true["kp"].tolist())
    other.set(f"{CONTROLLER}.kv", true["kv"].tolist())
    other.set(f"{CONTROLLER}.delay", {"steps": true["delay"].tolist()})
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
        return measured(mjrig.read_recording(path))


def measured(recording: mjrig.Recording) -> mjrig.Recording:
    """The same with noise in joints and efforts, and no efforts before clamps."""
    random = np.random.default_rng(1)
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


def print_fit(what: str, found: Fit, true: dict[str, FloatArray], bar: str) -> None:
    """Print one line."""
    off: dict[str, list[float]] = {name: [] for name in PARAMETERS}
    for name, values in true.items():
        own = [e for e in found.estimates if e.parameter == name]
        for e, value in zip(own, values, strict=True):
            if e.identifiable:
                off[name].append(abs(e.value - value) / (1.0 if name == "delay" else value))
    print(
        f"12 joints {what}: {found.seconds:.1f} s (bar: {bar}); largest errors: "
        f"kp {100 * max(off['kp']):.2f} %, kv {100 * max(off['kv']):.2f} % (bar: 1 %); "
        f"{int(np.count_nonzero(off['delay']))} of {len(off['delay'])} delays wrong (bar: 0)"
    )


if __name__ == "__main__":
    main()
