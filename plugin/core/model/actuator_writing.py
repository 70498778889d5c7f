"""Writing authored actuators to a spec: what `actuators:` of an actor adds to its model."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np

from mjrig.core.errors import BindingError, LocatedError, PropertyError
from mjrig.core.model.actuator_checks import check, check_delay
from mjrig.core.model.model_source import one_line
from mjrig.core.names import enumerated, suggestion, unique
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import compile_pattern
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.actuator import NO_SITE, OTHER_ROOT, Actuator

# Actuator writing ---------------------------------------------------------------------------------


_AUTO = mujoco.mjtLimited.mjLIMITED_AUTO
_TYPE = mujoco.mjtActuator
_FIELDS = (
    *("group", "ctrlrange", "forcerange", "actrange", "lengthrange", "gear", "cranklength"),
    *("delay", "nsample", "damping", "armature"),
)
_TYPES = {"dyntype": mujoco.mjtDyn, "gaintype": mujoco.mjtGain, "biastype": mujoco.mjtBias}
_COMMAND = {
    _TYPE.mjACTUATOR_POSITION: "position",
    _TYPE.mjACTUATOR_PID: "position",
    _TYPE.mjACTUATOR_VELOCITY: "velocity",
    _TYPE.mjACTUATOR_INTVELOCITY: "velocity",
    _TYPE.mjACTUATOR_CYLINDER: "pressure",
    _TYPE.mjACTUATOR_MUSCLE: "excitation",
    _TYPE.mjACTUATOR_DAMPER: "damping",
    _TYPE.mjACTUATOR_ADHESION: "adhesion",
    _TYPE.mjACTUATOR_MOTOR: "force",
}


def write(made: Any, actuator: Actuator, *, new: bool = True) -> None:
    """Write an actuator: ranges, then its kind's law, then overrides of the law.

    Args:
        made: the spec's actuator; its transmission is written already.
        actuator: the description.
        new: false where `made` is the model's: what is not authored stays.

    Raises:
        PropertyError: MuJoCo refuses a value.
    """
    for name in _FIELDS:
        if new or actuator.is_authored(name):
            setattr(made, name, actuator.__dict__[name])
    if new or actuator.is_authored("interp"):
        made.interp = list(type(actuator.interp)).index(actuator.interp)
    if new:
        _clear(made)
        made.forcelimited = _AUTO
    if not (actuator.is_authored("ctrlrange") or made.ctrlrange.any()):
        made.ctrlrange = actuator.ctrlrange  # the kind's own
    if actuator.is_authored("userdata"):
        made.userdata = actuator.userdata.tolist()
    _write_law(made, actuator)
    for kind in ("ctrl", "force", "act"):
        limited = actuator.__dict__[f"{kind}limited"]
        if limited is not None:
            setattr(made, f"{kind}limited", int(limited))


def _write_law(made: Any, actuator: Actuator) -> None:
    """The kind first: it resets the whole table of types and parameters."""
    try:
        actuator.shape(made)
    except (TypeError, ValueError) as error:
        raise actuator.refusal("type", one_line(error)) from error
    for name, members in _TYPES.items():
        if actuator.is_authored(name):
            prefix = name.removesuffix("type").upper()
            setattr(made, name, getattr(members, f"mj{prefix}_{actuator.__dict__[name].upper()}"))
    for name in ("dynprm", "gainprm", "biasprm"):
        if actuator.is_authored(name):
            count = np.atleast_1d(np.asarray(actuator.authored(name))).size
            getattr(made, name)[:count] = actuator.__dict__[name][:count]
    for name in ("actearly", "ctrlspec", "actdim"):
        if actuator.is_authored(name):
            setattr(made, name, actuator.__dict__[name])


def retire(made: Any, actuator: Actuator) -> bool:
    """Clear what has no meaning for the actuator that replaces a model's.

    Returns whether the control input keeps its meaning.
    """
    keeps_command = command_of(made) == actuator.command != ""
    ranges = made.ctrlrange.copy(), made.ctrllimited, made.inheritrange
    _clear(made)
    made.ctrlrange, made.actrange, made.actdim = [0, 0], [0, 0], -1
    if made.plugin.active:
        made.plugin.active = False
    if keeps_command and not (actuator.is_authored("ctrlrange") or _inherits(actuator)):
        made.ctrlrange, made.ctrllimited, made.inheritrange = ranges
    return keeps_command


def _inherits(actuator: Actuator) -> bool:
    return "inheritrange" in actuator._properties and actuator.is_authored("inheritrange")


def _clear(made: Any) -> None:
    """Undo what defaults of the model or an earlier kind left."""
    made.ctrllimited = made.actlimited = _AUTO
    made.velrange, made.ffrange, made.inheritrange = [0, 0], [0, 0], 0.0


def command_of(made: Any) -> str:
    """The quantity of the first control input of a spec's actuator; empty if unknown."""
    if made.type in _COMMAND:
        return _COMMAND[made.type]
    fixed = made.gaintype == mujoco.mjtGain.mjGAIN_FIXED
    if fixed and made.biastype == mujoco.mjtBias.mjBIAS_AFFINE:
        integrates = made.dyntype == mujoco.mjtDyn.mjDYN_INTEGRATOR
        return "position" if made.biasprm[1] and not integrates else "velocity"
    plain = made.biastype == mujoco.mjtBias.mjBIAS_NONE and made.dyntype == mujoco.mjtDyn.mjDYN_NONE
    return "force" if fixed and plain and made.gainprm[0] == 1.0 else ""


