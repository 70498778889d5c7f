"""Compiled fields of actuators authored as components, against those made with MjSpec by hand."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from tests.places import SHARED
from tests.worlds import make_world

GOLDEN = SHARED / "golden" / "mjspec_golden.json"

HINGE = {"joint": "hinge"}
#: Golden case → the same actuator as a component.
CASES: dict[str, dict[str, Any]] = {
    "general": {"type": "GeneralActuator", **HINGE},
    "motor": {"type": "MotorActuator", **HINGE},
    "position kp=1 (default)": {"type": "PositionActuator", **HINGE},
    "position kp=50 kv=5": {"type": "PositionActuator", "kp": 50, "kv": 5, **HINGE},
    "position kp=50 timeconst=.1": {
        "type": "PositionActuator", "kp": 50, "timeconst": 0.1, **HINGE,
    },
    "position kp=50 inheritrange=1": {
        "type": "PositionActuator", "kp": 50, "inheritrange": 1, **HINGE,
    },
    "position kp=50 inheritrange=.8 (field)": {
        "type": "PositionActuator", "kp": 50, "inheritrange": 0.8, **HINGE,
    },
    "velocity kv=1 (default)": {"type": "VelocityActuator", **HINGE},
    "velocity kv=5": {"type": "VelocityActuator", "kv": 5, **HINGE},
    "intvelocity kp=1 actrange": {"type": "IntVelocityActuator", "actrange": [-1, 1], **HINGE},
    "damper kv=5 ctrlrange 0 1": {"type": "DamperActuator", "kv": 5, **HINGE},
    "cylinder defaults": {"type": "CylinderActuator", **HINGE},
    "cylinder timeconst=.3 area=2 bias=1": {
        "type": "CylinderActuator", "timeconst": 0.3, "area": 2, "bias": 1, **HINGE,
    },
    "cylinder bias=[1,2,3] (biasprm edit)": {
        "type": "CylinderActuator", "bias": [1, 2, 3], **HINGE,
    },
    "muscle defaults": {"type": "MuscleActuator", "lengthrange": [0.1, 1], **HINGE},
    "muscle on joint, no lengthrange": {"type": "MuscleActuator", **HINGE},
    "adhesion gain=7 ctrlrange 0 1": {"type": "AdhesionActuator", "gain": 7, "body": "base"},
    "general dyntype=filter": {
        "type": "GeneralActuator", "dyntype": "filter", "dynprm": 0.1, **HINGE,
    },
    "general dyntype=filterexact": {
        "type": "GeneralActuator", "dyntype": "filterexact", "dynprm": [0.1], **HINGE,
    },
    "general dyntype=user": {"type": "GeneralActuator", "dyntype": "user", "dynprm": 0.1, **HINGE},
    "general bias affine": {
        "type": "GeneralActuator", "biastype": "affine", "biasprm": [1, -5, -1], **HINGE,
    },
    "general gain user/bias user": {
        "type": "GeneralActuator", "gaintype": "user", "biastype": "user", **HINGE,
    },
    "jointinparent ball": {
        "type": "MotorActuator", "joint": "ball", "inparent": True, "gear": [0, 0, 1],
    },
    "tendon": {"type": "MotorActuator", "tendon": "ten"},
    "site": {"type": "MotorActuator", "site": "s", "gear": [0, 0, 1]},
    "site+refsite position": {
        "type": "PositionActuator", "kp": 10, "site": "s", "refsite": "ref", "gear": [0, 0, 1],
    },
    "body general": {"type": "GeneralActuator", "body": "base"},
    "ctrlrange -1 1 auto": {"type": "MotorActuator", "ctrlrange": [-1, 1], **HINGE},
    "ctrlrange -1 1 false": {
        "type": "MotorActuator", "ctrlrange": [-1, 1], "ctrllimited": False, **HINGE,
    },
    "actlimited filter": {
        "type": "GeneralActuator", "dyntype": "filter", "dynprm": 0.1, "actrange": [-1, 1], **HINGE,
    },
    "gear 30 0 0 0 0 0": {"type": "MotorActuator", "gear": 30, **HINGE},
    "delay nsample=5 delay=.01": {"type": "MotorActuator", "delay": 0.01, "nsample": 5, **HINGE},
    "interp linear": {
        "type": "MotorActuator", "delay": 0.01, "nsample": 5, "interp": "linear", **HINGE,
    },
    "damping [1,2,3] armature .01 gear 3": {
        "type": "MotorActuator", "damping": [1, 2, 3], "armature": 0.01, "gear": 3, **HINGE,
    },
    "pid kp=1 kv=2 (no ki)": {"type": "PIDActuator", "kv": 2, **HINGE},
    "pid ki imax slewmax": {
        "type": "PIDActuator", "kv": 2, "ki": 0.02, "imax": 3, "slewmax": 4, **HINGE,
    },
    "pid input=pos": {"type": "PIDActuator", "kv": 2, "ctrlspec": "pos", **HINGE},
    "pid input=pos+ff": {"type": "PIDActuator", "kv": 2, "ctrlspec": ["pos", "ff"], **HINGE},
    "pid input=pos+vel+ff": {"type": "PIDActuator", "kv": 2, "ctrlspec": 7, **HINGE},
    "pid ranges": {
        "type": "PIDActuator", "kv": 2, "ctrlspec": "pos vel ff",
        "ctrlrange": [-1, 1], "velrange": [-2, 2], "ffrange": [-3, 3], **HINGE,
    },
    "orientation ball quat": {
        "type": "OrientationActuator", "kp": 10, "dampratio": 1, "joint": "ball",
        "ctrlspec": "quat",
    },
    "orientation site refsite": {
        "type": "OrientationActuator", "kp": 10, "site": "bs", "refsite": "ref",
    },
    "dcmotor K=.05 R=2": {"type": "DCMotorActuator", "motorconst": 0.05, "resistance": 2, **HINGE},
    "dcmotor L + saturation": {
        "type": "DCMotorActuator", "motorconst": 0.05, "resistance": 2, "inductance": 1e-3,
        "saturation": 0.5, **HINGE,
    },
    "dcmotor thermal+lugre+cogging": {
        "type": "DCMotorActuator", "motorconst": 0.05, "resistance": 2,
        "thermal": [1, 10, 0, 0.004, 25, 25], "lugre": [100, 1, 0.1, 0.2, 0.01],
        "cogging": [0.01, 7, 0], **HINGE,
    },
    "dcmotor pos controller": {
        "type": "DCMotorActuator", "motorconst": 0.05, "resistance": 2, "ctrlspec": "pos vel",
        "controller": [1, 0.1, 0.2, 0, 0, 24], **HINGE,
    },
    "actearly set AFTER set_to_intvelocity": {
        "type": "IntVelocityActuator", "actrange": [-1, 1], "actearly": True, **HINGE,
    },
    "common fields survive set_to_position": {
        "type": "PositionActuator", "kp": 50, "gear": 3, "forcerange": [-2, 2], "delay": 0.01,
        "nsample": 5, "armature": 0.01, **HINGE,
    },
}  # fmt: skip

#: Cases that MjSpec takes silently and mjrig refuses, with a part of what it says.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "adhesion with joint trn": ({"type": "AdhesionActuator", **HINGE}, "act on a body"),
    "refsite on joint trn": (
        {"type": "MotorActuator", "refsite": "ref", **HINGE},
        "site must be set first",
    ),
    "body motor": ({"type": "MotorActuator", "body": "base"}, "not on a body"),
    "ctrlrange 1 -1 auto": (
        {"type": "MotorActuator", "ctrlrange": [1, -1], **HINGE},
        "low <= high",
    ),
}

#: Golden error → the same mistake in a component, and a part of what mjrig says.
ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "damper no ctrlrange": (
        {"type": "DamperActuator", "ctrlrange": [0, 0], **HINGE},
        ".ctrlrange: must be 0 <= low < high",
    ),
    "damper kv<0": ({"type": "DamperActuator", "kv": -1, **HINGE}, ".kv: must be >= 0"),
    "damper ctrlrange -1 1": (
        {"type": "DamperActuator", "ctrlrange": [-1, 1], **HINGE},
        ".ctrlrange: must be 0 <= low < high, got [-1, 1]",
    ),
    "muscle tausmooth<0": (
        {"type": "MuscleActuator", "tausmooth": -1, **HINGE},
        ".tausmooth: must be >= 0",
    ),
    "adhesion no ctrlrange": (
        {"type": "AdhesionActuator", "ctrlrange": [0, 0], "body": "base"},
        ".ctrlrange: must be 0 <= low < high",
    ),
    "adhesion gain<0": (
        {"type": "AdhesionActuator", "gain": -1, "body": "base"},
        ".gain: must be >= 0 N",
    ),
    "adhesion trntype left unset by set_to_adhesion?": (
        {"type": "AdhesionActuator"},
        ".body: give one of body",
    ),
    "slidercrank cranklength=0": (
        {"type": "MotorActuator", "cranksite": "crank", "slidersite": "slider"},
        ".cranklength: must be > 0 m",
    ),
    "missing target": (
        {"type": "MotorActuator", "joint": "hinga"},
        ".joint: 'hinga' matches no joint; did you mean 'hinge'?",
    ),
    "no target": ({"type": "MotorActuator"}, "give one of joint, site, tendon, cranksite"),
    "ctrllimited true, range 0 0": (
        {"type": "MotorActuator", "ctrllimited": True, **HINGE},
        "ctrllimited is true: the range must be low < high, got [0, 0]",
    ),
    "actrange on stateless": (
        {"type": "MotorActuator", "actrange": [-1, 1], **HINGE},
        ".actrange: there is no activation",
    ),
    "delay without nsample": (
        {"type": "MotorActuator", "delay": 0.01, **HINGE},
        ".delay: of 0.01 s needs nsample",
    ),
    "damping on site": (
        {"type": "MotorActuator", "site": "s", "damping": 1},
        ".damping: needs a joint or tendon",
    ),
    "pid ki without pos": (
        {"type": "PIDActuator", "ki": 1, "ctrlspec": "vel", **HINGE},
        ".ki: needs the input pos",
    ),
    "plugin mujoco.pid ki without actdim": (
        {"type": "GeneralActuator", "plugin": "mujoco.pid", "plugin_config": {"kp": 4, "ki": 1},
         **HINGE},
        "has actdim 0, expected 1",
    ),
}  # fmt: skip
#: Golden cases and errors about MjSpec's own calls, which nobody makes here.
NOT_AUTHORABLE = {
    "muscle sentinel (-1) args",
    "actearly intvelocity",
    "position -> motor resets table",
    "general dynprm scalar list [.1]",
    "gear scalar [30]",
    "orientation ball expmap trn=SO3",
}
_USER = {"act_dyn": 0.0, "act_gain": 1.0, "act_bias": 0.0}


@pytest.fixture(scope="module")
def golden() -> Any:
    if not GOLDEN.is_file():
        pytest.skip("no shared/golden beside the checkout")
    return json.loads(GOLDEN.read_text())


@contextmanager
def callbacks() -> Iterator[None]:
    """User types need callbacks while their actuators are built."""
    for name, value in _USER.items():
        getattr(mujoco, f"set_mjcb_{name}")(lambda m, d, i, value=value: value)
    try:
        yield
    finally:
        for name in _USER:
            getattr(mujoco, f"set_mjcb_{name}")(None)


def world_of(golden: Any, actuator: dict[str, Any]) -> mjrig.World:
    return make_world(golden["scene"].replace("%s", ""), actuators=[actuator])


def compiled(model: Any) -> dict[str, Any]:
    """The fields of a model's only actuator, named and shaped as in the golden file."""
    fields: dict[str, Any] = {
        "trntype": mujoco.mjtTrn(model.actuator_trntype[0]).name,
        "dyntype": mujoco.mjtDyn(model.actuator_dyntype[0]).name,
        "gaintype": mujoco.mjtGain(model.actuator_gaintype[0]).name,
        "biastype": mujoco.mjtBias(model.actuator_biastype[0]).name,
        "nu": model.nu,
        "na": model.na,
        "inputs": [mujoco.mj_actuatorInputName(model, 0, k) for k in range(model.nu)],
    }
    names: tuple[str, ...] = (
        "trnid",
        "dynprm",
        "gainprm",
        "biasprm",
        "actnum",
        "ctrlnum",
        "outnum",
        "ctrlspec",
    )
    names += ("ctrllimited", "ctrlrange", "forcelimited", "forcerange", "actlimited", "actrange")
    names += ("lengthrange", "gear", "cranklength", "actearly", "delay", "history", "damping")
    names += ("dampingpoly", "armature", "group", "acc0", "length0")
    return fields | {name: getattr(model, f"actuator_{name}") for name in names}


