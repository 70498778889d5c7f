"""Pre-flight: penetrations, floors, self-collisions, unfused links, solver time constants."""

import math
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import PropertyError
from mjrig.core.files.paths import head_of, root_element
from mjrig.core.findings import Finding, Remedy, RepairEdit, adding, note, setting, warning
from mjrig.core.model.model_source import model_file
from mjrig.core.names import listed
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.sim.world import World

# Physics ------------------------------------------------------------------------------------------
# Pre-flight: initial penetrations, overlapping floors, solver time constants.


#: How deep bodies may start inside each other [m]: standing on the floor is not reported.
DEPTH = 1e-3
#: How many pairs are listed.
SHOWN = 6
#: How far planes may differ and still be one floor [m].
SAME = 1e-3
_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)
_FREE_JOINT = int(mujoco.mjtJoint.mjJNT_FREE)


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
        values = _raise(world, actor, floor, depth)
        form = f"below-floor {values.pop('obstacle', '')}".strip()
        yield warning("below-floor", actor, (name,), form=form, here=depth, unit="m", **values)
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
        values: dict[str, Any] = {"other": other}
        form = "penetration self" if other == actor else "penetration"
        if not other:
            values = _raise(world, actor, floors[0] if floors else -1, pairs[0][0])
            form = f"penetration floor {values.pop('obstacle', '')}".strip()
        yield warning(
            "penetration",
            actor,
            form=form,
            here=[text for _, text in pairs[:SHOWN]],
            more=max(len(pairs) - SHOWN, 0),
            depth=pairs[0][0],
            **values,
        )


def _length(metres: float) -> str:
    return f"{1000 * metres:.2g} mm" if metres < 0.0995 else f"{metres:.2g} m"


def _raise(world: World, actor: str, floor: int, depth: float) -> dict[str, Any]:
    """How far to start higher, and the edit; an actor's pose would move its own floor too.

    Args:
        world: in its initial state.
        actor: what is to start higher.
        floor: the geom it is below; -1: unknown.
        depth: how far [m].
    """
    up = math.ceil(1e4 * depth - 1e-6) / 1e4
    owner = _owner(world.model, floor) if floor >= 0 else ""
    if not owner or owner == actor:
        return {"up": up, "obstacle": "own"}
    placed = next((p for p in world.placements.actors if p.name == actor), None)
    level = world.data.geom_xmat[floor].reshape(3, 3)[2, 2] > 1.0 - 1e-9
    if placed is None or placed.original.attach is not None or not level:
        return {"up": up, "obstacle": "tilted"}
    pose = placed.original.pose
    x, y, z = (0.0, 0.0, 0.0) if pose is None else (float(v) for v in pose.position)
    position = [x, y, float(f"{z + up:.6g}")]
    remedy = setting(f"raise it by {up:g} m", f"{actor}.pose.position", position)
    return {"up": up, "remedies": (remedy,)}


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
    for body in model.jnt_bodyid[model.jnt_type == _FREE_JOINT].tolist():
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
            here=len(names),
            expected=1,
            others=others,
            remedies=(
                Remedy(
                    f"scenery: false for {listed(others)}",
                    tuple(RepairEdit(f"{actor}.scenery", False) for actor in others),
                ),
            )
            if others
            else (),
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
    for kind, solref in kinds.items():
        fast = solref[(solref[:, 0] > 0.0) & (solref[:, 0] < least * (1.0 - 1e-9))]
        if not len(fast):
            continue
        step = float(f"{fast[:, 0].min() / 2.0:g}")
        values: dict[str, Any] = {
            "here": float(fast[:, 0].min()),
            "expected": least,
            "unit": "s",
            "step": step,
        }
        values |= {"count": len(fast), "constraints": kind}
        values["remedies"] = (setting(f"timestep: {step:g}", "sim.timestep", step),)
        if safe:
            yield note("fast-solref", "", used=least, **values)
        else:
            yield warning("fast-solref", "", form="fast-solref unsafe", **values)


# Surroundings -------------------------------------------------------------------------------------
# Pre-flight: what a robot stands on, links that touch in every pose, links that are not fused.


#: Poses that are tried, besides the first one, for links that touch in all of them.
POSES = 12
_FREE, _HINGE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_HINGE)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
Pairs = frozenset[tuple[int, int]]


