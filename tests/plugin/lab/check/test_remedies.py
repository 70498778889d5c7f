"""Every finding with a fix has an edit that resolves it, or a reason why a person must decide."""

from pathlib import Path

import pytest

import mjrig
from mjrig.cli.main import main
from mjrig.core.findings import Finding, How, Remedy, RepairEdit, combined, patching, setting
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.yaml_text.formatting import format_flow
from mjrig.lab.check.preflight import findings
from mjrig.lab.findings.texts import CHECK
from tests.campaign import Tally
from tests.plugin.lab.check.test_masses import BALL, FINE, inertial, links
from tests.plugin.lab.check.test_physics import FLOOR, box
from tests.plugin.lab.check.test_surroundings import CHAIN, INERTIA, SERVOS, URDF, robot
from tests.worlds import GRIPPER, arm, hinge

GRAVITY = 'gravity="0 0 -9.81"'
PD = "components: [{type: PDController, kp: 7, kv: 1, torque_limit: 9}]"
HALL = f"<mujoco><worldbody>{FLOOR}</worldbody></mujoco>"
RANGE = 'range="-2 2"'
Scenes = tuple[str, str, str]
#: Code, model, and more of the actor in YAML.
CASES: list[Scenes] = [
    ("unstable-pd", hinge(), "components: [{type: PDController, kp: 10, kv: 1400}]"),
    (
        "unstable-pd",
        arm(),
        'components: [{type: PDController, kp: {"shoul.*": 1e7, default: 3}, kv: 1}]',
    ),
    ("unstable-pd", hinge('<position name="drive" joint="swing" kp="1e7"/>'), ""),
    (
        "unstable-pd",
        hinge(),
        "components: [{type: PDController, kp: 10, kv: 400, decimation: 3}]",
    ),
    ("close-to-unstable", hinge(), "components: [{type: PDController, kp: 10, kv: 700}]"),
    ("undamped", hinge(), "components: [{type: PDController, kp: 10, kv: 0}]"),
    ("no-limit", hinge(), "components: [{type: PDController, torque_limit: inf}]"),
    ("no-limit", hinge(), ""),
    (
        "ctrlrange-past-joint",
        hinge('<position name="drive" joint="swing" kp="5" kv="1" gear="2" ctrlrange="-90 90"/>',
              joint='range="-1 2"'),
        "native_gains: {ctrlrange: {dri.*: [-80, 80]}}",
    ),
    (
        "ctrlrange-past-joint",
        hinge('<position name="drive" joint="swing" kp="5" kv="1" ctrlrange="-90 90"/>',
              joint='range="-1 2"'),
        "",
    ),
    (
        "limit-above-model",
        arm('<motor name="a" joint="shoulder" forcerange="-3 3"/><motor name="b" joint="elbow"/>'),
        "components: [{type: PDController, kp: 7, kv: 1, torque_limit: 9}]",
    ),
    (
        "limit-above-model",
        arm('<motor name="a" joint="shoulder" forcerange="-3 3"/>'
            '<motor name="b" joint="elbow" forcerange="-3 3"/>'),
        "components: [{type: PDController, kp: 7, kv: 1, torque_limit: [9, 8]}]",
    ),
    ("motor-limit", hinge(), "motors: n5020-16, components: [{type: PDController, kp: 7, kv: 1, "
     "torque_limit: 60}]"),
    ("motor-limit", hinge('<position name="drive" joint="swing" kp="5" forcerange="-90 90"/>'),
     "motors: n5020-16"),
    ("motor-curve", hinge('<position name="drive" joint="swing" kp="5"/>'), "motors: n5020-16"),
    ("motor-kind", hinge(joint='type="slide"'), "motors: mx-106"),
    ("motor-armature", hinge(), "motors: mx-106, dynamics: {armature: {swing: 0.5}}"),
    ("inverted-range", hinge(joint='range="2 -3"'), PD),
    ("two-actuators", hinge('<motor name="a" joint="swing"/><motor name="b" joint="swing"/>'), PD),
    (
        "two-actuators",
        hinge('<motor name="a" joint="swing"/><position name="b.2" joint="swing" kp="3"/>'),
        PD,
    ),
    ("disabled", hinge(), "components: [{type: PDController, enabled: false}]"),
    ("owns-nothing", arm(""), "components: [{type: PDController}]"),
    ("owns-nothing", arm(SERVOS), PD),
    ("owns-nothing", arm(SERVOS.replace("position", "velocity").replace("kp", "kv")), PD),
    ("owns-nothing", GRIPPER, "components: [{type: PDController, actuators: 'gr.*'}]"),
    ("no-controller", hinge(), ""),
    ("no-actuators", arm(""), ""),
    ("start-out-of-range", hinge(joint=RANGE), "joints: {swing: 2.5}"),
    ("start-out-of-range", hinge(joint=RANGE, keys='<key name="far" qpos="3"/><key name="home"/>'),
     "keyframe: far"),
    ("start-out-of-range", arm(joint=RANGE), 'joints: {".*": -400}'),
    ("degrees", arm(joint=RANGE), 'joints: {".*": 45}'),
    ("degrees", hinge(joint=RANGE, keys='<key name="far" qpos="90"/>'),
     "keyframe: far, units: degrees"),
    (
        "setpoint-out-of-range",
        hinge('<position name="drive" joint="swing" kp="5" ctrlrange="-1 1"/>',
              keys='<key name="home" ctrl="3"/>'),
        "keyframe: home",
    ),
    ("overloaded", arm(option=GRAVITY), "components: [{type: PDController, torque_limit: 0.1}]"),
    ("droops", arm(option=GRAVITY), "components: [{type: PDController, kp: 20}]"),
    ("no-floor", robot(), ""),
    ("links-touch", CHAIN, ""),
    ("static-links", URDF.format(inertia=INERTIA), ""),
    ("penetration", box(0.08), ""),
    ("penetration", CHAIN.replace('axis="0 0 1" range="-90 90"', 'axis="0 1 0" range="-170 170"')
     .replace('<geom size=".15"/>', '<geom size=".05" pos=".12 0 -.1"/>'), ""),
    ("below-floor", box(-0.3), ""),
    ("inertia-too-large", links(FINE, inertial(1, "0.05 0.05 0.05") + BALL), ""),
    ("inertia-too-small", links(FINE, inertial(1, "1e-8 1e-8 1e-8") + BALL), ""),
    ("tiny-mass", links(FINE, inertial(1e-7, "1e-10 1e-10 1e-10") + BALL), ""),
    ("mass-ratio", links(inertial(1e-3, "1e-6 1e-6 1e-6") + BALL,
                         inertial(10, "1e-2 1e-2 1e-2") + BALL), ""),
    ("fast-solref", hinge(joint=f'{RANGE} solreflimit="0.001 1"'), ""),
]  # fmt: skip
#: Findings about how actors stand to each other: code and the actors in YAML.
TOGETHER = [
    ("two-floors", "[{name: r, model: r.xml}, {name: hall, model: hall.xml}]", box(1.0)),
    ("below-floor", "[{name: r, model: r.xml}, {name: hall, model: hall.xml}]",
     box(-0.3, floor="")),
    ("penetration", "[{name: r, model: r.xml}, {name: hall, model: hall.xml}]",
     box(0.08, floor="")),
    (
        "penetration",
        "[{name: r, model: r.xml}, "
        "{name: q, model: r.xml, scenery: false, pose: {position: [.15, 0, 0]}}]",
        box(1.0),
    ),
    (
        "limit-above-model",
        "[{name: r, model: r.xml, replicate: {count: [2, 1, 1]}, "
        "components: [{type: PDController, kp: 7, kv: 1, torque_limit: 9}]}]",
        hinge('<motor name="drive" joint="swing" forcerange="-3 3"/>'),
    ),
]  # fmt: skip
#: Codes whose text has no fix: what would be right is evident, or nothing is wrong.
WITHOUT_FIX = {"zero-limit", "keyframe-out-of-range", "no-range", "one-for-all", "no-shape",
               "motor-speed", "motor-overridden"}  # fmt: skip
