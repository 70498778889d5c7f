"""Actuator groups of Isaac Lab as laws of the tests: plain Python, one joint each."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from tests.components.importers import biped

Law = Callable[[float, float, float], float]
_FIELDS = (
    "stiffness", "damping", "effort_limit", "effort_limit_sim", "armature", "saturation_effort",
    "velocity_limit", "X1", "X2", "Y1", "Y2", "Fs", "Fd", "viscous_friction", "dynamic_friction",
)  # fmt: skip


def by_pattern(values: Any, names: Sequence[str], otherwise: float) -> list[float]:
    """A number, or numbers by pattern."""
    if not isinstance(values, dict):
        return [float(otherwise if values is None else values)] * len(names)
    found = []
    for name in names:
        own = [v for key, v in values.items() if re.fullmatch(key, name)]
        assert len(own) < 2
        found.append(float(own[0]) if own and own[0] is not None else otherwise)
    return found


def actuator_of(m: Any, joint: str) -> int:
    return next(i for i in range(m.nu) if m.actuator_trnid[i, 0] == m.joint(joint).id)


def plant(
    m: Any, groups: dict[str, Any], names: Sequence[str], networks: Path
) -> dict[str, Law]:  # fmt: skip
    """Actuators of the model as the groups have them; the law of each joint."""
    laws: dict[str, Law] = {}
    for group in groups.values():
        patterns = group["joint_names_expr"]
        own = [n for n in names if any(re.fullmatch(p, n) for p in patterns)]
        kind = re.split(r"[:.]", group["class_type"].rstrip("'>"))[-1]
        columns = [by_pattern(group.get(k), own, math.nan) for k in _FIELDS]
        for name, *values in zip(own, *columns, strict=True):
            number = dict(zip(_FIELDS, values, strict=True))
            _joint(m, name, number)
            if kind == "ImplicitActuator":
                laws[name] = _implicit(m, actuator_of(m, name), number)
            else:
                law = _explicit(kind, group, number, networks)
                laws[name] = _limited(law, number["effort_limit_sim"])
    return laws


def _joint(m: Any, name: str, number: dict[str, float]) -> None:
    dof = m.joint(name).dofadr[0]
    if not math.isnan(number["armature"]):
        m.dof_armature[dof] = number["armature"]
    for keys, array in (
        (("viscous_friction", "Fd"), m.dof_damping),
        (("dynamic_friction", "Fs"), m.dof_frictionloss),
    ):
        given = [number[key] for key in keys if not math.isnan(number[key])]
        if given:
            array[dof] = sum(given)


def _implicit(m: Any, i: int, number: dict[str, float]) -> Law:
    """MuJoCo's own servo under implicitfast; the law only passes the target on."""
    kp, kd = number["stiffness"], number["damping"]
    limit = number["effort_limit_sim"]
    limit = number["effort_limit"] if math.isnan(limit) else limit
    limit = m.actuator_ctrlrange[i, 1] if math.isnan(limit) else limit
    m.actuator_gainprm[i, 0], m.actuator_biasprm[i, :3] = kp, (0.0, -kp, -kd)
    m.actuator_biastype[i] = mujoco.mjtBias.mjBIAS_AFFINE
    m.actuator_ctrllimited[i], m.actuator_forcelimited[i] = False, math.isfinite(limit)
    m.actuator_forcerange[i] = (-limit, limit) if math.isfinite(limit) else (0.0, 0.0)
    m.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    return lambda t, q, v: t


def _explicit(kind: str, group: dict[str, Any], number: dict[str, float], networks: Path) -> Law:
    law = _feedback(number)
    if kind == "ActuatorNetMLP":
        law = _dc(_mlp(group, networks), number)
    elif kind == "ActuatorNetLSTM":
        least = np.fmin(number["saturation_effort"], number["effort_limit"])
        law = _limited(_lstm(group, networks), float(least))
    elif kind == "DCMotor":
        law = _dc(law, number)
    elif kind == "RemotizedPDActuator":
        law = _table(law, group["joint_parameter_lookup"])
    elif kind == "UnitreeActuator":
        law = _curve(law, number)
    else:
        law = _limited(law, number["effort_limit"])
    return _late(law, group.get("max_delay", 0))


def _feedback(number: dict[str, float]) -> Law:
    kp, kd = number["stiffness"], number["damping"]
    return lambda t, q, v: kp * (t - q) + kd * (0.0 - v)


