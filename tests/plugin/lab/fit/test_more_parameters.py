"""Bodies, payloads, encoders, late feedback and torque sensors, found or at least noticed."""

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.errors import FitError
from mjrig.data.recording.recording import Recording
from mjrig.lab.fit import inertial_parameters
from mjrig.lab.fit.estimates import Estimate
from mjrig.lab.fit.identification import Fit, fit
from mjrig.lab.fit.write_back import put_fit
from tests.plugin.lab.fit.fit_worlds import (
    SWING,
    chirp,
    edited,
    noisy,
    record,
    swing,
    taken,
    with_efforts,
    with_others,
)
from tests.worlds import refused

PD = "robot.PDController"
TRUE = {f"{PD}.kp": 31.0, f"{PD}.kv": 1.4}
NOISE = (2e-4, 2e-3)
NAMED = SWING.replace("<body>", '<body name="link">')


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    return swing(tmp_path, model=NAMED)


def recorded(scene: mjrig.Scene, seconds: float = 1.9) -> Recording:
    world = mjrig.World(with_others(scene, TRUE))
    return record(world, chirp(0.6, 0.5, 5.0, seconds), seconds)


def with_encoder(recording: Recording, offset: float) -> Recording:
    """As an encoder with an offset sees it, and as the setpoints are meant for it."""
    (share,) = recording.actors.values()
    assert share.commands is not None
    moved = replace(share.commands, position=share.commands.position + offset)
    return edited(recording, qpos=share.qpos + offset, commands=moved)


# Encoders, feedback, efforts --------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.08, -0.1])
def test_an_encoder_offset_is_noticed_and_found(scene: mjrig.Scene, offset: float) -> None:
    log = noisy(with_encoder(recorded(scene), offset), 0, *NOISE)
    blind = fit(scene, [log], ["kp", "kv"])
    assert any("encoder_offset" in note for note in blind.notes)
    found = fit(scene, [log], ["kp", "kv", "encoder_offset"])
    e = found["swing", "encoder_offset"]
    assert not found.rejection
    assert e.value == pytest.approx(offset, abs=0.01)
    assert e.low <= offset <= e.high
    assert found["swing", "kp"].value == pytest.approx(31.0, rel=0.01)


def late_feedback(model: mujoco.MjModel, clean: Recording, steps: int) -> Recording:
    """The same motor under a law that sees states that are so many steps old."""
    (share,) = clean.actors.values()
    assert share.commands is not None
    data = mujoco.MjData(model)
    q, v = [], []
    for k in range(clean.steps + 1):
        q.append(float(data.qpos[0]))
        v.append(float(data.qvel[0]))
        if k < clean.steps:
            old = max(k - steps, 0)
            goal = share.commands.position[k, 0]
            data.ctrl[0] = 31.0 * (goal - q[old]) - 1.4 * v[old]
            mujoco.mj_step(model, data)
    return edited(clean, qpos=np.array(q)[:, None], qvel=np.array(v)[:, None])


def test_a_feedback_delay_is_found(scene: mjrig.Scene) -> None:
    model = mujoco.MjModel.from_xml_string(NAMED)
    log = noisy(late_feedback(model, recorded(scene), 2), 0, *NOISE)
    for name, value in TRUE.items():
        scene.set(name, value)
    found = fit(scene, [log], ["feedback_delay"])
    assert found["swing", "feedback_delay"].value == pytest.approx(2.0, abs=0.3)


def test_what_cannot_be_told_from_a_feedback_delay_is_named(scene: mjrig.Scene) -> None:
    log = noisy(recorded(scene), 0, *NOISE)
    found = fit(scene, [log], ["kp", "damping", "feedback_delay"])
    said = [e.reason for e in found.estimates] + [str(pair) for pair in found.correlated]
    assert any("same effect" in text or "hardly told apart" in text for text in said)


def test_the_gain_of_a_torque_sensor(scene: mjrig.Scene, tmp_path: Path) -> None:
    world = mjrig.World(with_others(scene, TRUE))
    log = taken(world, tmp_path, chirp(0.6, 0.5, 5.0, 1.0), 500)
    log = noisy(with_efforts(log, lambda e: 1.07 * e), 0, *NOISE)
    found = fit(scene, [log], ["kp", "kv", "torque_gain"])
    e = found["swing", "torque_gain"]
    assert e.value == pytest.approx(1.07, rel=0.01)
    assert e.low <= 1.07 <= e.high
    assert e.evidence == "efforts"
    with pytest.raises(FitError, match="needs recorded efforts"):
        fit(scene, [recorded(scene)], ["kp", "torque_gain"])


