"""Policy: the runtime's interface to a component that commands at its own rate, and in a batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.attributes import CheckedAttributes
from mjrig.core.control.plant import Plant
from mjrig.core.errors import ExecutionError, PropertyError
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.hooks import required

Worlds = slice | Sequence[int] | npt.NDArray[Any] | int | None
Float32 = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int64]


def chosen_worlds(worlds: Worlds, count: int) -> npt.NDArray[np.intp]:
    """The numbers of some of `count` worlds, in the order they are given in.

    Args:
        worlds: one number, several, a slice or a mask; None: all.
        count: number of worlds.

    Raises:
        PropertyError: there is no such world.
    """
    try:
        found = np.arange(count)[slice(None) if worlds is None else worlds]
    except (IndexError, TypeError) as error:
        raise PropertyError(
            f"worlds: must be numbers from 0 to {count - 1}, a slice or a mask of {count}, "
            f"got {worlds!r}"
        ) from error
    return np.atleast_1d(found).astype(np.intp)


@dataclass(frozen=True)
class PolicyDisturbance:
    """Errors between a policy and its robot.

    Attributes:
        offsets: (ticks, joints) errors of the joint positions it observes, in its order; from the
            last row on they start over.
        latency: physics steps from a tick until its setpoints hold.
    """

    offsets: FloatArray
    latency: int = 0


@dataclass(frozen=True)
class CommandSpace:
    """What a policy can be commanded: names, the default, and (n, 2) ranges, empty if unknown."""

    names: tuple[str, ...]
    default: FloatArray
    ranges: FloatArray


class GainOverride(Protocol):
    """Uses other gains of some actuators, by id, in the worlds of a mask, and in no others."""

    def __call__(
        self, name: str, values: Mapping[int, float], worlds: npt.NDArray[np.bool_]
    ) -> None: ...


@dataclass(frozen=True)
class BatchOfWorlds:
    """What a policy of a batch reads and writes.

    Attributes:
        count: number of worlds.
        data: the `mujoco.batch.Batch`; its fields are (worlds, …).
        setpoints: (worlds, 3, actuators) setpoints of the actor, live.
        override_gains: for gains of a start phase.
        exact: whether the network must give the bits of a single world.
    """

    count: int
    data: Any
    setpoints: FloatArray
    override_gains: GainOverride
    exact: bool


class BatchPolicy(CheckedAttributes, ABC):
    """The policy of an actor in every world of a batch; arrays have a row per world.

    Attributes:
        together: whether one call of the network serves all worlds; else there is one for each.
        reason: why not; or by how much results differ from those of a world alone.
        action: (worlds, joints): the network's output in the last tick of each world.
    """

    together: bool
    reason: str
    action: Float32

    # What users set ----------------------------------------------------------------------------

    @property
    def command(self) -> FloatArray:
        """(worlds, values): the commands in force; setting it is `set_command` for all worlds."""
        return self.command_now

    @command.setter
    def command(self, values: npt.ArrayLike) -> None:
        self.set_command(values)

    @abstractmethod
    def set_command(self, values: npt.ArrayLike, *, worlds: Worlds = None) -> None:
        """Command constant values: (values,) for all of these worlds, or (worlds, values).

        Raises:
            PropertyError: another number of values, or no numbers.
        """

    @abstractmethod
    def follow(
        self, schedule: Sequence[tuple[float, Sequence[float]]], *, worlds: Worlds = None
    ) -> None:
        """Take the command from a schedule of (time [s], values), in some worlds or in all.

        Raises:
            PropertyError: another number of values, or times that do not ascend.
        """

    @abstractmethod
    def set_seed(self, seed: npt.ArrayLike, *, worlds: Worlds = None) -> None:
        """Seed of the noise and bias of observation terms, one or one per world.

        It is in force from the next reset on.

        Raises:
            PropertyError: it is no whole number from 0 on.
        """

    @abstractmethod
    def disturb(self, disturbance: PolicyDisturbance | None, *, worlds: Worlds = None) -> None:
        """Disturb what it measures and commands from now on; None: no longer."""

    # What users see ----------------------------------------------------------------------------

    @property
    @abstractmethod
    def joints(self) -> tuple[str, ...]:
        """Local names of the joints it commands, in its own order: the columns of `action`."""

    @property
    @abstractmethod
    def tick_steps(self) -> int:
        """Physics steps from one tick to the next."""

    @property
    @abstractmethod
    def stand_steps(self) -> int:
        """Physics steps from the reset to where it begins."""

    @property
    @abstractmethod
    def ticks(self) -> Counts:
        """Ticks of each world since its reset."""

    @property
    @abstractmethod
    def observation(self) -> Float32:
        """(worlds, values): the network's input in the last tick of each world."""

    @property
    @abstractmethod
    def command_now(self) -> FloatArray:
        """(worlds, values): the commands in force, unscaled."""

    @property
    @abstractmethod
    def bad_actions(self) -> Counts:
        """Ticks of each world since its reset whose action was not finite: its target was held."""

    # What the batch calls ----------------------------------------------------------------------

    @property
    @abstractmethod
    def needs_position_stage(self) -> bool:
        """Whether a tick reads what MuJoCo derives from the state."""

    @abstractmethod
    def due(self) -> list[int]:
        """The worlds that tick before the next step."""

    @abstractmethod
    def step(self) -> None:
        """Before a physics step: tick the worlds whose time it is."""

    @abstractmethod
    def quiet_steps(self) -> int:
        """Steps after the present one until `step` has something to do in some world."""

    @abstractmethod
    def reset(self, worlds: Sequence[int]) -> None:
        """These worlds were reset."""


