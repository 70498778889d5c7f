"""Pre-flight: initial penetrations, overlapping floors, solver time constants."""

import math
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

import mujoco
import numpy as np

from mjrig.arrays import FloatArray
from mjrig.check.finding import Finding, note, warning
from mjrig.check.remedy import Remedy, SceneEdit, setting
from mjrig.names import listed
from mjrig.sim.world import World

#: How deep bodies may start inside each other [m]: standing on the floor is not reported.
DEPTH = 1e-3
#: How many pairs are listed.
SHOWN = 6
#: How far planes may differ and still be one floor [m].
SAME = 1e-3
_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)
_FREE = int(mujoco.mjtJoint.mjJNT_FREE)


def about_physics(world: World, known: Collection[tuple[int, int]] = ()) -> Iterator[Finding]:
    """Penetrations, floors, and solver time constants.

    Args:
        world: in its initial state.
        known: pairs of bodies that are reported already.
    """
    model, data = world.model, world.data
    sunk: set[int] = set()
    for body, floor, depth in _below_floors(model, data):
        sunk.add(body)
        actor, name = _split(_body_name(model, body))
        text = f"starts {depth:.3g} m below the floor"
        fix, more = _raised(world, actor, floor, depth)
        yield warning("below-floor", actor, (name,), text, fix, **more)
    yield from _penetrations(world, sunk, known)
    yield from _same_floors(model, data)
    yield from _time_constants(model)


# Contacts ---------------------------------------------------------------------------------------


def _penetrations(
    world: World, sunk: set[int], known: Collection[tuple[int, int]]
) -> Iterator[Finding]:
    """Bodies that start inside each other, one finding for each pair of actors."""
    model, data = world.model, world.data
    roots = {int(model.body_rootid[b]) for b in sunk}
    by_actors: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for (one, two), depth in _deepest(model, data).items():
        if (one == 0 and int(model.body_rootid[two]) in roots) or (one, two) in known:
            continue  # reported already
        (actor, name), (other, where) = (_split(_body_name(model, b)) for b in (two, one))
        inside = f"{name} and {where}" if one else name
        by_actors.setdefault((actor, other), []).append((depth, f"{inside} {_length(depth)}"))
    floors = _floors(model)
    for (actor, other), pairs in by_actors.items():
        pairs.sort(reverse=True)
        whom = "itself" if other == actor else other or "the floor"
        more = f"; and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        fix, extra = "move it away", {"by_hand": "where to is for you to say"}
        if other == actor:
            fix, extra = "start in another pose", {"by_hand": "which pose is for you to say"}
        elif not other:
            fix, extra = _raised(world, actor, floors[0] if floors else -1, pairs[0][0])
        yield warning(
            "penetration",
            actor,
            (),
            f"starts inside {whom}: {'; '.join(t for _, t in pairs[:SHOWN])}{more}",
            fix,
            **extra,
        )


def _length(metres: float) -> str:
    return f"{1000 * metres:.2g} mm" if metres < 0.0995 else f"{metres:.2g} m"


def _raised(world: World, actor: str, floor: int, depth: float) -> tuple[str, dict[str, Any]]:
    """How to start higher, in words and as an edit; an actor's pose would move its own floor too.

    Args:
        world: in its initial state.
        actor: what is to start higher.
        floor: the geom it is below; -1: unknown.
        depth: how far [m].
    """
    up = math.ceil(1e4 * depth - 1e-6) / 1e4
    owner = _owner(world.model, floor) if floor >= 0 else ""
    if not owner or owner == actor:
        why = "its pose moves its floor too: which body is to start where is for you to say"
        return f"start {up:g} m higher: with a keyframe, or free_bodies:", {"by_hand": why}
    fix = f"pose: {{position: [x, y, z + {up:g}]}}"
    placed = next((p for p in world.placements.actors if p.name == actor), None)
    level = world.data.geom_xmat[floor].reshape(3, 3)[2, 2] > 1.0 - 1e-9
    if placed is None or placed.original.attach is not None or not level:
        return fix, {"by_hand": "it stands on something that is not level, or is attached"}
    pose = placed.original.pose
    x, y, z = (0.0, 0.0, 0.0) if pose is None else (float(v) for v in pose.position)
    position = [x, y, float(f"{z + up:.6g}")]
    return fix, {
        "remedies": (setting(f"raise it by {up:g} m", f"{actor}.pose.position", position),)
    }


def _owner(model: Any, geom: int) -> str:
    """The actor a geom belongs to; empty: it has no name."""
    return _split(str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, geom) or ""))[0]


def _deepest(model: Any, data: Any) -> dict[tuple[int, int], float]:
    """Pairs of bodies, the lower id first, and how deep they are inside each other."""
    deepest: dict[tuple[int, int], float] = {}
    for contact in data.contact:
        depth = -float(contact.dist)
        if not DEPTH < depth < math.inf or contact.exclude or min(contact.geom) < 0:
            continue
        one, two = sorted(int(b) for b in model.geom_bodyid[contact.geom])
        deepest[one, two] = max(deepest.get((one, two), 0.0), depth)
    return deepest


