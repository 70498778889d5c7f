"""Renaming and removing: references follow, dependents are reported, the rest stays."""

from difflib import ndiff
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import MotorActuator, PDController
from tests.wording import regex
from tests.worlds import refused

ARM = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.001"/>
  <worldbody>
    <body name="upper">
      <site name="base"/>
      <joint name="shoulder" axis="0 1 0" armature="0.05"/>
      <geom name="thick" type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0" armature="0.05"/>
        <geom name="thin" type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/>
        <site name="tip" pos="0.3 0 0"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="cable"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="0.5"/></fixed>
  </tendon>
  <actuator>
    <motor name="a" joint="shoulder"/>
    <motor name="elbow" joint="elbow"/>
    <position name="pull" tendon="cable" kp="3"/>
  </actuator>
  <sensor><jointpos name="angle" joint="elbow"/></sensor>
  <keyframe><key name="home" qpos="0.3 -0.4" ctrl="0 0 0.1"/></keyframe>
</mujoco>
"""

SCENE = """\
# two arms
mjrig: 1
sim: {timestep: 1e-3}     # as fast as it gets
seed: 3
randomise:
  - {path: left.PDController.kp, operation: scale, low: 0.9, high: 1.1}   # gains
  - {path: "ri.*.pose.position", low: -0.01, high: 0.01}
frames:
  - {name: bench, position: [0, 0, 1]}
  - {name: hook, on: left/tip, position: [0, 0, 0.1]}
collision_groups:
  - {name: arms, members: [left, right/lower], ignores: [arms, others]}
  - name: others
    members: ["ri.*/upper"]
actors:
  - name: left
    model: arm.xml
    pose: {position: [0, 0, 0.5], relative_to: bench}
    keyframe: home
    joints: {elbow: 0.2}           # bent
    joint_velocities: {"should.*": 0.1}
    dynamics:
      armature: {elbow: 0.02, "sh.*": 0.01}
    actuators:
      - {type: MotorActuator, name: extra, joint: elbow, gear: 2}
      - {type: MotorActuator, name: push, site: tip, refsite: base, gear: [0, 0, 1, 0, 0, 0]}
    keyframes:
      - name: rest
        joints: {shoulder: 0.1, elbow: -0.1}
        controls: {extra: 0.3, a: 0.1}
    components:
      - type: PDController
        actuators: [a, elbow]
        kp: {elbow: 10, default: 20}    # per joint
        kv: {"elb.*": 1, shoulder: 2}
        torque_limit:
          elbow: 5   # weak
          default: 9
  - name: right
    model: arm.xml
    pose: {position: [0, 2, 0]}
    components:
      - {type: PDController, kp: 5}
  - name: held
    model: arm.xml
    attach: {to: left/tip, child: base}
    actuators:
      - {type: MotorActuator, name: rel, site: tip, refsite: left/base}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "scene.yaml").write_text(SCENE)
    return tmp_path


@pytest.fixture
def scene(folder: Path) -> mjrig.Scene:
    return mjrig.Scene.load(folder / "scene.yaml")


def run(scene: mjrig.Scene, execution: str = "auto") -> list[float]:
    """Where everything is after a while, and what is commanded."""
    world = mjrig.World(scene, execution)
    world.step(30)
    return [*world.data.qpos, *world.data.qvel, *world.data.ctrl]


def changed(scene: mjrig.Scene, text: str = SCENE) -> list[str]:
    """The lines of the saved text that are not in the first one."""
    lines = ndiff(text.splitlines(), scene.to_text().splitlines())
    return [line[2:].strip() for line in lines if line.startswith("+ ")]


# Rename -----------------------------------------------------------------------------------------

