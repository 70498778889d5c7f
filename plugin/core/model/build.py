"""Build: one model of all actors of a scene, with the settings they share."""

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any

import mujoco
import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.model.actor_spec import WORLD, Part, Place, Places
from mjrig.core.model.actuator_writing import Authored, finish_actuators
from mjrig.core.model.asset_files import SharedMeshes, SharedTextures
from mjrig.core.model.binary_model import binary_actor, load_binary, prefix_of
from mjrig.core.model.binding import ActorModel, NamedIds, locate
from mjrig.core.model.element_references import references
from mjrig.core.model.keyframes import compiled_keys, with_states
from mjrig.core.model.model_size import MAX_ELEMENTS
from mjrig.core.model.model_source import load, one_line, remedy, texts
from mjrig.core.names import how_many, suggestion
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots, compile_pattern
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.mujoco_options import SimOptions, differing_option
from mjrig.core.scene.native_elements import without_actuator_callbacks
from mjrig.core.scene.placement import Placements, place, root_name
from mjrig.core.scene.pose import Rigid
from mjrig.core.scene.scene_description import Placed, SceneDescription

# Global settings ---------------------------------------------------------------------------------
# Settings of whole models, merged into one world: sizes, compiler, visual, statistic.
#
# Options (`<option>`) are set by the scene, see `SimOptions`.


_SIZES = (
    "memory", "nconmax", "njmax", "nstack", "nuserdata", "nuser_actuator", "nuser_body",
    "nuser_cam", "nuser_geom", "nuser_jnt", "nuser_sensor", "nuser_site", "nuser_tendon",
)  # fmt: skip
_AS_MESH = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF)
_NO_ACTUATION = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
#: The number of a camera in one model, which is another camera in a world of several.
IN_ONE_MODEL = "visual.global.cameraid"
_PLAIN = mujoco.MjSpec()
_LENGTH_RANGE_FIELDS = tuple(n for n in dir(_PLAIN.compiler.LRopt) if not n.startswith("_"))
_LENGTH_RANGES = attrgetter(*_LENGTH_RANGE_FIELDS)


def share_sizes(world: Any, specs: Sequence[Any]) -> None:
    """Give the world and its models the largest of each size: attaching drops what differs."""
    everything = (world, *specs)
    for name in _SIZES:
        largest = max(getattr(spec, name) for spec in everything)
        for spec in everything:
            setattr(spec, name, largest)
    for spec in specs:
        spec.nkey = 0  # MuJoCo counts them itself


def memory_for_pairs(model: Any) -> int:
    """Bytes that MuJoCo's search for contacts may take, which its own guess leaves out.

    It lists the pairs of bodies twice, and fails in the first step of a world with some thousands.
    """
    return int(8 * model.nbody**2)


# Compiler ---------------------------------------------------------------------------------------


def share_compiler(world: Any, parts: Sequence[Part]) -> None:
    """Give the world the compiler attributes that MuJoCo takes from the whole model alone.

    The others act on a model's own elements, and go with them when it is attached.

    Raises:
        PropertyError: models need different ones, which one world cannot have.
    """
    _share_fitting(world, parts)
    _share_length_ranges(world, [part for part in parts if len(part.spec.actuators)])


def _share_fitting(world: Any, parts: Sequence[Part]) -> None:
    if len(parts) == 1:  # whether it has such geoms or not
        world.compiler.fitaabb = bool(parts[0].spec.compiler.fitaabb)
        return
    fitting = [part for part in parts if any(map(_is_fitted, part.spec.geoms))]
    for part in fitting:
        mine, first = (bool(p.spec.compiler.fitaabb) for p in (part, fitting[0]))
        if mine != first:
            words = {True: "bounding boxes", False: "inertia"}
            raise PropertyError(
                f"{part.actor.label}.compiler.fitaabb: geoms of {fitting[0].name!r} are fitted to "
                f"the {words[first]} of meshes, those of {part.name!r} to their {words[mine]}; "
                "one world does either: set `compiler: {fitaabb: true}`, or false, on both",
                ("compiler", "fitaabb"),
            )
        world.compiler.fitaabb = first


def _is_fitted(geom: Any) -> bool:
    return bool(geom.meshname) and geom.type not in _AS_MESH


