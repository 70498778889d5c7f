"""MuJoCo's own list of what a model can say, and values for it: from the installed package."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mujoco

_ELEMENT = re.compile(r"(?P<indent> *)(?P<name>\w+) \((?P<kind>.)\)\s*(?P<attributes>.*)")
_ENTRY = re.compile(r"^:at:`(?P<name>\w+)`: :at-val:`(?P<value>[^`]*)`", re.MULTILINE)
_LABEL = re.compile(r"^\.\. _(?P<label>[\w-]+):$", re.MULTILINE)
#: By name, for what the reference describes in words or where not every number is valid.
_GIVEN = {
    "solref": "0.03 0.9", "solimp": "0.8 0.9 0.002 0.4 3", "solreflimit": "0.03 0.9",
    "solimplimit": "0.8 0.9 0.002 0.4 3", "solreffriction": "0.03 0.9",
    "solimpfriction": "0.8 0.9 0.002 0.4 3", "o_solref": "0.03 0.9",
    "o_solimp": "0.8 0.9 0.002 0.4 3", "o_friction": "0.9 0.9 0.01 0.001 0.001",
    "quat": "0.9 0.1 0.2 0.3", "axisangle": "0 1 0 30", "euler": "20 30 40",
    "xyaxes": "0 1 0 -1 0 0", "zaxis": "1 0 1", "user": "3 4", "eulerseq": "ZYX",
    "meshdir": "other", "texturedir": "other", "assetdir": "other", "memory": "2M",
    "settotalmass": "14", "actuatorgroupdisable": "1 3", "extent": "2.5", "meaninertia": "0.7",
    "meanmass": "0.6", "meansize": "0.3", "timestep": "0.004", "nkey": "3",
    "inertiagrouprange": "0 1",
    "material": "grey", "texture": "checks", "mesh": "corner", "hfield": "hills", "mass": "0.4",
    "shellinertia": "true", "cameraid": "0", "input": "pos", "nsample": "3", "diameter": "0.2",
    "gridsize": "1 1", "gridlayout": ".", "focal": "0.1 0.1", "focalpixel": "30 30",
    "principal": "0.01 0.01", "principalpixel": "3 3", "resistance": "2", "interp": "linear",
    "default/mesh/maxhullvert": "8", "default/general/actdim": "1",
    "default/orientation/forcerange": "0 2", "actuatorfrcrange": "-1 1",
    "custom/numeric/name": "other", "custom/numeric/data": "5 6", "custom/numeric/size": "4",
    "custom/text/name": "other", "custom/text/data": "said", "custom/tuple/name": "other",
    "custom/tuple/element/objname": "ball", "custom/tuple/element/objtype": "geom",
    "custom/tuple/element/prm": "2.5", "default/material/layer/role": "rgb",
    "extension/plugin/plugin": "mujoco.pid", "extension/plugin/instance/name": "slow",
    "extension/plugin/instance/config/key": "kd", "extension/plugin/instance/config/value": "7",
}  # fmt: skip
#: Where the attributes of an element of <default> are described.
_DESCRIBED = {
    "mesh": "asset-mesh", "texture": "asset-texture", "material": "asset-material",
    "pair": "contact-pair", "equality": "equality-connect", "tendon": "tendon-spatial",
    "joint": "body-joint", "geom": "body-geom", "site": "body-site", "camera": "body-camera",
    "light": "body-light",
}  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element: `compiler/lengthrange`, `mode`."""

    path: str
    name: str

    def __str__(self) -> str:
        return f"{self.path}/{self.name}"


@cache
def attributes(*sections: str) -> tuple[Attribute, ...]:
    """Every attribute that MuJoCo's parser knows in some top-level elements."""
    return tuple(a for a in _walk() if a.path.partition("/")[0] in sections)


def _walk() -> Iterator[Attribute]:
    stack: list[str] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        match = _ELEMENT.fullmatch(line)
        if match:
            stack = [*stack[: len(match["indent"]) // 3], match["name"]]
        names = match["attributes"] if match else line
        yield from (Attribute("/".join(stack[1:]), name) for name in names.split())


@cache
def documented() -> dict[str, str]:
    """What the XML reference says of values: `compiler-angle` → `[radian, degree], "degree"`."""
    text = (Path(mujoco.__file__).parent / "doc" / "XMLreference.rst").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    places = sorted(
        [(m.start(), m["label"], "") for m in _LABEL.finditer(text)]
        + [(m.start(), m["name"], m["value"]) for m in _ENTRY.finditer(text)]
    )
    labels: list[str] = []
    for _, name, value in places:
        if not value:
            labels.append(name)
            continue
        found |= {label: value for label in labels if label.endswith(f"-{name}")}
        labels = []
    return found


def values(attribute: Attribute) -> list[str]:
    """Values other than the default, in the words of the reference; none: it does not say."""
    section, _, inner = attribute.path.partition("/")
    label = f"{attribute.path.replace('/', '-')}-{attribute.name}"
    if section == "default":
        label = f"{_DESCRIBED.get(inner, f'actuator-{inner}')}-{attribute.name}"
    given = _GIVEN.get(str(attribute), _GIVEN.get(attribute.name))
    if given is not None:
        return [given]
    about = documented().get(label) or documented().get(f"actuator-general-{attribute.name}", "")
    kind, _, default = about.partition(', "') if '"' in about else (about, "", "")
    default = default.partition('"')[0]
    if kind.startswith("["):
        words = kind.partition("]")[0].strip("[").split(", ")
        return [word for word in words if word != default]
    match = re.match(r"(real|int)(?:\((\d+)\))?", kind)
    if not match or not (match[2] or kind in ("real", "int")):
        return []
    count = int(match[2] or 1)
    numbers = [float(w) for w in default.split() if re.fullmatch(r"-?[\d.]*\d(e-?\d+)?", w)]
    numbers = (numbers * count if len(numbers) == 1 else numbers or [0.0] * count)[:count]
    if match[1] == "int":
        return [" ".join(str(int(n) + 1 + i) for i, n in enumerate(numbers))]
    return [" ".join(f"{n * 0.75 + 0.125 * (i + 1):g}" for i, n in enumerate(numbers))]
