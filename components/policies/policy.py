"""Policy: a network in the loop, commanding the joints its file names."""

from abc import ABC
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.batch_loop import BatchLoop
from mjrig.components.policies.observer import needs_one_world
from mjrig.components.policies.policy_file import PolicyFile, given
from mjrig.components.policies.policy_loop import PolicyLoop
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.plant import Plant
from mjrig.core.control.policy import (
    BatchOfWorlds,
    BatchPolicy,
    CommandSpace,
    PolicyComponent,
    PolicyDisturbance,
)
from mjrig.core.control.setpoints import Lease, Source
from mjrig.core.errors import BindingError, MissingExtraError, MjrigError, PropertyError
from mjrig.core.names import literal
from mjrig.core.properties.actions import action
from mjrig.core.properties.collection_kinds import Samples
from mjrig.core.properties.hooks import required
from mjrig.core.properties.scalar_kinds import Bool, FilePath, Int

#: Quiet steps of a policy that is switched off.
_NOTHING_DUE = 1_000_000
Made = TypeVar("Made")
_TRAINED = ("kp", "kv", "torque_limit", "armature", "damping", "frictionloss")


class FilePolicy(PolicyComponent, ABC):
    """Base class of components that run policy files.

    While enabled they own the setpoints of the joints that their files name.
    """

    enabled: Any
    _robot: Articulation | None
    _lease: Lease | None

    @property
    @required()
    def _lead(self) -> PolicyLoop:
        """The loop whose joints and commands are those of the component."""
        raise NotImplementedError

    @property
    def _in_charge(self) -> PolicyLoop:
        """The loop that commands the robot now."""
        return self._lead

    def _of_file(
        self, file: Path, make: Callable[[PolicyFile], Made], where: str, key: str
    ) -> Made:
        """Make something of a policy file as it is now; `where` and `key` are for errors.

        Raises:
            BindingError: the file, the network or the robot do not fit each other.
        """
        try:
            path = self.find_file(file)
            return make(PolicyFile.load(path, self.gate(), self.trusted_folders()))
        except MissingExtraError:
            raise
        except MjrigError as error:
            text = str(error).removeprefix(f"{self.label}: ")
            raise BindingError(f"{self.label}{where}: {text}", (key,)) from error

    def _update_lease(self) -> None:
        """Own the setpoints while enabled, so that nothing else moves the joints meanwhile."""
        assert self._robot is not None
        if not self.enabled:
            self._release()
        elif self._lease is None:
            own = "|".join(literal(b.actuator) for b in self._lead.bindings)
            self._lease = self._robot.take(Source.POLICY, actuators=own, holder=self.label)

    def _release(self) -> None:
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    @property
    def policy_file(self) -> PolicyFile:
        """The file of the policy in charge."""
        return self._in_charge.policy

    @property
    def tick_steps(self) -> int:
        return self._in_charge.policy.decimation

    @property
    def joints(self) -> tuple[str, ...]:
        return tuple(b.joint or b.actuator for b in self._lead.bindings)

    def rays(self) -> FloatArray:
        return self._in_charge.rays()

    @property
    def command_now(self) -> FloatArray:
        return self._lead.command_now()

    @property
    def command_space(self) -> CommandSpace:
        return self._lead.commands.space


