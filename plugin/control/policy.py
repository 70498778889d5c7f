"""Policy: the runtime's interface to a component that commands at its own rate."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mjrig.arrays import FloatArray
from mjrig.control.plant import Plant
from mjrig.properties.component import ActorComponent


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


class PolicyComponent(ActorComponent):
    """A component with a network in the loop, as recordings and replays use it.

    `observation` and `action` are of the last tick, float32, rewritten in place; `ticks` counts
    ticks since the reset.
    """

    @property
    def ticks(self) -> int:
        """Ticks since the reset."""
        raise NotImplementedError

    @property
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
    def joints(self) -> tuple[str, ...]:
        """Local names of the joints it commands, in its own order: the columns of `action`."""
        raise NotImplementedError

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        """The network's input in the last tick."""
        raise NotImplementedError

    @property
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
