"""Domain randomisation by seed: masses, friction, motors, noise, latency, kicks and pushes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import PolicyComponent, PolicyDisturbance, running_policies
from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion
from mjrig.lab.rollouts.hosts import Host

Factors = tuple[float, float]
#: Given as a standard deviation; the others are ranges of factors.
_DEVIATIONS = ("noise", "bias", "start")
#: Given as a value or a range of values from 0.
_AMOUNTS = ("payload", "latency", "kick", "push")
#: The first kick or push comes after `FIRST` s, the others `EVERY` s later, up to `JITTER` s late.
FIRST, EVERY, JITTER = 2.0, 2.0, 0.5
#: Duration of a push [s].
PUSH_TIME = 0.1
_GAINS = (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE, mujoco.mjtGain.mjGAIN_PID)
_BIASES = (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE)


@dataclass(frozen=True)
class Randomisation:
    """Quantities sampled for every seed; None and 0: not randomised.

    The same seed draws the same for every point of a sweep and every policy of a bench, so that
    they are compared fairly.

    Attributes:
        mass: factors of mass and inertia, one per body.
        friction: factor of the friction of all geoms.
        armature: factors of armature, one per degree of freedom.
        damping: factors of joint damping, one per degree of freedom.
        noise: standard deviation of noise added to position setpoints in every sample [rad or m].
            For a law of q* − q it is equivalent to encoder noise. Beside a policy it is added to
            the joint positions the policy observes, in every tick.
        start: standard deviation of the initial joint positions [rad or m].
        bias: standard deviation of a constant error of the joint positions a policy observes.
        strength: factors of the force of actuators, one per actuator.
        payload: mass added to the base, as a share of the robot's mass.
        latency: delay of a policy's setpoints [s].
        kick: sudden change of the base's velocity in a random horizontal direction [m/s].
        push: horizontal force on the base for 0.1 s, as impulse per mass of the robot [m/s].
    """

    mass: Factors | None = None
    friction: Factors | None = None
    armature: Factors | None = None
    damping: Factors | None = None
    noise: float = 0.0
    start: float = 0.0
    bias: float = 0.0
    strength: Factors | None = None
    payload: Factors | None = None
    latency: Factors | None = None
    kick: Factors | None = None
    push: Factors | None = None

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
            reads = (
                _deviation if name in _DEVIATIONS else _amounts if name in _AMOUNTS else _factors
            )
            found[name] = reads(name, said)
        return cls(**found)

    @property
    def changes_model(self) -> bool:
        """Whether it changes the model."""
        names = ("mass", "friction", "armature", "damping", "strength", "payload")
        return any(getattr(self, name) is not None for name in names)

    @property
    def disturbs(self) -> bool:
        """Whether it kicks or pushes the base during a run."""
        return self.kick is not None or self.push is not None

    @property
    def needs_run(self) -> list[str]:
        """What is given of what happens during a run, rather than to the model."""
        names = ("noise", "start", "bias", "latency", "kick", "push")
        return [name for name in names if getattr(self, name)]

    @property
    def disturbs_policy(self) -> bool:
        """Whether it changes what only a policy has: its measurements and its latency."""
        return bool(self.bias) or self.latency is not None

    def apply(self, model: Any, data: Any, seed: int, base: int | None = None) -> None:
        """Change a model, and the constants that follow from it; `data` is used as scratch.

        Args:
            base: body that carries the payload; None: the robot has no free base.

        Raises:
            PropertyError: an actuator's force has no factor, or nothing can carry a payload.
        """
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
        if self.strength is not None:
            _scale_forces(
                model, _random(seed, 6).uniform(*self.strength, len(model.actuator_gaintype))
            )
        if self.payload is not None:
            _load(model, base, _random(seed, 7).uniform(*self.payload))
        mujoco.mj_setConst(model, data)

    def bumps(self, seed: int, duration: float) -> list["Bump"]:
        """The kicks and pushes of a run, in the order of their times."""
        found = []
        for kind, amounts in (("kick", self.kick), ("push", self.push)):
            if amounts is None:
                continue
            random = _random(seed, 9 if kind == "kick" else 10)
            for start in np.arange(FIRST, duration, EVERY):
                late, angle = random.uniform(0.0, JITTER), random.uniform(0.0, 2.0 * np.pi)
                amount = random.uniform(*amounts)
                x, y = amount * math.cos(angle), amount * math.sin(angle)
                found.append(Bump(float(start) + late, kind == "push", (x, y)))
        return sorted(found, key=lambda bump: bump.time)

    def latency_of(self, seed: int) -> float:
        """The delay of a policy's setpoints [s]."""
        return 0.0 if self.latency is None else float(_random(seed, 11).uniform(*self.latency))

    def bias_offsets(self, seed: int, count: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(count,) constant errors of measured joint positions."""
        return self.bias * _random(seed, 8).standard_normal(count)

    def start_offsets(self, seed: int, count: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(count,) offsets of the joints at the start."""
        return self.start * _random(seed, 4).standard_normal(count)

    def noise_offsets(
        self, seed: int, samples: int, count: int
    ) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """(samples, count) offsets of the setpoints."""
        return self.noise * _random(seed, 5).standard_normal((samples, count))


@dataclass(frozen=True)
class Bump:
    """One kick or push: when, and the horizontal change of velocity it is worth [m/s]."""

    time: float
    is_push: bool
    change: tuple[float, float]


def _scale_forces(model: Any, factors: "np.ndarray[Any, np.dtype[np.float64]]") -> None:
    """Scale what actuators do with the same control, limits included.

    Raises:
        PropertyError: the force of an actuator is not proportional to its parameters.
    """
    for i, factor in enumerate(factors):
        gain, bias = int(model.actuator_gaintype[i]), int(model.actuator_biastype[i])
        if gain not in map(int, _GAINS) or bias not in map(int, _BIASES):
            raise PropertyError(
                f"strength: the force of {model.actuator(i).name!r} has no factor; "
                "motors, position, velocity and pid actuators have"
            )
        model.actuator_gainprm[i, :3] *= factor
        model.actuator_biasprm[i, :3] *= factor
        model.actuator_forcerange[i] *= factor


def _load(model: Any, base: int | None, share: float) -> None:
    """Put a payload onto the centre of mass of a base: it has mass, and no size.

    Raises:
        PropertyError: the robot has no free base.
    """
    if base is None:
        raise PropertyError("payload: the robot has no free base to carry it")
    model.body_mass[base] += share * float(model.body_subtreemass[base])


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


def _amounts(name: str, said: str) -> Factors:
    low, colon, high = said.partition(":")
    try:
        found = float(low), float(high if colon else low)
    except ValueError:
        found = (math.nan, math.nan)
    if not (0.0 <= found[0] <= found[1] < math.inf):
        raise PropertyError(f"{name}: write a number >= 0 or low:high, as in 0.5; got {said!r}")
    return found


def _deviation(name: str, said: str) -> float:
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not 0.0 <= found < math.inf:
        raise PropertyError(f"{name}: must be a number >= 0, got {said!r}")
    return found


# Disturbance --------------------------------------------------------------------------------------
# Disturbances of a run: kicks and pushes of the base, errors between a policy and its robot.


class Bumps:
    """Steps the worlds of a host, each with the kicks and pushes of its seed.

    Args:
        duration: how long the run takes at most [s].
        begin: steps before the run counts, such as a policy's stand.
        advance: steps the worlds instead of the host.

    Raises:
        PropertyError: there are kicks or pushes, and no free base.
    """

    def __init__(
        self,
        host: Host,
        randomisation: Randomisation,
        seeds: Sequence[int],
        duration: float,
        begin: int = 0,
        advance: Callable[[int], object] | None = None,
    ) -> None:
        self._host, self._done = host, 0
        self._advance = host.step if advance is None else advance
        if randomisation.disturbs and host.base_body is None:
            raise PropertyError("kick and push move a free base: the robot has none")
        #: Step, world, change of velocity, change of force; the first one last.
        self._events: list[tuple[int, int, FloatArray, FloatArray]] = []
        if randomisation.disturbs:
            self._plan(randomisation, seeds, duration, begin)

    def _plan(
        self, randomisation: Randomisation, seeds: Sequence[int], duration: float, begin: int
    ) -> None:
        host, nothing = self._host, np.zeros(2)
        lasts = max(1, round(PUSH_TIME / host.timestep))
        mass = float(host.robot.model.body_subtreemass[host.base_body])
        for world, seed in enumerate(seeds):
            for bump in randomisation.bumps(seed, duration):
                start = begin + round(bump.time / host.timestep)
                change = np.array(bump.change)
                if not bump.is_push:
                    self._events.append((start, world, change, nothing))
                    continue
                force = change * mass / (lasts * host.timestep)
                self._events.append((start, world, nothing, force))
                self._events.append((start + lasts, world, nothing, -force))
        self._events.sort(key=lambda event: event[0], reverse=True)

    def step(self, n: int) -> None:
        """Advance all worlds."""
        if not self._events:
            self._advance(n)
            return
        end = self._done + n
        while self._done < end:
            while self._events and self._events[-1][0] <= self._done:
                self._apply(*self._events.pop()[1:])
            until = min(end, self._events[-1][0]) if self._events else end
            self._advance(until - self._done)
            self._done = until

    def _apply(self, world: int, change: FloatArray, force: FloatArray) -> None:
        host = self._host
        assert host.base_dof is not None
        host.qvel[world, host.base_dof : host.base_dof + 2] += change
        host.body_forces[world, host.base_body, :2] += force


def disturb_policies(
    host: Host, randomisation: Randomisation, seeds: Sequence[int], duration: float
) -> bool:
    """Disturb the policies of the actor as a seed says; false: it has none."""
    found = running_policies(host.robot.components)
    for policy in found:
        policy.disturb(_of_policy(policy, host.timestep, randomisation, seeds[0], duration))
    return bool(found)


def _of_policy(
    policy: PolicyComponent,
    timestep: float,
    randomisation: Randomisation,
    seed: int,
    duration: float,
) -> PolicyDisturbance | None:
    if not (randomisation.noise or randomisation.disturbs_policy):
        return None
    ticks = 1 + round(duration / (policy.tick_steps * timestep))
    count = len(policy.joints)
    offsets = randomisation.noise_offsets(seed, ticks, count)
    offsets = offsets + randomisation.bias_offsets(seed, count)
    return PolicyDisturbance(offsets, round(randomisation.latency_of(seed) / timestep))