# Bodies -----------------------------------------------------------------------------------------


def heavier(scene: mjrig.Scene, text: str) -> Recording:
    """What the robot does with another link."""
    other = swing(scene.base, model=NAMED.replace("</body>", f"{text}</body>"))
    found = recorded(other, 1.0)
    swing(scene.base, model=NAMED)
    return noisy(found, 0, *NOISE)


def described(world: mjrig.World) -> dict[str, float]:
    """The link as it is compiled."""
    pseudo = inertial_parameters.pseudo_inertia(world.model, world.model.body("robot/link").id)
    return dict(
        zip(inertial_parameters.NAMES, inertial_parameters.described(pseudo).tolist(), strict=True)
    )


def written(scene: mjrig.Scene, found: Fit) -> dict[str, float]:
    """The link of a world that is built from the file a fit was written to."""
    kept = mjrig.Scene.parse(scene.to_text(), scene.base)
    put_fit(found, kept)
    path = scene.base / "fitted.yaml"
    kept.save(path)
    return described(mjrig.World(mjrig.Scene.load(path)))


@pytest.mark.parametrize("parameters", [("mass",), ("centre",), ("inertia",), ("mass", "payload")])
def test_what_is_written_is_the_body_that_was_simulated(
    scene: mjrig.Scene, parameters: tuple[str, ...]
) -> None:
    """Whichever of its numbers were fitted, and if the scene states the body already."""
    random = np.random.default_rng(len(parameters[0]))
    for _ in range(3):
        model = mjrig.World(scene).model
        body = model.body("robot/link").id
        base = inertial_parameters.factor(inertial_parameters.pseudo_inertia(model, body))
        theta = np.zeros(inertial_parameters.SIZE)
        for name in set(parameters) & set(inertial_parameters.PARTS):
            theta[list(inertial_parameters.PARTS[name])] = random.normal(
                0.0, 0.2, len(inertial_parameters.PARTS[name])
            )
        simulated, load = (
            inertial_parameters.pseudo_of(base, theta),
            np.array(random.uniform(0.1, 0.5)),
        )
        values = dict(
            zip(
                inertial_parameters.NAMES,
                inertial_parameters.described(simulated).tolist(),
                strict=True,
            )
        )
        values = {n: v for n, v in values.items() if n.split(".")[0] in parameters}
        if "payload" in parameters:
            values["payload"], simulated = (
                float(load),
                inertial_parameters.with_payload(simulated, load),
            )
        estimates = [Estimate("link", "", n, v, 0.0, v, v) for n, v in values.items()]
        found = Fit("robot", tuple(estimates), (), {}, {})
        body_now = written(scene, found)
        wanted = inertial_parameters.described(simulated)
        np.testing.assert_allclose([*body_now.values()], wanted, rtol=1e-7, atol=1e-9)
        put_fit(found, scene)


def test_a_body_that_the_motion_does_not_show_is_not_written(scene: mjrig.Scene) -> None:
    vague = Estimate("link", "", "mass", 2.0, 1.0, 0.0, 9.0, identifiable=False)
    before = scene.to_text()
    put_fit(Fit("robot", (vague,), (), {}, {}), scene)
    assert scene.to_text() == before


def test_mass_and_centre_of_a_body(scene: mjrig.Scene) -> None:
    log = heavier(scene, '<geom pos="0 0 -0.1" size="0.01" mass="0.3"/>')
    scene.set(f"{PD}.kp", 31.0)
    scene.set(f"{PD}.kv", 1.4)
    found = fit(scene, [log], ["mass", "centre", "inertia"], bodies="link")
    by = {e.parameter: e for e in found.estimates}
    # Only the moment m·z and the inertia about the hinge show; the prior shares them out.
    moment = by["mass"].value * by["centre.z"].value
    assert moment == pytest.approx(-(1.0 * 0.2 + 0.3 * 0.1), rel=0.01)
    assert not by["inertia.zz"].identifiable
    assert "assumed beforehand" in by["inertia.zz"].reason
    body = written(scene, found)
    assert body["mass"] == pytest.approx(by["mass"].value, rel=1e-9)
    for name in inertial_parameters.NAMES:
        assert body[name] == pytest.approx(by[name].value, rel=1e-8, abs=1e-10)


