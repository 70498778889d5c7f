"""Settings of whole models, merged into one world: sizes, compiler, visual, statistic.

Options (`<option>`) are set by the scene, see `SimOptions`.
"""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import mujoco
import numpy as np

from mjrig.core.errors import PropertyError
from mjrig.core.model.actor_spec import Part

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
    for name, owner, field, values in _appearance(world, [part.spec for part in parts]):
        used, *others = values.values() or (None,)
        camera = name == IN_ONE_MODEL
        if camera:
            owner.cameraid = _PLAIN.visual.global_.cameraid
        elif values:
            _write(owner, field, used)
        if (camera and values) or any(not _same(used, value) for value in others):
            differing[name] = {parts[i].name: np.copy(value) for i, value in values.items()}
    for part in parts:  # attaching warns about each difference
        part.spec.visual = world.visual
    return differing


def _appearance(world: Any, specs: Sequence[Any]) -> Iterator[tuple[str, Any, str, dict[int, Any]]]:
    """Name, owner in the world and field of every attribute; its value by the models giving it."""
    groups = [g for g in dir(_PLAIN.visual) if not g.startswith("_")]
    for group in groups:
        owners = [getattr(spec.visual, group) for spec in (world, _PLAIN, *specs)]
        yield from _attributes(f"visual.{group.strip('_')}", owners)
    yield from _attributes("statistic", [spec.stat for spec in (world, _PLAIN, *specs)])


def _attributes(
    section: str, owners: Sequence[Any]
) -> Iterator[tuple[str, Any, str, dict[int, Any]]]:
    world, plain, *models = owners
    for field, default in _fields(plain):
        found = {i: getattr(model, field) for i, model in enumerate(models)}
        given = {i: v for i, v in found.items() if not _same(v, default)}
        yield f"{section}.{field}", world, field, given


def _fields(struct: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(struct):
        value = getattr(struct, name)
        if not name.startswith("_") and not callable(value):
            yield name, value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and one == other:  # most are, and arrays take long
        return True
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))


def _write(owner: Any, field: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        getattr(owner, field)[:] = value
    else:
        setattr(owner, field, value)


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
