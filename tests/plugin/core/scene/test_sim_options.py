"""The `sim:` block: MuJoCo's options by their MJCF names."""

import math
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.core.errors import PropertyError
from mjrig.core.scene.mujoco_options import FIELDS, FLAGS, Actuation, SimOptions, differing_option
from tests.wording import matches

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time


def applied(**values: object) -> Any:
    """A model's options after a `sim:` block was applied."""
    spec = mujoco.MjSpec()
    SimOptions(**values).apply(spec.option)
    return spec.compile().opt


def option(**values: Any) -> Any:
    """An mjOption of its own."""
    spec = mujoco.MjSpec()
    for name, value in values.items():
        setattr(spec.option, name, value)
    return spec.compile().opt


def refusal(**values: object) -> str:
    """The message of a refused block, after a look that nothing changed."""
    sim = SimOptions(timestep=0.01)
    before = dict(vars(sim))
    with pytest.raises(PropertyError) as caught:
        sim.assign(values)
    assert vars(sim) == before
    return str(caught.value)


def test_no_flag_has_the_name_of_an_option() -> None:
    assert not set(FLAGS) & set(FIELDS)


def test_every_option_of_mujoco_can_be_set() -> None:
    names = {p.name for p in SimOptions.properties()}
    assert {*FIELDS, *FLAGS} - names == {"disableactuator"}
    assert names - {*FIELDS, *FLAGS} == {"actuation", "actuatorgroupdisable"}


def test_nothing_authored_leaves_the_model_as_it_is() -> None:
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.007
    spec.option.gravity = [0, 0, -1]
    SimOptions().apply(spec.option)
    assert spec.option.timestep == 0.007
    assert list(spec.option.gravity) == [0, 0, -1]


def test_options_reach_the_model() -> None:
    opt = applied(
        timestep=0.005, gravity=[0, 0, -1.5], wind=[1, 0, 0], iterations=7, tolerance="1e-9"
    )
    assert (opt.timestep, opt.iterations, opt.tolerance) == (0.005, 7, 1e-9)
    assert (opt.gravity.tolist(), opt.wind.tolist()) == ([0, 0, -1.5], [1, 0, 0])


def test_a_gravity_that_is_given_acts_where_the_model_switched_it_off() -> None:
    spec = mujoco.MjSpec.from_string('<mujoco><option><flag gravity="disable"/></option></mujoco>')
    SimOptions(gravity=[0, 0, -2]).apply(spec.option)
    assert list(spec.option.gravity) == [0, 0, -2]
    assert spec.option.disableflags == 0


@pytest.mark.parametrize(
    ("name", "value", "member"),
    [
        ("integrator", "Euler", mujoco.mjtIntegrator.mjINT_EULER),
        ("integrator", "RK4", mujoco.mjtIntegrator.mjINT_RK4),
        ("integrator", "implicit", mujoco.mjtIntegrator.mjINT_IMPLICIT),
        ("integrator", "implicitfast", mujoco.mjtIntegrator.mjINT_IMPLICITFAST),
        ("cone", "elliptic", mujoco.mjtCone.mjCONE_ELLIPTIC),
        ("jacobian", "sparse", mujoco.mjtJacobian.mjJAC_SPARSE),
        ("solver", "PGS", mujoco.mjtSolver.mjSOL_PGS),
        ("solver", "CG", mujoco.mjtSolver.mjSOL_CG),
    ],
)
def test_a_word_of_mjcf_is_the_enum_of_mujoco(name: str, value: str, member: Any) -> None:
    assert getattr(applied(**{name: value}), name) == int(member)


@pytest.mark.parametrize("flag", sorted(FLAGS))
@pytest.mark.parametrize("value", ["enable", "disable", True, False])
def test_a_flag_means_what_mjcf_says(flag: str, value: object) -> None:
    """MuJoCo's own parser is the judge."""
    word = {True: "enable", False: "disable"}.get(value, value)  # type: ignore[call-overload]
    xml = f'<mujoco><option><flag {flag}="{word}"/></option></mujoco>'
    expected = mujoco.MjSpec.from_string(xml).option
    spec = mujoco.MjSpec()
    SimOptions(**{flag: value}).apply(spec.option)
    assert spec.option.disableflags == expected.disableflags
    assert spec.option.enableflags == expected.enableflags


def test_a_block_reads_back_as_written() -> None:
    written = {
        "timestep": 0.001,
        "gravity": [0, 0, -9.81],
        "integrator": "implicitfast",
        "iterations": 50,
        "contact": False,
        "energy": "enable",
        "actuation": "implicit",
    }
    sim = SimOptions.from_data(written)
    assert sim.to_data() == written
    assert repr(sim.to_data()["gravity"]) == "[0, 0, -9.81]"
    assert sim.actuation is Actuation.IMPLICIT


