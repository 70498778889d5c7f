"""PolicyLoop: the control loop of a policy in one world: ticks, observations, targets."""

from collections import deque
from math import isfinite
from typing import ClassVar

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.commands import Commands
from mjrig.components.policies.loop_parts import LoopParts
from mjrig.components.policies.network_loading import check_sizes, load_network
from mjrig.components.policies.policy_file import PolicyFile
from mjrig.components.policies.policy_parts import StartPhase
from mjrig.components.policies.stand import StandGains
from mjrig.components.policies.terms.view import Float32
from mjrig.control.articulation import Articulation
from mjrig.control.policy import PolicyDisturbance
from mjrig.properties.declared_memory import DeclaredMemory


class PolicyLoop(LoopParts, DeclaredMemory):
    """The control loop of a policy file on a robot of a world."""

    _remembered: ClassVar[tuple[str, ...]] = (
        "_begun", "ticks", "action", "_gains", "_observer", "_network", "targets", "view", "_late"
    )  # fmt: skip

    def __init__(self, said: PolicyFile, robot: Articulation, who: str) -> None:
        super().__init__(said, robot, who, robot.data, robot.setpoints.values)
        self._data = robot.data
        self.commands = Commands(said.command, who)
        self._network = load_network(said)
        self._network.feed(self._observer.inputs)
        check_sizes(self._network, self._observer.parts, len(said.joints))
        self._answer = self._network.prepared(self.observation, self.action)
        self._start = said.start
        self._gains = StandGains(said.start or StartPhase(), robot, self.bindings)
        self.ticks = 0
        self._begun = False
        #: Errors of measurements and the delay of setpoints; None: there are none.
        self.disturbance: PolicyDisturbance | None = None
        self._late: deque[tuple[int, FloatArray]] = deque()

    def seed(self, seed: int) -> None:
        """Choose the random numbers of noise and bias, from the next reset on."""
        self._observer.seeds = [seed]

    # Time ---------------------------------------------------------------------------------------

    def steps(self) -> int:
        """Physics steps since the policy began; negative: in the start phase."""
        time: float = self._data.time
        return round(time / self.timestep) - self.start_steps

    def command_now(self) -> FloatArray:
        """The command in force."""
        return self.commands.at(max(self.steps(), 0) * self.timestep)

    def reset(self) -> None:
        """Start over: clear the memory, and command the targets that hold until the first tick."""
        self._gains.put_back()
        self.ticks = 0
        self._late.clear()
        self.action[:] = 0.0
        self._observer.reset()
        self._observer.vector[:] = 0.0
        self._network.reset()
        self.targets.find_rows()
        if self._start is not None and self.steps() <= 0:
            self._stand(self._start)
        self.targets.restart()
        self._begun = True

    def _stand(self, start: StartPhase) -> None:
        word = StartPhase.target.word(start)
        if word != "pose":
            self.targets.hold(self.said.pose if word == "default" else start.target)
        if self.steps() < 0:
            self._gains.apply()

    def step(self) -> None:
        """Before a physics step: tick if it is time."""
        if not self._begun:
            self.reset()
        steps = self.steps()
        if steps < 0:
            return
        if self._gains.applied:
            self._gains.put_back()
        if (steps + self._shift) % self._every == 0 and steps >= self._first:
            self._tick(steps)
        while self._late and self._late[0][0] <= steps:
            self.targets.command(self._late.popleft()[1])

    def quiet_steps(self) -> int:
        """Steps after the present one until `step` has something to do."""
        steps = self.steps()
        if steps < 0:
            return -steps - 1
        due = self._every - (steps + self._shift) % self._every
        if self._late:
            due = min(due, self._late[0][0] - steps)
        return due - 1

    def _tick(self, steps: int) -> None:
        view = self.view
        view.steps = steps
        self._measure()
        disturbance = self.disturbance
        if disturbance is not None:
            row = disturbance.offsets[self.ticks % len(disturbance.offsets)]
            view.position[: view.moved] += row
        view.command[:] = self.commands.at(steps * self.timestep)
        if view.motion is not None:
            clip, network = self._clip, self._network
            view.motion.take((clip.frame if clip is not None else network.reference)(self.ticks))
        with np.errstate(over="ignore"):  # overflow of float32: the result is checked below
            self._observer.look()
            self._answer(self.ticks)
        self.ticks += 1
        action = self.action
        # The sum of squares is finite if all are, unless they are huge, and quicker to get.
        if isfinite(action.dot(action)) or np.isfinite(action).all():
            targets = self.targets.act(action)
            if disturbance is not None and disturbance.latency:
                self._late.append((steps + disturbance.latency, targets.copy()))
            else:
                self.targets.command(targets)
        else:
            self._report()

    def _report(self) -> None:
        bad = self.said.joints[int(np.flatnonzero(~np.isfinite(self.action))[0])]
        seen = "" if np.isfinite(self.observation).all() else ", and the observation is not either"
        self._robot.report(
            "non-finite action",
            f"{self._who}: the network's output for {bad!r} is not finite{seen}; "
            "the last target is held",
            joint=bad,
        )

    def answers(self, observations: Float32) -> Float32:
        """The network's outputs for observations of consecutive ticks; its memory is put back."""
        network = self._network
        before = network.memory()
        network.reset()
        try:
            found = [network.run(row, tick) for tick, row in enumerate(observations)]
        finally:
            network.restore(before)
        return np.array(found, dtype=np.float32).reshape(len(observations), -1)

    def rays(self) -> FloatArray:
        """Rays of the terms in the last tick: (n, 2, 3), start and end [m]."""
        return np.concatenate([term.rays() for term in self.said.terms])

    def end_stand(self) -> None:
        """Restore the authored gains."""
        self._gains.put_back()

    def stop(self) -> None:
        """Stop, and restore the authored gains."""
        self.end_stand()
        self._begun = False

    # Memory -------------------------------------------------------------------------------------

    def signature(self) -> object:
        """What must agree for a memory to be restored."""
        return str(self.said.network), self.said.joints, self._observer.signature()
