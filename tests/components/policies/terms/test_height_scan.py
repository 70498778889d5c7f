"""Height scans against rays of MuJoCo, one by one, and a grid written out by hand."""

import itertools
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.policies.terms.height_scan import RayGrid
from tests.components.policies.terms.test_terms import watched
from tests.wording import regex

KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh", "hfield", "plane")
SEEDS = range(12)


def turned(random: np.random.Generator, any_way: bool) -> Any:
    """A rotation: any, or about the vertical."""
    quat = random.normal(size=4) if any_way else np.array([1.0, 0, 0, random.uniform(-2, 2)])
    return quat / np.linalg.norm(quat)


def scene(seed: int) -> tuple[Any, Any]:
    """Geoms of every kind at random places, some on mocap bodies, upright or not."""
    random = np.random.default_rng(seed)
    spec = mujoco.MjSpec()
    points = random.normal(size=(20, 3)) * 0.3
    spec.add_mesh(name="hull", uservert=points.reshape(-1))
    spec.add_hfield(
        name="field", nrow=9, ncol=13, size=[1.1, 0.8, 0.6, 0.3],
        userdata=random.uniform(size=9 * 13),
    )  # fmt: skip
    for i in range(24):
        kind = KINDS[int(random.integers(len(KINDS)))]
        body = spec.worldbody.add_body(pos=random.uniform(-1, 1, 3), mocap=bool(i % 2))
        body.quat = turned(random, bool(random.integers(2)))
        geom = body.add_geom(type=getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"))
        geom.size = random.uniform(0.05, 0.5, 3)
        if kind == "plane":
            geom.size[:2] *= random.integers(0, 2, 2)  # 0: without end
            body.pos[2] -= 1.0
        elif kind == "mesh":
            geom.meshname = "hull"
        elif kind == "hfield":
            geom.hfieldname = "field"
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def cast(model: Any, data: Any, starts: Any, along: Any) -> Any:
    """What MuJoCo says of each ray on its own."""
    geom = np.zeros(1, np.int32)
    found = [mujoco.mj_ray(model, data, s, along, None, 1, -1, geom) for s in starts]
    return np.array([far if far >= 0.0 else np.inf for far in found])


@pytest.mark.parametrize("seed", SEEDS)
def test_parallel_rays_hit_where_rays_of_mujoco_do(seed: int) -> None:
    model, data = scene(seed)
    random = np.random.default_rng(1000 + seed)
    rays = RayGrid(model, data, np.arange(model.ngeom))
    hits = 0
    for height, tilted in itertools.product((3.0, 0.4, -0.2), (False, True)):
        starts = random.uniform(-1.2, 1.2, (60, 3)) * [1, 1, 0] + [0, 0, height]
        along = random.normal(size=3) * [0.4, 0.4, 0.0] - [0, 0, 1] if tilted else [0.0, 0.0, -1.0]
        along = np.asarray(along) / np.linalg.norm(along)
        wanted = cast(model, data, starts, along)
        found = rays.distances(starts, along)
        assert np.array_equal(np.isinf(found), np.isinf(wanted))
        hit = np.isfinite(wanted)
        assert np.abs(found[hit] - wanted[hit]).max(initial=0.0) < 1e-9
        hits += int(hit.sum())
    assert hits > 30
    data.mocap_pos[:] += 0.3
    mujoco.mj_forward(model, data)
    starts[:, 2], down = 2.0, np.array([0.0, 0.0, -1.0])
    assert rays.distances(starts, down) == pytest.approx(cast(model, data, starts, down), abs=1e-9)


ROBOT = """
<mujoco>
  <asset>
    <hfield name="field" nrow="20" ncol="20" size="2 2 0.3 0.1"/>
  </asset>
  <worldbody>
    <geom type="hfield" hfield="field" pos="0 0 -0.6"/>
    <geom type="box" size="0.15 0.3 0.2" pos="0.4 0.1 -0.2" euler="0 0 20"/>
    <geom type="box" size="0.2 0.1 0.1" pos="-0.4 -0.2 0" euler="30 10 20"/>
    <body name="gate" mocap="true" pos="0.2 -0.4 0"><geom type="sphere" size="0.15"/></body>
    <body name="base" pos="0.1 0.2 0.5" euler="12 -25 40"><freejoint/>
      <geom type="box" size="0.9 0.6 0.05"/>
      <site name="eye" pos="0.2 0.1 0.1" euler="0 20 0"/>
      <body name="arm" pos="0 0 0.3"><joint name="turn"/><geom size="0.1" mass="1"/></body>
    </body>
  </worldbody>
  <actuator><motor name="turn" joint="turn"/></actuator>
</mujoco>
"""


def looked(folder: Path, **more: Any) -> tuple[Any, mjrig.World, Any, Any]:
    """What a scan on that robot says, and the state it looked at, without the robot's geoms."""
    policy, world = watched(folder, {"type": "HeightScan", **more}, xml=ROBOT, joints=["turn"])
    model = world.model
    heights = np.random.default_rng(3).uniform(size=model.hfield_data.size)
    model.hfield_data[:] = heights
    data = mujoco.MjData(model)
    data.qpos[:] = world.data.qpos
    data.mocap_pos[:], data.mocap_quat[:] = world.data.mocap_pos, world.data.mocap_quat
    mujoco.mj_forward(model, data)
    world.step()
    return policy.observation.astype(np.float64), world, model, data


def expected(model: Any, data: Any, *, order: str, alignment: str, above: float, offset: float,
             reach: float, centre: Any, frame: str, groups: bool) -> Any:  # fmt: skip
    """The scan by its definition: loops, one ray after the other."""
    at = data.site("robot/eye") if frame == "eye" else data.body("robot/base")
    place, matrix = at.xpos, at.xmat.reshape(3, 3)
    forward = matrix[:, 0] * [1, 1, 0] / np.hypot(*matrix[:2, 0])
    yaw = np.stack([forward, np.cross([0, 0, 1], forward), [0, 0, 1]], axis=1)
    turn = {"yaw": yaw, "base": matrix, "world": np.eye(3)}[alignment]
    along = -matrix[:, 2] if alignment == "base" else np.array([0.0, 0.0, -1.0])
    xs, ys = np.linspace(-0.4, 0.4, 5), np.linspace(-0.6, 0.6, 7)
    pairs = [(x, y) for y in ys for x in xs] if order == "xy" else itertools.product(xs, ys)
    names = [model.body(i).name for i in model.geom_bodyid]
    keep = [n == "world" or (n == "robot/gate" and groups) or n in ("robot", "") for n in names]
    values = []
    for x, y in pairs:
        start = place + turn @ [x + centre[0], y + centre[1], above]
        far = np.inf
        for geom in np.flatnonzero(keep):
            model.geom_group[:] = 4
            model.geom_group[geom] = 0
            only = np.array([1, 0, 0, 0, 0, 0], np.uint8)
            hit = mujoco.mj_ray(model, data, start, along, only, 1, -1, np.zeros(1, np.int32))
            far = hit if 0 <= hit < far else far
        height = place[2] - (start + min(far, 1e9) * along)[2]
        values.append(height - offset if height <= reach else reach)
    return values


@pytest.mark.parametrize(
    ("order", "alignment", "above", "frame", "groups"),
    [
        ("xy", "yaw", 0.0, "base", False),
        ("yx", "yaw", 20.0, "base", False),
        ("xy", "base", 0.0, "base", True),
        ("yx", "base", 2.0, "eye", False),
        ("xy", "world", 20.0, "eye", True),
        ("yx", "world", 0.0, "base", False),
    ],
)
def test_a_scan_is_what_its_definition_says(
    tmp_path: Path, order: str, alignment: str, above: float, frame: str, groups: bool
) -> None:
    more: dict[str, Any] = {"site": "eye"} if frame == "eye" else {}
    if groups:
        more["groups"] = [0]
    found, _, model, data = looked(
        tmp_path, extent=[0.8, 1.2], resolution=0.2, grid=order, alignment=alignment, above=above,
        offset=0.3, reach=1.25, centre=[0.1, -0.05], **more,
    )  # fmt: skip
    wanted = expected(
        model, data, order=order, alignment=alignment, above=above, offset=0.3, reach=1.25,
        centre=[0.1, -0.05], frame=frame, groups=groups,
    )  # fmt: skip
    assert len(set(np.round(wanted, 3))) > 15  # a scan that could tell orders apart
    assert found.tolist() == pytest.approx(wanted, abs=1e-6)


def test_a_miss_has_its_own_value(tmp_path: Path) -> None:
    found, *_ = looked(tmp_path, extent=[8.0, 0.0], resolution=1.0, miss=-1.0, offset=0.5)
    assert found[0] == found[-1] == -1.0 and found[4] != -1.0


def test_cells_are_the_lowest_of_three_entries(tmp_path: Path) -> None:
    """As legged_gym: the table at whole cells, its entries (i, j), (i+1, j) and (i, j+1)."""
    cell = 0.25
    found, _, model, data = looked(
        tmp_path, extent=[0.8, 0.4], resolution=0.2, alignment="world", grid="yx", cells=cell
    )
    base = data.body("robot/base").xpos
    model.geom_group[model.body_rootid[model.geom_bodyid] > 0] = 4
    ground = np.array([1, 1, 1, 1, 0, 1], np.uint8)

    def depth(i: int, j: int) -> float:
        start, down = np.array([i * cell, j * cell, base[2]]), np.array([0, 0, -1.0])
        return float(mujoco.mj_ray(model, data, start, down, ground, 1, -1, np.zeros(1, np.int32)))

    wanted = []
    for x, y in itertools.product(np.linspace(-0.4, 0.4, 5), np.linspace(-0.2, 0.2, 3)):
        i, j = int(np.floor((base[0] + x) / cell)), int(np.floor((base[1] + y) / cell))
        wanted.append(max(depth(i, j), depth(i + 1, j), depth(i, j + 1)))
    assert found.tolist() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"extent": [1, 2, 3]}, "extent: must be two numbers, …"),
        ({"centre": [1]}, "centre: must be two numbers, …"),
        ({"groups": [0.5]}, "groups: must be whole numbers"),
        ({"site": "eye", "body": "base"}, "has both site and …"),
        ({"site": "eyes"}, "there is no site 'eyes'; … 'eye'"),
        ({"cells": 0.1, "alignment": "base"}, "cells: a table is read …"),
        ({"resolution": 1e-4}, "points is too large; …"),
    ],
)
def test_a_scan_that_cannot_be_is_refused(tmp_path: Path, more: Any, problem: str) -> None:
    with pytest.raises(mjrig.MjrigError, match=regex(problem)):
        looked(tmp_path, **more)