#: Never of a model that MuJoCo compiles.
UNREACHABLE = {"impossible-inertia"}


def scene_of(folder: Path, xml: str, actors: str) -> Scene:
    (folder / "r.xml").write_text(xml)
    (folder / "hall.xml").write_text(HALL)
    return Scene.parse(f"mjrig: 1\nactors: {actors}\n", folder)


def cases() -> list[Scenes]:
    alone = [(c, x, f"[{{name: r, model: r.xml{', ' * bool(m)}{m}}}]") for c, x, m in CASES]
    return [*alone, *((code, xml, actors) for code, actors, xml in TOGETHER)]


def of_code(scene: Scene, code: str) -> list[Finding]:
    return [f for f in findings(mjrig.World(scene)) if f.kind == code]


def resolves(scene: Scene, finding: Finding, remedy: Remedy) -> bool:
    """Whether a finding is gone after a remedy, in a copy of the scene."""
    copy = Scene.parse(scene.to_text(), scene.base)
    remedy.apply(copy)
    left = of_code(Scene.parse(copy.to_text(), copy.base), finding.kind)
    return not any(set(f.paths) & set(finding.paths) for f in left)


@pytest.mark.parametrize(("code", "xml", "actors"), cases())
def test_a_fix_is_an_edit_that_resolves_it_or_a_decision(
    tmp_path: Path, code: str, xml: str, actors: str
) -> None:
    scene = scene_of(tmp_path, xml, actors)
    before = scene.to_text()
    found = of_code(scene, code)
    assert found
    for finding in found:
        assert finding.fix
        assert bool(finding.remedies) != bool(finding.by_hand), finding
        for remedy in finding.remedies:
            assert resolves(scene, finding, remedy), remedy
    assert scene.to_text() == before