def _share_length_ranges(world: Any, parts: Sequence[Part]) -> None:
    """One way to compute the length ranges of actuators, or the ranges of each model alone."""
    ways = {_LENGTH_RANGES(part.spec.compiler.LRopt) for part in parts}
    if len(ways) == 1:
        for name, value in zip(_LENGTH_RANGE_FIELDS, *ways, strict=True):
            setattr(world.compiler.LRopt, name, value)
    elif ways:
        for part in parts:
            alone = part.compiled_alone()
            for actuator in part.spec.actuators:
                first = int(alone.actuator_outadr[alone.actuator(actuator.name).id])
                actuator.lengthrange = alone.actuator_lengthrange[first]
        world.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)


# Visual and statistic ---------------------------------------------------------------------------


def share_appearance(world: Any, parts: Sequence[Part]) -> dict[str, dict[str, Any]]:
    """Every visual and statistic attribute from the first model that gives it.

    Returns:
        What models give differently: `visual.map.znear` → its value by actor, the used one first.
    """
    differing: dict[str, dict[str, Any]] = {}
    world.visual, world.stat = parts[0].spec.visual, parts[0].spec.stat
    if len(parts) == 1:
        return differing
    for name, owner, attribute, values in _appearance(world, [part.spec for part in parts]):
        used, *others = values.values() or (None,)
        camera = name == IN_ONE_MODEL
        if camera:
            owner.cameraid = _PLAIN.visual.global_.cameraid
        elif values:
            _write(owner, attribute, used)
        if (camera and values) or any(not _same(used, value) for value in others):
            differing[name] = {parts[i].name: np.copy(value) for i, value in values.items()}
    for part in parts:  # attaching warns about each difference
        part.spec.visual = world.visual
    return differing


def _appearance(world: Any, specs: Sequence[Any]) -> Iterator[tuple[str, Any, str, dict[int, Any]]]:
    """Name, owner in the world and name of every attribute; its value by the models giving it."""
    groups = [g for g in dir(_PLAIN.visual) if not g.startswith("_")]
    for group in groups:
        owners = [getattr(spec.visual, group) for spec in (world, _PLAIN, *specs)]
        yield from _attributes(f"visual.{group.strip('_')}", owners)
    yield from _attributes("statistic", [spec.stat for spec in (world, _PLAIN, *specs)])


def _attributes(
    section: str, owners: Sequence[Any]
) -> Iterator[tuple[str, Any, str, dict[int, Any]]]:
    world, plain, *models = owners
    for attribute, default in _fields(plain):
        found = {i: getattr(model, attribute) for i, model in enumerate(models)}
        given = {i: v for i, v in found.items() if not _same(v, default)}
        yield f"{section}.{attribute}", world, attribute, given


def _fields(struct: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(struct):
        value = getattr(struct, name)
        if not name.startswith("_") and not callable(value):
            yield name, value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and one == other:  # most are, and arrays take long
        return True
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))