RENAMED = [
    (
        "left",
        "links",
        [
            "- {path: links.PDController.kp, operation: scale, low: 0.9, high: 1.1}   # gains",
            "- {name: hook, on: links/tip, position: [0, 0, 0.1]}",
            "- {name: arms, members: [links, right/lower], ignores: [arms, others]}",
            "- name: links",
            "attach: {to: links/tip, child: base}",
            "- {type: MotorActuator, name: rel, site: tip, refsite: links/base}",
        ],
    ),
    (
        "right",
        "rechts",
        [
            '- {path: "(?:ri.*|rechts).pose.position", low: -0.01, high: 0.01}',
            "- {name: arms, members: [left, rechts/lower], ignores: [arms, others]}",
            'members: ["(?:ri.*|rechts)/upper"]',
            "- name: rechts",
        ],
    ),
    (
        "bench",
        "table",
        [
            "- {name: table, position: [0, 0, 1]}",
            "pose: {position: [0, 0, 0.5], relative_to: table}",
        ],
    ),
    (
        "arms",
        "limbs",
        ["- {name: limbs, members: [left, right/lower], ignores: [limbs, others]}"],
    ),
    (
        "left.joint:elbow",
        "knee",
        [
            "joints: {knee: 0.2}           # bent",
            'armature: {knee: 0.02, "sh.*": 0.01}',
            "- {type: MotorActuator, name: extra, joint: knee, gear: 2}",
            "joints: {shoulder: 0.1, knee: -0.1}",
            "actuators: [a, knee]",
            "kp: {knee: 10, default: 20}    # per joint",
            "kv: {elb.*|knee: 1, shoulder: 2}",
            "knee: 5   # weak",
            "renamed: {'joint:elbow': knee}",
        ],
    ),
    # The joint still has that name, and its actuators are found by it.
    ("left.actuator:elbow", "bend", ["renamed: {'actuator:elbow': bend}"]),
    (
        "left.a",
        "drive",
        [
            "controls: {extra: 0.3, drive: 0.1}",
            "actuators: [drive, elbow]",
            "renamed: {a: drive}",
        ],
    ),
    (
        "left.extra",
        "more",
        [
            "- {type: MotorActuator, name: more, joint: elbow, gear: 2}",
            "controls: {more: 0.3, a: 0.1}",
        ],
    ),
    (
        "left.tip",
        "end",
        [
            "- {name: hook, on: left/end, position: [0, 0, 0.1]}",
            "- {type: MotorActuator, name: push, site: end, refsite: base, "
            "gear: [0, 0, 1, 0, 0, 0]}",
            "renamed: {tip: end}",
            "attach: {to: left/end, child: base}",
        ],
    ),
    (
        "left.base",
        "root",
        [
            "- {type: MotorActuator, name: push, site: tip, refsite: root, "
            "gear: [0, 0, 1, 0, 0, 0]}",
            "renamed: {base: root}",
            "- {type: MotorActuator, name: rel, site: tip, refsite: left/root}",
        ],
    ),
    ("held.base", "foot", ["attach: {to: left/tip, child: foot}", "renamed: {base: foot}"]),
    (
        "right.lower",
        "forearm",
        [
            "- {name: arms, members: [left, right/forearm], ignores: [arms, others]}",
            "renamed: {lower: forearm}",
        ],
    ),
    ("left.home", "start", ["keyframe: start", "renamed: {home: start}"]),
    ("left.rest", "lie", ["- name: lie"]),
    ("left.cable", "rope", ["renamed: {cable: rope}"]),
]


@pytest.mark.parametrize(("path", "new", "lines"), RENAMED, ids=[r[0] for r in RENAMED])
def test_a_renamed_scene_differs_in_the_lines_it_must_and_behaves_the_same(
    scene: mjrig.Scene, folder: Path, path: str, new: str, lines: list[str]
) -> None:
    before = run(scene)
    followed = scene.rename(path, new)
    assert changed(scene) == lines
    own = [line for line in lines if line.startswith(("- name", "- {name: " + new, "renamed"))]
    assert bool(followed) == (len(lines) > len(own) or path == "arms")
    scene.save()
    assert np.array_equal(run(mjrig.Scene.load(folder / "scene.yaml")), before)


@pytest.mark.parametrize(("path", "new"), [r[:2] for r in RENAMED], ids=[r[0] for r in RENAMED])
def test_a_name_given_back_leaves_no_trace(scene: mjrig.Scene, path: str, new: str) -> None:
    head, dot, element = path.partition(".")
    kind, colon, old = element.rpartition(":")
    scene.rename(path, new)
    scene.rename(f"{head}.{kind}{colon}{new}" if dot else new, old if dot else path)
    assert scene.to_text() == SCENE


@pytest.mark.parametrize("execution", ["python", "native"])
def test_every_execution_runs_under_the_new_names(scene: mjrig.Scene, execution: str) -> None:
    before = run(scene, execution)
    scene.rename("left.joint:elbow", "knee")
    scene.rename("left.a", "drive")
    assert np.array_equal(run(scene, execution), before)