def about_surroundings(world: World, touching: Pairs) -> Iterator[Finding]:
    """Robots that nothing is under, links that always touch, and links of a URDF left unfused.

    Args:
        world: in its initial state.
        touching: the result of `touching_always`.
    """
    for robot, placed in zip(world.articulations.values(), world.placements.actors, strict=True):
        if robot.actuators:
            yield from _about_the_ground(robot, world.model, world.data)
        yield from _about_touching(robot, world.model, touching)
        yield from _about_fusing(robot, world.model, placed.item)


# The ground -------------------------------------------------------------------------------------


def _about_the_ground(robot: Articulation, model: Any, data: Any) -> Iterator[Finding]:
    gravity = np.array(model.opt.gravity)
    strength = float(np.linalg.norm(gravity))
    if strength == 0.0 or model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        return
    for joint in robot.model_map.joint_ids:
        body = int(model.jnt_bodyid[joint])
        if int(model.jnt_type[joint]) != _FREE or _is_held(model, body):
            continue
        if not _has_support(model, data, body, -gravity / strength):
            yield warning(
                "no-floor",
                robot.name,
                remedies=(
                    adding(
                        "add a floor",
                        "scene.actors",
                        {"name": "floor", "prop": {"type": "GroundProp"}},
                    ),
                    setting("base: fixed", f"{robot.name}.base", "fixed"),
                ),
            )
            return


def _is_held(model: Any, root: int) -> bool:
    """Whether gravity is compensated, or a constraint ties the tree to something else."""
    tree = np.flatnonzero(model.body_rootid == root)
    if float((model.body_mass * (1.0 - model.body_gravcomp))[tree].sum()) <= 0.0:
        return True
    bodies = set(tree.tolist())
    kinds = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    for i in np.flatnonzero(np.isin(model.eq_type, kinds)):
        ends = [int(model.eq_obj1id[i]), int(model.eq_obj2id[i])]
        if int(model.eq_objtype[i]) == int(mujoco.mjtObj.mjOBJ_SITE):
            ends = [int(model.site_bodyid[e]) for e in ends]
        if len(bodies.intersection(ends)) == 1:
            return True
    sites = np.flatnonzero(model.wrap_type == int(mujoco.mjtWrap.mjWRAP_SITE))
    hung = np.isin(model.site_bodyid[model.wrap_objid[sites]], tree)
    return bool(hung.any() and not hung.all())  # it may hang on a tendon


def _has_support(model: Any, data: Any, root: int, up: FloatArray) -> bool:
    """Whether a geom of something else that it collides with is below it, or may get there."""
    mine = model.body_rootid[model.geom_bodyid] == root
    own = np.flatnonzero(mine & _solid(model))
    others = np.flatnonzero(~mine & _solid(model))
    pairs = np.stack([model.pair_geom1, model.pair_geom2], axis=1)
    if (mine[pairs].sum(axis=1) == 1).any():  # they collide whatever their groups are
        return True
    if not len(own):
        return False
    low, high = _extent(model, data, own)
    for geom in others:
        touches = (
            model.geom_contype[own] & model.geom_conaffinity[geom]
            | model.geom_conaffinity[own] & model.geom_contype[geom]
        )
        if touches.any() and _is_below(model, data, int(geom), low, high, up):
            return True
    return False


def _is_below(
    model: Any, data: Any, geom: int, low: FloatArray, high: FloatArray, up: FloatArray
) -> bool:
    """Whether a geom reaches under a box, seen along the vertical."""
    if int(model.geom_type[geom]) == _PLANE:
        # A plane has no end, however large it is drawn; an upright one is a wall.
        return bool(data.geom_xmat[geom].reshape(3, 3)[:, 2] @ up > 0.1)
    least, most = _extent(model, data, np.array([geom]))
    return _overlap(least, most, low, high, up) and bool(_height(least, most, up) < high @ up)


def _height(low: FloatArray, high: FloatArray, up: FloatArray) -> float:
    """The lowest height of a box."""
    return float(np.minimum(low * up, high * up).sum())


def _overlap(
    low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray, up: FloatArray
) -> bool:
    """Whether two boxes overlap in the directions that are not vertical."""
    level = np.abs(up) < 0.5
    return bool(((low <= other_high) & (high >= other_low))[level].all())


