"""A model with one global attribute set, and the comparison of what it compiles to."""

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
from mujoco.introspect import structs

from tests.meshes import write_corner
from tests.mjcf_schema import Attribute

MODEL = """
<mujoco model="walked">
  <compiler/><option/><size/><statistic/><visual/>
  <default/>
  <extension>
    <plugin plugin="mujoco.pid">
      <instance name="slow"><config key="kp" value="3"/></instance>
    </plugin>
  </extension>
  <custom>
    <numeric name="gains" data="1 2 3"/><text name="note" data="hello"/>
    <tuple name="pieces"><element objtype="body" objname="ball" prm="1.5"/></tuple>
  </custom>
  <asset>
    <texture name="checks" type="2d" builtin="checker" width="8" height="8"/>
    <texture name="photo" type="2d" file="photo.png"/>
    <material name="grey" texture="checks"/><material name="seen" texture="photo"/>
    <mesh name="corner" file="parts/corner.stl"/>
    <mesh name="flat" vertex="0 0 0 .1 0 0 0 .2 0 0 0 .3 .1 .2 .01"/>
    <hfield name="hills" nrow="2" ncol="3" size="1 1 .2 .1" elevation="0 1 2 3 4 5"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1"/>
    <light name="lamp" pos="0 0 3"/><camera name="eye" pos="0 -3 1" euler="80 10 0"/>
    <site name="mark" pos="1 1 1"/>
    <body name="puck" pos="2 0 1" euler="10 20 30">
      <freejoint name="puck"/>
      <geom name="puck_a" type="box" size=".1 .2 .05" pos=".1 .02 .03"/>
      <geom name="puck_b" size=".05" pos=".3 0 .1" group="3"/>
    </body>
    <body name="trunk" pos="0 0 1" euler="30 20 10">
      <joint name="slide" type="slide" axis="0 0 1" range="-1 1" damping="3"/>
      <geom name="hull" type="mesh" mesh="corner" euler="5 10 15"/>
      <geom name="fitted" type="box" mesh="flat" pos="0 .3 0"/>
      <geom name="seen" type="box" size=".1 .2 .3" contype="0" conaffinity="0" group="2"
        material="seen"/>
      <body name="static" pos=".2 0 0" euler="0 40 0">
        <geom name="lump" type="capsule" size=".03 .1"/><site name="on_lump" pos="0 0 .1"/>
        <body name="ball" pos="0 .4 0">
          <joint name="ball" type="ball" range="0 60"/><geom name="ball" size=".07"/>
        </body>
      </body>
      <body name="link" pos=".5 0 0">
        <joint name="hinge" axis="0 1 0" range="-60 90" damping=".4"/><joint name="plain"/>
        <inertial pos=".01 .02 .03" mass=".8" diaginertia=".01 .011 .012"/>
        <geom name="bar" type="capsule" fromto="0 0 0 .3 .1 0" size=".03"/>
        <site name="tip" pos=".3 0 0"/><camera name="eye_in_hand" fovy="40"/>
      </body>
    </body>
  </worldbody>
  <contact>
    <pair name="touch" geom1="bar" geom2="floor"/><exclude name="apart" body1="ball" body2="link"/>
  </contact>
  <equality>
    <connect name="held" body1="puck" body2="link" anchor=".1 0 0" active="false"/>
  </equality>
  <tendon>
    <spatial name="string" range=".1 1.9"><site site="mark"/><site site="tip"/></spatial>
    <fixed name="sum"><joint joint="hinge" coef="2"/><joint joint="slide" coef="-1"/></fixed>
  </tendon>
  <actuator>
    <general name="general" joint="hinge" gainprm="2"/>
    <motor name="motor" joint="hinge"/>
    <position name="position" joint="hinge"/>
    <velocity name="velocity" joint="hinge"/>
    <intvelocity name="intvelocity" joint="hinge" actrange="-1 1"/>
    <damper name="damper" joint="hinge" ctrlrange="0 1"/>
    <cylinder name="cylinder" joint="slide"/>
    <adhesion name="adhesion" body="link" ctrlrange="0 1"/>
    <pid name="pid" joint="hinge"/>
    <orientation name="orientation" joint="ball"/>
    <dcmotor name="dcmotor" joint="hinge" motorconst="1 1" resistance="2"/>
    <muscle name="muscle" tendon="sum"/>
    <plugin name="by_plugin" joint="hinge" plugin="mujoco.pid" instance="slow" actdim="0"/>
  </actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/><framepos name="where" objtype="site" objname="tip"/>
  </sensor>
</mujoco>
"""
#: Stands beside the model; its `<option>` is filled in.
OTHER = """<mujoco><option/><worldbody>
  <body name="stone" pos="5 0 1"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>"""
