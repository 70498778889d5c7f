"""Cases of `mjrig check`: every bundled scene, and small scenes with one mistake each."""

import re
from typing import Any

from tests.oracles.case import case
from tests.oracles.workspace import Workspace

PENDULUM = "package:mjrig.assets/pendulum/pendulum.xml"
ARM = "package:mjrig.assets/arm/arm.xml"
QUADRUPED = "package:mjrig.assets/quadruped/quadruped.xml"


def scene(model: str, *components: str, sim: str = "", actor: str = "keyframe: home") -> str:
    """A scene with one actor `robot`."""
    lines = ["mjrig: 1", *([f"sim: {sim}"] if sim else [])]
    lines += ["actors:", "  - name: robot", f"    model: {model}"]
    lines += [f"    {line}" for line in actor.splitlines()]
    if components:
        lines += ["    components:", *(f"      - {c}" for c in components)]
    return "\n".join(lines) + "\n"


def pd(**values: object) -> str:
    """A PDController as YAML."""
    gains = {"kp": 100, "kv": 6, "torque_limit": 40, **values}
    return "{type: PDController, " + ", ".join(f"{k}: {v}" for k, v in gains.items()) + "}"


def body(
    joint: str = "", inertial: str = "", geom: str = 'size="0.05"', more: str = "", motor: str = ""
) -> str:
    """A model of one hinge `swing` on a link."""
    shape = f"<geom {geom}/>" if geom else ""
    return f"""<mujoco><compiler angle="radian" autolimits="true"/><option timestep="0.002"/>
<worldbody><body name="link"><joint name="swing" axis="0 1 0" {joint}/>
{inertial}{shape}{more}</body></worldbody>
<actuator><motor name="swing" joint="swing" {motor}/></actuator>
<keyframe><key name="home" qpos="0.1"/><key name="far" qpos="2.5"/></keyframe></mujoco>"""


def check_each(work: Workspace, scenes: dict[str, str], models: dict[str, str]) -> dict[str, Any]:
    """The findings of several scenes, without the binding tables."""
    for name, text in models.items():
        work.write(f"{name}.xml", text)
    results = {}
    for name, text in scenes.items():
        work.write(f"{name}.yaml", text)
        result = work.run(f"check {name}.yaml --json")
        output = result["output"]
        findings = output["findings"] if isinstance(output, dict) else output
        results[name] = {**result, "output": findings}
    return results


@case()
def check_bundled(work: Workspace) -> Any:
    names = ("arm", "arm_pair", "bench_dc", "bench_delay", "bench_full", "bench_pid", "humanoid",
             "pendulum", "quadruped_switch", "quadruped_terrain", "workcell")  # fmt: skip
    return {name: work.run(f"check config/scenes/{name}.yaml --json") for name in names}


@case()
def check_stability(work: Workspace) -> Any:
    scenes = {
        "unstable": scene(PENDULUM, pd(kv=400), sim="{timestep: 0.004}"),
        "close": scene(PENDULUM, pd(kv=150), sim="{timestep: 0.004}"),
        "undamped": scene("bare.xml", pd(kv=0)),
        "implicit": scene(
            PENDULUM, pd(kv=400), sim="{timestep: 0.004, integrator: implicitfast, "
            "actuation: implicit}"
        ),
        "decimated": scene(PENDULUM, pd(kv=20, decimation=20)),
        "several": scene(ARM, pd(kp=20000, kv=150, torque_limit=15)),
    }  # fmt: skip
    return check_each(work, scenes, {"bare": body()})


@case()
def check_limits(work: Workspace) -> Any:
    scenes = {
        "none": scene(PENDULUM, pd(torque_limit="inf")),
        "above": scene(ARM, pd(kp=40, kv=3, torque_limit=60)),
        "zero": scene(PENDULUM, pd(torque_limit=0)),
        "clamped": scene("bare.xml", pd(clamp_targets="true")),
        "motor": scene("bare.xml", pd(), actor="motors: xl-320"),
        "motor_servo": scene(
            "servo.xml", actor="motors: mx-106:m6\ndynamics: {armature: {swing: 0.5}}"
        ),
        "servo": scene("servo.xml", actor="keyframe: home"),
    }
    servo = body('range="-1 1"').replace(
        '<motor name="swing" joint="swing" />',
        '<position name="swing" joint="swing" kp="20" ctrlrange="-90 90"/>',
    )
    return check_each(work, scenes, {"bare": body(), "servo": servo})