def test_names_that_cannot_be_are_refused_and_change_nothing(scene: mjrig.Scene) -> None:
    for path, new, message in (
        ("left", "right", "the scene has an actor or frame 'right' already"),
        ("left", "bench", "the scene has an actor or frame 'bench' already"),
        ("left", "a b", "actors[0].name: must be letters, digits, _ and -"),
        ("lfet", "x", "the scene has no actor, frame or group 'lfet' of its own; did you mean"),
        ("left.elbow", "x", "left.elbow is ambiguous; write one of left.joint:elbow, "),
        ("left.tpi", "x", "left has no element 'tpi'; did you mean 'tip'?"),
        ("left.joint:tip", "x", "left has no joint 'tip'; available: "),
        ("left.tip", "base", "left has a site 'base' already"),
        ("left.tip", "a/b", "'a/b' is not a valid name for a site"),
    ):
        with pytest.raises(mjrig.PropertyError) as info:
            scene.rename(path, new)
        assert message in str(info.value)
        assert scene.to_text() == SCENE


def parsed(text: str, folder: Path) -> mjrig.Scene:
    return mjrig.Scene.parse(text, folder)


COPIES = """\
mjrig: 1
randomise:
  - {path: "dog_.*.PDController.kp", low: 0, high: 1}
  - {path: dog_1.pose.position, low: 0, high: 0.1}
collision_groups:
  - {name: g, members: ["dog_.*", dog_0/upper], ignores: [g]}
actors:
  - name: dog
    model: arm.xml
    replicate: {count: [2], spacing: [2]}
    components:
      - {type: PDController, kp: [1, 2]}
  - {name: cat, model: arm.xml, attach: {to: dog_1/tip}}
"""


def test_what_names_copies_follows(folder: Path) -> None:
    scene = parsed(COPIES, folder)
    before = run(scene)
    scene.rename("dog", "wolf")
    scene.rename("wolf.tip", "end")
    assert changed(scene, COPIES) == [
        '- {path: "wolf_.*.PDController.kp", low: 0, high: 1}',
        "- {path: wolf_1.pose.position, low: 0, high: 0.1}",
        '- {name: g, members: ["wolf_.*", wolf_0/upper], ignores: [g]}',
        "- name: wolf",
        "renamed: {tip: end}",
        "- {name: cat, model: arm.xml, attach: {to: wolf_1/end}}",
    ]
    assert run(scene) == before
    with refused(mjrig.PropertyError, "the scene has an … 'wolf_0' …"):
        scene.rename("cat", "wolf_0")


AUTHORED = """\
mjrig: 1
actors:
  - name: r
    model: arm.xml
    actuators:
      - {type: MotorActuator, name: m, joint: ".*"}
      - {type: MotorActuator, name: a, joint: elbow}
      - {type: MotorActuator, joint: elbow}
    components:
      - {type: PDController, actuators: [m, a], kp: {m: 3, default: 4}}
"""


def test_an_authored_actuator_is_renamed_by_the_name_it_was_given(folder: Path) -> None:
    scene = parsed(AUTHORED, folder)
    before = run(scene)
    assert scene.rename("r.m", "n") == ["r.PDController.actuators", "r.PDController.kp"]
    scene.rename("r.elbow_2", "third")
    assert changed(scene, AUTHORED) == [
        '- {type: MotorActuator, name: n, joint: ".*"}',
        "- {type: MotorActuator, joint: elbow, name: third}",
        "- {type: PDController, actuators: [n, a], kp: {n: 3, default: 4}}",
    ]
    assert run(scene) == before
    with refused(
        mjrig.PropertyError,
        "'n_(0)' is one of 2 made … r.actuators[0] (MotorActuator 'n'); …",
    ):
        scene.rename("r.n_(0)", "first")


def test_of_two_actuators_of_one_name_the_models_own_is_meant(folder: Path) -> None:
    scene = parsed(AUTHORED, folder)
    before = run(scene)
    scene.rename("r.a", "own")
    assert changed(scene, AUTHORED) == [
        "- {type: PDController, actuators: [m, own], kp: {m: 3, default: 4}}",
        "renamed: {a: own}",
    ]
    assert run(scene) == before