def position_type(made: Any) -> bool:
    """Whether a spec's actuator holds its target at a position."""
    gains = (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_PID)
    affine = made.biastype == mujoco.mjtBias.mjBIAS_AFFINE and made.gaintype in gains
    pressure = made.type == _TYPE.mjACTUATOR_CYLINDER
    return bool(affine and made.biasprm[1] and not pressure)


# Write actuators ----------------------------------------------------------------------------------


_TRN = mujoco.mjtTrn
_TRANSMISSION = {
    "joint": _TRN.mjTRN_JOINT,
    "body": _TRN.mjTRN_BODY,
    "site": _TRN.mjTRN_SITE,
    "tendon": _TRN.mjTRN_TENDON,
    "cranksite": _TRN.mjTRN_SLIDERCRANK,
}
#: How MuJoCo's messages refer to an actuator by its id.
_NUMBERED = re.compile(r"actuator (?:id = )?(\d+)")


@dataclass(frozen=True)
class Authored:
    """What became of an actor's authored actuators; all names are local."""

    #: The names of each authored actuator, in the order of `actor.actuators`.
    names: tuple[tuple[str, ...], ...] = ()
    #: Authored names of actuators whose compiled names differ.
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: (index, name, actor/site): references to other actors, written when all are attached.
    references: tuple[tuple[int, str, str], ...] = ()
    #: Replaced actuators whose controls now have another meaning: keyframes do not set them.
    changed: frozenset[str] = frozenset()

    def culprit(self, message: str, world: Any, actor: str) -> int | None:
        """Which authored actuator a message of MuJoCo's compiler is about, if any."""
        number = _NUMBERED.search(message)
        elements = world.actuators
        named = elements[int(number[1])].name if number and int(number[1]) < len(elements) else ""
        for i, names in enumerate(self.names):
            for name in names:
                if f"'{actor}/{name}'" in message or named == f"{actor}/{name}":
                    return i
        return None


def add_actuators(spec: Any, actor: ActorDescription) -> Authored:
    """Add an actor's authored actuators to a spec of the actor alone, one per match.

    Raises:
        PropertyError, BindingError: an actuator is invalid or its target matches nothing.
    """
    if not actor.actuators:
        return Authored()
    own = {a.name: a for a in spec.actuators}
    made: list[list[Any]] = []
    replaced: dict[str, int] = {}
    changed: set[str] = set()
    for i, actuator in enumerate(actor.actuators):
        with _about(i):
            check(actuator)
            if actuator.replaces:
                made.append(_replace(spec, actuator, actor, own, replaced, changed, i))
            else:
                made.append(_add(spec, actuator, actor))
    _name(actor.actuators, made, own)
    for i, (actuator, elements) in enumerate(zip(actor.actuators, made, strict=True)):
        with _about(i):
            for element in elements:
                _add_plugin(spec, actuator, element)
                _add_sensors(spec, actuator, element)
            _check_position_laws(spec, actuator, elements)
    return Authored(
        tuple(tuple(e.name for e in elements) for elements in made),
        _aliases(spec, actor.actuators, made),
        tuple(_references(actor, made)),
        frozenset(changed),
    )


