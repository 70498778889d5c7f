"""Pre-flight: implausible masses and inertias."""

from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.findings import Finding, note, warning
from mjrig.core.model.binding import NamedIds

#: A moving part lighter than this [kg], or than this share of its robot, is called tiny.
TINY, TINY_SHARE = 1e-5, 1e-6
#: Ratio of the mass a link carries to its own mass.
RATIO = 1000.0
#: Radius of gyration over the reach of the body's geoms: above 1 no mass distribution can have it.
WIDEST, NARROWEST = 1.5, 0.02


def about_masses(robot: Articulation, model: Any, ids: NamedIds) -> Iterator[Finding]:
    """Moving bodies with an implausible mass or inertia.

    Args:
        robot: the actor whose bodies are checked.
        model: compiled.
        ids: of the model, read once for all actors.
    """
    bodies = _moving_bodies(robot, model, ids)
    if not len(bodies):
        return
    yield from _about_inertia(robot, model, bodies)
    yield from _about_size(robot, model, bodies)
    yield from _about_weight(robot, model, bodies)
    yield from _about_shape(robot, model, bodies)


def _moving_bodies(robot: Articulation, model: Any, ids: NamedIds) -> npt.NDArray[np.intp]:
    _, _, bodies = ids.of(robot.model_map.prefix)
    is_fixed = model.body_weldid[bodies] == 0
    is_mocap = model.body_mocapid[model.body_rootid[bodies]] >= 0
    return bodies[~is_fixed & ~is_mocap]


def _name(robot: Articulation, model: Any, body: int) -> str:
    name = str(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or "")
    return name.removeprefix(robot.model_map.prefix)


def _about_inertia(robot: Articulation, model: Any, bodies: Any) -> Iterator[Finding]:
    for body in bodies:
        a, b, c = sorted(model.body_inertia[body])
        if a + b < c * (1.0 - 1e-6):
            yield warning(
                "impossible-inertia",
                robot.name,
                (_name(robot, model, body),),
                here=[float(a), float(b), float(c)],
            )


def _about_size(robot: Articulation, model: Any, bodies: Any) -> Iterator[Finding]:
    """Radius of gyration against the farthest point of the body's geoms."""
    wide: dict[str, tuple[float, float]] = {}
    narrow: dict[str, tuple[float, float]] = {}
    for body in bodies:
        mass, reach = float(model.body_mass[body]), _reach(model, body)
        if mass <= 0.0 or not reach:
            continue
        radius = float(np.sqrt(model.body_inertia[body].max() / mass))
        name = _name(robot, model, body)
        if radius > WIDEST * reach:
            wide[name] = radius, reach
        elif radius < NARROWEST * reach:
            narrow[name] = radius, reach
    for kind, sizes in {"inertia-too-large": wide, "inertia-too-small": narrow}.items():
        if sizes:
            here, expected = ({n: s[i] for n, s in sizes.items()} for i in (0, 1))
            values = {"here": here, "expected": expected, "unit": "m"}
            yield warning(kind, robot.name, sizes, spelled=True, **values)


def _reach(model: Any, body: int) -> float:
    """Distance from the centre of mass to the farthest point of the body's geoms and children."""
    centre = model.body_ipos[body]
    start, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    geoms = np.arange(start, start + count)
    if not count:
        return 0.0
    far = np.linalg.norm(model.geom_pos[geoms] - centre, axis=1) + model.geom_rbound[geoms]
    children = np.flatnonzero(model.body_parentid == body)
    joints = np.linalg.norm(model.body_pos[children] - centre, axis=1)
    return float(max(far.max(), joints.max(initial=0.0), np.linalg.norm(centre)))


def _about_weight(robot: Articulation, model: Any, bodies: Any) -> Iterator[Finding]:
    """Rigid parts (welded bodies counted as one) with a negligible mass."""
    parts: dict[int, float] = {}
    for body in bodies:
        weld = int(model.body_weldid[body])
        parts[weld] = parts.get(weld, 0.0) + float(model.body_mass[body])
    total = sum(parts.values())
    tiny = [b for b, m in parts.items() if m < max(TINY, TINY_SHARE * total)]
    if tiny:
        names = [_name(robot, model, b) for b in tiny]
        yield warning(
            "tiny-mass",
            robot.name,
            names,
            here=min(parts[b] for b in tiny),
            unit="kg",
            total=total,
        )
    top_heavy: dict[str, float] = {}
    loads: dict[str, float] = {}
    for body, mass in parts.items():
        carried = float(model.body_subtreemass[body]) - mass
        if body not in tiny and mass > 0.0 and carried > RATIO * mass and _bare(model, body):
            name = _name(robot, model, body)
            top_heavy[name], loads[name] = mass, carried
    if top_heavy:
        yield note(
            "mass-ratio",
            robot.name,
            top_heavy,
            here=top_heavy,
            unit="kg",
            carried=loads,
            spelled=True,
        )


def _bare(model: Any, body: int) -> bool:
    """Whether a body's joints have no armature."""
    dofs = np.arange(model.body_dofnum[body]) + int(model.body_dofadr[body])
    armature: FloatArray = model.dof_armature[dofs]
    return bool(len(dofs)) and not armature.any()


def _about_shape(robot: Articulation, model: Any, bodies: Any) -> Iterator[Finding]:
    """Leaf bodies that have mass but no geom."""
    shaped = set(model.body_weldid[model.geom_bodyid].tolist())
    parents = model.body_weldid[model.body_parentid]
    carrying = set(parents[parents != model.body_weldid].tolist())
    parts = dict.fromkeys(model.body_weldid[bodies].tolist())
    bare = [_name(robot, model, part) for part in parts if part not in shaped | carrying]
    if bare:
        yield note("no-shape", robot.name, bare)