def _limited(law: Law, limit: float) -> Law:
    limit = math.inf if math.isnan(limit) else limit
    return lambda t, q, v: min(max(law(t, q, v), -limit), limit)


def _late(law: Law, steps: int) -> Law:
    """Targets some steps late; the first one until there are older ones."""
    kept: list[float] = []

    def late(t: float, q: float, v: float) -> float:
        kept.append(t)
        return law(kept[max(0, len(kept) - 1 - steps)], q, v)

    return late


def _dc(law: Law, number: dict[str, float]) -> Law:
    stall, speed = number["saturation_effort"], number["velocity_limit"]
    limit = math.inf if math.isnan(number["effort_limit"]) else number["effort_limit"]

    def clipped(t: float, q: float, v: float) -> float:
        if math.isnan(stall) or math.isnan(speed):
            return min(max(law(t, q, v), -limit), limit)
        w = float(np.clip(v, -speed * (1 + limit / stall), speed * (1 + limit / stall)))
        high, low = min(stall * (1 - w / speed), limit), max(stall * (-1 - w / speed), -limit)
        return float(np.clip(law(t, q, v), low, high))

    return clipped


def _table(law: Law, rows: Sequence[Sequence[float]]) -> Law:
    angles, _, efforts = np.array(sorted(map(tuple, rows))).T

    def clipped(t: float, q: float, v: float) -> float:
        limit = float(np.interp(q, angles, efforts))
        return min(max(law(t, q, v), -limit), limit)

    return clipped


def _curve(law: Law, number: dict[str, float]) -> Law:
    """The limit of a geared motor: y1 with the motion, y2 against it; from x1 to x2 down to 0."""
    x1, x2, y1, y2 = (number[key] for key in ("X1", "X2", "Y1", "Y2"))
    x1, x2, y1 = (1e9 if math.isnan(value) else value for value in (x1, x2, y1))
    y2 = y1 if math.isnan(y2) else y2

    def clipped(t: float, q: float, v: float) -> float:
        effort = law(t, q, v)
        limit = y1 if effort * v > 0.0 else y2
        if abs(v) >= x1:
            limit = max(0.0, limit - limit / (x2 - x1) * (abs(v) - x1))
        return min(max(effort, -limit), limit)

    return clipped


# Networks ---------------------------------------------------------------------------------------


def network_of(group: dict[str, Any], folder: Path) -> Path:
    """The ONNX file of a learned group."""
    return folder / (Path(group["network_file"]).stem + ".onnx")


def _weights(group: dict[str, Any], folder: Path) -> dict[str, np.ndarray]:
    graph = biped.onnx.load(str(network_of(group, folder))).graph
    return {w.name: biped.onnx.numpy_helper.to_array(w) for w in graph.initializer}


def _mlp(group: dict[str, Any], folder: Path) -> Law:
    """tanh network of errors and velocities, now and some steps ago."""
    weights = _weights(group, folder)
    errors: list[float] = []
    speeds: list[float] = []

    def law(t: float, q: float, v: float) -> float:
        errors.insert(0, t - q)
        speeds.insert(0, v)
        index = group["input_idx"]
        past = [[(kept[i] if i < len(kept) else 0.0) for i in index] for kept in (errors, speeds)]
        pos = [value * group["pos_scale"] for value in past[0]]
        vel = [value * group["vel_scale"] for value in past[1]]
        row = pos + vel if group["input_order"] == "pos_vel" else vel + pos
        hidden = np.tanh(np.array(row, np.float32) @ weights["a"])
        return float((hidden @ weights["b"])[0]) * group["torque_scale"]

    return law


def _lstm(group: dict[str, Any], folder: Path) -> Law:
    """One layer; gates of ONNX in the order input, output, forget, cell."""
    weights = _weights(group, folder)
    w, r, bias = weights["w"][0], weights["r"][0], weights["b"][0]
    size = r.shape[1]
    h, c = np.zeros(size, np.float32), np.zeros(size, np.float32)

    def law(t: float, q: float, v: float) -> float:
        nonlocal h, c
        x = np.array([t - q, v], np.float32)
        gates = w @ x + r @ h + bias[: 4 * size] + bias[4 * size :]
        i, o, f = (1.0 / (1.0 + np.exp(-gates[k * size : (k + 1) * size])) for k in range(3))
        c = f * c + i * np.tanh(gates[3 * size :])
        h = (o * np.tanh(c)).astype(np.float32)
        return float((h @ weights["head"])[0])

    return law
