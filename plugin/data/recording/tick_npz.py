"""Read the `.npz` layout with targets and states at every policy tick.

Keys: `meta` (JSON), `policy_step`, `policy_target`, `tick_qpos`, `tick_qvel`, `qpos0`, `qvel0`,
`final_qpos`, `final_qvel`; optional: `head_*` (the first steps at physics rate), `policy_obs`,
`policy_action`, `policy_cmd`, and `gain_tick`, `gain_kp`, `gain_kd`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import Plant
from mjrig.core.errors import RecordingError
from mjrig.core.files.decoding import decoding
from mjrig.core.names import listed
from mjrig.data.recording.checks import MOST_STEPS
from mjrig.data.recording.npz_arrays import NpzArrays, npz_arrays
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    GainChange,
    JointColumns,
    PolicyTicks,
    RecordedCommands,
    Recording,
    Steps,
)

NEEDED = (
    "policy_step",
    "policy_target",
    "tick_qpos",
    "tick_qvel",
    "qpos0",
    "qvel0",
    "final_qpos",
    "final_qvel",
)
META = ("timestep", "n_physics_steps", "nq", "nv", "joint_names_mj", "actuator_names")
INTEGRATORS = {
    "mjINT_EULER": "Euler",
    "mjINT_RK4": "RK4",
    "mjINT_IMPLICIT": "implicit",
    "mjINT_IMPLICITFAST": "implicitfast",
}
#: What a free joint adds to the one number every joint has: 7 in qpos, 6 in qvel.
FREE_QPOS, FREE_DOF = 7, 6
#: Longest timestep [s]; no simulation has it.
MAX_TIMESTEP = 1e3


def read(path: Path, hints: Mapping[str, object]) -> Recording | None:
    """The recording in a file of this layout; None: it is another layout.

    The robot is named by the hint `robot`, or as in the file.

    Raises:
        RecordingError: it is this layout, but broken.
    """
    if path.suffix != ".npz":
        return None
    arrays = npz_arrays(path, needs=("meta", "policy_step", "policy_target"))
    if arrays is None:
        return None
    return _TickFile(path, arrays).recording(str(hints.get("robot", "")))


class _TickFile:
    """One file, checked and converted."""

    def __init__(self, path: Path, arrays: NpzArrays) -> None:
        self.path, self.arrays = path, arrays
        self.meta = self._meta()
        self._need(NEEDED, arrays, "array")
        self._need(META, self.meta, "key of meta")
        self.steps = self._whole("n_physics_steps")
        self.actuators = tuple(self._names("actuator_names"))
        self.joints = self._joints()
        self.driven = self._driven()
        self.order = self._order()
        self._check_shapes()

    def _fail(self, text: str) -> RecordingError:
        return RecordingError(f"{self.path}: {text}")

    def _meta(self) -> dict[str, Any]:
        with decoding(self.path, problem="meta is not JSON"):
            meta = json.loads(str(self.arrays["meta"]))
        if not isinstance(meta, dict):
            raise self._fail("meta is not a JSON object")
        return meta

    def _need(self, names: tuple[str, ...], found: Mapping[str, Any], kind: str) -> None:
        missing = [n for n in names if found.get(n) is None]
        for name in self.arrays.skipped.keys() & set(missing):
            self.arrays[name]  # raises: it is there, but holds Python objects
        if missing:
            raise self._fail(f"lacks the {kind} {listed(missing)}")

    def _whole(self, key: str) -> int:
        value = self.meta[key]
        if type(value) is not int or not 1 <= value <= MOST_STEPS:
            raise self._fail(f"meta.{key} must be a whole number >= 1, got {value!r:.60}")
        return value

    def _names(self, key: str) -> list[str]:
        """Distinct names; one may be missing, as that of a floating base often is."""
        names = self.meta[key]
        if not isinstance(names, list) or not all(isinstance(n, str | None) for n in names):
            raise self._fail(f"meta.{key} must be a list of names, got {names!r:.40}")
        twice = [n for n in dict.fromkeys(names) if n and names.count(n) > 1]
        if twice:
            raise self._fail(f"meta.{key} has {twice[0]!r} twice")
        return [n or "" for n in names]

    def _numbers(self, key: str, count: int) -> FloatArray:
        """One number for each of `count`, or one for all."""
        try:
            values = np.broadcast_to(np.asarray(self.meta[key], dtype=np.float64), count)
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
        if not np.isfinite(values).all():
            said = f"{self.meta[key]!r:.40}"
            raise self._fail(f"meta.{key} must be a number or {count} numbers, got {said}")
        return values

    # Joints -------------------------------------------------------------------------------------

    def _joints(self) -> tuple[JointColumns, ...]:
        """All joints of the model; undriven ones are free where nq implies it."""
        names = self._names("joint_names_mj")
        nq, nv = self._whole("nq"), self._whole("nv")
        free, rest = divmod(nq - len(names), FREE_QPOS - 1)
        named = set(self._names("joint_names_policy") if "joint_names_policy" in self.meta else ())
        loose = [i for i, n in enumerate(names) if n not in named]
        if rest or nv != len(names) + free * (FREE_DOF - 1) or len(loose) < free:
            raise self._fail(
                f"{len(names)} joints do not make nq {nq} and nv {nv} with free joints only"
            )
        # NOTE: names of other stacks (wheels called feet) leave more loose joints than free ones;
        # a free joint is unnamed, or is named as one.
        loose.sort(key=lambda i: (bool(names[i]), not _sounds_free(names[i]), i))
        found, qpos, dof = [], 0, 0
        for i, name in enumerate(names):
            is_free = i in loose[:free]
            sizes = (FREE_QPOS, FREE_DOF) if is_free else (1, 1)
            kind = "free" if is_free else "hinge"
            at = slice(qpos, qpos + sizes[0]), slice(dof, dof + sizes[1])
            found.append(JointColumns(name, kind, *at))
            qpos, dof = qpos + sizes[0], dof + sizes[1]
        return tuple(found)

    def _driven(self) -> tuple[str, ...]:
        """The joint of each actuator: by `tau_dofs`, else by name, with or without `_joint`."""
        if self.meta.get("tau_dofs") is None:
            return tuple(self._driven_by(name) for name in self.actuators)
        by_dof = {j.dof.start: j.name for j in self.joints}
        dofs = self.meta["tau_dofs"]
        if (
            not isinstance(dofs, list)
            or len(dofs) != len(self.actuators)
            or any(not isinstance(d, int) or d not in by_dof for d in dofs)
        ):
            raise self._fail(
                f"meta.tau_dofs does not name one joint for each of {len(self.actuators)} actuators"
            )
        return tuple(by_dof[d] for d in dofs)

    def _driven_by(self, actuator: str) -> str:
        names = {j.name for j in self.joints}
        bare = actuator.removesuffix("_act").removesuffix("_motor")
        tried = (actuator, f"{actuator}_joint", bare, f"{bare}_joint")
        found = next((n for n in tried if n in names), None)
        if found is None:
            raise self._fail(
                f"the joint of the actuator {actuator!r} is not known by its name; meta.tau_dofs "
                "lists the dof of each actuator"
            )
        return found

    def _order(self) -> npt.NDArray[np.int64]:
        """Actuator of each policy joint."""
        names = self.meta.get("joint_names_policy", self.driven)
        order = self.meta.get("policy_to_actuator", list(range(len(names))))
        places = range(len(self.actuators))
        if (
            not isinstance(order, list)
            or not all(type(a) is int and a in places for a in order)
            or not len(set(order)) == len(order) == len(names)
        ):
            raise self._fail("meta.policy_to_actuator does not name one actuator per policy joint")
        for name, actuator in zip(names, order, strict=True):
            # Names of other stacks may be unknown here, but a known one must be the same joint.
            if name in self.driven and name != self.driven[actuator]:
                raise self._fail(
                    f"meta.joint_names_policy and meta.policy_to_actuator contradict each other: "
                    f"{name} leads to {self.driven[actuator]}"
                )
        return np.array(order, dtype=np.int64)

    # Shapes -------------------------------------------------------------------------------------

    def _check_shapes(self) -> None:
        nq, nv, n = self.meta["nq"], self.meta["nv"], len(self.order)
        ticks = self.arrays["policy_step"].size
        wide = self.arrays["policy_target"].shape[-1:] == (2 * n,)
        shapes: dict[str, tuple[int, ...]] = {
            "policy_step": (ticks,),
            "policy_target": (ticks, 2 * n if wide else n),
            "tick_qpos": (ticks, nq),
            "tick_qvel": (ticks, nv),
            "qpos0": (nq,),
            "qvel0": (nv,),
            "final_qpos": (nq,),
            "final_qvel": (nv,),
            "policy_action": (ticks, n),
        }
        for name in ("policy_obs", "policy_cmd"):
            shapes[name] = (ticks, *self.arrays[name].shape[1:2]) if name in self.arrays else ()
        if "head_qpos" in self.arrays:
            rows = len(self.arrays["head_qpos"])
            shapes |= {"head_qpos": (rows, nq), "head_qvel": (rows, nv), "head_time": (rows,)}
            shapes |= {"head_tau": (rows - 1, len(self.actuators))}
        if "gain_tick" in self.arrays:
            changes = len(self.arrays["gain_tick"])
            shapes |= {"gain_tick": (changes,), "gain_kp": (changes, n), "gain_kd": (changes, n)}
        for name, shape in shapes.items():
            if name not in self.arrays:
                if name in ("gain_kp", "gain_kd", "head_qvel"):
                    raise self._fail(f"lacks the array {name}")
                continue
            self._check(name, shape)
        steps = self.arrays["policy_step"]
        if ticks == 0 or steps[0] != 0 or (np.diff(steps) <= 0).any() or steps[-1] > self.steps:
            raise self._fail(f"policy_step must grow from 0 to at most {self.steps}")
        timestep = self.meta["timestep"]
        if not isinstance(timestep, int | float) or not 0.0 < timestep < MAX_TIMESTEP:
            raise self._fail(
                f"meta.timestep must be > 0 and < {MAX_TIMESTEP:g} s, got {timestep!r:.60}"
            )

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        array = self.arrays[name]
        if array.shape != shape:
            raise self._fail(f"{name} must have shape {shape}, got {array.shape}")
        if array.dtype.kind not in "fiu":
            raise self._fail(f"{name} must hold numbers, got {array.dtype}")
        if not np.isfinite(array).all():
            where = np.argwhere(~np.isfinite(array))[0].tolist()
            raise self._fail(f"{name}{where} is not finite")

    # Parts --------------------------------------------------------------------------------------

    def recording(self, name: str) -> Recording:
        """The whole recording."""
        robot = name or str(self.meta.get("robot", "robot"))
        step, qpos, qvel = self._states()
        actor = ActorRecording(
            name=robot,
            joints=self.joints,
            step=step,
            time=np.multiply(step, float(self.meta["timestep"]), dtype=np.float64),
            qpos=qpos,
            qvel=qvel,
            actuators=self.actuators,
            driven=self.driven,
            commands=self._commands(),
            efforts=self._efforts(),
            policy=self._policy(),
            plant=self._plant(),
            gain_changes=self._gain_changes(),
        )
        return Recording(
            path=self.path,
            format="tick npz",
            timestep=float(self.meta["timestep"]),
            steps=self.steps,
            actors={robot: actor},
            attributes={"meta": self.meta, "source": self.meta.get("repo", "")},
            notes=(
                "states at policy ticks; at physics rate only at the beginning",
                *self.arrays.notes(),
            ),
        )

    def _states(self) -> tuple[Steps, FloatArray, FloatArray]:
        rows: dict[int, tuple[FloatArray, FloatArray]] = {}
        rows[self.steps] = self.arrays["final_qpos"], self.arrays["final_qvel"]
        for k, *state in zip(*(self.arrays[n] for n in NEEDED[:1] + NEEDED[2:4]), strict=True):
            rows[int(k)] = state[0], state[1]
        if "head_qpos" in self.arrays:
            head = zip(self.arrays["head_qpos"], self.arrays["head_qvel"], strict=True)
            rows.update({k: state for k, state in enumerate(head) if k <= self.steps})
        rows[0] = self.arrays["qpos0"], self.arrays["qvel0"]
        steps = sorted(rows)
        return (
            np.array(steps, dtype=np.int64),
            np.array([rows[k][0] for k in steps], dtype=np.float64),
            np.array([rows[k][1] for k in steps], dtype=np.float64),
        )

    def _commands(self) -> RecordedCommands:
        used = self.arrays["policy_step"] < self.steps
        step = self.arrays["policy_step"][used].astype(np.int64)
        targets = self.arrays["policy_target"][used].astype(np.float64)
        position, velocity = np.zeros((2, len(step), len(self.actuators)))
        n = len(self.order)
        position[:, self.order] = targets[:, :n]
        if targets.shape[1] > n:
            velocity[:, self.order] = targets[:, n:]
        return RecordedCommands(step, position, velocity, np.zeros_like(position))

    def _efforts(self) -> Efforts | None:
        if "head_tau" not in self.arrays:
            return None
        tau = self.arrays["head_tau"].astype(np.float64)
        return Efforts(np.arange(len(tau), dtype=np.int64), tau)

    def _policy(self) -> PolicyTicks | None:
        names = ("policy_obs", "policy_action", "policy_cmd")
        if any(n not in self.arrays for n in names):
            return None
        observation, action, command = (self.arrays[n] for n in names)
        return PolicyTicks(
            self.arrays["policy_step"].astype(np.int64),
            observation.astype(np.float32),
            action.astype(np.float32),
            command.astype(np.float64),
            tuple(self.driven[a] for a in self.order),
        )

    def _plant(self) -> Plant:
        meta = self.meta
        policy = [self.driven[a] for a in self.order]
        found: dict[str, dict[str, float]] = {}
        for name, keys in (
            ("kp", ("kp",)),
            ("kv", ("kd", "kd_actuator_kv")),
            ("default_pose", ("default_pos",)),
            ("action_scale", ("action_scale",)),
        ):
            key = next((k for k in keys if meta.get(k) is not None), None)
            if key is not None:
                spread = self._numbers(key, len(policy))
                values = np.abs(spread) if name == "kv" else spread
                found[name] = dict(zip(policy, values.tolist(), strict=True))
        if meta.get("torque_limit") is not None:
            owners = policy if meta.get("torque_limit_order") == "policy" else self.driven
            limits = self._numbers("torque_limit", len(owners))
            found["torque_limit"] = dict(zip(owners, limits.tolist(), strict=True))
        overall: dict[str, object] = {
            k: meta[k] for k in ("timestep", "decimation", "mujoco") if k in meta
        }
        if (integrator := str(meta.get("integrator"))) in INTEGRATORS:
            overall["integrator"] = INTEGRATORS[integrator]
        return Plant(overall=overall, joints=found)

    def _gain_changes(self) -> tuple[GainChange, ...]:
        if "gain_tick" not in self.arrays:
            return ()
        count = len(self.order)
        own = [self._numbers(k, count) if k in self.meta else np.zeros(0) for k in ("kp", "kd")]
        changes = [self.arrays[f"gain_{n}"] for n in ("tick", "kp", "kd")]
        found = []
        for tick, *gains in zip(*changes, strict=True):
            if not 0 <= tick < len(self.arrays["policy_step"]):
                raise self._fail(f"gain_tick {tick} is not a tick")
            step = int(self.arrays["policy_step"][tick])
            if all(np.array_equal(a, b) for a, b in zip(gains, own, strict=True)):
                found.append(GainChange(step, None))
                continue
            spread = {}
            for name, values in zip(("kp", "kv"), gains, strict=True):
                spread[name] = np.full(len(self.actuators), np.nan)
                spread[name][self.order] = values
            found.append(GainChange(step, spread))
        return tuple(found)


def _sounds_free(name: str) -> bool:
    return any(word in name.lower() for word in ("free", "float", "root", "base"))
