"""PolicyBatch: many worlds of one scene on all cores, each with its policies in the loop."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.control.execution import is_rk4
from mjrig.core.control.policy import (
    BatchOfWorlds,
    BatchPolicy,
    PolicyComponent,
    Worlds,
    chosen_worlds,
    running_policies,
)
from mjrig.core.errors import BindingError, ExecutionError
from mjrig.core.properties.component import ActorComponent
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.batch import Batch
from mjrig.core.sim.world import World

_DIVERGED = tuple(
    int(kind)
    for kind in (
        mujoco.mjtWarning.mjWARN_BADQPOS,
        mujoco.mjtWarning.mjWARN_BADQVEL,
        mujoco.mjtWarning.mjWARN_BADQACC,
    )
)
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)


class PolicyBatch(Batch):
    """Many worlds of one scene with a policy in the loop of each.

    A tick of all worlds is one call of the network; between ticks MuJoCo steps the worlds on all
    cores. Each world has its own state, gains, setpoints, commands, noise, histories and recurrent
    state, and is bit-identical to a `World` of its own with native execution.

    Args:
        scene: a Scene, the path of a scene file, or a World with native execution: a template,
            which the batch uses from then on.
        count: number of worlds.
        threads: number of threads; 0: all cores.
        exact: evaluate the network world by world where one call for all of them would change
            bits; False: one call wherever the network allows it.

    Raises:
        ExecutionError: a controller has no native form, or a component cannot be batched; the
            message gives the reason.
        SceneError: the scene cannot be built.
    """

    #: Worlds that diverged and were reset, until they are reset by hand.
    diverged: Final[npt.NDArray[np.bool_]]

    def __init__(
        self,
        scene: Scene | str | Path | World,
        count: int,
        *,
        threads: int = 0,
        exact: bool = True,
    ) -> None:
        self._policies: dict[str, BatchPolicy] = {}
        super().__init__(scene, count, threads=threads)
        self._warnings = np.zeros((count, len(_DIVERGED)), np.int64)
        self._keyframes: list[str | None] = [None] * count
        self.diverged = np.zeros(count, np.bool_)
        for name, policy in self._found().items():
            robot = self[name]
            worlds = BatchOfWorlds(
                count,
                self._batch,
                robot.setpoints.transpose(1, 0, 2),
                robot.override_gains,
                exact,
            )
            self._policies[name] = policy.batched(worlds)
        if is_rk4(self.model) and any(p.needs_position_stage for p in self._policies.values()):
            raise ExecutionError(
                "with RK4 a batch cannot compute frames for a policy between the stages of a step; "
                "use sim: {integrator: implicitfast}, or run the worlds one by one"
            )
        self.reset()

    def _found(self) -> dict[str, PolicyComponent]:
        """The policy of each actor that has one.

        Raises:
            ExecutionError: there is none, or an actor has several.
        """
        found: dict[str, PolicyComponent] = {}
        for name, robot in self._world.articulations.items():
            own = running_policies(robot.components)
            if len(own) > 1:
                raise ExecutionError(
                    f"{name} has {len(own)} policies; a PolicyBatch runs one per actor"
                )
            if own:
                found[name] = own[0]
        if not found:
            raise ExecutionError("no actor has a policy that is enabled; use mjrig.Batch")
        return found

    def _refuse_python(self) -> None:
        super()._refuse_python()
        # The worlds are copies of the template, which begins with the gains of a start phase.
        for policy in self._found().values():
            policy.end_stand()

    def _is_persistent(self) -> bool:
        return any(p.needs_position_stage or p.needs_whole_data for p in self._found().values())

    def _runs(self, component: ActorComponent) -> bool:
        return isinstance(component, PolicyComponent)

    @property
    def policies(self) -> Mapping[str, BatchPolicy]:
        """The policies by actor."""
        return MappingProxyType(self._policies)

    def policy(self, actor: str = "") -> BatchPolicy:
        """The policy of an actor; without a name: the only one.

        Raises:
            BindingError: there is none, or there are several.
        """
        if actor in self._policies:
            return self._policies[actor]
        if not actor and len(self._policies) == 1:
            return next(iter(self._policies.values()))
        actors = ", ".join(self._policies)
        if not actor:
            raise BindingError(f"name the actor whose policy it is: {actors}")
        raise BindingError(f"the batch has no policy of {actor!r}; policies of: {actors}")

    def step(self, n: int = 1) -> None:
        """Advance all worlds by `n` physics steps; policies tick when it is their time.

        A world that diverges is reset at the end, and marked in `diverged`.

        Raises:
            ValueError: a setpoint is not finite, or n is negative.
        """
        if n < 0:
            raise ValueError(f"cannot step {n} times")
        policies, left = list(self._policies.values()), n
        while left:
            self._tick(policies)
            block = min(left, 1 + min(policy.quiet_steps() for policy in policies))
            super().step(block)
            left -= block
        self._look_for_divergence()

    def _tick(self, policies: list[BatchPolicy]) -> None:
        for policy in policies:
            if policy.needs_position_stage:
                due = policy.due()
                if due:  # frames and sensors of the present state
                    self._batch.forward(due, _VELOCITIES)
            policy.step()

    def _look_for_divergence(self) -> None:
        now = self._batch.warning[:, _DIVERGED, 1]  # how often, after what it was about
        if np.array_equal(now, self._warnings):
            return
        worlds = np.flatnonzero((now > self._warnings).any(axis=1))
        self._warnings[:] = now
        for world in worlds:
            self.reset([int(world)], keyframe=self._keyframes[world])
        self.diverged[worlds] = True

    def reset(self, worlds: Worlds = None, *, keyframe: str | None = None) -> None:
        """Put worlds back to the initial state, or their actors to a keyframe; policies too.

        Raises:
            BindingError: no actor has a keyframe of that name.
        """
        super().reset(worlds, keyframe=keyframe)
        if not self._policies:
            return  # in the constructor of the base class
        rows = np.unique(chosen_worlds(worlds, self.count))
        self.diverged[rows] = False
        for row in rows:
            self._keyframes[row] = keyframe
        for robot in self._robots.values():
            robot.write(self._ctrl)
        for policy in self._policies.values():
            policy.reset(rows.tolist())
        self._batch.forward(rows)  # sensors of the initial state

    def __repr__(self) -> str:
        return f"PolicyBatch({', '.join(self._policies)}; {self.count} worlds)"
