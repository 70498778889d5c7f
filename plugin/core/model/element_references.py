"""Named elements of a spec and references between them; renaming and removing elements."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco

from mjrig.core.errors import PropertyError
from mjrig.core.names import UniqueNames, listed, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern

# Model references ---------------------------------------------------------------------------------


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


# Renaming -----------------------------------------------------------------------------------------


#: Method of MjsTendon, and its arguments.
Wrap = tuple[str, tuple[Any, ...]]

_WRAP = mujoco.mjtWrap
_NOT_COPIED = ("id", "signature", "path", "name", "default", "compiler", "info")


def rename(spec: Any, names: Mapping[ModelElement, str]) -> None:
    """Rename elements.

    Raises:
        PropertyError: a new name is taken by an element of the same kind.
    """
    _check_free(spec, names)
    new = {(element.kind, element.name): name for element, name in names.items()}
    followed = [r for r in references(spec) if (r.kind, r.name) in new]
    tendons = list(spec.tendons) if any(r.holder.kind == "tendon" for r in followed) else []
    paths = [_path(tendon, new) for tendon in tendons]
    for reference in followed:
        if reference.write is not None:
            reference.write(new[reference.kind, reference.name])
    for i, element in enumerate(names):  # temporary names: two names may be swapped
        element.handle.name = f"mjrig renames {i}"
    for element, name in names.items():
        element.handle.name = name
    _rebuild_tendons(spec, list(zip(tendons, paths, strict=True)))


def _check_free(spec: Any, names: Mapping[ModelElement, str]) -> None:
    for element, name in names.items():
        others = [
            e for e in (ModelElement(element.kind, h) for h in getattr(spec, KINDS[element.kind]))
            if e != element
        ]  # fmt: skip
        taken = {names.get(e, e.name) for e in others}
        if name in taken:
            raise PropertyError(f"{element} cannot be {name!r}: there is another {element.kind} "
                                "of that name")  # fmt: skip


# Tendons ----------------------------------------------------------------------------------------


def _path(tendon: Any, new: Mapping[tuple[str, str], str]) -> list[Wrap]:
    """The calls that wrap a tendon again around renamed elements: (method, arguments)."""

    def follow(kind: str, element: Any) -> str:
        return new.get((kind, element.name), element.name) if element is not None else ""

    calls: list[Wrap] = []
    for wrap in tendon.path:
        if wrap.type == _WRAP.mjWRAP_JOINT:
            calls.append(("wrap_joint", (follow("joint", wrap.target), wrap.coef)))
        elif wrap.type == _WRAP.mjWRAP_SITE:
            calls.append(("wrap_site", (follow("site", wrap.target),)))
        elif wrap.type == _WRAP.mjWRAP_PULLEY:
            calls.append(("wrap_pulley", (wrap.divisor,)))
        else:
            side = follow("site", wrap.sidesite)
            calls.append(("wrap_geom", (follow("geom", wrap.target), side)))
    return calls


def _rebuild_tendons(spec: Any, kept: list[tuple[Any, list[Wrap]]]) -> None:
    """Rebuild all tendons in order: MjSpec cannot change what a tendon wraps around."""
    for old, path in kept:
        made = spec.add_tendon()
        for name in dir(old):
            if not name.startswith(("_", "wrap_")) and name not in _NOT_COPIED:
                setattr(made, name, getattr(old, name))
        name = old.name
        spec.delete(old)
        made.name = name
        for method, arguments in path:
            getattr(made, method)(*arguments)


# Removal ------------------------------------------------------------------------------------------


Pair = tuple[str, str]


def closure(spec: Any, start: Iterable[ModelElement]) -> list[ModelElement]:
    """These elements, their content, and what has a required reference to any of it."""
    gone = dict.fromkeys(start)
    bodies = {e.name for e in gone if e.kind == "body"}
    gone.update(dict.fromkeys(inside(spec, bodies)))
    known = list(references(spec))
    while True:
        names = {(e.kind, e.name) for e in gone if e.name}
        more = [
            r.holder
            for r in known
            if r.drop is None and (r.kind, r.name) in names and r.holder not in gone
        ]
        if not more:
            return list(gone)
        gone.update(dict.fromkeys(more))


def remove(spec: Any, start: Iterable[ModelElement]) -> list[Pair]:
    """Remove elements and what depends on them; returns kind and name of all removed."""
    start = list(start)
    if not start:
        return []
    gone = closure(spec, start)
    pairs = [(e.kind, e.name) for e in gone]
    names = set(pairs)
    for reference in list(references(spec)):
        if reference.drop is not None and (reference.kind, reference.name) in names:
            reference.drop()
    bodies = {e.name for e in gone if e.kind == "body"}
    whole = [e for e in gone if e.kind == "body" and e.handle.parent.name not in bodies]
    # Elements that refer to others first; the content of a removed body is removed with it.
    loose = [e for e in gone if e.kind != "body" and not _is_in(e, bodies)]
    for element in [*(e for e in loose if e.kind not in IN_BODIES),
                    *(e for e in loose if e.kind in IN_BODIES), *whole]:  # fmt: skip
        spec.delete(element.handle)
    return pairs


def _is_in(element: ModelElement, bodies: set[str]) -> bool:
    return element.kind in IN_BODIES and element.handle.parent.name in bodies