#: Bodies that an attribute acts on, or needs.
_BODIES = {
    "compiler/balanceinertia": '<inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/>',
    "compiler/boundmass": '<inertial pos="0 0 0" mass=".001" diaginertia="1 1 1"/>',
    "compiler/boundinertia": '<inertial pos="0 0 0" mass="1" diaginertia=".001 .001 .001"/>',
}
#: What an attribute is valid with: attribute by path of its element.
_COMPANIONS = {
    "option/flag/ipc": {"option/integrator": "discrete"},
    "delay": {"nsample": "40"},
    "interp": {"nsample": "40"},
    "forcelimited": {"forcerange": "-2 2"},
    "ctrllimited": {"ctrlrange": "-2 2"},
    "actlimited": {"actrange": "-2 2"},
    "actuatorfrclimited": {"actuatorfrcrange": "-2 2"},
    "limited": {"range": "-2 2"},
    "controller": {"input": "pos"},
    "actdim": {"dyntype": "filter"},
    "actrange": {"dyntype": "integrator"},
    "focal": {"sensorsize": ".1 .1", "resolution": "100 100"},
    "focalpixel": {"sensorsize": ".1 .1", "resolution": "100 100"},
    "principal": {"sensorsize": ".1 .1", "resolution": "100 100"},
    "principalpixel": {"sensorsize": ".1 .1", "resolution": "100 100"},
    "default/material/layer/role": {"texture": "checks"},
    "default/material/layer/texture": {"role": "rgb"},
}
_MOTOR = {"motorconst": "1 1", "resistance": "2"}
#: Defaults that cannot be those of every element of the model, and what they are valid with.
_LONE = {
    "default/geom/fromto": {"type": "capsule", "size": ".1"},
    "default/geom/hfield": {"type": "hfield"},
    "default/geom/mesh": {"type": "mesh"},
    "default/geom/pos": {"size": ".1"},
    "default/geom/shellinertia": {"size": ".1"},
    "default/geom/type": {"size": ".1 .1 .1"},
    "default/site/fromto": {"type": "capsule", "size": ".1"},
    "default/site/mesh": {"type": "mesh"},
    "default/texture/builtin": {"type": "2d", "width": "8", "height": "8"},
    "default/texture/nchannel": {"type": "2d"},
}
_SECTIONS = {
    "asset": """<mesh name="corner" file="parts/corner.stl"/>
      <hfield name="hills" nrow="2" ncol="3" size="1 1 .2 .1" elevation="0 1 2 3 4 5"/>""",
    "worldbody": '<body name="ball"><joint name="j"/><geom name="ball" size=".1"/></body>',
    "contact": "", "equality": "", "tendon": "", "actuator": "", "sensor": "", "custom": "",
    "extension": "",
}  # fmt: skip
_ALONE = {
    "geom": ("worldbody", "<geom name='lone'/>"),
    "site": ("worldbody", "<site name='lone'/>"),
    "texture": ("asset", "<texture name='lone'/>"),
}
_ACTUATORS = {e.tag for e in ElementTree.fromstring(MODEL).iterfind("actuator/*")}
_IN_CLASSES = {
    "joint", "geom", "site", "camera", "light", "pair", "connect", "spatial", "fixed", "mesh",
    "texture", "material", *_ACTUATORS,
} - {"plugin"}  # fmt: skip


def model_with(
    given: Mapping[Attribute, str], *, in_class: bool = False, written: bool = True
) -> str:
    """The MJCF of the model with some attributes; those of defaults may be in a nested class.

    Without `written` the attributes are left out, but the model is the one that needs them.
    """
    root = ElementTree.fromstring(MODEL)
    for attribute, value in given.items():
        for name, extra in _companions(attribute).items():
            path, _, last = name.rpartition("/")
            _element(root, path or attribute.path).set(last, extra)
        if written:
            _element(root, attribute.path).set(attribute.name, value)
        _make_room(root, attribute, value)
    if in_class:
        _use_class(root)
    return ElementTree.tostring(root, encoding="unicode")


