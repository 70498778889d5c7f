"""The command panel: live commands to a policy by slider, key or gamepad, without an edit."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from imgui_bundle import ImVec2, imgui

from mjrig.components.policies.policy import Policy
from mjrig.components.policies.policy_switch import PolicySwitch
from mjrig.core.arrays import FloatArray
from mjrig.core.control.policy import PolicyComponent
from mjrig.core.sim.world import World
from mjrig.editor.panels.gamepad import Sticks
from mjrig.editor.session.state import EditorState
from mjrig.editor.session.world_frame import PolicyFrame
from mjrig.editor.text import deferred, tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY
from mjrig.editor.ui.layout import px
from mjrig.editor.ui.panel import Panel

# Driving ------------------------------------------------------------------------------------------


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


# Commands panel -----------------------------------------------------------------------------------


_KEY = imgui.Key
#: Keys that go forward, sideways and turn: (one way, the other).
_WAYS = (
    ((_KEY.w, _KEY.up_arrow), (_KEY.s, _KEY.down_arrow)),
    ((_KEY.q,), (_KEY.e,)),
    ((_KEY.a, _KEY.left_arrow), (_KEY.d, _KEY.right_arrow)),
)
#: Keys of the policies of a switch, in order.
_NUMBERS = tuple(getattr(_KEY, f"_{i}") for i in range(1, 10))
_ABOUT = deferred(
    "While the viewport has the mouse or the focus:\n"
    "W, S or up, down: forward, back\n"
    "A, D or left, right: turn\n"
    "Q, E: sideways\n"
    "1 to 9: the policies of a switch\n"
    "Gamepad: left stick walks, right stick turns.\n"
    "Releasing the keys stops. Other shortcuts on these keys are off meanwhile."
)


def drive_keys() -> tuple[tuple[str, str], ...]:
    """What the keys do while Drive is on: (what, keys)."""
    words = (
        (tr("Walk forward"), tr("Walk back")),
        (tr("Walk to the left"), tr("Walk to the right")),
        (tr("Turn to the left"), tr("Turn to the right")),
    )
    pairs = zip(words, _WAYS, strict=True)
    both = [pair for names, keys in pairs for pair in zip(names, keys, strict=True)]
    return tuple((what, ", ".join(map(imgui.get_key_name, keys))) for what, keys in both)


class CommandsPanel(Panel):
    """Sliders and keys for the policy of the selected actor.

    Args:
        state: state of the window.
        has_focus: whether keys are meant for the viewport.
    """

    title = "Command"
    place = "right"

    def __init__(self, state: EditorState, has_focus: Callable[[], bool] = lambda: False) -> None:
        super().__init__(state)
        self.driving = Driving(state)
        self._has_focus = has_focus
        self._last = time.perf_counter()
        #: The sticks of a gamepad; set where there is a window of the desktop.
        self.read_pad: Callable[[], Sticks | None] = lambda: None
        self._pad: Sticks | None = None

    @property
    def takes_keys(self) -> bool:
        """Whether letters and arrows are commands now, and nothing else."""
        return self.driving.is_on and self._has_focus()

    def tick(self) -> None:
        """Once per frame, inside of it: take the keys and the sticks."""
        now = time.perf_counter()
        wall, self._last = now - self._last, now
        axes = [0.0, 0.0, 0.0]
        if self.takes_keys and not imgui.get_io().want_text_input:
            axes = [_pressed(one) - _pressed(other) for one, other in _WAYS]
            self._choose_by_key()
        self._pad = self.read_pad() if self.driving.is_on else None
        if self._pad is not None:
            axes = [float(np.clip(a + b, -1.0, 1.0)) for a, b in zip(axes, self._pad, strict=True)]
        self.driving.tick(wall, axes)

    # Widgets ------------------------------------------------------------------------------------

    def draw(self) -> None:
        driven = self.driving.driven()
        if driven is None:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(tr("Select an actor that has a policy, or drop a policy on one."))
            imgui.pop_style_color()
            return
        imgui.text(driven.frame.label)
        imgui.same_line()
        imgui.text_disabled(
            tr("{rate:g} Hz, tick {ticks}", rate=driven.frame.rate, ticks=driven.frame.ticks)
        )
        if driven.frame.choices:
            self._choices(driven)
        if driven.names:
            self._drive()
            self._sliders(driven)
            self._buttons(driven)
        else:
            imgui.text_disabled(tr("This policy takes no command."))
        _watch(driven.frame)

    def _choices(self, driven: Driven) -> None:
        """Which policy of a switch is in charge; a click puts another one there."""
        for i, name in enumerate(driven.frame.choices):
            if i:
                imgui.same_line()
            if imgui.radio_button(name, name == driven.frame.current):
                self.driving.choose(driven, name)
            imgui.set_item_tooltip(tr("Put this policy in charge; key {key}", key=i + 1))
        imgui.same_line()
        if imgui.small_button(tr("Auto")):
            self.driving.choose(driven, "")
        imgui.set_item_tooltip(tr("Conditions and times of the switch decide"))

    def _choose_by_key(self) -> None:
        driven = self.driving.driven()
        choices = driven.frame.choices if driven is not None else ()
        for key, name in zip(_NUMBERS, choices, strict=False):
            if driven is not None and imgui.is_key_pressed(key, False):
                self.driving.choose(driven, name)

    def _drive(self) -> None:
        driving = self.driving
        changed, on = imgui.checkbox(tr("Drive"), driving.is_on)
        if changed:
            driving.turn_on(on)
        imgui.set_item_tooltip(tr(_ABOUT))
        imgui.same_line()
        imgui.set_next_item_width(px(90))
        percent = round(100 * driving.share)
        _, percent = imgui.slider_int("##share", percent, 10, 100, "%d %%")
        driving.share = percent / 100
        imgui.set_item_tooltip(tr("Fraction of the command range that a key gives"))
        if not driving.is_on:
            return
        imgui.same_line()
        if self._pad is not None:
            imgui.text_colored(GREEN, tr("gamepad"))
        elif self._has_focus():
            imgui.text_colored(GREEN, tr("keys"))
        else:
            imgui.text_colored(AMBER, tr("point at the viewport"))

    def _sliders(self, driven: Driven) -> None:
        held = self.driving.held
        values = driven.frame.command if held is None else held
        for i, name in enumerate(driven.names):
            low, high = driven.ranges[i]
            imgui.set_next_item_width(px(-70))
            moved, new = imgui.slider_float(name, float(values[i]), low, high, "%.2f")
            if moved:
                command = np.array(values, dtype=np.float64)
                command[i] = new
                self.driving.hold(driven, command)

    def _buttons(self, driven: Driven) -> None:
        driving = self.driving
        if imgui.button(tr("Zero")):
            driving.hold(driven, np.zeros(len(driven.names)))
        imgui.same_line()
        imgui.begin_disabled(driving.held is None)
        if imgui.button(tr("Release")):
            driving.turn_on(False)
        imgui.set_item_tooltip(tr("Return to the scene's command, or the policy's schedule"))
        imgui.same_line()
        if imgui.button(tr("Keep")):
            self.state.attempt(lambda: driving.keep(driven))
        imgui.set_item_tooltip(tr("Write the command into the scene; can be undone"))
        imgui.end_disabled()
        imgui.same_line()
        now = ", ".join(f"{v:+.2f}" for v in driven.frame.command)
        imgui.text_disabled(tr("now {now}", now=now))


def _pressed(keys: tuple[imgui.Key, ...]) -> float:
    return float(any(imgui.is_key_down(key) for key in keys))


def _watch(frame: PolicyFrame) -> None:
    """The network's input and output in the last tick."""
    for name, values in (("observation", frame.observation), ("action", frame.action)):
        if not values.size:
            continue
        imgui.separator_text(tr("{name}: {size} values", name=name, size=values.size))
        imgui.plot_lines(f"##{name}", np.ascontiguousarray(values), graph_size=ImVec2(-1, px(48)))
        imgui.text_disabled(
            tr("from {least:+.3g} to {greatest:+.3g}", least=values.min(), greatest=values.max())
        )