def test_names_can_be_swapped_step_by_step(folder: Path) -> None:
    scene = parsed(AUTHORED, folder)
    before = run(scene)
    scene.rename("r.shoulder", "x")
    scene.rename("r.joint:elbow", "shoulder")
    scene.rename("r.x", "elbow")
    assert scene["r"].renamed == {"shoulder": "elbow", "joint:elbow": "shoulder"}
    assert scene["r"].actuators[1].joint == "shoulder"
    assert run(scene) == before


def test_a_joint_and_a_body_of_one_name_are_told_apart(folder: Path) -> None:
    (folder / "same.xml").write_text(ARM.replace('name="tip"', 'name="elbow"'))
    text = (
        "mjrig: 1\nframes: [{name: f, on: r/elbow}]\nactors: [{name: r, model: same.xml, "
        "joints: {elbow: 0.5}}]\n"
    )
    scene = parsed(text, folder)
    scene.rename("r.joint:elbow", "knee")
    assert scene.frames[0].on == "r/elbow"
    scene.rename("r.site:elbow", "hand")
    assert scene.frames[0].on == "r/hand"
    assert scene["r"].renamed == {"joint:elbow": "knee", "site:elbow": "hand"}
    mjrig.World(scene).step(2)


def test_an_actor_is_renamed_whose_model_nobody_can_read(folder: Path) -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    mujoco.mj_saveModel(model, str(folder / "arm.mjb"))
    scene = parsed("mjrig: 1\nactors: [{name: a, model: arm.mjb}]\n", folder)
    scene.rename("a", "b")
    mjrig.World(scene).step(1)
    with pytest.raises(mjrig.PropertyError, match=r"an \.mjb is already compiled"):
        scene.rename("b.elbow", "c")
    scene = mjrig.Scene()
    scene.add_actor("a", model="nowhere.xml")
    scene.add_actor("c", model="nowhere.xml", attach={"to": "a/tip"})
    assert scene.rename("a", "b") == ["c.attach.to"]
    assert scene["c"].attach is not None and scene["c"].attach.to == "b/tip"
    assert scene.remove("b", dry_run=True) == ["actor 'b'", "actor 'c' (c.attach.to: b/tip)"]


def test_what_is_included_is_renamed_in_its_own_file(folder: Path) -> None:
    own = "actors: [{name: o, model: arm.xml, attach: {to: x_left/tip}}]\n"
    scene = parsed("mjrig: 1\ninclude: [{file: scene.yaml, prefix: x_}]\n" + own, folder)
    for path in ("x_left", "x_bench", "x_arms"):
        with pytest.raises(mjrig.PropertyError, match=regex("it is in an …")):
            scene.rename(path, "y")
    for edit in (partial(scene.rename, "x_left.tip", "y"), partial(scene.remove, "x_left.cable")):
        with pytest.raises(mjrig.PropertyError, match=r"'x_left' comes from 'scene\.yaml'"):
            edit()
    with refused(mjrig.PropertyError, "the scene has an … 'x_left' …"):
        scene.rename("o", "x_left")


def test_an_included_file_that_names_ours_keeps_the_name(folder: Path) -> None:
    (folder / "part.yaml").write_text(
        "mjrig: 1\nactors: [{name: tool, model: arm.xml, attach: {to: robot/tip}}]\n"
    )
    text = "mjrig: 1\ninclude: [part.yaml]\nactors: [{name: robot, model: arm.xml}]\n"
    scene = parsed(text, folder)
    mjrig.World(scene).step(1)
    for edit in (partial(scene.rename, "robot", "other"), partial(scene.remove, "robot")):
        with pytest.raises(
            mjrig.PropertyError, match=regex("'robot' is named by tool.attach.to in ")
        ):
            edit()
    assert scene.to_text() == text


# Remove -----------------------------------------------------------------------------------------