def test_numpy_values_are_saved_as_plain_data() -> None:
    data = SimOptions(timestep=np.float64(0.001), gravity=np.array([0.0, 0.0, -1.0])).to_data()
    assert repr(data) == "{'timestep': 0.001, 'gravity': [0.0, 0.0, -1.0]}"


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("timestep", 0, "must be > 0, got 0"),
        ("timestep", -0.1, "must be > 0, got -0.1"),
        ("timestep", math.nan, "must be a finite … nan"),
        ("timestep", math.inf, "must be a finite … inf"),
        ("timestep", "fast", "must be a finite … 'fast'"),
        ("timestep", True, "must be a finite … True"),
        ("timestep", None, "must be a finite … None"),
        ("gravity", -9.81, "must be a list … 3 … -9.81"),
        ("gravity", [0, 0], "must be a list … 3 … [0, 0]"),
        ("gravity", [0, 0, "down"], "must be a finite … 'down'"),
        ("iterations", 1.5, "must be a whole … 0 … 10000, … 1.5"),
        ("iterations", -1, "must be a whole … 0 … 10000, … -1"),
        ("iterations", 2**31, "must be a whole … 0 … 10000, … 2147483648"),
        (
            "integrator",
            "RK5",
            "must be one of Euler, RK4, implicit, implicitfast, discrete; … 'RK5'",
        ),
        ("solver", 1, "must be one of PGS, CG, Newton; … 1"),
        ("contact", "off", "must be one of … 'off'"),
        ("contact", 0, "must be one of … 0"),
        ("actuation", "none", "must be one of … 'none'"),
    ],
)
def test_a_bad_option_is_refused_with_its_reason(name: str, value: object, problem: str) -> None:
    assert matches(refusal(**{name: value}), f"sim.{name}: {problem}")


def test_an_unknown_option_names_the_nearest() -> None:
    assert matches(refusal(timestpe=1), "SimOptions has no property 'timestpe'; did … 'timestep'?")


@FIXED
@given(st.floats(1e-6, 1.0), st.lists(st.floats(-100, 100), min_size=3, max_size=3))
def test_any_good_value_reaches_the_options(timestep: float, gravity: list[float]) -> None:
    target = mujoco.MjSpec().option
    SimOptions(timestep=timestep, gravity=gravity).apply(target)
    assert target.timestep == timestep
    assert list(target.gravity) == gravity


def disagreement(ours: Any, theirs: Any, **sim: object) -> str:
    """What is said about two models; empty if nothing."""
    return str(differing_option([("a", ours), ("b", theirs)], SimOptions(**sim)) or "")


def test_models_that_agree_are_fine() -> None:
    assert disagreement(option(timestep=0.01), option(timestep=0.01)) == ""


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({"timestep": 0.01}, "sim.timestep: the models differ: 0.002 in 'a', 0.01 … 'b'"),
        (
            {"integrator": int(mujoco.mjtIntegrator.mjINT_RK4)},
            "sim.integrator: the models differ: Euler in 'a', RK4 … 'b'",
        ),
        (
            {"disableflags": int(mujoco.mjtDisableBit.mjDSBL_CONTACT)},
            "sim.contact: the models differ: enable … 'a', … 'b'",
        ),
        (
            {"enableflags": int(mujoco.mjtEnableBit.mjENBL_ENERGY)},
            "sim.energy: the models differ: disable … 'a', … 'b'",
        ),
    ],
)
def test_models_that_disagree_are_named(theirs: dict[str, Any], message: str) -> None:
    assert matches(disagreement(option(), option(**theirs)), f"{message}; set it under sim:")


def test_gravity_switched_off_is_no_gravity() -> None:
    off = option(disableflags=int(mujoco.mjtDisableBit.mjDSBL_GRAVITY))
    assert disagreement(off, option(gravity=[0, 0, 0])) == ""
    assert matches(
        disagreement(off, option(), timestep=0.001),
        "sim.gravity: the models differ: [0. 0. 0.] in 'a', [ 0.    0.   -9.81] … 'b'; …",
    )


def test_what_sim_sets_may_differ_between_models() -> None:
    assert disagreement(option(), option(timestep=0.01), timestep=0.005) == ""


def test_the_error_points_at_the_option() -> None:
    error = differing_option([("a", option()), ("b", option(timestep=0.01))], SimOptions())
    assert error is not None
    assert error.keys == ("sim", "timestep")


def test_an_option_is_structural() -> None:
    assert all(p.structural for p in SimOptions.properties())


def test_all_options_that_differ_are_told_at_once_with_what_to_paste() -> None:
    theirs = option(timestep=0.01, integrator=int(mujoco.mjtIntegrator.mjINT_RK4))
    said = disagreement(option(), theirs)
    assert matches(
        said,
        "sim: the models differ in 2 … Euler … 'a', RK4 … 'b'; … 0.002 … 'a', 0.01 … "
        "'b'; … 'a' … {integrator: Euler, … 0.002}",
    )
    assert disagreement(option(), theirs, timestep=0.002, integrator="Euler") == ""
