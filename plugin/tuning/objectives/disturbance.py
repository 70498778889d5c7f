"""Disturbances of a run: kicks and pushes of the base, errors between a policy and its robot."""

from collections.abc import Callable, Sequence

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.control.policy import PolicyComponent, PolicyDisturbance, running_policies
from mjrig.errors import PropertyError
from mjrig.tuning.objectives.objective_hosts import Host
from mjrig.tuning.objectives.variation import PUSH_TIME, Randomisation


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