def test_a_payload_on_a_named_body(scene: mjrig.Scene) -> None:
    log = heavier(scene, '<geom pos="0 0 -0.2" size="0.001" mass="0.2"/>')
    names = ["payload"]
    for name, value in TRUE.items():
        scene.set(name, value)
    found = fit(scene, [log], names, payload="link")
    mass = found["link", "payload"]
    assert mass.value == pytest.approx(0.2, rel=0.02)
    assert mass.low <= 0.2 <= mass.high
    before = described(mjrig.World(scene))
    body = written(scene, found)
    assert body["mass"] == pytest.approx(before["mass"] + mass.value, rel=1e-9)
    same = [
        n for n in inertial_parameters.NAMES if n != "mass"
    ]  # a point at the centre changes nothing else
    assert [body[n] for n in same] == pytest.approx([before[n] for n in same], abs=1e-10)
    with pytest.raises(FitError, match="no body 'hand'"):
        fit(scene, [log], names, payload="hand")
    with pytest.raises(FitError, match="name the body that carries it"):
        fit(scene, [log], names)


def test_every_number_is_a_body_that_can_exist() -> None:
    """Principal inertias of random numbers fulfil the triangle inequality; 0 is the model."""
    model = mujoco.MjModel.from_xml_string(NAMED)
    base = inertial_parameters.factor(inertial_parameters.pseudo_inertia(model, 1))
    random = np.random.default_rng(0)
    for theta in random.normal(0.0, 1.0, (200, inertial_parameters.SIZE)):
        made = inertial_parameters.mujoco_fields(inertial_parameters.pseudo_of(base, theta))
        a, b, c = np.sort(made["body_inertia"])
        assert made["body_mass"] > 0.0
        assert a > 0.0
        assert a + b > c * (1.0 - 1e-9)
    same = inertial_parameters.mujoco_fields(
        inertial_parameters.pseudo_of(base, np.zeros(inertial_parameters.SIZE))
    )
    assert same["body_mass"] == pytest.approx(model.body_mass[1])
    np.testing.assert_allclose(same["body_ipos"], model.body_ipos[1], atol=1e-9)
    np.testing.assert_allclose(np.sort(same["body_inertia"]), np.sort(model.body_inertia[1]), 1e-5)


def test_a_prior_keeps_what_the_motion_does_not_show(scene: mjrig.Scene) -> None:
    log = noisy(recorded(scene, 0.4), 0, *NOISE)
    free = fit(scene, [log], ["kp", "armature", "frictionloss"])
    tight = fit(scene, [log], ["kp", "armature", "frictionloss"], prior=1e-3)
    assert abs(tight["swing", "kp"].value - 40.0) < abs(free["swing", "kp"].value - 40.0)
    with refused(FitError, "prior: must be above 0, got 0"):
        fit(scene, [log], ["kp"], prior=0.0)


# Held out ---------------------------------------------------------------------------------------


def test_a_quarter_is_held_out_and_judged(scene: mjrig.Scene) -> None:
    log = noisy(recorded(scene, 2.2), 0, *NOISE)
    found = fit(scene, [log], ["kp", "kv"])
    assert found.held_after["swing"] < 0.1 * found.held_before["swing"]
    held = [c for c in found.curves if c.is_held_out]
    assert sum(len(c.time) for c in held) == pytest.approx(0.25 * 1101, abs=4)
    seen = np.concatenate([c.time for c in found.curves if not c.is_held_out])
    assert not set(seen) & set(held[0].time)
    assert fit(scene, [log], ["kp", "kv"], validate=None).held_after == {}
    other = noisy(recorded(scene), 1, *NOISE)
    apart = fit(scene, [log], ["kp", "kv"], validate=[other])
    assert apart.held_after["swing"] == pytest.approx(NOISE[0], rel=0.3)
    with refused(
        FitError,
        "validate: the share that is held out must be above 0 and at most 0.8, got 2; none: "
        "nothing is held out",
    ):
        fit(scene, [log], ["kp"], validate=2.0)


def test_a_report_on_disk(
    scene: mjrig.Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = mjrig.World(with_others(scene, TRUE))
    taken(world, tmp_path, chirp(0.6, 0.5, 5.0, 2.2), 1100)
    scene.save(tmp_path / "scene.yaml")
    command = ["tune", "fit", str(tmp_path / "scene.yaml"), str(tmp_path / "walk.h5")]
    assert main([*command, "--parameters", "kp,kv,damping", "--report", str(tmp_path / "out")]) == 0
    assert "not seen by the fit: held out" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for said in (">held out</b>", "Correlation of the parameters", "simulated − recorded"):
        assert said in page
    data = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert data["held_out"]["rms_after"]["swing"] < data["held_out"]["rms_before"]["swing"]
    assert {c["held_out"] for c in data["curves"]} == {True, False}
    assert len(data["correlations"]["labels"]) == len(data["correlations"]["matrix"])
