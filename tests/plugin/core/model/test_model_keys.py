"""Keyframes of a model: read from its spec they are what the compiler makes of them."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.core.model.element_references import name_everything
from mjrig.core.model.keyframes import Key, _read, model_keys
from tests.campaign import amount
from tests.places import ASSETS, SHARED, TESTS

ROBOTS = SHARED / "robots" / "models"
_JOINT = mujoco.mjtJoint
_TABLES = ("qpos", "qvel", "act", "ctrl", "mocap_pos", "mocap_quat")


def equal(one: dict[str, Key], other: dict[str, Key]) -> bool:
    """Whether keyframes are the same to the last bit, names and order included."""
    if list(one) != list(other):
        return False
    for mine, theirs in zip(one.values(), other.values(), strict=True):
        for table in _TABLES:
            a, b = getattr(mine, table), getattr(theirs, table)
            if list(a) != list(b) or any(a[n].tobytes() != b[n].tobytes() for n in a):
                return False
    return True


@st.composite
def trees(draw: Any) -> Any:
    """A spec with bodies in bodies and frames, joints added in any order, motors and a keyframe."""
    spec = mujoco.MjSpec()
    numbers = st.floats(-2.0, 2.0).filter(lambda x: abs(x) > 1e-2)
    bodies = [spec.worldbody]
    for _ in range(draw(st.integers(1, 6))):
        parent = draw(st.sampled_from(bodies))
        body = parent.add_body(mass=1.0, inertia=[1.0, 1.0, 1.0])
        if draw(st.booleans()):
            frame = parent.add_frame(pos=[draw(numbers), 0, 0], quat=[1, draw(numbers), 0, 0])
            body.set_frame(frame)
        bodies.append(body)
    for body in draw(st.permutations(bodies[1:])):
        top = body.parent.name == "world"
        kind = draw(st.sampled_from(["free", "mocap", "ball", "hinges", ""]))
        if kind == "free" and top:
            body.add_freejoint()
        elif kind == "mocap" and top:
            body.mocap = True
        elif kind == "ball":
            body.add_joint(type=_JOINT.mjJNT_BALL)
        elif kind == "hinges":
            body.add_joint(type=_JOINT.mjJNT_SLIDE, axis=[1, 0, 0])
            body.add_joint(type=_JOINT.mjJNT_HINGE)
    name_everything(spec)
    for joint in spec.joints:
        if joint.type == _JOINT.mjJNT_HINGE:
            spec.add_actuator(
                name=f"m_{joint.name}", target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
            )
    model = spec.copy().compile()
    sizes = {"qpos": model.nq, "qvel": model.nv, "ctrl": model.nu}
    sizes |= {"mpos": 3 * model.nmocap, "mquat": 4 * model.nmocap}
    for k in range(draw(st.integers(1, 2))):
        key = spec.add_key(name=f"key{k}")
        for column, size in sizes.items():
            if draw(st.booleans()):
                values = draw(st.lists(numbers, min_size=size, max_size=size))
                setattr(key, column, values)
    return spec


@pytest.mark.campaign
@settings(max_examples=amount(50, 3000), deadline=None)
@given(trees())
def test_a_tree(spec: Any) -> None:
    read = _read(spec)
    assert read is not None
    assert equal(read, model_keys(spec, compiling=True))


@pytest.mark.campaign
@settings(max_examples=amount(100, 3000), deadline=None)
@given(
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    st.sampled_from([0, 3e-16, 1e-15, 1e-13, 2e-12]),
)
def test_a_quaternion(values: list[float], off: float) -> None:
    spec = mujoco.MjSpec.from_string(
        """<mujoco><worldbody><body name="m" mocap="true"/><body name="b"><freejoint name="j"/>
        <geom size="1"/></body></worldbody></mujoco>"""
    )
    norm = float(np.linalg.norm(values))
    unit = [(1.0 + off) * v / norm for v in values] if norm else values
    for name, numbers in (("raw", values), ("unit", unit)):
        spec.add_key(name=name, qpos=[0.0, 0.0, 0.0, *numbers], mquat=numbers)
    assert equal(model_keys(spec), model_keys(spec, compiling=True))


def models() -> list[Path]:
    found = [*ASSETS.glob("**/*.xml"), *TESTS.glob("**/*.xml"), *ROBOTS.glob("**/*.xml")]
    return sorted(found)


@pytest.mark.parametrize("path", models(), ids=lambda p: "/".join(p.parts[-2:]))
def test_a_model(path: Path) -> None:
    try:
        spec = mujoco.MjSpec.from_file(str(path.absolute()))
        name_everything(spec)
        compiled = model_keys(spec, compiling=True)
    except ValueError:
        pytest.skip("not a model of its own")
    if not spec.keys:
        pytest.skip("no keyframes")
    assert equal(model_keys(spec), compiled)


def test_the_quadruped_needs_no_compiler() -> None:
    spec = mujoco.MjSpec.from_file(str(ASSETS / "quadruped" / "quadruped.xml"))
    name_everything(spec)
    assert _read(spec)


@pytest.mark.parametrize(
    "key", ['qpos="1 2"', 'ctrl="1 2"', 'mpos="1"', 'act="1"', 'qvel="1 2 3"'], ids=str
)
def test_wrong_lengths_are_mujocos_to_refuse(key: str) -> None:
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
        <actuator><motor name="m" joint="j"/></actuator><keyframe><key name="k" {key}/></keyframe>
        </mujoco>"""
    )
    with pytest.raises(ValueError, match="invalid"):
        model_keys(spec)


@pytest.mark.parametrize(
    "actuator",
    ["<general joint='j' dyntype='filter'/>", "<pid joint='j' kp='1' kv='1' ki='1'/>"],
)
def test_controls_of_other_actuators_are_compiled(actuator: str) -> None:
    spec = mujoco.MjSpec.from_string(
        f"""<mujoco><worldbody><body name="b"><joint name="j"/><geom size="1"/></body></worldbody>
        <actuator>{actuator}</actuator></mujoco>"""
    )
    name_everything(spec)
    key = spec.add_key(name="k")
    key.ctrl = np.ones(spec.copy().compile().nu).tolist()
    assert _read(spec) is None
    assert len(model_keys(spec)["k"].ctrl) == 1
