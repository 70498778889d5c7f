"""Pre-flight: what a robot stands on, links that touch in every pose, links that are not fused."""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.check.finding import Finding, note, warning
from mjrig.check.remedy import adding, setting
from mjrig.control.articulation import Articulation
from mjrig.errors import PropertyError
from mjrig.files.file_content import head_of, root_element
from mjrig.model_files.model_source import model_file
from mjrig.scene.actor import ActorDescription
from mjrig.sim.world import World

#: Poses that are tried, besides the first one, for links that touch in all of them.
POSES = 12
#: How many pairs are listed.
SHOWN = 6
_FREE, _HINGE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_HINGE)
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)
_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)
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
                (),
                "floats free, and nothing that it can touch is under it: it falls",
                "add a floor, as in actors: [{name: floor, prop: {type: GroundProp}}], or "
                "base: fixed",
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
    said = "; ".join(f"{one} and {two}" for one, two in pairs[:SHOWN])
    more = f"; and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
    bodies = list(dict.fromkeys(body for pair in pairs for body in pair))
    members = ", ".join(f"{robot.name}/{body}" for body in bodies)
    group = f"{robot.name}_links"
    yield warning(
        "links-touch",
        robot.name,
        bodies,
        f"links touch in every pose that was tried, which holds them like a brake: {said}{more}",
        f"collision_groups: [{{name: {group}, members: [{members}], ignores: [{group}]}}]",
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
            f"links of the URDF without a joint stay bodies ({len(static)}); MuJoCo alone fuses "
            "them with their parents",
            "compiler: {fusestatic: true}",
            spelled=True,
            remedies=(
                setting("compiler: {fusestatic: true}", f"{robot.name}.compiler.fusestatic", True),
            ),
        )