class Policy(FilePolicy):
    """Runs a network trained elsewhere: observations in, setpoints out, at its own rate.

    The policy file describes how: see docs/policies.md. It owns the setpoints of the joints it
    names; the others keep their pose. The controllers of the actor turn setpoints into efforts.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_loop",)

    enabled = Bool(True, doc="Off: the policy is not evaluated and writes no setpoints.")
    file = FilePath(suffixes=(".yaml", ".yml"), doc="The policy file.")
    command = Samples(
        [], category="Command", doc="Constant command; none: the file's schedule or default."
    )
    seed = Int(
        0,
        min=0,
        max=2**63 - 1,
        doc="Seed of the noise and bias of its observation terms; in force from the next reset.",
    )

    def prepare(self) -> None:
        self._robot: Articulation | None = None
        self._loop: PolicyLoop | None = None
        self._lease: Lease | None = None
        self._read: Path | None = None

    # Life ---------------------------------------------------------------------------------------

    def attach(self, articulation: Any) -> None:
        loop = self._made(articulation)
        self._robot, self._loop, self._read = articulation, loop, self.file
        try:
            self._update_lease()
        except MjrigError:
            self.prepare()
            raise

    def _made(self, robot: Articulation) -> PolicyLoop:
        """The loop of the file as it is now.

        Raises:
            BindingError: the file, the network or the robot do not fit each other.
        """
        loop = self._of_file(
            self._required_file(),
            lambda policy: PolicyLoop(policy, robot, self.label),
            ".file",
            "file",
        )
        loop.commands.fix(self.command)
        loop.seed(self.seed)
        return loop

    def _required_file(self) -> Path:
        if self.file is None:
            raise PropertyError(f"{self.label}.file: needs a policy file", ("file",))
        return self.file

    def detach(self) -> None:
        if self._loop is not None:
            self._loop.stop()
        self._release()
        self.prepare()

    def on_change(self, names: tuple[str, ...]) -> None:
        if self._robot is None or self._loop is None:
            return
        if "file" in names and self.file != self._read:  # not after a refused one
            self._swap_loop(self._made(self._robot))
        if "command" in names:
            self._loop.commands.fix(self.command)
        if "seed" in names:
            self._loop.seed(self.seed)
        self._update_lease()

    def _swap_loop(self, loop: PolicyLoop) -> None:
        if self._loop is not None:
            self._loop.stop()
        self._release()
        self._loop, self._read = loop, self.file

    @action
    def reload(self) -> None:
        """Read the file and its network again; the recurrent state is cleared.

        Raises:
            BindingError: they do not fit; the previous policy continues.
        """
        if self._robot is None:
            raise BindingError(f"{self.label} is on no actor of a world")
        self._swap_loop(self._made(self._robot))
        self._update_lease()
        if self._parent is not None:
            self._parent._child_changed(self)

    def _release(self) -> None:
        if self._lease is not None and self._loop is not None:
            self._loop.stop()
        super()._release()

    @property
    def needs_position_stage(self) -> bool:
        return self.enabled and self._loop is not None and self._loop.needs_position_stage

    # Run ----------------------------------------------------------------------------------------

    def reset(self) -> None:
        if self._loop is not None and self.enabled:
            self._loop.reset()

    def before_controls(self, time: float) -> None:
        if self._lease is not None and self._loop is not None:
            self._loop.step()

    def quiet_steps(self) -> int:
        if self._lease is None or self._loop is None:
            return _NOTHING_DUE
        return self._loop.quiet_steps()

    def memory_signature(self) -> object:
        return None if self._loop is None else self._loop.signature()

    # Commands -----------------------------------------------------------------------------------

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        self._lead.commands.follow(schedule)
        self.unset("command")

    def disturb(self, disturbance: PolicyDisturbance | None) -> None:
        self._lead.disturbance = disturbance

    @property
    def _lead(self) -> PolicyLoop:
        if self._loop is None:
            raise BindingError(f"{self.label} is on no actor of a world")
        return self._loop

    # What others see ----------------------------------------------------------------------------

    @property
    def ticks(self) -> int:
        return self._lead.ticks

    @property
    def stand_steps(self) -> int:
        return self._lead.start_steps

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        return self._lead.observation

    @property
    def action(self) -> npt.NDArray[np.float32]:
        return self._lead.action

    def answers(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        return self._lead.answers(observations)

    @property
    def needs_whole_data(self) -> bool:
        return needs_one_world(self._lead.policy.terms)

    def end_stand(self) -> None:
        self._lead.end_stand()

    def batched(self, worlds: BatchOfWorlds) -> BatchPolicy:
        robot = self._lead._robot
        loop = self._of_file(
            self._required_file(),
            lambda policy: BatchLoop(policy, robot, self.label, worlds),
            ".file",
            "file",
        )
        if self.command.size:
            loop.set_command(self.command)
        loop.set_seed(self.seed)
        return loop

    def plant(self) -> Plant:
        policy, joints = self._lead.policy, self.joints
        overall: dict[str, object] = {
            "decimation": policy.decimation,
            "phase": str(policy.phase),
            "joint_order": list(joints),
        }
        if policy.timestep is not None:
            overall["timestep"] = policy.timestep
        values = {name: given(policy.trained, name) for name in _TRAINED}
        values |= {"default_pose": policy.default, "action_scale": policy.action_recipe.scale}
        return Plant(
            overall,
            {
                name: dict(zip(joints, array.tolist(), strict=True))
                for name, array in values.items()
                if array is not None
            },
            recovered=policy.trained.recovered if policy.trained is not None else (),
        )

    @property
    def provenance(self) -> str:
        policy = self._lead.policy
        stack = policy.source.get("stack")
        if stack:
            return f"imported from {stack}"
        return f"policy {policy.path.name}" if policy.path is not None else super().provenance