def _write(owner: Any, attribute: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        getattr(owner, attribute)[:] = value
    else:
        setattr(owner, attribute, value)


# Actuation --------------------------------------------------------------------------------------


def check_actuation(parts: Sequence[Part]) -> None:
    """Refuse models of which only some switch all actuation off: `sim` has no such flag.

    Raises:
        PropertyError: they differ.
    """
    off = [part for part in parts if int(part.spec.option.disableflags) & _NO_ACTUATION]
    if off and len(off) < len(parts):
        other = next(part for part in parts if part not in off)
        raise PropertyError(
            f'{off[0].actor.label}.model: its <flag actuation="disable"/> would switch off the '
            f"actuators of {other.name!r} too; remove the flag",
            ("model",),
        )


# Collision ----------------------------------------------------------------------------------------


_WORLD_BODY = "world"
#: Pairs of bodies that the groups of a scene may keep apart, each group counted.
MAX_PAIRS = 250_000


def exclude_contacts(world: Any, groups: Sequence[Placed], actors: Sequence[str]) -> None:
    """Add the excludes of all groups to the spec of the world.

    Raises:
        SceneError, PropertyError: a member or group does not exist, or groups contain each other.
    """
    if not groups:
        return
    bodies = [b.name for b in world.bodies]
    members = _Members(groups, bodies, actors)
    with_geoms = {b.name for b in world.bodies if b.geoms}
    done = {frozenset((e.bodyname1, e.bodyname2)) for e in world.excludes}
    tried = 0
    for placed in groups:
        with placed.locating():
            ignored = (members.of(name) for name in _ignored(placed, groups))
            others = list(dict.fromkeys(itertools.chain.from_iterable(ignored)))
            own = members.of(placed.name)
            tried += len(own) * len(others)
            if tried > MAX_PAIRS:
                raise PropertyError(
                    f"{placed.item.label}.ignores: the groups keep apart more than {MAX_PAIRS} "
                    "pairs of bodies; give the geoms contype and conaffinity instead",
                    ("ignores",),
                )
            for one, other in itertools.product(own, others):
                pair = frozenset((one, other))
                if len(pair) == 2 and pair <= with_geoms and pair not in done:
                    done.add(pair)
                    world.add_exclude(bodyname1=one, bodyname2=other)


@pattern_budget()
def _ignored(placed: Placed, groups: Sequence[Placed]) -> list[str]:
    found = []
    for i, pattern in enumerate(placed.item.ignores):
        found += _matching(placed, "ignores", i, pattern, groups)
    return list(dict.fromkeys(found))


@pattern_budget()
def _matching(
    placed: Placed, field: str, i: int, pattern: str, groups: Sequence[Placed]
) -> list[str]:
    """Names of the groups a pattern matches."""
    names = [g.name for g in groups]
    found = [n for n in names if compile_pattern(pattern).fullmatch(n)]
    if not found:
        raise PropertyError(
            f"{placed.item.label}.{field}: there is no group {pattern!r}; "
            f"{suggestion(pattern, names)}",
            (field,),
            at=(i,) if isinstance(placed.item.authored(field), list) else (),
        )
    return found


class _Members:
    """The bodies of each group, with those of the groups in it."""

    def __init__(
        self, groups: Sequence[Placed], bodies: Sequence[str], actors: Sequence[str]
    ) -> None:
        self._groups = {g.name: g for g in groups}
        self._bodies, self._actors = bodies, actors
        self._found: dict[str, list[str]] = {}
        self._pending: list[str] = []

    def of(self, name: str) -> list[str]:
        """The bodies of a group."""
        if name not in self._found:
            placed = self._groups[name]
            with placed.locating():
                if name in self._pending:
                    circle = " → ".join([*self._pending[self._pending.index(name) :], name])
                    problem = f"{placed.item.label}.groups: is circular: {circle}"
                    raise PropertyError(problem, ("groups",))
                self._pending.append(name)
                self._found[name] = self._all_of(placed)
                self._pending.pop()
        return self._found[name]

    @pattern_budget()
    def _all_of(self, placed: Placed) -> list[str]:
        found: list[str] = []
        for i, pattern in enumerate(placed.item.members):
            found += self._members(placed, i, pattern)
        for i, pattern in enumerate(placed.item.groups):
            names = _matching(placed, "groups", i, pattern, list(self._groups.values()))
            for name in names:
                found += self.of(name)
        return list(dict.fromkeys(found))

    @pattern_budget()
    def _members(self, placed: Placed, i: int, pattern: str) -> list[str]:
        """The bodies a pattern selects: of whole actors, or single ones."""
        fullmatch = compile_pattern(pattern).fullmatch
        actors = tuple(f"{a}/" for a in self._actors if fullmatch(a))
        found = [b for b in self._bodies if fullmatch(b) or (actors and b.startswith(actors))]
        if not found and not actors:  # an actor may have no bodies, such as a light
            slots = Slots([(n,) for n in (*self._actors, *self._bodies)], "", "actor or body")
            raise PropertyError(
                f"{placed.item.label}.members: {slots.nothing_matches(pattern)}",
                ("members",),
                at=(i,) if isinstance(placed.item.authored("members"), list) else (),
            )
        return found


# Build --------------------------------------------------------------------------------------------
# Build: scene → MjSpec → MjModel, and the addresses of each actor in it.


_GROUNDS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)


