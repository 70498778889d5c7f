"""References to the world body: whatever MuJoCo loads refers to the same world in a scene."""

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig

MODEL = """<mujoco><worldbody>{body}
  <geom name="floor" type="plane" size="1 1 .1"/>
  <body name="box" pos="0 0 1"><joint name="free" type="free"/><geom name="g" size=".1"/></body>
</worldbody>{rest}</mujoco>"""
STATIC = "<mujoco><worldbody><geom size='.1'/></worldbody>{rest}</mujoco>"

#: Elements in the world body that refer to it.
IN_WORLD = {
    f"{element} {mode}": f'<{element} {name} mode="{mode}" target="world"/>'
    for element in ("light", "camera")
    for mode in ("targetbody", "targetbodycom")
    for name in ("", 'name="eye"')
}
#: Sections that refer to it.
SECTIONS = {
    "weld to": '<equality><weld body1="box" body2="world"/></equality>',
    "weld from": '<equality><weld body1="world" body2="box"/></equality>',
    "connect": '<equality><connect body1="box" body2="world" anchor="0 0 0"/></equality>',
    "exclude": '<contact><exclude body1="world" body2="box"/></contact>',
    "frame": '<sensor><framepos objtype="body" objname="world"/></sensor>',
    "inertial frame": '<sensor><framequat objtype="xbody" objname="world"/></sensor>',
    "reference frame": '<sensor><framepos objtype="body" objname="box" reftype="body"'
    ' refname="world"/></sensor>',
    "both frames": '<sensor><framepos objtype="body" objname="world" reftype="body"'
    ' refname="box"/></sensor>',
    "centre of mass": '<sensor><subtreecom body="world"/></sensor>',
    "momentum": '<sensor><subtreeangmom body="world"/></sensor>',
    "contact": '<sensor><contact body1="world" body2="box"/></sensor>',
    "contact of a tree": '<sensor><contact subtree1="world" body2="box"/></sensor>',
    "distance": '<sensor><distance body1="world" geom2="g"/></sensor>',
    "adhesion": '<actuator><adhesion body="world" ctrlrange="0 1"/></actuator>',
    "skin": """<deformable><skin name="s" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
    <bone body="world" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1" vertweight="1 1"/>
    <bone body="box" bindpos="0 0 1" bindquat="1 0 0 0" vertid="2" vertweight="1"/>
    </skin></deformable>""",
    "skin file": '<deformable><skin name="s" file="{skin}"/></deformable>',
    "tuple": '<custom><tuple name="t"><element objtype="body" objname="world"/></tuple></custom>',
}
CASES = {
    **{name: MODEL.format(body=text, rest="") for name, text in IN_WORLD.items()},
    **{name: MODEL.format(body="", rest=text) for name, text in SECTIONS.items()},
    "no other body": STATIC.format(rest=SECTIONS["centre of mass"]),
}


def _model(case: str, folder: Path) -> mujoco.MjModel:
    """Write the model of a case, with the skin file that it may name, and compile it."""
    bones = [("world", (0, 1)), ("box", (2,))]
    skin = struct.pack("<4i", 3, 0, 1, len(bones))
    skin += struct.pack("<9f3i", 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2)
    for name, ids in bones:
        skin += struct.pack("<40s7fi", name.encode(), 0, 0, 0, 1, 0, 0, 0, len(ids))
        skin += struct.pack(f"<{len(ids)}i{len(ids)}f", *ids, *[1.0] * len(ids))
    Path(folder, "cover.skn").write_bytes(skin)
    path = Path(folder, "model.xml")
    path.write_text(CASES[case].replace("{skin}", "cover.skn"))
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("case", CASES)
def test_the_world_stays_the_world(case: str, tmp_path: Path) -> None:
    bare = _model(case, tmp_path)
    one = _world(tmp_path, "- {name: a, model: model.xml}").model
    assert _targets(one) == _targets(bare)
    offset = "{position: [3, 0, 0]}"
    two = _world(
        tmp_path,
        f"- {{name: a, model: model.xml}}\n  - {{name: b, model: model.xml, pose: {offset}}}",
    ).model
    assert two.nbody == 1 + 2 * (bare.nbody - 1)
    for name, counts in _targets(bare).items():
        assert _targets(two)[name] == sorted(counts * 2)


@pytest.mark.parametrize("case", CASES)
def test_sensors_and_motion_are_those_of_mujoco(case: str, tmp_path: Path) -> None:
    model = _model(case, tmp_path)
    data = mujoco.MjData(model)
    world = _world(tmp_path, "- {name: a, model: model.xml}")
    for _ in range(50):
        mujoco.mj_step(model, data)
    world.step(50)
    assert np.array_equal(world.data.qpos, data.qpos)
    assert np.array_equal(world.data.sensordata, data.sensordata)


def _world(folder: Path, actors: str) -> mjrig.World:
    return mjrig.World(mjrig.Scene.parse(f"mjrig: 1\nactors:\n  {actors}\n", folder))


def _targets(model: mujoco.MjModel) -> dict[str, list[bool]]:
    """By kind, whether each element refers to the world body."""
    ids = {
        "lights": model.light_targetbodyid,
        "cameras": model.cam_targetbodyid,
        "sensors": model.sensor_objid,
        "references": model.sensor_refid,
        "actuators": model.actuator_trnid[:, 0],
        "first bodies": model.eq_obj1id,
        "second bodies": model.eq_obj2id,
        "tuples": model.tuple_objid,
        "bones": model.skin_bonebodyid,
    }
    return {name: sorted(i == 0 for i in values) for name, values in ids.items()}
