"""A fit by mjrig and one by mujoco.sysid, side by side: accuracy per parameter, CPU and wall time.

Both get the same log of a suspended quadruped, made here with parameters that are known: chirps on
twelve joints at 500 Hz, noise of 1 mrad and 0.02 rad/s. Both look for kp, kv, armature and
frictionloss of each joint, 48 numbers, from the scene's values. mujoco.sysid is told more: the size
of the noise; and, in a second run, the state in which the log begins without noise, which no log
has. In the first one it begins with the first state of the log; mjrig estimates that state. It
looks for factors of the scene's values, from a tenth to ten, so that all numbers have one size,
with one of its optimisers (`--optimiser`). Errors are of several logs with other noise (`--logs`).

mujoco.sysid is in MuJoCo's wheel; what it imports is not: `--install` installs that first.
"""

import argparse
import importlib.util
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from benchmarks.fit_cost import NOISE, record, suspended, truth
from mjrig.core.arrays import FloatArray
from mjrig.lab.fit.identification import fit

MODEL = Path(__file__).parent.parent / "assets" / "quadruped" / "quadruped.xml"
PARAMETERS = ("kp", "kv", "armature", "frictionloss")
TIMESTEP = 0.002


def cpu_seconds() -> float:
    """Of this process and those it has ended."""
    used = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def ours(scene: mjrig.Scene, recording: mjrig.Recording) -> dict[str, FloatArray]:
    """What mjrig finds, by parameter."""
    found = fit(scene, [recording], list(PARAMETERS), validate=None)
    return {
        name: np.array([e.value for e in found.estimates if e.parameter == name])
        for name in PARAMETERS
    }


class Sysid:
    """The same by mujoco.sysid: position servos instead of a controller.

    Args:
        is_told: in which state the log begins without noise, instead of the log's own.
    """

    def __init__(self, scene: mjrig.Scene, recording: mjrig.Recording, *, is_told: bool) -> None:
        self._sysid = import_module("mujoco.sysid")
        share = recording.actors["quadruped"]
        assert share.commands is not None
        assert share.qvel is not None
        self._measured = np.hstack([share.qpos, share.qvel])
        self._noise = np.repeat(NOISE[:2], 12)
        rows = np.searchsorted(share.commands.step, np.arange(recording.steps), side="right") - 1
        self._control = share.commands.position[rows]
        world = mjrig.World(scene)
        logged = (share.qpos[0], share.qvel[0])
        self._start = (world.data.qpos.copy(), np.zeros(world.model.nv)) if is_told else logged
        controller = world["quadruped"].controllers[0]
        self._gains = {name: controller.gains()[name] for name in ("kp", "kv")}
        self._limits = controller.gains()["torque_limit"]
        dofs = [b.dof_address for b in controller.bindings]
        self._begin = {
            **self._gains,
            "armature": world.model.dof_armature[dofs],
            "frictionloss": world.model.dof_frictionloss[dofs],
        }
        self._spec = self._servos()
        self._joints = [a.target for a in self._spec.actuators]

    def _servos(self) -> Any:
        spec = mujoco.MjSpec.from_file(str(MODEL))
        spec.option.timestep = TIMESTEP
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        for joint in [j for j in spec.joints if j.type == mujoco.mjtJoint.mjJNT_FREE]:
            spec.delete(joint)
        for key in list(spec.keys):
            spec.delete(key)
        rows = zip(spec.actuators, self._gains["kp"], self._gains["kv"], self._limits, strict=True)
        for actuator, kp, kv, limit in rows:
            actuator.set_to_position(kp=float(kp), kv=float(kv))
            actuator.ctrllimited, actuator.forcelimited = False, True
            actuator.forcerange = [-float(limit), float(limit)]
        for geom in list(spec.geoms):  # a model is compiled for every derivative: without pictures
            geom.material = ""
            if not geom.contype and not geom.conaffinity:
                spec.delete(geom)
        for picture in [*spec.meshes, *spec.materials, *spec.textures]:
            spec.delete(picture)
        return spec

    def parameters(self) -> Any:
        """Two gains of each servo and two numbers of each joint, as their callbacks set them."""
        made, sysid = self._sysid.ParameterDict(), self._sysid
        for k, (actuator, joint) in enumerate(
            zip([a.name for a in self._spec.actuators], self._joints, strict=True)
        ):
            first = np.array([float(self._begin[name][k]) for name in PARAMETERS])

            def modify(
                spec: Any,
                own: Any,
                actuator: str = actuator,
                joint: str = joint,
                first: FloatArray = first,
            ) -> None:
                values = own.value * first
                sysid.apply_pdgain(spec, actuator, values[:2])
                spec.joint(joint).armature, spec.joint(joint).frictionloss = values[2:]

            ones = np.ones(len(first))
            made.add(sysid.Parameter(joint, ones, 0.1 * ones, 10.0 * ones, modifier=modify))
        return made

    def residual(self) -> Callable[..., Any]:
        """Simulated minus recorded states, in units of the noise."""
        sysid, steps = self._sysid, len(self._control)
        model = self._spec.compile()
        start = sysid.create_initial_state(model, *self._start)
        times = TIMESTEP * np.arange(steps)
        _, _, _, control = sysid.TimeSeries.compute_all_state_mappings(model)
        sensors = sysid.TimeSeries(
            times + TIMESTEP, np.zeros((steps, model.nsensordata)),
            sysid.TimeSeries.compute_all_sensor_mapping(model),
        )  # fmt: skip
        sequence = sysid.ModelSequences(
            "quadruped", self._spec, "log", start,
            sysid.TimeSeries(times, self._control, control), sensors,
        )  # fmt: skip

        def compare(
            _: Any, predicted: Any, measured: Any, *rest: Any, state: Any, **more: Any
        ) -> Any:
            del measured, rest, more
            left = (state[:, 1 : 1 + 24] - self._measured[1 : len(state) + 1]) / self._noise
            return left, predicted, predicted

        return sysid.build_residual_fn(
            models_sequences=[sequence], modify_residual=compare, resample_true=False
        )

    def rms(self, values: dict[str, FloatArray]) -> float:
        """Of the residuals with some values: 1 if the model and the values are right."""
        parameters = self.parameters()
        vector = np.stack([values[n] / self._begin[n] for n in PARAMETERS], axis=1).ravel()
        (left,), _, _ = self.residual()(vector, parameters)
        return float(np.sqrt(np.mean(np.square(left))))

    def found(self, optimiser: str) -> dict[str, FloatArray]:
        """What it finds with one of its optimisers, by parameter."""
        parameters, residual = self.parameters(), self.residual()
        # SciPy's steps of differences are too small for friction; MuJoCo's are its own.
        how = {} if optimiser == "mujoco" else {"diff_step": 1e-4, "x_scale": "jac"}
        best, _ = self._sysid.optimize(parameters, residual, optimiser, verbose=False, **how)
        table = np.array([best[joint].value for joint in self._joints])
        return {name: table[:, k] * self._begin[name] for k, name in enumerate(PARAMETERS)}