def _split(name: str) -> tuple[str, str]:
    actor, slash, local = name.partition("/")
    return (actor, local) if slash else ("", name)


def _body_name(model: Any, body: int) -> str:
    return str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or "")


# Floors -----------------------------------------------------------------------------------------


def _floors(model: Any) -> list[int]:
    """Planes fixed to the world that something can touch."""
    fixed = model.body_weldid[model.geom_bodyid] == 0
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    return np.flatnonzero(fixed & solid & (model.geom_type == _PLANE)).tolist()


def _below_floors(model: Any, data: Any) -> Iterator[tuple[int, int, float]]:
    """Free bodies that start with their centre of mass below a floor: body, floor, how deep."""
    for body in model.jnt_bodyid[model.jnt_type == _FREE].tolist():
        geoms = _solid_geoms(model, body)
        if not len(geoms):
            continue
        deepest = (0.0, -1)
        for floor in _floors(model):
            up, point = data.geom_xmat[floor].reshape(3, 3)[:, 2], data.geom_xpos[floor]
            if (data.subtree_com[body] - point) @ up < 0.0 and _over(model, data, floor, body):
                depth = float(point @ up) - _lowest(model, data, geoms, up)
                deepest = max(deepest, (depth, floor))
        if deepest[0] > 0.0:
            yield body, deepest[1], deepest[0]


def _over(model: Any, data: Any, floor: int, body: int) -> bool:
    """Whether a body is above the extent of a plane; size 0 is infinite."""
    local = data.geom_xmat[floor].reshape(3, 3).T @ (data.subtree_com[body] - data.geom_xpos[floor])
    size = model.geom_size[floor][:2]
    return bool(((np.abs(local[:2]) <= size) | (size == 0.0)).all())


def _solid_geoms(model: Any, body: int) -> Any:
    mine = model.body_rootid[model.geom_bodyid] == model.body_rootid[body]
    return np.flatnonzero(mine & ((model.geom_contype | model.geom_conaffinity) != 0))


def _lowest(model: Any, data: Any, geoms: Any, up: FloatArray) -> float:
    """The lowest height of the boxes around geoms along `up`."""
    turn = data.geom_xmat[geoms].reshape(-1, 3, 3)
    centre, half = model.geom_aabb[geoms][:, :3], model.geom_aabb[geoms][:, 3:]
    along = np.einsum("gij,i->gj", turn, up)
    height = data.geom_xpos[geoms] @ up + (along * centre).sum(axis=1)
    return float((height - (np.abs(along) * half).sum(axis=1)).min())


def _same_floors(model: Any, data: Any) -> Iterator[Finding]:
    planes = []
    for floor in _floors(model):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, floor) or ""
        up = data.geom_xmat[floor].reshape(3, 3)[:, 2]
        planes.append((str(name), up, float(data.geom_xpos[floor] @ up)))
    twins = [
        (one, two)
        for (one, up, height), (two, other_up, other) in combinations(planes, 2)
        if abs(height - other) < SAME and up @ other_up > 0.9999
    ]
    if twins:
        names = list(dict.fromkeys(n for pair in twins for n in pair))
        actors = list(dict.fromkeys(_split(n)[0] for n in names))
        others = [a for a in actors[1:] if a]
        yield warning(
            "two-floors",
            "",
            [n for n in names if n],
            f"{len(names)} floors lie in one plane: everything standing there is in contact with "
            "each of them",
            f"scenery: false for {listed(others)}" if others else "leave one out",
            remedies=(
                Remedy(
                    f"scenery: false for {listed(others)}",
                    tuple(SceneEdit(f"{actor}.scenery", False) for actor in others),
                ),
            )
            if others
            else (),
            by_hand="" if others else "which of them is for you to say",
        )


# Solver -----------------------------------------------------------------------------------------


def _time_constants(model: Any) -> Iterator[Finding]:
    """Constraints with a time constant below two steps."""
    least = 2.0 * float(model.opt.timestep)
    solid = (model.geom_contype | model.geom_conaffinity) != 0
    kinds = {
        "geoms": model.geom_solref[solid],
        "joint limits": model.jnt_solref[model.jnt_limited.astype(bool)],
        "equalities": model.eq_solref,
        "contact pairs": model.pair_solref,
    }
    safe = not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_REFSAFE)
    for kind, values in kinds.items():
        fast = values[(values[:, 0] > 0.0) & (values[:, 0] < least * (1.0 - 1e-9))]
        if not len(fast):
            continue
        text = (
            f"solref time constant {fast[:, 0].min():g} s of {len(fast)} {kind} is below "
            f"2·timestep ({least:g} s)"
        )
        step = float(f"{fast[:, 0].min() / 2.0:g}")
        fix = f"timestep: {step:g} at most, or solref {least:g} at least"
        way = (setting(f"timestep: {step:g}", "sim.timestep", step),)
        if safe:
            said = f"{text}; MuJoCo uses {least:g} s instead"
            yield note("fast-solref", "", (), said, fix, remedies=way)
        else:
            said = f"{text}, and refsafe is off"
            yield warning("fast-solref", "", (), said, fix, remedies=way)