def finish_actuators(
    world: Any, actor: ActorDescription, authored: Authored, root_of: Callable[[str], str]
) -> None:
    """Finish what needs all actors in the world: references between them, delays.

    Args:
        world: the spec of everything.
        actor: one of the actors in it.
        authored: its authored actuators as written.
        root_of: the actor at the end of an actor's chain of attachments.

    Raises:
        PropertyError: a reference has another root or does not exist; a delay does not fit.
    """
    for i, actuator in enumerate(actor.actuators):
        with _about(i):
            check_delay(actuator, float(world.option.timestep))
    for i, name, reference in authored.references:
        with _about(i):
            actuator, other = actor.actuators[i], reference.partition("/")[0]
            sites = [site.name for site in world.sites]
            if reference not in sites:
                hint = suggestion(reference, sites)
                raise actuator.refusal("refsite", f"there is no site {reference!r}; {hint}")
            if root_of(other) != root_of(actor.name):
                raise actuator.refusal("refsite", OTHER_ROOT)
            world.actuator(f"{actor.name}/{name}").refsite = reference


@contextmanager
def _about(index: int) -> Iterator[None]:
    """Turn errors about one actuator into errors about its actor."""
    try:
        yield
    except LocatedError as error:
        raise error.below("actuators", index) from error


# Matching ---------------------------------------------------------------------------------------


@pattern_budget()
def match(actuator: Actuator, attribute: str, pattern: str, names: Sequence[str]) -> list[str]:
    """The names a pattern selects: the literal one, else all it matches in full.

    Raises:
        BindingError: nothing; the message names the nearest.
    """
    if pattern in names:
        return [pattern]
    what = "actuator" if attribute == "replaces" else attribute.removeprefix("crank")
    what = "site" if what in ("slidersite", "refsite") else what
    try:
        fullmatch = compile_pattern(pattern).fullmatch
    except BindingError as error:
        raise BindingError(f"{actuator.label}.{attribute}: {error}", (attribute,)) from None
    found = [name for name in names if fullmatch(name)]
    if not found:
        hint = suggestion(pattern, names)
        problem = f"{actuator.label}.{attribute}: {pattern!r} matches no {what}; {hint}"
        raise BindingError(problem, (attribute,))
    return found


def element_names(spec: Any, kind: str) -> list[str]:
    """The names of the joints, bodies, sites or tendons of a spec."""
    elements: Iterable[Any] = {
        "joint": spec.joints,
        "body": spec.bodies[1:],
        "site": spec.sites,
        "tendon": spec.tendons,
        "cranksite": spec.sites,
    }[kind]
    return [e.name for e in elements if e.name]


def _add(spec: Any, actuator: Actuator, actor: ActorDescription) -> list[Any]:
    (kind,) = actuator.given_targets()
    targets = match(actuator, kind, actuator.__dict__[kind], element_names(spec, kind))
    made = []
    for target in targets:
        element = spec.add_actuator()
        element.trntype = _TRANSMISSION[kind]
        if actuator.inparent:
            element.trntype = _TRN.mjTRN_JOINTINPARENT
        element.target = target
        if actuator.slidersite:
            sites = element_names(spec, "site")
            found = match(actuator, "slidersite", actuator.slidersite, sites)
            if len(found) > 1:
                raise actuator.refusal("slidersite", f"is one site, not {', '.join(found)}")
            element.slidersite = found[0]
        write(element, actuator)
        _refer(spec, actuator, actor, element)
        made.append(element)
    return made


def _replace(
    spec: Any,
    actuator: Actuator,
    actor: ActorDescription,
    own: Mapping[str, Any],
    replaced: dict[str, int],
    changed: set[str],
    i: int,
) -> list[Any]:
    """Replace actuators of the model by this one, in place: names and order stay."""
    names: dict[str, None] = {}
    for pattern in actuator.replaces:
        names |= dict.fromkeys(match(actuator, "replaces", pattern, list(own)))
    for name in names:
        if name in replaced:
            problem = f"actuators[{replaced[name]}] replaces {name!r} already"
            raise actuator.refusal("replaces", problem)
        replaced[name] = i
        _check_fit(actuator, own[name])
        if not retire(own[name], actuator):
            changed.add(name)
        write(own[name], actuator, new=False)
        _refer(spec, actuator, actor, own[name])
    return [own[name] for name in names]


def _check_fit(actuator: Actuator, element: Any) -> None:
    """Check that the new actuator can act on the target of the model's actuator."""
    trntype = element.trntype
    in_parent = trntype == _TRN.mjTRN_JOINTINPARENT
    kind = "joint" if in_parent else next(k for k, t in _TRANSMISSION.items() if t == trntype)
    if kind not in actuator.targets:
        allowed = " or a ".join(actuator.targets)
        problem = (
            f"{actuator.element} actuators act on a {allowed}; {element.name!r} acts on a {kind}"
        )
        raise actuator.refusal("replaces", problem)
    for name in ("inparent", "slidersite"):
        if actuator.__dict__[name]:
            raise actuator.refusal(name, "cannot be combined with replaces, which keeps the target")
    if actuator.cranklength and kind != "cranksite":
        problem = f"{element.name!r} acts on a {kind}, not on a cranksite"
        raise actuator.refusal("cranklength", problem)
    if actuator.refsite and kind != "site":
        raise actuator.refusal("refsite", NO_SITE)