@dataclass(frozen=True)
class Built:
    """A compiled scene; without a spec where the model was already compiled."""

    spec: Any
    model: Any
    actors: tuple[ActorModel, ...]
    placements: Placements
    #: What models give differently of which the world has one: its value by actor, the used first.
    differing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The spec of a whole scene, not compiled yet; its parts are in scene order."""

    spec: Any
    parts: Mapping[str, Part]
    origins: Mapping[str, Place]
    placements: Placements
    #: See `Built`.
    differing: Mapping[str, Mapping[str, Any]]
    #: Lays the scene out once more, compiling every model that has keyframes by itself.
    check_models: Callable[[], object]


def build(scene: SceneDescription, seed: int | None = None) -> Built:
    """Compile a scene.

    Args:
        scene: the description.
        seed: random seed of its draws; None: the scene's own.

    Raises:
        SceneError: for a scene with a text: a file, model or name is wrong, with its place.
        PropertyError, BindingError: the same, for a scene made in Python.
    """
    layout = lay_out(scene, seed)
    return layout if isinstance(layout, Built) else compile_layout(layout)


def lay_out(
    scene: SceneDescription,
    seed: int | None = None,
    convert: Callable[[Placements], Placements] = lambda placements: placements,
) -> Layout | Built:
    """Put everything of a scene into one spec; a model that is compiled already is built at once.

    Args:
        scene: the description.
        seed: random seed of its draws; None: the scene's own.
        convert: changes the actors before their models are edited.

    Raises:
        SceneError, PropertyError, BindingError: see `build`.
    """
    placements = place(scene, seed)
    binary = binary_actor(placements)
    if binary is not None:
        return _build_binary(binary, placements, scene.effective_sim())
    placements = convert(placements)
    with suppress(Exception):
        return _lay_out(scene, placements, compile_keys=False)
    # Something is wrong, perhaps with a model, which MuJoCo knows best.
    return _lay_out(scene, placements, compile_keys=True)


def _lay_out(scene: SceneDescription, placements: Placements, *, compile_keys: bool) -> Layout:
    parts: dict[str, Part] = {}
    named = cache(partial(_named_bodies, placements))
    size = WorldSize(placed.item for placed in placements.actors)
    for placed in placements.actors:
        with placed.locating():
            bodies = partial(_of_actor, named, placed.name)
            parts[placed.name] = Part(placed, bodies, compile_keys=compile_keys)
            size.add(placed.item, parts[placed.name].spec)
    frames = {placed.name: placed for placed in placements.frames}
    places = Places(parts, frames)
    origins = {name: places.of_actor(name) for name in parts}
    sites = {name: places.of_frame(name) for name in frames}
    world = mujoco.MjSpec()
    world.modelname = "mjrig"
    share_sizes(world, [part.spec for part in parts.values()])
    share_compiler(world, list(parts.values()))
    with scene.locating():
        differing = _set_options(world, list(parts.values()), scene.effective_sim())
    shared = SharedMeshes(), SharedTextures()
    sources = {part.name: _source(part) for part in parts.values()}
    uses = Counter(sources.values())
    for part in parts.values():
        for assets in shared if uses[sources[part.name]] > 1 else ():
            assets.take_out(part.name, sources[part.name], part.spec)
    total = sum(_count(part.spec) for part in parts.values())
    _attach_all(world, parts, origins, count_each=compile_keys)
    if _count(world) != total:
        raise ValueError("a model refers to a missing name")  # laying out again names the model
    for assets in shared:
        assets.put_back()
    for name, there in sites.items():
        _body(world, there.body).add_site(name=name, pos=there.pose[0], quat=there.pose[1])
    exclude_contacts(world, placements.groups, list(parts))
    roots = _roots(placements)
    for part in parts.values():
        with part.placed.locating():
            finish_actuators(world, part.actor, part.authored, roots)
    check_models = partial(_lay_out, scene, placements, compile_keys=True)
    return Layout(world, parts, origins, placements, differing, check_models)


def compile_layout(layout: Layout, lowered: Collection[int] = ()) -> Built:
    """Compile what was laid out.

    Args:
        layout: the scene in one spec.
        lowered: ids of motors that were turned into native actuators in the spec. The states are
            those of the motors: one control each, and no activation.

    Raises:
        SceneError, PropertyError, BindingError: see `build`.
    """
    authored = [part.authored for part in layout.parts.values()]
    try:
        model = compile_spec(layout.spec, layout.placements, authored)
    except Exception:
        layout.check_models()  # a model that does not compile by itself is blamed itself
        raise
    data = cache(partial(mujoco.MjData, model))
    actors, ids = [], NamedIds(model)
    for part in layout.parts.values():
        with part.placed.locating():
            where = locate(model, part.name, f"{part.name}/", ids)
            where = replace(
                where,
                authored=part.authored.names,
                aliases=part.authored.aliases,
                joints=part.joints,
                motors=part.motors,
                natives=part.actuators,
            )
            start = layout.origins[part.name].start
            actors.append(with_states(model, data, where, part.actor, part.keys, start, lowered))
    return Built(layout.spec, model, tuple(actors), layout.placements, layout.differing)


def _build_binary(placed: Placed, placements: Placements, sim: SimOptions) -> Built:
    """An already compiled model, as it is."""
    with placed.locating():
        model = load_binary(placed.item, sim)
        where = locate(model, placed.name, prefix_of(placed.item))
        origin = Rigid.of(placed.item.pose)
        data = cache(partial(mujoco.MjData, model))
        actor = with_states(model, data, where, placed.item, compiled_keys(model), origin)
        return Built(None, model, (actor,), placements)


def _named_bodies(placements: Placements) -> dict[str, set[str]]:
    """By actor, the names of its elements that other actors and frames refer to."""
    found: dict[str, set[str]] = {}
    items = [placed.item for placed in (*placements.actors, *placements.frames)]
    for text in texts([item.to_data() for item in items]):
        actor, slash, name = text.partition("/")
        if slash:
            found.setdefault(actor, set()).add(name)
    return found


def _of_actor(named: Callable[[], Mapping[str, Collection[str]]], actor: str) -> Collection[str]:
    return named().get(actor, ())


def _roots(placements: Placements) -> Callable[[str], str]:
    actors = [p.item for p in placements.actors]
    frames = [p.item for p in placements.frames]
    return lambda name: root_name(name, actors, frames)


# Options ----------------------------------------------------------------------------------------


def _set_options(
    world: Any, parts: Sequence[Part], sim: SimOptions
) -> Mapping[str, Mapping[str, Any]]:
    """One model: all of its options; several: those they agree on; `sim` overrides both.

    Returns what they give differently of which the first is used.
    """
    differing: Mapping[str, Mapping[str, Any]] = {}
    models = [p for p in parts if p.actor.model is not None]  # a prop has no options of its own
    if models:
        world.option = models[0].spec.option
        problem = differing_option([(p.name, p.spec.option) for p in models], sim)
        if problem is not None:
            raise problem
        check_actuation(models)
        differing = share_appearance(world, models)
    sim.apply(world.option)
    for part in parts:  # attaching warns about each difference
        part.spec.option = world.option
    return differing


# Attaching --------------------------------------------------------------------------------------


def _attach_all(
    world: Any, parts: Mapping[str, Part], origins: Mapping[str, Place], *, count_each: bool
) -> None:
    """Attach every actor to its carrier's body, carriers first."""
    done: set[str] = set()

    def put(name: str) -> None:
        if name in done:
            return
        done.add(name)
        base = origins[name].body
        if base != WORLD:
            put(base.partition("/")[0])
        with parts[name].placed.locating():
            _attach(world, parts[name], origins[name], count=count_each)

    for name in parts:
        put(name)