def test_every_code_is_among_them() -> None:
    kinds = {form.partition(" ")[0] for form in CHECK}
    assert {kind for kind, _, _ in cases()} | WITHOUT_FIX | UNREACHABLE == kinds


# Edits ------------------------------------------------------------------------------------------


def test_a_patch_leaves_what_patterns_say_of_others(tmp_path: Path) -> None:
    text = (
        '[{name: r, model: r.xml, components: [{type: PDController, kp: {".*": 5}}], '
        'joints: {".*": 0.3}}]'
    )
    scene = scene_of(tmp_path, arm(), text)
    patching("", "r.PDController.kp", {"a": 7.0}, [("a", "shoulder"), ("b", "elbow")]).apply(scene)
    patching("", "r.joints", {"elbow": 0.1}, [("shoulder",), ("elbow",)]).apply(scene)
    world = mjrig.World(scene)
    assert world["r"].controllers[0].gains()["kp"].tolist() == [7.0, 5.0]
    assert world.data.qpos.tolist() == [0.3, 0.1]


def test_remedies_of_several_are_one_edit_each(tmp_path: Path) -> None:
    one = patching("limit", "r.PD.kp", {"a": 1.0}, [("a",), ("b",)])
    two = patching("limit", "r.PD.kp", {"b": 2.0}, [("a",), ("b",)])
    (edit,) = combined([one, two]).edits
    assert (edit.how, edit.value) == (How.PATCH, {"a": 1.0, "b": 2.0})
    assert len(combined([setting("", "sim.timestep", 1e-3)] * 2).edits) == 1


def test_a_remedy_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, hinge(), "[{name: r, model: r.xml}]")
    before = scene.to_text()
    bad = Remedy("", (RepairEdit("sim.timestep", 0.1), RepairEdit("r.base", "fxed")))
    with pytest.raises(mjrig.MjrigError):
        bad.apply(scene)
    assert scene.to_text() == before


def test_what_cannot_be_edited_here_is_a_decision(tmp_path: Path) -> None:
    """Gains that use_motors took from the model are no property of the scene."""
    xml = hinge('<position name="drive" joint="swing" kp="1e7" forcerange="-9 9"/>')
    scene = scene_of(tmp_path, xml, "[{name: r, model: r.xml, use_motors: true}]")
    (finding,) = of_code(scene, "unstable-pd")
    paths = [edit.path for remedy in finding.remedies for edit in remedy.edits]
    assert paths and all(path.startswith("sim.") for path in paths)


def test_an_included_actor_is_edited_where_it_is_included(tmp_path: Path) -> None:
    scene_of(tmp_path, hinge(), "[]")
    off = "{type: PDController, enabled: false}"
    text = f"mjrig: 1\nactors: [{{name: r, model: r.xml, components: [{off}]}}]\n"
    (tmp_path / "part.yaml").write_text(text)
    scene = Scene.parse("mjrig: 1\ninclude: [{file: part.yaml, prefix: x_}]\n", tmp_path)
    (finding,) = of_code(scene, "disabled")
    (remedy,) = finding.remedies
    remedy.apply(scene)
    assert of_code(scene, "disabled") == []
    assert (tmp_path / "part.yaml").read_text() == text


# Command ----------------------------------------------------------------------------------------