class PolicyComponent(ActorComponent):
    """A component with a network in the loop, as recordings and replays use it.

    `observation` and `action` are of the last tick, float32, rewritten in place; `ticks` counts
    ticks since the reset.
    """

    @property
    @required()
    def ticks(self) -> int:
        """Ticks since the reset."""
        raise NotImplementedError

    @property
    @required()
    def tick_steps(self) -> int:
        """Physics steps from one tick to the next."""
        raise NotImplementedError

    @property
    def stand_steps(self) -> int:
        """Physics steps from the reset to where it begins, and its commands are counted from."""
        return 0

    @property
    def choices(self) -> tuple[str, ...]:
        """Names of the policies it can put in charge; none: it is one policy."""
        return ()

    @property
    def choice_files(self) -> tuple[Path | None, ...]:
        """The policy file of each of them; None: it holds a pose."""
        return ()

    @property
    def current(self) -> str:
        """Which of them is in charge."""
        return ""

    @property
    @required()
    def joints(self) -> tuple[str, ...]:
        """Local names of the joints it commands, in its own order: the columns of `action`."""
        raise NotImplementedError

    @property
    @required()
    def observation(self) -> npt.NDArray[np.float32]:
        """The network's input in the last tick."""
        raise NotImplementedError

    @property
    @required()
    def action(self) -> npt.NDArray[np.float32]:
        """The network's output in the last tick."""
        raise NotImplementedError

    def answers(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The network's outputs for the observations of consecutive ticks from the reset on.

        Nothing else of the policy changes; (ticks, joints).
        """
        raise NotImplementedError

    def rays(self) -> FloatArray:
        """Rays of its last observation, for pictures: (n, 2, 3), start and end [m]."""
        return np.zeros((0, 2, 3))

    @property
    @required()
    def command_now(self) -> FloatArray:
        """The command in force, unscaled: vx, vy [m/s], yaw rate [rad/s], or what it takes."""
        raise NotImplementedError

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        """Take the command from a schedule of (time [s], values).

        Times count from the start of the policy, after a stand, as in its file; each entry holds
        until the next. It replaces the `command` that was set, if any.

        Raises:
            PropertyError: another number of values, or times that do not ascend.
        """
        raise NotImplementedError

    @property
    def command_space(self) -> CommandSpace:
        """What it can be commanded."""
        raise NotImplementedError

    def disturb(self, disturbance: PolicyDisturbance | None) -> None:
        """Disturb what it measures and commands from now on; None: no longer."""
        raise NotImplementedError

    @property
    def needs_whole_data(self) -> bool:
        """Whether a batch has to keep an MjData for every world, which it looks into."""
        return False

    def end_stand(self) -> None:
        """Give controllers their own gains back, if it stands and has changed them."""

    def batched(self, worlds: BatchOfWorlds) -> BatchPolicy:
        """The same policy in all worlds of a batch, from its file.

        Raises:
            ExecutionError: it cannot run there; the message gives the reason and the way out.
        """
        raise ExecutionError(
            f"{self.label}: a {type(self).__name__} cannot run in a batch; "
            "put one Policy on the actor, or run its worlds one by one"
        )

    @required()
    def plant(self) -> Plant:
        """The plant it was trained for."""
        raise NotImplementedError

    @property
    def provenance(self) -> str:
        """Where `plant` comes from, as text: the origin of gains taken from it."""
        return f"policy {self.label}"


def running_policies(components: Iterable[object]) -> list[PolicyComponent]:
    """The policies among components that are not switched off."""
    found = [c for c in components if isinstance(c, PolicyComponent)]
    return [policy for policy in found if policy.__dict__.get("enabled", True)]
