"""Cost of a height scan: 187 parallel rays, as a ratio to MuJoCo's rays from one origin.

`mj_multiRay` cannot do a grid of parallel rays, it is the measure only. Run
`python benchmarks/scan_cost.py`; all ways take turns in one process, in CPU time.
"""

import time
from typing import Any

import mujoco
import numpy as np

from mjrig.components.policies.terms.height_scan import RayGrid

ROUNDS = 400


def scene(boxes: int, field: bool, tilted: bool = False) -> Any:
    """A ground with boxes over 8 × 8 m, or a height field of 200 × 200."""
    random = np.random.default_rng(0)
    spec = mujoco.MjSpec()
    if field:
        heights = random.uniform(size=200 * 200)
        spec.add_hfield(name="f", nrow=200, ncol=200, size=[10, 10, 0.2, 0.1], userdata=heights)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="f")
    else:
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    for _ in range(boxes):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[0.2, 0.2, 0.1],
            pos=[*random.uniform(-4, 4, 2), 0.0],
            euler=random.uniform(-20, 20, 3) * [tilted, tilted, 1],
        )
    return spec.compile()


def ratio(model: Any) -> tuple[float, float, float]:
    """Milliseconds of `mj_multiRay`, of the scan, and of one `mj_ray` after the other."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    x, y = np.meshgrid(np.linspace(-0.8, 0.8, 17), np.linspace(-0.5, 0.5, 11))
    starts = np.stack([x.ravel(), y.ravel(), np.full(187, 1.0)], axis=1)
    down, origin = np.array([0.0, 0.0, -1.0]), np.array([0.0, 0.0, 1.0])
    fan = (starts * [1, 1, 0] - origin).copy()
    geoms, far = np.zeros(187, np.int32), np.zeros(187)
    one = np.zeros(1, np.int32)
    rays = RayGrid(model, data, np.arange(model.ngeom))

    def multi() -> None:
        mujoco.mj_multiRay(
            model, data, origin, fan.reshape(-1), None, 1, -1, geoms, far, None, 187, 1e10
        )

    def scan() -> None:
        rays.distances(starts, down)

    def loop() -> None:
        for start in starts:
            mujoco.mj_ray(model, data, start, down, None, 1, -1, one)

    spent = [0.0, 0.0, 0.0]
    for turn in range(ROUNDS):
        for i, work in enumerate((multi, scan, loop)):
            if i == 2 and turn % 20:
                continue
            before = time.process_time()
            work()
            spent[i] += time.process_time() - before
    return spent[0] / ROUNDS * 1e3, spent[1] / ROUNDS * 1e3, spent[2] / (ROUNDS // 20) * 1e3


def main() -> None:
    """Print the table."""
    kinds = {
        "plane": scene(0, False),
        "200 × 200 height field": scene(0, True),
        "200 boxes": scene(200, False),
        "1000 boxes": scene(1000, False),
        "200 tilted boxes": scene(200, False, tilted=True),
    }
    print(f"{'187 rays':24} mj_multiRay ms  scan ms  ratio  mj_ray ms")
    for name, model in kinds.items():
        multi, scan, loop = ratio(model)
        print(f"{name:24} {multi:14.3f} {scan:8.3f} {scan / multi:6.2f} {loop:10.3f}")


if __name__ == "__main__":
    main()
