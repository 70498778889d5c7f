"""The named elements of a spec and the references between them: MjSpec keeps only strings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco

from mjrig.errors import PropertyError
from mjrig.names import UniqueNames, listed, suggestion
from mjrig.pattern_budget import pattern_budget
from mjrig.patterns import compile_pattern

#: Kinds of elements a scene may refer to, and MjSpec's name for the list of them.
KINDS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "site": "sites",
    "camera": "cameras",
    "light": "lights",
    "tendon": "tendons",
    "actuator": "actuators",
    "sensor": "sensors",
    "equality": "equalities",
    "pair": "pairs",
    "exclude": "excludes",
    "skin": "skins",
    "flex": "flexes",
    "tuple": "tuples",
    "key": "keys",
}
IN_BODIES = ("joint", "geom", "site", "camera", "light")

_OBJ, _TRN, _EQ = mujoco.mjtObj, mujoco.mjtTrn, mujoco.mjtEq
_OF_OBJECT = {int(getattr(_OBJ, f"mjOBJ_{kind.upper()}")): kind for kind in KINDS}
_OF_OBJECT[int(_OBJ.mjOBJ_XBODY)] = "body"
_OF_TRANSMISSION = {
    int(_TRN.mjTRN_JOINT): ("joint",),
    int(_TRN.mjTRN_JOINTINPARENT): ("joint",),
    int(_TRN.mjTRN_TENDON): ("tendon",),
    int(_TRN.mjTRN_SITE): ("site",),
    int(_TRN.mjTRN_SLIDERCRANK): ("site",),
    int(_TRN.mjTRN_BODY): ("body",),
    int(_TRN.mjTRN_SO3): ("joint", "site"),
}
_OF_EQUALITY = {int(_EQ.mjEQ_JOINT): "joint", int(_EQ.mjEQ_TENDON): "tendon"}


@dataclass(frozen=True)
class ModelElement:
    """An element of a spec: its kind, and MjSpec's own object."""

    kind: str
    handle: Any

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        return str(self.handle.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}" if self.name else f"a {self.kind} without a name"


@dataclass(frozen=True)
class ModelReference:
    """A reference by name from one element to another."""

    holder: ModelElement
    kind: str
    name: str
    #: Writes another name there; None: the holder must be rebuilt.
    write: Callable[[str], None] | None
    #: Whether the reference is optional: then `drop` removes it.
    drop: Callable[[], None] | None = None