@case()
def check_drives(work: Workspace) -> Any:
    two = body().replace("</actuator>", '<position name="b" joint="swing" kp="5"/></actuator>')
    servo = body().replace("<motor", '<position kp="20"')
    fork = '<body name="tip"><joint name="b"/><geom size="0.05"/></body>'
    bare = body(more=fork).replace('<motor name="swing" joint="swing" />', "")
    bare = re.sub("<keyframe>.*</keyframe>", "", bare)
    scenes = {
        "disabled": scene(PENDULUM, "{type: PDController, enabled: false}"),
        "two": scene("two.xml", pd()),
        "owns_nothing": scene("servo.xml", pd()),
        "no_controller": scene(PENDULUM),
        "no_actuators": scene("none.xml", actor=""),
    }
    return check_each(work, scenes, {"two": two, "servo": servo, "none": bare})


@case()
def check_start(work: Workspace) -> Any:
    ranged = body('range="-1 1" damping="0.1"', geom='size="0.05" pos="0.4 0 0" mass="3"')
    floating = """<mujoco><worldbody><body name="base" pos="0 0 0.02"><freejoint/>
<geom size="0.1"/><body name="mast"><joint name="turn"/><geom size="0.05" pos="0 0 0.2"/></body>
</body></worldbody><actuator><motor name="turn" joint="turn"/></actuator></mujoco>"""
    scenes = {
        "far": scene("ranged.xml", pd(), actor="keyframe: far"),
        "degrees": scene("ranged.xml", pd(), actor="joints: {swing: 30}"),
        "overloaded": scene("ranged.xml", pd(torque_limit=5)),
        "droops": scene("ranged.xml", pd(kp=40)),
        "no_floor": scene("floating.xml", actor=""),
        "sunk": scene(QUADRUPED, pd(), actor="pose: {position: [0, 0, -0.4]}"),
        "two_floors": scene(PENDULUM, pd()) + scene(ARM, pd(), actor="").replace(
            "mjrig: 1\nactors:\n", "").replace("robot", "other"),
    }  # fmt: skip
    return check_each(work, scenes, {"ranged": ranged, "floating": floating})


@case()
def check_model(work: Workspace) -> Any:
    heavy = '<inertial pos="0 0 0" mass="1" diaginertia="{0} {1} {2}"/>'
    load = '<body name="load" pos="0 0 -0.2"><joint name="b"/><geom size="0.2" mass="50"/></body>'
    models = {
        "large": body('armature="0.1"', heavy.format(9, 9, 9)),
        "small": body('armature="0.1"', heavy.format(1e-7, 1e-7, 1e-7)),
        "tiny": body(geom='size="0.01" mass="1e-7"'),
        "ratio": body(geom='size="0.01" mass="0.001"', more=load),
        "shapeless": body("", heavy.format(0.1, 0.1, 0.1), geom=""),
        "solref": body('range="-1 1" solreflimit="0.001 1" armature="0.1"'),
    }
    scenes = {name: scene(f"{name}.xml", pd(kp=1, kv=0.1)) for name in models}
    return check_each(work, scenes, models)


@case()
def check_repairs(work: Workspace) -> Any:
    work.write("unstable.yaml", scene(PENDULUM, pd(kv=400), sim="{timestep: 0.004}"))
    work.write("limits.yaml", scene(ARM, pd(kp=40, kv=3, torque_limit=60)))
    return {
        "unstable": work.run("check unstable.yaml --fix"),
        "unstable_scene": work.yaml("unstable.yaml"),
        "limits": work.run("check limits.yaml --fix limit-above-model"),
        "limits_scene": work.yaml("limits.yaml"),
        "unknown": work.run("check limits.yaml --fix no-such-code"),
    }


@case()
def check_texts(work: Workspace) -> Any:
    work.write("limits.yaml", scene(ARM, pd(kp=40, kv=3, torque_limit=60)))
    work.write("wrong.yaml", scene(ARM, "{type: PDController, kpp: 40}"))
    return {
        "arm": work.run("check config/scenes/arm.yaml"),
        "strict": work.run("check limits.yaml --strict"),
        "set": work.run("check config/scenes/arm.yaml --set arm.PDController.kp=4000"),
        "unknown_key": work.run("check wrong.yaml"),
        "missing": work.run("check missing.yaml"),
    }