def _extent(model: Any, data: Any, geoms: Any) -> tuple[FloatArray, FloatArray]:
    """The box around geoms, in world axes."""
    turn = data.geom_xmat[geoms].reshape(-1, 3, 3)
    centre, half = model.geom_aabb[geoms][:, :3], model.geom_aabb[geoms][:, 3:]
    middle = data.geom_xpos[geoms] + np.einsum("gij,gj->gi", turn, centre)
    reach = np.einsum("gij,gj->gi", np.abs(turn), half)
    return (middle - reach).min(axis=0), (middle + reach).max(axis=0)


def _solid(model: Any) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (model.geom_contype | model.geom_conaffinity) != 0
    return found


# Links that touch -------------------------------------------------------------------------------


def touching_always(world: World) -> Pairs:
    """Pairs of links of one actor that are inside each other at the start and in random poses."""
    model, data = world.model, mujoco.MjData(world.model)
    data.qpos[:], data.mocap_pos[:] = world.data.qpos, world.data.mocap_pos
    data.mocap_quat[:] = world.data.mocap_quat
    found = _touching(model, data)
    rng = np.random.default_rng(0)
    scalar = np.isin(model.jnt_type, (_HINGE, _SLIDE))
    at = model.jnt_qposadr[scalar]
    low, high = model.jnt_range[scalar].T
    free = ~model.jnt_limited[scalar].astype(bool)
    for _ in range(POSES):
        if not found:
            break
        data.qpos[at] = np.where(free, rng.uniform(-np.pi, np.pi, len(at)), rng.uniform(low, high))
        found &= _touching(model, data)
    actors = {body: _name(model, body).partition("/")[0] for pair in found for body in pair}
    return frozenset((one, two) for one, two in found if actors[one] == actors[two])


def _touching(model: Any, data: Any) -> set[tuple[int, int]]:
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    contacts = data.contact
    geoms = contacts.geom
    solid = (contacts.dist < 0.0) & (contacts.exclude == 0) & (geoms.min(axis=1, initial=0) >= 0)
    bodies = np.sort(model.geom_bodyid[geoms[solid]], axis=1)
    welds, roots = model.body_weldid[bodies], model.body_rootid[bodies]
    links = (welds[:, 0] != welds[:, 1]) & (bodies[:, 0] > 0) & (roots[:, 0] == roots[:, 1])
    return {(int(one), int(two)) for one, two in np.unique(bodies[links], axis=0)}


def _name(model: Any, body: int) -> str:
    return str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or "")


def _about_touching(robot: Articulation, model: Any, touching: Pairs) -> Iterator[Finding]:
    prefix = robot.model_map.prefix
    pairs = []
    for pair in sorted(touching):
        names = [_name(model, body) for body in pair]
        if prefix and all(n.startswith(prefix) for n in names):
            pairs.append([n.removeprefix(prefix) for n in names])
    if not pairs:
        return
    bodies = list(dict.fromkeys(body for pair in pairs for body in pair))
    group = f"{robot.name}_links"
    yield warning(
        "links-touch",
        robot.name,
        bodies,
        here=[f"{one} and {two}" for one, two in pairs[:SHOWN]],
        more=max(len(pairs) - SHOWN, 0),
        members=[f"{robot.name}/{body}" for body in bodies],
        group=group,
        spelled=True,
        remedies=(
            adding(
                "add a collision group",
                "scene.collision_groups",
                {
                    "name": group,
                    "members": [f"{robot.name}/{body}" for body in bodies],
                    "ignores": [group],
                },
            ),
        ),
    )


# Fusing -----------------------------------------------------------------------------------------


def _about_fusing(robot: Articulation, model: Any, actor: ActorDescription) -> Iterator[Finding]:
    """Links without a joint that MuJoCo alone, reading the URDF, makes part of their parent."""
    prefix = robot.model_map.prefix
    if actor.model is None or not prefix:
        return
    try:
        is_urdf = root_element(head_of(model_file(actor))) == "robot"
    except PropertyError:  # it is not there any more
        return
    names = (
        _name(model, b)
        for b in range(1, model.nbody)
        if model.body_dofnum[b] == 0 and model.body_mocapid[b] < 0
    )
    static = [n.removeprefix(prefix) for n in names if n.startswith(prefix)]
    if is_urdf and static:
        yield note(
            "static-links",
            robot.name,
            static,
            here=len(static),
            spelled=True,
            remedies=(
                setting("compiler: {fusestatic: true}", f"{robot.name}.compiler.fusestatic", True),
            ),
        )