def elements(spec: Any, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[ModelElement]:
    """Every element of these kinds that a scene may refer to, except the world body."""
    for kind in kinds:
        for handle in getattr(spec, KINDS[kind]):
            if kind != "body" or handle.name != "world":
                yield ModelElement(kind, handle)


def name_everything(spec: Any) -> None:
    """Give unnamed bodies, joints, actuators, sensors and keyframes names."""
    _name_all(spec.bodies, lambda body: "body")
    _name_all(spec.joints, lambda joint: joint.parent.name)
    _name_all(spec.actuators, lambda actuator: actuator.target or "actuator")
    _name_all(spec.sensors, _sensor_name)
    _name_all(spec.keys, lambda key: "key")


def _sensor_name(sensor: Any) -> str:
    kind = str(sensor.type).rpartition("mjSENS_")[2].split(":")[0].lower()
    return f"{sensor.objname}_{kind}" if sensor.objname else kind


def _name_all(handles: Any, name: Callable[[Any], str]) -> None:
    unnamed = [handle for handle in handles if not handle.name]
    if unnamed:
        names = UniqueNames(h.name for h in handles if h.name)
        for handle in unnamed:
            handle.name = names.give(name(handle))


def inside(spec: Any, bodies: set[str]) -> Iterator[ModelElement]:
    """The elements in these bodies and their descendants; all bodies must have names."""
    within = set(bodies)
    for body in spec.bodies:  # parents come first
        if body.name not in within and body.parent is not None and body.parent.name in within:
            within.add(body.name)
            yield ModelElement("body", body)
    for kind in IN_BODIES:
        for handle in getattr(spec, KINDS[kind]):
            if handle.parent.name in within:
                yield ModelElement(kind, handle)


# References -------------------------------------------------------------------------------------


def references(spec: Any, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[ModelReference]:
    """Every reference from elements of these kinds to others."""
    for element in elements(spec, kinds):
        find = _FIND.get(element.kind)
        if find is not None:
            yield from (r for r in find(spec, element) if r.name)


def _attribute(
    holder: ModelElement, attribute: str, kind: str, drop: Callable[[], None] | None = None
) -> ModelReference:
    def write(name: str) -> None:
        setattr(holder.handle, attribute, name)

    return ModelReference(holder, kind, str(getattr(holder.handle, attribute) or ""), write, drop)


def _of_actuator(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    actuator = holder.handle
    kinds = _OF_TRANSMISSION.get(int(actuator.trntype), ())
    for kind in kinds:
        if len(kinds) == 1 or getattr(spec, kind)(actuator.target) is not None:
            yield _attribute(holder, "target", kind)
            break
    yield _attribute(holder, "slidersite", "site")
    yield _attribute(holder, "refsite", "site", lambda: setattr(actuator, "refsite", ""))


def _of_sensor(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    for what in ("obj", "ref"):
        kind = _OF_OBJECT.get(int(getattr(holder.handle, f"{what}type")))
        if kind is not None:
            yield _attribute(holder, f"{what}name", kind)


def _of_equality(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    equality = holder.handle
    kind = _OF_EQUALITY.get(int(equality.type)) or _OF_OBJECT.get(int(equality.objtype), "flex")
    yield _attribute(holder, "name1", kind)
    yield _attribute(holder, "name2", kind)


def _of_pair(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    yield _attribute(holder, "geomname1", "geom")
    yield _attribute(holder, "geomname2", "geom")


def _of_exclude(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    yield _attribute(holder, "bodyname1", "body")
    yield _attribute(holder, "bodyname2", "body")


def _of_looking(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    def look_ahead() -> None:
        holder.handle.targetbody = ""
        holder.handle.mode = mujoco.mjtCamLight.mjCAMLIGHT_FIXED

    yield _attribute(holder, "targetbody", "body", look_ahead)


def _of_tendon(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    for wrap in holder.handle.path:
        if wrap.target is not None:
            kind = {"MjsJoint": "joint", "MjsSite": "site", "MjsGeom": "geom"}
            yield ModelReference(holder, kind[type(wrap.target).__name__], wrap.target.name, None)
        if wrap.sidesite is not None:
            yield ModelReference(holder, "site", wrap.sidesite.name, None)


def _of_list(attribute: str, kinds: Callable[[Any, int], str]) -> Any:
    """References in a list of names."""

    def find(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
        for i, name in enumerate(getattr(holder.handle, attribute)):

            def write(name: str, i: int = i) -> None:
                names = list(getattr(holder.handle, attribute))
                names[i] = name
                setattr(holder.handle, attribute, names)

            yield ModelReference(holder, kinds(holder.handle, i), str(name), write)

    return find


def _of_flex(spec: Any, holder: ModelElement) -> Iterator[ModelReference]:
    for attribute in ("nodebody", "vertbody"):
        yield from _of_list(attribute, lambda flex, i: "body")(spec, holder)


_FIND: dict[str, Callable[[Any, ModelElement], Iterator[ModelReference]]] = {
    "actuator": _of_actuator,
    "sensor": _of_sensor,
    "equality": _of_equality,
    "pair": _of_pair,
    "exclude": _of_exclude,
    "camera": _of_looking,
    "light": _of_looking,
    "tendon": _of_tendon,
    "skin": _of_list("bodyname", lambda skin, i: "body"),
    "flex": _of_flex,
    "tuple": _of_list("objname", lambda tuple_, i: _OF_OBJECT.get(int(tuple_.objtype[i]), "")),
}


# By name ----------------------------------------------------------------------------------------


def find_elements(
    spec: Any, pattern: str, kinds: Sequence[str] = tuple(KINDS), owner: str = "the model"
) -> list[ModelElement]:
    """The elements a name pattern matches in full; `joint:hip` is the hip among the joints.

    Raises:
        PropertyError: nothing matches, or elements of several kinds.
    """
    known = [e for e in elements(spec) if e.kind in kinds and e.name]
    found = _matching(known, pattern)
    kind, colon, rest = pattern.partition(":")
    if not found and colon and kind in kinds:
        known = [e for e in known if e.kind == kind]
        found, pattern = _matching(known, rest), rest
    if not found:
        what = kind if colon and kind in kinds else " or ".join(kinds[:2]) if len(kinds) < 3 else ""
        hint = suggestion(pattern, [e.name for e in known])
        raise PropertyError(f"{owner} has no {what or 'element'} {pattern!r}; {hint}")
    several = list(dict.fromkeys(e.kind for e in found))
    if len(several) > 1:
        choices = " or ".join(f"{kind}:{pattern}" for kind in several)
        raise PropertyError(f"{pattern!r} is {listed(map(str, found))}; write {choices}")
    return found


@pattern_budget()
def _matching(known: Sequence[ModelElement], pattern: str) -> list[ModelElement]:
    exact = [e for e in known if e.name == pattern]
    if exact:
        return exact
    fullmatch = compile_pattern(pattern).fullmatch
    return [e for e in known if fullmatch(e.name)]
