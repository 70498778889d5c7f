"""Live commands to a policy from the window: sliders, keys or a gamepad, without an edit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_switch import PolicySwitch
from mjrig.control.policy import PolicyComponent
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.world_frame import PolicyFrame
from mjrig.editor.texts.texts import tr
from mjrig.sim.world import World

#: Components with a `command` of their own.
_COMMANDED = (Policy, PolicySwitch)
#: How fast a command follows the keys, and decays when they are released [s].
TIME_CONSTANT = 0.15
#: A command nearer to zero than this share of its range is zero.
STILL = 0.01
#: Range of a command where the policy file gives none.
USUAL = (-1.0, 1.0)
#: Which command goes forward, sideways and turns, by name; else the first three.
_AXES = (("vx", "lin_vel_x", "x"), ("vy", "lin_vel_y", "y"), ("wz", "ang_vel_yaw", "yaw", "turn"))


@dataclass(frozen=True)
class Driven:
    """The policy that is commanded: its actor, and what its values are."""

    actor: str
    frame: PolicyFrame
    names: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...]

    def axis(self, which: int) -> int | None:
        """Which value goes forward (0), sideways (1) or turns (2); None: none of them."""
        lower = [name.lower() for name in self.names]
        for name in _AXES[which]:
            if name in lower:
                return lower.index(name)
        known = any(name in lower for names in _AXES for name in names)
        return which if not known and which < len(self.names) else None


class Driving:
    """The command given by the user.

    `held` are the values commanded now; None: the scene commands the policy.
    """

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self.held: FloatArray | None = None
        self._of = ""
        self._is_on = False
        #: Fraction of the command range that a key gives.
        self.share = 0.5
        self._sent: tuple[int, bytes] | None = None

    # Whom ---------------------------------------------------------------------------------------

    def driven(self) -> Driven | None:
        """The policy of the selected actor, else the only one there is."""
        frames = {n: r.policy for n, r in self.state.simulation.frame.robots.items()}
        having = {name: frame for name, frame in frames.items() if frame is not None}
        chosen = self.state.selection.actor
        if chosen not in having:
            chosen = next(iter(having)) if len(having) == 1 else None
        if chosen is None:
            return None
        return self._described(chosen, having[chosen])

    def _described(self, actor: str, frame: PolicyFrame) -> Driven:
        robot = self.state.simulation.world.articulations.get(actor)
        names = tuple(tr("command {number}", number=i + 1) for i in range(frame.command.size))
        ranges = (USUAL,) * frame.command.size
        for component in robot.components if robot is not None else ():
            if isinstance(component, _COMMANDED) and component.policy_file.command is not None:
                said = component.policy_file.command
                names = said.names or names
                if said.ranges.size:
                    ranges = tuple((float(low), float(high)) for low, high in said.ranges)
        return Driven(actor, frame, names, ranges)

    # What ---------------------------------------------------------------------------------------

    @property
    def is_on(self) -> bool:
        """Whether keys and the gamepad command."""
        return self._is_on

    def turn_on(self, on: bool) -> None:
        """Let keys and the gamepad command, from standing; off: the scene commands again."""
        self._is_on = on
        driven = self.driven()
        if on and driven is not None:
            self.hold(driven, np.zeros(len(driven.names)))
        else:
            self.release()

    def hold(self, driven: Driven, values: Sequence[float] | FloatArray) -> None:
        """Command these values from now on."""
        if self._of not in ("", driven.actor):
            self.release()
        self._of, self.held = driven.actor, np.array(values, dtype=np.float64)

    def release(self) -> None:
        """Give the command back to the scene."""
        if self.held is None:
            return
        actor, self._of, self.held, self._sent = self._of, "", None, None
        described = next((a for a in self.state.scene.actors if a.name == actor), None)
        components = described.components if described is not None else ()
        said = next((c.authored("command") for c in components if isinstance(c, _COMMANDED)), None)
        self.state.simulation.put(
            tr("command {actor}", actor=actor), lambda world: _give_back(world, actor, said)
        )

    def choose(self, driven: Driven, name: str) -> None:
        """Put a policy of a switch in charge; empty: its conditions and times decide."""
        actor = driven.actor
        self.state.simulation.put(
            tr("policy of {actor}", actor=actor), lambda world: _choose(world, actor, name)
        )

    def keep(self, driven: Driven) -> None:
        """Write the values into the scene: an edit.

        Raises:
            MjrigError: the scene refuses them.
        """
        if self.held is not None:
            values = [round(float(v), 6) for v in self.held]
            path = driven.frame.label
            self.state.session.set(f"{path}.command", values)
            self.release()

    def tick(self, wall: float, axes: Sequence[float]) -> None:
        """Follow the keys and sticks: forward, sideways, turn, each from -1 to 1.

        `wall` is the time since the last tick [s].
        """
        driven = self.driven()
        if driven is None or (self._of and driven.actor != self._of):
            self._is_on = False
            self.release()
            return
        if self._is_on and self.held is not None:
            self.held = self._moved(driven, wall, axes)
        if self.held is not None:
            self._send(driven.actor, self.held)

    def _moved(self, driven: Driven, wall: float, axes: Sequence[float]) -> FloatArray:
        assert self.held is not None
        wanted = np.zeros(len(driven.names))
        for which, value in enumerate(axes):
            index = driven.axis(which)
            if index is not None:
                low, high = driven.ranges[index]
                wanted[index] = self.share * (value * high if value > 0.0 else -value * low)
        blend = 1.0 - math.exp(-wall / TIME_CONSTANT)
        moved: FloatArray = self.held + blend * (wanted - self.held)
        reach = np.array([max(abs(low), abs(high)) for low, high in driven.ranges])
        moved[(wanted == 0.0) & (np.abs(moved) < STILL * reach)] = 0.0
        return moved

    def _send(self, actor: str, values: FloatArray) -> None:
        simulation = self.state.simulation
        sent = simulation.generation, values.tobytes()
        if sent != self._sent:
            self._sent = sent
            simulation.put(
                tr("command {actor}", actor=actor), lambda world: _tell(world, actor, values)
            )


def _policy(world: World, actor: str) -> PolicyComponent | None:
    robot = world.articulations.get(actor)
    found = robot.components if robot is not None else ()
    return next((c for c in found if isinstance(c, PolicyComponent)), None)


def _tell(world: World, actor: str, values: FloatArray) -> None:
    policy = _policy(world, actor)
    if isinstance(policy, _COMMANDED):
        policy.assign({"command": values.tolist()})
    elif policy is not None:
        policy.follow([(0.0, values.tolist())])


def _choose(world: World, actor: str, name: str) -> None:
    policy = _policy(world, actor)
    if isinstance(policy, PolicySwitch):
        policy.assign({"choice": name})


def _give_back(world: World, actor: str, said: object) -> None:
    """Restore the scene's command; none: the schedule or default of the policy's file."""
    policy = _policy(world, actor)
    if isinstance(policy, _COMMANDED) and said is not None:
        policy.assign({"command": said})
    elif isinstance(policy, _COMMANDED):
        policy.unset("command")
    elif policy is not None:
        policy.follow([])
