"""Domain randomisation by seed: masses, friction, armature, damping, noise."""

import math
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from mjrig.errors import PropertyError
from mjrig.names import suggestion

Factors = tuple[float, float]
#: Given as a standard deviation; the others are ranges of factors.
_DEVIATIONS = ("noise", "start")


@dataclass(frozen=True)
class Randomisation:
    """Quantities sampled for every seed; None and 0: not randomised.

    The same seed draws the same for every point of a sweep, so that they are compared fairly.

    Attributes:
        mass: factors of mass and inertia, one per body.
        friction: factor of the friction of all geoms.
        armature: factors of armature, one per degree of freedom.
        damping: factors of joint damping, one per degree of freedom.
        noise: standard deviation of noise added to position setpoints in every sample [rad or m].
            For a law of q* − q it is equivalent to encoder noise.
        start: standard deviation of the initial joint positions [rad or m].
    """

    mass: Factors | None = None
    friction: Factors | None = None
    armature: Factors | None = None
    damping: Factors | None = None
    noise: float = 0.0
    start: float = 0.0

    @classmethod
    def read(cls, text: str) -> "Randomisation":
        """Read `mass=0.9:1.1,friction=0.5:1.2,noise=0.002`.

        Raises:
            PropertyError: a word or a number is wrong.
        """
        found: dict[str, Any] = {}
        for part in filter(None, (word.strip() for word in text.split(","))):
            name, _, said = part.partition("=")
            name = name.strip()
            known = [f.name for f in fields(cls)]
            if name not in known:
                hint = suggestion(name, known)
                raise PropertyError(f"{name!r} cannot be randomised; {hint}")
            found[name] = _deviation(name, said) if name in _DEVIATIONS else _factors(name, said)
        return cls(**found)

    @property
    def changes_model(self) -> bool:
        """Whether it changes the model."""
        return any(v is not None for v in (self.mass, self.friction, self.armature, self.damping))

    def apply(self, model: Any, data: Any, seed: int) -> None:
        """Change a model, and the constants that follow from it; `data` is used as scratch."""
        if not self.changes_model:
            return
        if self.mass is not None:
            factors = _random(seed, 0).uniform(*self.mass, model.nbody)
            model.body_mass *= factors
            model.body_inertia *= factors[:, None]
        if self.friction is not None:
            model.geom_friction *= _random(seed, 1).uniform(*self.friction)
        if self.armature is not None:
            model.dof_armature *= _random(seed, 2).uniform(*self.armature, model.nv)
        if self.damping is not None:
            model.dof_damping *= _random(seed, 3).uniform(*self.damping, model.nv)
        mujoco.mj_setConst(model, data)

    def start_offsets(self, seed: int, count: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(count,) offsets of the joints at the start."""
        return self.start * _random(seed, 4).standard_normal(count)

    def noise_offsets(
        self, seed: int, samples: int, count: int
    ) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(samples, count) offsets of the setpoints."""
        return self.noise * _random(seed, 5).standard_normal((samples, count))


def _random(seed: int, kind: int) -> np.random.Generator:
    """One random stream per kind, so that randomising masses does not change the friction."""
    return np.random.default_rng((seed, kind))


def _factors(name: str, said: str) -> Factors:
    low, _, high = said.partition(":")
    try:
        found = float(low), float(high)
    except ValueError:
        found = (math.nan, math.nan)
    if not (0.0 < found[0] <= found[1] < math.inf):
        raise PropertyError(f"{name}: write low:high, factors above 0, as in 0.9:1.1; got {said!r}")
    return found


def _deviation(name: str, said: str) -> float:
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not 0.0 <= found < math.inf:
        raise PropertyError(f"{name}: must be a number >= 0, got {said!r}")
    return found