def install() -> None:
    """What mujoco.sysid imports, for the MuJoCo that is here."""
    wanted = f"mujoco[sysid]=={mujoco.__version__}"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", wanted], check=True)


def is_there() -> bool:
    """Whether mujoco.sysid can be used: without its packages it is an empty module."""
    packages = ("absl", "scipy", "jinja2", "plotly", "tabulate", "colorama", "matplotlib")
    if any(importlib.util.find_spec(name) is None for name in packages):
        return False
    return hasattr(import_module("mujoco.sysid"), "optimize")


class Table:
    """Errors of several ways to fit the same logs, a row for each way."""

    def __init__(self, seconds: float, logs: int) -> None:
        self.true = {**{n: truth()[n] for n in PARAMETERS}, "delay": np.zeros(12)}
        self.scene, self.seeds = suspended(TIMESTEP), range(1, logs + 1)
        self._logs = [
            record(self.scene, self.true, 0.0, seconds, chirp=True, seed=seed)
            for seed in self.seeds
        ]

    def recording(self, seed: int) -> mjrig.Recording:
        """The log with some noise."""
        return self._logs[seed - 1]

    def sysid(self, seed: int, *, is_told: bool) -> Sysid:
        """mujoco.sysid with a log."""
        return Sysid(self.scene, self.recording(seed), is_told=is_told)

    def row(self, name: str, way: Callable[[int], dict[str, FloatArray]]) -> None:
        """Print errors over all logs, and times per log."""
        cpu, wall = cpu_seconds(), time.perf_counter()
        every = [way(seed) for seed in self.seeds]
        count = len(every)
        cpu, wall = (cpu_seconds() - cpu) / count, (time.perf_counter() - wall) / count
        errors = [
            100.0 * np.concatenate([found[p] / self.true[p] - 1.0 for found in every])
            for p in PARAMETERS
        ]
        cells = "".join(f"{np.sqrt(np.mean(e**2)):>9.3f}{np.abs(e).max():>7.2f}" for e in errors)
        print(f"{name:<42}{cells}{cpu:>9.1f}{wall:>9.1f}", flush=True)


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true", help="install what mujoco.sysid needs")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of the log (4)")
    parser.add_argument("--logs", type=int, default=3, help="how many, each with other noise (3)")
    parser.add_argument("--only", choices=("mjrig", "mujoco.sysid"), help="run one of the two")
    parser.add_argument(
        "--optimiser",
        choices=("mujoco", "scipy", "scipy_parallel_fd"),
        default="scipy_parallel_fd",
        help="of mujoco.sysid (scipy_parallel_fd; its own default, mujoco, ends early here)",
    )
    options = parser.parse_args()
    if options.install:
        install()
    with_sysid = options.only != "mjrig"
    if with_sysid and not is_there():
        print("what mujoco.sysid needs is not installed; run again with --install")
        return 1
    table = Table(options.seconds, options.logs)
    if with_sysid:
        left = [table.sysid(seed, is_told=True).rms(table.true) for seed in table.seeds]
        shown = ", ".join(f"{x:.3f}" for x in left)
        print(f"residuals of mujoco.sysid's model at the truth: {shown} of the noise")
    names = "".join(f"{name:>16}" for name in PARAMETERS)
    print(f"{'rms and largest error in %':<42}{names}{'CPU s':>9}{'wall s':>9}", flush=True)
    if options.only != "mujoco.sysid":
        table.row("mjrig", lambda seed: ours(table.scene, table.recording(seed)))
    if with_sysid:
        for text, is_told in (
            ("the first state of the log", False),
            ("the true first state", True),
        ):
            table.row(
                f"mujoco.sysid, {text}",
                lambda seed, is_told=is_told: table.sysid(seed, is_told=is_told).found(
                    options.optimiser
                ),
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