def _source(part: Part) -> tuple[str, ...]:
    """Where a model, its meshes and its textures were read from."""
    spec = part.spec
    return str(part.actor.model), spec.modelfiledir, spec.meshdir, spec.texturedir


def _attach(world: Any, part: Part, there: Place, *, count: bool) -> None:
    body = _body(world, there.body)
    _check_ground(part, body)
    frame = body.add_frame(pos=there.pose.position, quat=there.pose.quaternion)
    # Counting goes through the whole world: for every actor only when one of them is at fault.
    expected_count = _count(world) + _count(part.spec) if count else 0
    with part.blaming_model():
        with _references_to_world(world, part.spec):
            world.attach(part.spec, prefix=f"{part.name}/", frame=frame)
        if count and _count(world) != expected_count:
            # NOTE: attaching silently leaves out what refers to a name that does not exist,
            # and so does copying; compiling the model as it was read names it.
            load(part.actor).compile()
            raise ValueError("something refers to a name that the model does not have")


@contextmanager
def _references_to_world(world: Any, spec: Any) -> Iterator[None]:
    """Keep references to the world body while a spec is attached.

    Attaching drops sensors and actuators that refer to `world`, and prefixes it in targets of
    cameras and lights and in bones of skins. They refer to another body meanwhile; handles stay
    valid.
    """
    to_world = [
        reference
        for reference in references(spec, ("camera", "light", "sensor", "actuator", "skin"))
        if reference.kind == "body" and reference.name == WORLD
    ]
    if not to_world:
        yield
        return
    placeholder = next((body for body in spec.bodies if body.name not in ("", WORLD)), None)
    temporary = None
    if placeholder is None:
        placeholder = temporary = spec.worldbody.add_body(name="world_reference")
    for reference in to_world:
        assert reference.write is not None  # these kinds hold a name
        reference.write(placeholder.name)
    yield
    for reference in to_world:
        assert reference.write is not None
        reference.write(WORLD)
    if temporary is not None:
        world.delete(temporary)