REMOVED = [
    (
        "left",
        [
            "actor 'left'",
            "frame 'hook' (scene.frames[1].on: left/tip)",
            "actor 'held' (held.attach.to: left/tip)",
            "a member of collision group 'arms'",
            "the random draw 'left.PDController.kp'",
        ],
        ["- {name: arms, members: [right/lower], ignores: [arms, others]}"],
    ),
    (
        "right",
        [
            "actor 'right'",
            "a member of collision group 'arms'",
            "a member of collision group 'others'",
            "the random draw 'ri.*.pose.position'",
        ],
        ["- {name: arms, members: [left], ignores: [arms, others]}"],
    ),
    ("held", ["actor 'held'"], []),
    (
        "bench",
        [
            "frame 'bench'",
            "actor 'left' (left.pose.relative_to: bench)",
            "frame 'hook' (scene.frames[0].on: left/tip)",
            "actor 'held' (held.attach.to: left/tip)",
            "a member of collision group 'arms'",
            "the random draw 'left.PDController.kp'",
        ],
        ["- {name: arms, members: [right/lower], ignores: [arms, others]}"],
    ),
    ("hook", ["frame 'hook'"], []),
    (
        "others",
        ["collision group 'others'", "scene.collision_groups[0].ignores"],
        ["- {name: arms, members: [left, right/lower], ignores: [arms]}"],
    ),
    (
        "left.joint:elbow",
        [
            "joint 'elbow' of 'left'",
            "left.joints",
            "left.dynamics.armature",
            "left.keyframes[0].joints",
            "actuator 'elbow'",
            "actuator 'pull'",
            "actuator 'extra'",
            "tendon 'cable'",
            "sensor 'angle'",
            "left.PDController.actuators",
            "left.keyframes[0].controls",
            "left.PDController.torque_limit",
            "left.PDController.kp",
            "left.PDController.kv",
        ],
        [
            'armature: {"sh.*": 0.01}',
            "joints: {shoulder: 0.1}",
            "controls: {a: 0.1}",
            "actuators: [a]",
            "kp: {default: 20}    # per joint",
            "kv: {shoulder: 2}",
            "removed: ['joint:elbow']",
        ],
    ),
    ("left.actuator:elbow", ["actuator 'elbow' of 'left'"], ["removed: ['actuator:elbow']"]),
    (
        "left.a",
        [
            "actuator 'a' of 'left'",
            "left.PDController.actuators",
            "left.keyframes[0].controls",
            "left.PDController.kv",
        ],
        ["controls: {extra: 0.3}", "actuators: [elbow]", 'kv: {"elb.*": 1}', "removed: [a]"],
    ),
    (
        "left.extra",
        ["actuator 'extra' of 'left'", "left.keyframes[0].controls"],
        ["controls: {a: 0.1}"],
    ),
    # The parent takes its actuator along, a reference does not.
    (
        "left.tip",
        [
            "site 'tip' of 'left'",
            "actuator 'push'",
            "frame 'hook' (scene.frames[1].on: left/tip)",
            "actor 'held' (held.attach.to: left/tip)",
        ],
        ["removed: [tip]"],
    ),
    (
        "left.base",
        [
            "site 'base' of 'left'",
            "left.actuators[1] (MotorActuator 'push').refsite (the actuator stays)",
            "held.actuators[0] (MotorActuator 'rel').refsite (the actuator stays)",
        ],
        [
            "- {type: MotorActuator, name: push, site: tip, gear: [0, 0, 1, 0, 0, 0]}",
            "removed: [base]",
            "- {type: MotorActuator, name: rel, site: tip}",
        ],
    ),
    ("left.cable", ["tendon 'cable' of 'left'", "actuator 'pull'"], ["removed: [cable]"]),
    ("left.home", ["keyframe 'home' of 'left'", "left.keyframe"], ["removed: [home]"]),
    ("left.rest", ["keyframe 'rest' of 'left'"], []),
    (
        "left.PDController",
        ["component left.PDController", "the random draw 'left.PDController.kp'"],
        ["components: []"],
    ),
]


@pytest.mark.parametrize(("path", "report", "lines"), REMOVED, ids=[r[0] for r in REMOVED])
def test_what_is_removed_is_reported_and_the_rest_builds(
    scene: mjrig.Scene, folder: Path, path: str, report: list[str], lines: list[str]
) -> None:
    assert scene.remove(path, dry_run=True) == report
    assert scene.to_text() == SCENE
    what, *dependents = report
    if dependents:
        message = f"{what} cannot be removed: it is needed by {'; '.join(dependents)}; "
        with refused(mjrig.PropertyError, message + "pass dependents='remove' to remove them too"):
            scene.remove(path)
        assert scene.to_text() == SCENE
    assert scene.remove(path, dependents="remove" if dependents else "refuse") == report
    assert changed(scene) == lines
    scene.save()
    run(mjrig.Scene.load(folder / "scene.yaml"))


def test_a_whole_body_takes_along_its_controller(scene: mjrig.Scene) -> None:
    report = scene.remove("left.upper", dependents="remove")
    assert {"joint 'shoulder'", "body 'lower'", "component left.PDController"} <= {*report}
    assert not scene["left"].components and not scene["left"].actuators
    run(scene)


