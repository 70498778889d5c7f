"""How long a fit of kp, kv and delay of 12 joints to a 4 s recording takes, and how good it is."""

from pathlib import Path

import numpy as np

import mjrig
from mjrig.tuning.fit import fit
from tests.plugin.tuning.fit_worlds import chirp, noisy, record, with_others

SCENE = Path(__file__).parent.parent / "config" / "scenes" / "quadruped.yaml"
DURATION = 4.0
CONTROLLER = "quadruped.PDController"


def main() -> None:
    """Print one line."""
    random = np.random.default_rng(0)
    scene = mjrig.Scene.load(SCENE)
    scene.set("quadruped.base", "fixed")
    scene.set("sim.contact", False)
    kp, kv = random.uniform(100, 240, 12), random.uniform(3, 7, 12)
    lags = random.integers(0, 9, 12)
    true = {
        f"{CONTROLLER}.kp": kp.tolist(),
        f"{CONTROLLER}.kv": kv.tolist(),
        f"{CONTROLLER}.delay": {"steps": lags.tolist()},
    }
    world = mjrig.World(with_others(scene, true))
    clean = record(world, chirp(0.15, 0.5, 8.0, DURATION), DURATION)
    found = fit(scene, [noisy(clean, 0, 1e-3, 2e-2)], ["kp", "kv", "delay"])
    values = {
        name: np.array([e.value for e in found.estimates if e.parameter == name])
        for name in ("kp", "kv", "delay")
    }
    errors = [float(np.abs(values[n] / t - 1.0).max()) for n, t in (("kp", kp), ("kv", kv))]
    wrong = int((values["delay"] != lags).sum())
    print(
        f"12 joints, {DURATION:g} s: {found.seconds:.1f} s (bar: 60); largest errors: "
        f"kp {100 * errors[0]:.2f} %, kv {100 * errors[1]:.2f} % (bar: 1 %); "
        f"{wrong} wrong delays (bar: 0)"
    )


if __name__ == "__main__":
    main()
