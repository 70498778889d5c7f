"""A fix that is a text to paste: pasted into the scene, the finding is gone."""

import ast
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

import mjrig
from mjrig.core.yaml_text.yaml_document import parse_value
from mjrig.lab.check import preflight
from mjrig.lab.check.preflight import findings
from mjrig.lab.findings.texts import CHECK

#: Keys of a scene, of its `sim` and of a component; the others are an actor's.
SIM = ("timestep", "integrator")
SCENE, COMPONENT = (
    ("actors", "collision_groups", "sim"),
    ("enabled", "effort", "torque_limit", "kp", "kv"),
)
FRAGMENT = re.compile(r"\b([a-z_]+): (?=[\[{]|(?:true|fixed|degrees|implicit|[0-9.]+|home)\b)")
LINK = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    "</inertial>"
)
URDF = f"""<robot name="r"><link name="base">{LINK}</link><link name="cap">{LINK}</link>
<link name="arm">{LINK}</link>
<joint name="glue" type="fixed"><parent link="base"/><child link="cap"/></joint>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
PD = [{"type": "PDController", "kp": 1, "kv": 0.1}]


def robot(actuators: str, *, joint: str = "", sizes: str = ".03 .03", home: str = "0 0 0") -> str:
    one, two = sizes.split()
    return f"""<mujoco><compiler angle="radian"/><worldbody><body name="a" pos="0 0 1">
      <joint name="one" axis="0 1 0" {joint}/><geom size="{one}"/>
      <body name="b" pos="0 0 -.2"><joint name="two" axis="0 1 0"/><geom size="{two}"/>
      <body name="c" pos="0 0 -.2"><joint name="three" axis="0 1 0"/><geom size="{two}"/>
      </body></body></body></worldbody><actuator>{actuators}</actuator>
      <keyframe><key name="home" qpos="{home}"/></keyframe></mujoco>"""


def drives(kind: str, more: str = "") -> str:
    return "".join(f'<{kind} joint="{j}" {more}/>' for j in ("one", "two", "three"))


MOTORS = drives("motor")
FLOATING = """<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".1"/><body pos="0 0 -.3">
  <joint name="hip"/><geom size=".05"/></body></body></worldbody>
  <actuator><motor joint="hip"/></actuator></mujoco>"""
#: What brings a finding about: its code, the model, what the scene says of the actor.
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "position actuators": ("owns-nothing", robot(drives("position")), {"components": PD}),
    "velocity actuators": ("owns-nothing", robot(drives("velocity")), {"components": PD}),
    "no actuators": ("owns-nothing", robot(""), {"components": PD}),
    "disabled": ("disabled", robot(MOTORS), {"components": [PD[0] | {"enabled": False}]}),
    "two servos": ("two-actuators", robot(drives("position") + drives("position")), {}),
    "nothing to move it": ("no-actuators", robot(""), {}),
    "no controller": ("no-controller", robot(MOTORS), {}),
    "no floor": ("no-floor", FLOATING, {"components": PD}),
    "links touch": ("links-touch", robot(MOTORS, sizes=".3 .15"), {"components": PD}),
    "static links": ("static-links", URDF, {}),
    "degrees": ("degrees", robot(MOTORS, joint='range="-2 2"'),
                {"components": PD, "joints": {"one": 45}}),
    "out of range": ("start-out-of-range", robot(MOTORS, joint='range="1 2"', home="1.5 0 0"),
                     {"components": PD}),
    "limit above the model's": ("limit-above-model", robot(drives("motor", 'forcerange="-1 1"')),
                                {"components": [PD[0] | {"torque_limit": 50}]}),
    "forcerange above the motor's": ("motor-limit",
                                     robot(drives("position", 'forcerange="-90 90"')),
                                     {"motors": "n5020-16"}),
    "curve of a motor": ("motor-curve", robot(drives("position")), {"motors": "n5020-16"}),
    "stiff law": ("unstable-pd", robot(MOTORS), {"components": [PD[0] | {"kp": 1, "kv": 50}]}),
}  # fmt: skip


def scene_data(xml: str, actor: dict[str, Any], folder: Path) -> dict[str, Any]:
    name = "r.urdf" if xml.startswith("<robot") else "r.xml"
    (folder / name).write_text(xml)
    return {"mjrig": 1, "actors": [{"name": "r", "model": name, **deepcopy(actor)}]}


def found(data: dict[str, Any], folder: Path, code: str) -> list[Any]:
    (folder / "s.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return [f for f in findings(mjrig.World(folder / "s.yaml")) if f.kind == code]


def fragments(fix: str) -> Iterator[tuple[str, Any]]:
    """Everything in a fix that reads `key: value`, outside of other values."""
    at = 0
    while match := FRAGMENT.search(fix, at):
        end = match.end()
        depth = 0
        while end < len(fix) and (depth or fix[end] not in ",; "):
            depth += (fix[end] in "[{") - (fix[end] in "]}")
            end += 1
        yield match[1], parse_value(fix[match.end() : end])
        at = end


def pasted(data: dict[str, Any], key: str, value: Any, fix: str) -> dict[str, Any]:
    """The scene with a text put where it belongs, or after what is there."""
    data = deepcopy(data)
    key, value = ("sim", {key: value}) if key in SIM else (key, value)
    (actor,) = data["actors"]
    if "drop this controller" in fix.partition(f"{key}: ")[0]:
        del actor["components"]
    target = data if key in SCENE else actor
    for holder in actor["components"] if key in COMPONENT else [target]:
        if isinstance(value, list):
            holder[key] = [*holder.get(key, []), *value]
        elif isinstance(value, dict):
            holder[key] = holder.get(key, {}) | value
        else:
            holder[key] = value
    return data


@pytest.mark.parametrize("kind", CASES)
def test_a_text_to_paste_cures_what_it_is_given_for(tmp_path: Path, kind: str) -> None:
    code, xml, actor = CASES[kind]
    data = scene_data(xml, actor, tmp_path)
    told = found(data, tmp_path, code)
    assert told
    for fix in dict.fromkeys(finding.fix for finding in told):
        texts = list(fragments(fix))
        assert texts, fix
        for key, value in texts:
            cured = pasted(data, key, value, fix)
            left = [f for f in found(cured, tmp_path, code) if f.fix == fix]
            assert left == [], f"{key}: {value} of {fix!r}"


def test_every_finding_with_such_a_text_is_tried() -> None:
    """Read from the code of the checks, so that a new one is missed here."""
    given: set[str] = set()
    for path in Path(preflight.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "func", None)
            if isinstance(node, ast.Call) and getattr(name, "id", "") in (
                "error",
                "warning",
                "note",
            ):
                kind = str(getattr(node.args[0], "value", ""))
                forms = [text for form, text in CHECK.items() if form.partition(" ")[0] == kind]
                if any(FRAGMENT.search(text.fix.replace("{{", "{")) for text in forms):
                    given.add(kind)
    assert {"static-links", "links-touch", "no-floor", "no-controller"} <= given
    # Some state a bound, or a number that only the reader knows.
    # MuJoCo refuses impossible inertias itself, with these words: only an old .mjb has them.
    assert given - {code for code, _, _ in CASES.values()} <= {
        "impossible-inertia", "penetration", "no-limit", "fast-solref", "below-floor",
    }  # fmt: skip