def _body(world: Any, name: str) -> Any:
    return world.worldbody if name == WORLD else world.body(name)


def _count(spec: Any) -> int:
    """How many elements refer to others by name."""
    kinds = (spec.actuators, spec.sensors, spec.tendons, spec.equalities, spec.excludes, spec.pairs)
    return sum(map(len, kinds))


def _check_ground(part: Part, body: Any) -> None:
    """Refuse a floor on a moving body."""
    ground = next((g for g in part.spec.worldbody.geoms if g.type in _GROUNDS), None)
    if ground is None or not _moves(body):
        return
    kind = "plane" if ground.type == _GROUNDS[0] else "height field"
    name = f" {ground.name!r}" if ground.name else ""
    raise PropertyError(
        f"{part.actor.label}.attach: the {kind}{name} of {part.name!r} cannot be on "
        f"{body.name!r}, which moves; remove it with scenery: false",
        ("attach",),
    )


def _moves(body: Any) -> bool:
    while body.name != WORLD:
        if body.joints or body.mocap:
            return True
        body = body.parent
    return False


def compile_spec(world: Any, placements: Placements, authored: Sequence[Authored] = ()) -> Any:
    """The compiled model; an error is about the actor or authored actuator it names."""
    try:
        with without_actuator_callbacks():
            model = world.compile()
            needed = memory_for_pairs(model)
            if world.memory < 0 and model.narena < needed:
                world.memory = needed
                model = world.compile()
            return model
    except Exception as error:
        text = one_line(error)
        actors = placements.actors
        culprit = next((p for p in actors if f"'{p.name}/" in text), actors[0] if actors else None)
        help_ = f"; {way}" if culprit is not None and (way := remedy(culprit.item)) else ""
        problem = PropertyError(f"the model does not compile: {text}{help_}", ("model",))
        for placed, made in zip(actors, authored, strict=False):
            index = made.culprit(text, world, placed.name)
            if index is not None:
                culprit, label = placed, placed.item.actuators[index].label
                problem = PropertyError(f"{label}: {text}", ("actuators", index))
        if culprit is None:
            raise problem from error
        with culprit.locating():
            raise problem from error
        raise AssertionError from error  # not reached: locating raises


# World size ---------------------------------------------------------------------------------------


_KINDS = (
    "bodies", "joints", "geoms", "sites", "cameras", "lights", "actuators", "sensors", "tendons",
    "equalities", "pairs", "excludes",
)  # fmt: skip


class WorldSize:
    """Adds up the elements of actors before any is attached.

    Args:
        actors: all of the world, copies included.
    """

    def __init__(self, actors: Iterable[ActorDescription]) -> None:
        self._copies = Counter(_model(actor) for actor in actors)
        self._seen: set[str] = set()
        self._elements = 0

    def add(self, actor: ActorDescription, spec: Any) -> None:
        """Count an actor; the first one of a model counts for all of them.

        Raises:
            PropertyError: the world would have too many elements.
        """
        model = _model(actor)
        if model and model in self._seen:
            return
        self._seen.add(model)
        copies = self._copies[model] if model else 1
        self._elements += copies * sum(len(getattr(spec, kind)) for kind in _KINDS)
        if self._elements > MAX_ELEMENTS:
            with_copies = f" with {how_many(copies, 'actor')} of this model" if copies > 1 else ""
            raise PropertyError(
                f"{actor.label}: the world would have {self._elements} elements{with_copies}; at "
                f"most {MAX_ELEMENTS}"
            )


def _model(actor: ActorDescription) -> str:
    """What is read for an actor; empty: nothing, it is a prop."""
    return "" if actor.model is None else str(actor.model)