BROKEN = """\
mjrig: 1
actors:  # two of them
  - {name: r, model: r.xml, components: [{type: PDController, kp: 7, kv: 1, torque_limit: 9}]}
  - name: q
    model: r.xml
    components:
      - {type: PDController, enabled: false, torque_limit: inf}  # off
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    xml = hinge('<motor name="drive" joint="swing" forcerange="-3 3"/>')
    scene_of(tmp_path, xml, "[]")
    path = tmp_path / "scene.yaml"
    path.write_text(BROKEN)
    return path


Output = pytest.CaptureFixture[str]


def test_fixes_are_written_as_small_edits(broken: Path, capsys: Output) -> None:
    assert main(["check", str(broken), "--fix"]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "fixed [disabled] q.PDController: q.PDController.enabled: true",
        "fixed [limit-above-model] r.drive: r.PDController.torque_limit: patch {drive: 3.0}",
        f"wrote {broken}; {broken}~ is the backup",
    ]
    text = BROKEN.replace("enabled: false", "enabled: true")
    assert broken.read_text() == text.replace("torque_limit: 9", "torque_limit: 3.0")
    assert "findings: 1 note" in said.out
    assert main(["check", str(broken), "--fix"]) == 0
    assert "nothing was written" in capsys.readouterr().err


def test_only_the_findings_that_are_named_are_fixed(broken: Path, capsys: Output) -> None:
    assert main(["check", str(broken), "--fix", "disabled"]) == 0
    assert broken.read_text() == BROKEN.replace("enabled: false", "enabled: true")
    capsys.readouterr()
    assert main(["check", str(broken), "--fix", "limit-above-modl"]) == 1
    assert "did you mean 'limit-above-model'" in capsys.readouterr().err
    assert main(["check", str(broken), "--fix", "--set", "sim.timestep=0.002"]) == 1
    assert "drop them" in capsys.readouterr().err


def test_what_only_a_person_can_decide_is_told(tmp_path: Path, capsys: Output) -> None:
    scene_of(tmp_path, hinge(), "[]")
    path = tmp_path / "scene.yaml"
    path.write_text(
        "mjrig: 1\nactors:\n"
        "  - {name: r, model: r.xml, components: [{type: PDController, torque_limit: inf}]}\n"
    )
    main(["check", str(path), "--fix"])
    last = capsys.readouterr().err.splitlines()[-2:]
    assert last[0].startswith("not fixed [no-limit] r.drive: ") and last[1:] == [
        "nothing was written",
    ]


# Robots by chance -------------------------------------------------------------------------------


@pytest.mark.campaign
def test_remedies_resolve_what_is_wrong_with_robots_by_chance(tmp_path: Path, tally: Tally) -> None:
    for rng in tally.cases("fixes of findings", 1, 400):
        limits = ["", 'forcerange="-4 4"']
        kinds = [
            f'<{rng.choice(["motor", "motor", "position"])} name="{name}" joint="{joint}" '
            f'gear="{rng.choice([1, -2, 9])}" {rng.choice(limits)}/>'
            for name, joint in (("a", "shoulder"), ("b", "elbow"))
        ]
        law = {
            "type": rng.choice(["PDController", "PIDController"]),
            "kp": {rng.choice(["a", "elbow", ".*", "[ab]"]): 10 ** rng.uniform(0, 6)},
            "kv": 10 ** rng.uniform(-2, 3),
            "torque_limit": rng.choice([3.0, 50.0, [9.0, 8.0], {"a": 7.0, "default": 5.0}]),
            "decimation": rng.choice([1, 1, 4]),
            "enabled": rng.random() < 0.9,
        }
        more = {
            "components": [law],
            "joints": {".*": round(rng.choice([0.1, 3.0, 100.0]), 1)},
            "units": rng.choice(["radians", "degrees"]),
            "use_motors": rng.random() < 0.3,
            "replicate": {"count": [rng.choice([1, 2]), 1, 1]},
        }
        option = rng.choice(["", GRAVITY, 'gravity="0 0 0" integrator="implicitfast"'])
        text = f"[{format_flow({'name': 'r', 'model': 'r.xml', **more})}]"
        try:
            scene = scene_of(tmp_path, arm("".join(kinds), option=option, joint=RANGE), text)
            found = findings(mjrig.World(scene))
        except mjrig.MjrigError:
            continue  # such a list for other actuators
        for finding in found:
            for remedy in finding.remedies:
                if not resolves(scene, finding, remedy):
                    tally.found(f"{finding.kind}: {remedy}: {text} {kinds} {option}")
            if finding.fix and bool(finding.remedies) == bool(finding.by_hand):
                tally.found(f"{finding.kind} has neither an edit nor a reason, or both: {text}")
