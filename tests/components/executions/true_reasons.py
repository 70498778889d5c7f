"""Every reason that a binding table or a controller can give, with an own test of its truth."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.components.controllers.pipeline_controller import PipelineController
from mjrig.components.laws.clamps import DCMotor

Found = re.Match[str]
_DISABLE = mujoco.mjtDisableBit


def _flag(model: Any, bit: Any) -> bool:
    return bool(int(model.opt.disableflags) & int(bit))


def _id(model: Any, found: Found) -> int:
    return int(model.actuator(found["name"]).id)


def _types(model: Any, i: int) -> bool:
    return any(getattr(model, f"actuator_{n}type")[i] for n in ("gain", "bias", "dyn"))


def _joint_type(model: Any, i: int) -> int:
    return int(model.jnt_type[model.actuator_trnid[i][0]])


def _motors(law: PipelineController) -> list[DCMotor]:
    return [c for c in law.clamps if isinstance(c, DCMotor)]


#: Why no law can own an actuator → whether that is so, from the compiled model.
SKIPPED: dict[str, Callable[[Any, int, Found], bool]] = {
    r"has gear (?P<value>\S+): no ctrl gives it an effort": lambda m, i, f: (
        abs(m.actuator_gear[m.actuator_outadr[i]]).max() == float(f["value"]) == 0.0
    ),
    r"has gain 0: no ctrl gives it an effort": lambda m, i, f: m.actuator_gainprm[i][0] == 0.0,
    r"is a plugin actuator: .*": lambda m, i, f: m.actuator_plugin[i] >= 0,
    r"is an? \w+ actuator with (?P<n>\d+) inputs, and a law commands one": lambda m, i, f: (
        m.actuator_ctrlnum[i] == int(f["n"]) != 1
    ),
    r"is an? \w+ actuator and would take torque as a target": lambda m, i, f: _types(m, i),
    r"drives the (?P<kind>ball|free) joint .*": lambda m, i, f: (
        _joint_type(m, i) == {"free": 0, "ball": 1}[f["kind"]]
    ),
    r"drives the tendon .*": lambda m, i, f: m.actuator_trntype[i] == 3,
    r"acts on the site .*": lambda m, i, f: m.actuator_trntype[i] == 4,
    r"acts on the slider-crank .*": lambda m, i, f: m.actuator_trntype[i] == 2,
}

#: Why a law is not native, or not compiled → whether that is so.
REFUSED: dict[str, Callable[[Any, PipelineController, Found], bool]] = {
    r"it owns no actuator": lambda m, law, f: not law.bindings,
    r"'(?P<name>\w+)' delays its ctrl, .*": lambda m, law, f: m.actuator_delay[_id(m, f)] > 0,
    r"'(?P<name>\w+)' has a history of its ctrl, .*": lambda m, law, f: (
        m.actuator_history[_id(m, f)][0] > 0
    ),
    r"'(?P<name>\w+)' has a gain other than 1": lambda m, law, f: (
        m.actuator_gainprm[_id(m, f)].tolist() != [1.0] + [0.0] * 9
    ),
    r"'(?P<name>\w+)' is in group (?P<group>\d), which is disabled": lambda m, law, f: (
        m.actuator_group[_id(m, f)] == int(f["group"])
        and m.opt.disableactuator >> int(f["group"]) & 1
    ),
    r"'(?P<name>\w+)' has a ctrlrange, which the flag clampctrl switches off": lambda m, law, f: (
        _flag(m, _DISABLE.mjDSBL_CLAMPCTRL)
        and m.actuator_ctrllimited[m.actuator_ctrladr[_id(m, f)]]
    ),
    r"'(?P<name>\w+)' has (?P<field>\w+) set, which a motor has not": lambda m, law, f: bool(
        np.any(getattr(m, f"actuator_{f['field']}")[_id(m, f)])
    ),
    r"'(?P<name>\w+)' is not on a joint": lambda m, law, f: (
        m.actuator_trntype[_id(m, f)] not in (0, 1) or _joint_type(m, _id(m, f)) < 2
    ),
    r"it runs every (?P<k>\d) steps, .*": lambda m, law, f: law.decimation == int(f["k"]) > 1,
    r"order: textbook is not the order MuJoCo sums in": lambda m, law, f: (
        getattr(law, "order", "") == "textbook"
    ),
    r"a random delay is drawn in Python": lambda m, law, f: (
        law.delay is not None and law.delay.is_authored("random")
    ),
    r"(MuJoCo|the kernel) computes in float64": lambda m, law, f: law.precision == "float32",
    r"effort: implicit solves in Python": lambda m, law, f: law.effort == "implicit",
    r"MuJoCo has no actuator limit that does what PositionTable does": lambda m, law, f: any(
        type(c).__name__ == "PositionTable" for c in law.clamps
    ),
    r"MuJoCo has no actuator limit that differs between driving .*": lambda m, law, f: any(
        type(c).__name__ == "TorqueSpeedCurve" for c in law.clamps
    ),
    r"MuJoCo's form of it differs in the last bits": lambda m, law, f: bool(_motors(law)),
    r"it has more than one DCMotor": lambda m, law, f: len(_motors(law)) > 1,
    r"something is clamped before the DCMotor": lambda m, law, f: (
        not isinstance(law.clamps[0], DCMotor) and bool(_motors(law))
    ),
    r"a dcmotor actuator uses its integral before it is updated": lambda m, law, f: (
        bool(_motors(law)) and type(law).__name__ == "PIDController"
    ),
    r"under (?P<name>\w+) MuJoCo would integrate the gains implicitly; .*": lambda m, law, f: (
        m.opt.integrator == {"implicit": 2, "implicitfast": 3, "discrete": 4}[f["name"]]
    ),
    r"under RK4 .*": lambda m, law, f: m.opt.integrator == 1,
    r"the flag actuation is disabled, .*": lambda m, law, f: _flag(m, _DISABLE.mjDSBL_ACTUATION),
}


def untrue(world: mjrig.World, name: str, model: Any) -> Iterator[str]:
    """Reasons of a robot that are unknown or not so; the model is its own, compiled."""
    robot = world[name]
    for actuator, reason in robot.bindings.skipped:
        i = int(model.actuator(actuator).id)
        if not any((f := re.fullmatch(p, reason)) and so(model, i, f) for p, so in SKIPPED.items()):
            yield f"{actuator} {reason}"
    for law in robot.controllers:
        if not isinstance(law, PipelineController):
            continue
        texts = [s.reason for s in law.supports().values() if not s.available]
        if world.requested_execution == "auto" and law.is_bound:
            texts += re.findall(r"not \w+: (.*?)(?:; not compiled.*)?$", law.execution.reason)
        for text in texts:
            for part in _parts(text):
                known = ((re.fullmatch(p, part), so) for p, so in REFUSED.items())
                if not any(f and so(model, law, f) for f, so in known):
                    yield f"{law.label}: {part}"


def _parts(text: str) -> list[str]:
    """Reasons that are listed one after the other; some have a semicolon of their own."""
    return [text] if "gains implicitly; " in text else text.split("; ")