def _companions(attribute: Attribute) -> dict[str, str]:
    label = str(attribute)
    if attribute.path == "default/dcmotor":
        return _MOTOR | _COMPANIONS.get(attribute.name, {})
    if label in _COMPANIONS or label in _LONE or not label.startswith("default"):
        return _COMPANIONS.get(label, _LONE.get(label, {}))
    if attribute.name == "actrange" and attribute.path != "default/general":
        return {}
    return _COMPANIONS.get(attribute.name, {})


def _element(root: Any, path: str) -> Any:
    for part in path.split("/"):
        found = root.find(part)
        root = ElementTree.SubElement(root, part) if found is None else found
    return root


def _make_room(root: Any, attribute: Attribute, value: str) -> None:
    """Change the model so that the attribute is valid in it, and has an effect."""
    label = str(attribute)
    if label in _LONE:
        _leave_one(root, attribute)
        return
    if label in _BODIES:
        body = f'<body name="odd"><joint name="odd"/>{_BODIES[label]}</body>'
        root.find("worldbody").append(ElementTree.fromstring(body))
    if label == "compiler/autolimits":
        for element in [e for e in root.iter() if "range" in e.attrib]:
            element.set("limited", "true")
        _drop(root, "actuator", lambda e: "ctrlrange" in e.attrib or "actrange" in e.attrib)
    if (label, value) == ("compiler/inertiafromgeom", "false"):
        for body in root.iter("body"):
            if body.find("inertial") is None:
                mass = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
                body.insert(0, ElementTree.fromstring(mass))
    kind = attribute.path.partition("/")[2]
    if attribute.path.startswith("default") and kind in _ACTUATORS:
        _drop(root, "actuator", lambda e: e.tag != kind)
    elif attribute.path == "compiler/lengthrange":
        _drop(root, "actuator", lambda e: e.tag not in ("muscle", "position"))
    else:  # computing its length range takes longer than everything else
        _drop(root, "actuator", lambda e: e.tag == "muscle")


def _leave_one(root: Any, attribute: Attribute) -> None:
    """Make the model one where only one element has the default."""
    for name, text in _SECTIONS.items():
        section = root.find(name)
        section.clear()
        section.extend(ElementTree.fromstring(f"<all>{text}</all>"))
    kind = attribute.path.partition("/")[2]
    section, text = _ALONE[kind]
    element = ElementTree.fromstring(text)
    root.find(section).insert(0, element)
    if attribute.name == "nchannel":
        element.set("file", "photo.png")
    if kind == "geom":
        body = root.find("worldbody/body")
        body.remove(body.find("geom"))
        mass = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
        body.append(ElementTree.fromstring(mass))


def _drop(root: Any, section: str, unwanted: Any) -> None:
    parent = root.find(section)
    for element in [e for e in parent if unwanted(e)]:
        parent.remove(element)
    if section == "actuator" and parent.find("plugin") is None:
        root.find("extension").clear()  # an instance that nothing uses is an error


def _use_class(root: Any) -> None:
    """Move the defaults into a class of a class, and put every element into it."""
    outer = root.find("default")
    given = list(outer)
    for element in given:
        outer.remove(element)
    middle = ElementTree.SubElement(outer, "default", {"class": "outer"})
    inner = ElementTree.SubElement(middle, "default", {"class": "inner"})
    inner.extend(given)
    for section in ("asset", "worldbody", "contact", "equality", "tendon", "actuator"):
        in_tendon = section == "tendon"
        for element in root.find(section).iter() if not in_tendon else root.find(section):
            if element.tag in _IN_CLASSES:
                element.set("class", "inner")


def write_files(folder: Path) -> None:
    """The meshes and textures of the model: other ones in each folder that could be meant."""
    for i, inside in enumerate((".", "other")):
        write_corner(folder / inside / "corner.stl", 0.15 + 0.05 * i)
        write_corner(folder / inside / "parts" / "corner.stl", 0.1 + 0.05 * i)
        _write_png(folder / inside / "photo.png", 50 + 100 * i)


def _write_png(path: Path, shade: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + bytes([shade, 0, shade] * 4) for _ in range(4))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + body)


# Comparing --------------------------------------------------------------------------------------

