"""PolicySwitch: several policies on one robot, one of them in charge."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mjrig.components.policies.policy import FilePolicy
from mjrig.components.policies.policy_loop import PolicyLoop
from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.plant import Plant
from mjrig.core.control.policy import PolicyDisturbance
from mjrig.core.control.setpoints import Lease
from mjrig.core.errors import BindingError, MissingExtraError, MjrigError, PropertyError
from mjrig.core.names import suggestion
from mjrig.core.properties.collection_kinds import Samples
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.nested_kinds import NestedList
from mjrig.core.properties.scalar_kinds import (
    Bool,
    Choice,
    FilePath,
    Float,
    Int,
    OptionalFloat,
    Text,
)

# Switch option ------------------------------------------------------------------------------------


class Condition(StrEnum):
    """What puts a policy in charge."""

    NEVER = "never"
    STILL = "still"
    MOVING = "moving"
    TILTED = "tilted"


@dataclass(frozen=True)
class Within:
    """What conditions look at: the time [s], the command, and the tilt of the base [rad]."""

    time: float
    command: FloatArray
    tilt: float


class SwitchOption(HasProperties):
    """A policy by name, or the default pose of the first one, held."""

    name = Text("", doc="Name of the option.")
    file = FilePath(
        suffixes=(".yaml", ".yml"), doc="The policy file; none: the first policy's default pose."
    )
    after = OptionalFloat(None, min=0.0, unit="s", doc="In charge from this time on; none: no.")
    when = Choice(
        Condition.NEVER,
        doc="In charge while the command is below the limit (still), above it (moving), or the "
        "base is tilted by more than the limit [rad].",
    )
    limit = Float(0.1, min=0.0, doc="Limit of the condition.")

    def holds(self, now: Within) -> bool:
        """Whether its condition puts it in charge."""
        if self.when is Condition.TILTED:
            return now.tilt > self.limit
        if self.when is Condition.NEVER:
            return False
        moving = bool(np.linalg.norm(now.command) > self.limit)
        return moving == (self.when is Condition.MOVING)

    def begun(self, now: Within) -> bool:
        """Whether its time has come."""
        return self.after is not None and now.time >= self.after - 1e-9


# Policy switch ------------------------------------------------------------------------------------


class PolicySwitch(FilePolicy):
    """Several policies on one robot: one is in charge, the others keep their state.

    In charge is `choice`; where it is empty, the first option whose condition holds (`when`), else
    the last one whose time has come (`after`), else the first. It is decided before every physics
    step. All policies command the same joints. `observation` begins with the number of the option
    in charge, counted from 0, and is filled up with zeros to the longest.
    """

    _remembered: ClassVar[tuple[str, ...]] = (
        "_active", "_since", "_from", "_ticked", "_ticks", "_seen", "_did", "_loops"
    )  # fmt: skip

    enabled = Bool(True, doc="Off: no policy is evaluated, and no setpoints are written.")
    options = NestedList(SwitchOption, polymorphic=False, doc="The policies, by name.")
    choice = Text("", doc="Name of the option in charge; empty: by condition and time.")
    blend = Float(
        0.0, min=0.0, unit="s", doc="Time in which targets go over to those of another option."
    )
    command = Samples(
        [], category="Command", doc="Constant command of all; none: the files' schedules."
    )
    seed = Int(0, min=0, max=2**63 - 1, doc="Seed of the noise and bias of the observation terms.")

    def prepare(self) -> None:
        self._robot: Articulation | None = None
        self._loops: list[PolicyLoop | None] = []
        self._lease: Lease | None = None
        self._active = 0
        self._since = -1.0
        self._from = np.zeros(0)
        self._ticked = 0
        self._ticks = 0

    def validate(self) -> None:
        names = [option.name for option in self.options]
        for i, name in enumerate(names):
            if not name or name in names[:i]:
                problem = "needs a name" if not name else f"{name!r} is there twice"
                raise PropertyError(f"{self.label}.options[{i}]: {problem}", ("options", i))
        if self.options and self.choice and self.choice not in names:
            raise PropertyError(
                f"{self.label}.choice: there is no option {self.choice!r}; "
                f"{suggestion(self.choice, names)}",
                ("choice",),
            )

    # Life ---------------------------------------------------------------------------------------

    def attach(self, articulation: Any) -> None:
        if not any(option.file is not None for option in self.options):
            raise PropertyError(f"{self.label}.options: needs a policy with a file", ("options",))
        self._robot = articulation
        try:
            self._loops = [self._made(option, articulation) for option in self.options]
            self._check_joints()
            self._fix_command()
        except MjrigError:
            self.prepare()
            raise
        self._update_lease()
        width = max(loop.observation.size for loop in self._loops if loop is not None)
        self._seen = np.zeros(width + 1, dtype=np.float32)
        self._did = np.zeros(len(self._lead.bindings), dtype=np.float32)

    def _made(self, option: SwitchOption, robot: Articulation) -> PolicyLoop | None:
        if option.file is None:
            return None
        try:
            loop = self._of_file(option.file, lambda policy: PolicyLoop(policy, robot, self.label))
        except MissingExtraError:
            raise
        except MjrigError as error:
            raise BindingError(f"{self.label}: {option.name}: {error}", ("options",)) from error
        if loop.start_steps:
            raise BindingError(
                f"{self.label}: {option.name}: its file stands first (start.duration); remove it, "
                "and add an option without a file",
                ("options",),
            )
        loop.seed(self.seed)
        return loop

    def _check_joints(self) -> None:
        wanted = {b.actuator for b in self._lead.bindings}
        for option, loop in zip(self.options, self._loops, strict=True):
            if loop is not None and {b.actuator for b in loop.bindings} != wanted:
                raise BindingError(
                    f"{self.label}: {option.name}: commands other joints than the first policy; "
                    "all must command the same",
                    ("options",),
                )

    def _fix_command(self) -> None:
        loops = self._running
        if self.command.size and all(x.commands.size != self.command.size for x in loops):
            loops[0].commands.fix(self.command)  # says how many values there must be
        for loop in loops:
            fits = loop.commands.size == self.command.size
            loop.commands.fix(self.command if fits else np.zeros(0))

    def detach(self) -> None:
        for loop in self._running:
            loop.stop()
        self._release()
        self.prepare()

    def on_change(self, names: tuple[str, ...]) -> None:
        if self._robot is None:
            return
        if "options" in names:
            robot = self._robot
            self.detach()
            self.attach(robot)
        if "enabled" in names:
            self._update_lease()
        if "command" in names:
            self._fix_command()
        if "seed" in names:
            for loop in self._running:
                loop.seed(self.seed)

    @property
    def needs_position_stage(self) -> bool:
        return any(loop.needs_position_stage for loop in self._running)

    # Run ----------------------------------------------------------------------------------------

    @property
    def _running(self) -> list[PolicyLoop]:
        """The loops of all options with a file."""
        return [loop for loop in self._loops if loop is not None]

    @property
    def _lead(self) -> PolicyLoop:
        """The first policy: its joints and commands stand for all."""
        for loop in self._loops:
            if loop is not None:
                return loop
        raise BindingError(f"{self.label} is on no actor of a world")

    @property
    def _in_charge(self) -> PolicyLoop:
        """The policy in charge; the first where an option without a file is."""
        loop = self._loops[self._active] if self._loops else None
        return loop if loop is not None else self._lead

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(option.name for option in self.options)

    @property
    def choice_files(self) -> tuple[Path | None, ...]:
        files = (option.file for option in self.options)
        return tuple(None if file is None else self.find_file(file) for file in files)

    @property
    def current(self) -> str:
        return self.options[self._active].name if self._loops else ""

    def reset(self) -> None:
        for other in self._running:
            other.stop()  # each begins again when it is in charge
        self._lead.targets.find_rows()
        self._active, self._since, self._ticks = self._chosen(), -1.0, 0
        self._seen[:], self._did[:] = 0.0, 0.0
        loop = self._loops[self._active]
        if loop is not None:
            loop.reset()

    def before_controls(self, time: float) -> None:
        if self._lease is None:
            return
        if not self._ticks and time == 0.0:
            self._lead.targets.find_rows()
        chosen = self._chosen()
        if chosen != self._active:
            self._hand_over(chosen, time)
        loop = self._loops[self._active]
        if loop is not None:
            self._run(loop)
        self._go_over(loop, time)

    def _run(self, loop: PolicyLoop) -> None:
        before = loop.ticks
        loop.step()
        if loop.ticks == before:
            return
        self._ticks += 1
        self._seen[:] = 0.0
        self._seen[0] = self._active
        self._seen[1 : 1 + loop.observation.size] = loop.observation
        self._did[:] = loop.action[self._order_in(loop)]

    def _order_in(self, loop: PolicyLoop) -> list[int]:
        """Indices of the joints in a loop, in the order of the first policy."""
        names = [b.actuator for b in loop.bindings]
        return [names.index(b.actuator) for b in self._lead.bindings]

    def _hand_over(self, chosen: int, time: float) -> None:
        self._lead.targets.find_rows()
        self._from = self._lead.targets.commanded()
        self._active, self._since = chosen, time
        loop = self._loops[chosen]
        self._ticked = loop.ticks if loop is not None else 0

    def _go_over(self, loop: PolicyLoop | None, time: float) -> None:
        """Between the targets before the change and those of the option in charge."""
        share = 1.0
        if self._since >= 0.0 and self.blend > 0.0:
            share = min((time - self._since) / self.blend, 1.0)
        if loop is None:
            self._lead.targets.mix(
                self._from, self._lead.policy.pose, share, held=self._since < 0.0
            )
        elif share < 1.0 and loop.ticks != self._ticked:
            targets = loop.view.target[self._order_in(loop)]
            self._lead.targets.mix(self._from, targets, share)

    def _chosen(self) -> int:
        """Which option is in charge now."""
        if self.choice:
            return self.choices.index(self.choice)
        assert self._robot is not None
        within = Within(self._robot.data.time, self._lead.command_now(), self._tilt())
        for i, option in enumerate(self.options):
            if option.holds(within):
                return i
        begun = [i for i, option in enumerate(self.options) if option.begun(within)]
        return max(begun, key=lambda i: (self.options[i].after, i)) if begun else 0

    def _tilt(self) -> float:
        """Angle between the base's z axis and the vertical [rad]; 0 without a free base."""
        view = self._lead.view
        try:
            first = view.free_joint(self.label)[0] + 3
        except BindingError:
            return 0.0
        _, x, y, _ = view.data.qpos[first : first + 4]
        return float(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))

    # Memory -------------------------------------------------------------------------------------

    def memory_signature(self) -> object:
        return tuple(None if loop is None else loop.signature() for loop in self._loops)

    # What others see ----------------------------------------------------------------------------

    def follow(self, schedule: Sequence[tuple[float, Sequence[float]]]) -> None:
        self._lead.commands.follow(schedule)
        for loop in self._running:
            if loop.commands.size == self._lead.commands.size:
                loop.commands.follow(schedule)
        self.unset("command")

    @property
    def ticks(self) -> int:
        return self._ticks

    @property
    def observation(self) -> npt.NDArray[np.float32]:
        return self._seen

    @property
    def action(self) -> npt.NDArray[np.float32]:
        return self._did

    def answers(self, observations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        found = np.zeros((len(observations), len(self._lead.bindings)), dtype=np.float32)
        for i, loop in enumerate(self._loops):
            rows = np.flatnonzero(observations[:, 0] == i)
            if loop is not None and rows.size:  # its memory waited while others were in charge
                own = observations[rows, 1 : 1 + loop.observation.size]
                found[rows] = loop.answers(np.ascontiguousarray(own))[:, self._order_in(loop)]
        return found

    def disturb(self, disturbance: PolicyDisturbance | None) -> None:
        for loop in self._running:
            loop.disturbance = disturbance

    def plant(self) -> Plant:
        overall: dict[str, object] = {"joint_order": list(self.joints)}
        return Plant(overall, {})