def _refer(spec: Any, actuator: Actuator, actor: ActorDescription, element: Any) -> None:
    """Write a reference site; another actor's is written once that is attached."""
    reference = actuator.refsite
    if not reference:
        return
    other, _, site = reference.rpartition("/")
    sites = element_names(spec, "site")
    if reference in sites:
        element.refsite = reference
    elif other in ("", actor.name):
        if site not in sites:
            hint = suggestion(site, sites)
            raise actuator.refusal("refsite", f"{actor.label} has no site {site!r}; {hint}")
        element.refsite = site
    else:
        element.refsite = element.target  # a site that exists, until the other's does


def _references(actor: ActorDescription, made: list[list[Any]]) -> Iterator[tuple[int, str, str]]:
    for i, (actuator, elements) in enumerate(zip(actor.actuators, made, strict=True)):
        for element in elements:
            if "/" in actuator.refsite and element.refsite == element.target:
                yield i, element.name, actuator.refsite


# Names ------------------------------------------------------------------------------------------


def _name(actuators: Sequence[Actuator], made: list[list[Any]], own: Mapping[str, Any]) -> None:
    """Name the added actuators, those without a name after their targets.

    Replaced ones keep the model's names.
    """
    added = [
        (element, actuator)
        for actuator, elements in zip(actuators, made, strict=True)
        for element in elements
        if not actuator.replaces
    ]
    named = [(element, actuator.name) for element, actuator in added if actuator.name]
    names = enumerated([name for _, name in named], own)
    for (element, _), name in zip(named, names, strict=True):
        element.name = name
    taken = {*own, *names}
    for element, actuator in added:
        if not actuator.name:
            element.name = unique(element.target or f"unnamed_{actuator.element}", taken)
            taken.add(element.name)


def _aliases(spec: Any, actuators: Sequence[Actuator], made: list[list[Any]]) -> dict[str, str]:
    """The authored names that differ from the compiled ones and are not taken by others."""
    compiled = {a.name for a in spec.actuators}
    return {
        element.name: actuator.name
        for actuator, elements in zip(actuators, made, strict=True)
        for element in elements
        if actuator.name and actuator.name not in compiled
    }


# Plugins, sensors and conflicts -----------------------------------------------------------------


def _add_plugin(spec: Any, actuator: Actuator, element: Any) -> None:
    """Let an engine plugin run an actuator; the instance must come first, or MuJoCo crashes."""
    if not actuator.plugin:
        return
    spec.activate_plugin(actuator.plugin)
    instance = spec.add_plugin(
        name=f"{element.name}_plugin", plugin_name=actuator.plugin, active=True
    )
    instance.config = {key: _text(value) for key, value in actuator.plugin_config.items()}
    element.plugin = instance


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _add_sensors(spec: Any, actuator: Actuator, element: Any) -> None:
    for sensor in actuator.sensors:
        taken = {s.name for s in spec.sensors}
        name = sensor.name or f"{element.name}_{sensor.reads}"
        spec.add_sensor(
            name=enumerated([name], taken)[0],
            type=getattr(mujoco.mjtSensor, f"mjSENS_{sensor.reads.upper()}"),
            objtype=mujoco.mjtObj.mjOBJ_ACTUATOR,
            objname=element.name,
            cutoff=sensor.cutoff,
            noise=sensor.noise,
            delay=sensor.delay,
            nsample=sensor.nsample,
            interp=sensor.interp,
        )


def _check_position_laws(spec: Any, actuator: Actuator, elements: Sequence[Any]) -> None:
    """Refuse two position servos that hold one joint at two positions."""
    joints = (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT))
    for element in elements:
        if not position_type(element) or int(element.trntype) not in joints:
            continue
        for other in spec.actuators:
            same = other.target == element.target and int(other.trntype) in joints
            if same and other.name != element.name and position_type(other):
                raise PropertyError(
                    f"{actuator.label}: {element.name!r} and {other.name!r} both hold the joint "
                    f"{element.target!r} at a position; replace one of them, or give it another "
                    "joint"
                )