@pytest.mark.parametrize("case", CASES)
def test_a_component_compiles_to_the_fields_of_the_call(golden: Any, case: str) -> None:
    with callbacks():
        world = world_of(golden, CASES[case])
    found = compiled(world.model)
    for field, expected in golden["cases"][case].items():
        if field in ("sample", "xml_equal"):
            continue
        value = found[field]
        if isinstance(value, np.ndarray):
            assert np.ravel(value) == pytest.approx(np.ravel(expected), rel=1e-12, abs=0), field
        else:
            assert value == expected, field


@pytest.mark.parametrize("case", REFUSED)
def test_what_mjspec_takes_silently_is_refused(golden: Any, case: str) -> None:
    assert case in golden["cases"]
    actuator, text = REFUSED[case]
    with pytest.raises((mjrig.PropertyError, mjrig.BindingError)) as info:
        world_of(golden, actuator)
    assert text in str(info.value)


@pytest.mark.parametrize("case", ERRORS)
def test_what_mjspec_refuses_is_refused_with_the_property(golden: Any, case: str) -> None:
    assert case in golden["errors"]
    actuator, text = ERRORS[case]
    with pytest.raises((mjrig.PropertyError, mjrig.BindingError)) as info:
        world_of(golden, actuator)
    assert "actuators[0]" in str(info.value)
    assert text in str(info.value)


def test_every_golden_case_is_looked_at(golden: Any) -> None:
    known = CASES.keys() | REFUSED.keys() | ERRORS.keys() | NOT_AUTHORABLE
    assert golden["cases"].keys() | golden["errors"].keys() == known