def test_values_in_the_order_of_actuators_lose_the_one_that_goes(folder: Path) -> None:
    scene = parsed(COPIES, folder)
    assert scene.remove("dog.a", dependents="remove") == [
        "actuator 'a' of 'dog'",
        "dog.PDController.kp",
    ]
    assert scene["dog"].components[0].authored("kp") == [2]
    run(scene)


def test_what_stands_on_a_copy_goes_with_all_copies(folder: Path) -> None:
    scene = parsed(COPIES, folder)
    assert scene.remove("dog", dry_run=True) == [
        "actor 'dog'",
        "actor 'cat' (cat.attach.to: dog_1/tip)",
        "a member of collision group 'g'",
        "the random draw 'dog_.*.PDController.kp'",
        "the random draw 'dog_1.pose.position'",
    ]


def test_a_renamed_element_can_be_removed(folder: Path) -> None:
    scene = parsed(AUTHORED, folder)
    scene.rename("r.joint:elbow", "knee")
    scene.rename("r.cable", "rope")
    scene.rename("r.a", "own")
    scene.remove("r.joint:knee", dependents="remove")
    assert scene["r"].removed == ("joint:elbow",)
    assert scene["r"].renamed == {"a": "own"}
    run(scene)


def test_an_authored_actuator_goes_with_all_it_became(folder: Path) -> None:
    scene = parsed(AUTHORED, folder)
    report = scene.remove("r.m", dependents="remove")
    assert report[:3] == ["actuator 'm' of 'r'", "actuator 'm_(0)'", "actuator 'm_(1)'"]
    assert changed(scene, AUTHORED) == ["- {type: PDController, actuators: [a], kp: {default: 4}}"]
    run(scene)


def test_what_takes_the_place_of_a_removed_actuator_goes_too(folder: Path) -> None:
    scene = parsed(
        "mjrig: 1\nactors: [{name: r, model: arm.xml, actuators: "
        "[{type: PositionActuator, replaces: [a], kp: 3}]}]\n",
        folder,
    )
    scene.remove("r.a", dependents="remove")
    assert not scene["r"].actuators
    run(scene)


def test_gains_go_where_nothing_is_left_that_the_controller_could_own(folder: Path) -> None:
    """A position actuator on the same joint is not something it owns."""
    (folder / "two.xml").write_text(
        ARM.replace("</actuator>", '<position name="servo" joint="elbow"/></actuator>')
    )
    scene = mjrig.Scene()
    robot = scene.add_actor("r", model=folder / "two.xml")
    robot.add_component(PDController(kp={"elbow": 3, "default": 1}))
    report = scene.remove("r.actuator:elbow", dependents="remove")
    assert report == ["actuator 'elbow' of 'r'", "r.PDController.kp"]
    run(scene)


def test_a_draw_follows_no_other_component_of_the_name(folder: Path) -> None:
    scene = mjrig.Scene()
    robot = scene.add_actor("r", model=folder / "arm.xml")
    robot.add_component(PDController(actuators="a", kp=1))
    robot.add_component(PDController(actuators="elbow", kp=2))
    scene.assign({"randomise": [{"path": "r.PDController.kp", "low": 0, "high": 1}]})
    assert scene.remove("r.PDController", dry_run=True) == [
        "component r.PDController",
        "the random draw 'r.PDController.kp'",
    ]


def test_a_model_that_would_not_work_any_more_keeps_its_element(scene: mjrig.Scene) -> None:
    with pytest.raises(mjrig.PropertyError, match=regex("geom 'thick' of 'left' cannot be …mass")):
        scene.remove("left.thick")
    assert scene.to_text() == SCENE


def test_an_unknown_wish_about_dependents_is_refused(scene: mjrig.Scene) -> None:
    message = "dependents must be 'refuse' or 'remove', … 'keep'"
    with refused(mjrig.PropertyError, message):
        scene.remove("left", dependents="keep")


def test_the_last_of_a_list_takes_its_key_along(folder: Path) -> None:
    scene = mjrig.Scene()
    scene.add_actor("r", model=folder / "arm.xml").add_actuator(
        MotorActuator(name="m", joint="elbow")
    )
    scene.remove("r.m")
    assert "actuators" not in scene.to_text()