_FIELDS = {field.name: field for field in structs.STRUCTS["mjModel"].fields}
_NAMED = {
    "nbody": "BODY", "ngeom": "GEOM", "nsite": "SITE", "ncam": "CAMERA", "nlight": "LIGHT",
    "njnt": "JOINT", "nmesh": "MESH", "nmat": "MATERIAL", "ntex": "TEXTURE", "ntendon": "TENDON",
    "nactuator": "ACTUATOR", "nsensor": "SENSOR", "neq": "EQUALITY", "nnumeric": "NUMERIC",
    "ntext": "TEXT", "ntuple": "TUPLE", "npair": "PAIR", "nhfield": "HFIELD",
}  # fmt: skip
#: How many sizes a shape has, by its type.
_SIZES_USED = {0: 3, 1: 3, 2: 1, 3: 2, 4: 3, 5: 2, 6: 3, 7: 3, 8: 3}
#: Addresses and ids of other elements, which move when something stands beside.
_MOVES = ("id", "adr", "num", "signature", "geom1", "geom2", "plugin")


def fields(struct_: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every number of a compiled model by name: `opt.timestep`, `body_mass`, …"""
    for name in dir(struct_):
        value = getattr(struct_, name)
        if name.startswith("_") or callable(value):
            continue
        if isinstance(value, int | float | np.ndarray | np.generic):
            yield prefix + name, np.asarray(value)
        elif type(value).__module__.startswith("mujoco"):
            yield from fields(value, f"{prefix}{name}.")


def _is_bookkeeping(name: str) -> bool:
    """Names, paths, keyframes (a scene keeps them itself) and sizes of buffers."""
    return name.startswith(("name", "path", "key_")) or name.endswith("pathadr") or name in (
        "nnames", "nnames_map", "npaths", "nbuffer", "signature", "nkey"
    )  # fmt: skip


def differences(one: Any, other: Any, *, tolerance: float = 0.0) -> list[str]:
    """The fields in which two models differ, apart from names."""
    mine, theirs = dict(fields(one)), dict(fields(other))
    if tolerance:  # a file has no sizes that a shape does not use
        for kind in ("geom", "site"):
            for numbers in (mine, theirs):
                unused = [_SIZES_USED[int(t)] for t in numbers[f"{kind}_type"]]
                sizes = numbers[f"{kind}_size"] = numbers[f"{kind}_size"].copy()
                for row, first in zip(sizes, unused, strict=True):
                    row[first:] = 0.0
        for numbers in (mine, theirs):  # nor the looks of tendons that are not seen
            fixed = numbers["wrap_type"][numbers["tendon_adr"]] == mujoco.mjtWrap.mjWRAP_JOINT
            for name in ("tendon_rgba", "tendon_width"):
                seen = numbers[name] = numbers[name].copy()
                seen[fixed] = 0.0
    return [
        name
        for name, value in mine.items()
        if not _is_bookkeeping(name) and not _equal(value, theirs[name], tolerance)
    ]


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    if tolerance:
        return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))
    return bool(np.array_equal(one, other, equal_nan=True))


def share_differs(alone: Any, world: Any, prefix: str) -> list[str]:
    """The fields of named elements in which an actor in a world differs from its model alone.

    Visual settings and user sizes must hold for the whole world. What other actors change by
    adding to a sum may differ in the last bits.
    """
    theirs = dict(fields(world))
    found = []
    for name, value in fields(alone):
        extent = getattr(_FIELDS.get(name), "array_extent", None)
        kind = _NAMED.get(extent[0]) if extent else None
        if kind is None:
            whole = name.startswith(("vis.", "nuser")) and name != "vis.global_.cameraid"
            if whole and not _equal(value, theirs[name], 0.0):
                found.append(name)
        elif not _is_bookkeeping(name) and not name.endswith(_MOVES):
            mine, there = _rows(alone, world, kind, prefix, name)
            if not _equal(value[mine], theirs[name][there], 1e-9):
                found.append(name)
    return found


def _rows(alone: Any, world: Any, kind: str, prefix: str, name: str) -> tuple[list[int], list[int]]:
    """Where an actor's elements are in its model alone, and in the world."""
    obj = getattr(mujoco.mjtObj, f"mjOBJ_{kind}")
    names = {i: mujoco.mj_id2name(alone, obj, i) for i in range(getattr(alone, _size(kind)))}
    pairs = {i: mujoco.mj_name2id(world, obj, f"{prefix}{n}") for i, n in names.items() if n}
    if kind == "BODY":
        pairs.pop(0)
    if name.endswith("poscom0"):  # of the world's own: from the centre of mass of everything
        owner = getattr(alone, f"{name.partition('_')[0]}_bodyid")
        pairs = {i: j for i, j in pairs.items() if owner[i]}
    assert -1 not in pairs.values(), (kind, names)
    return list(pairs), list(pairs.values())


def _size(kind: str) -> str:
    return next(size for size, name in _NAMED.items() if name == kind)
