"""The serve panel: bridges of the open scene, who commands through them, and rejections."""

import math
import time
from dataclasses import dataclass

from imgui_bundle import imgui

from mjrig.components.bridges.bridge import Bridge, BridgePhase
from mjrig.components.bridges.serving import Outgoing, bridges_of
from mjrig.components.bridges.traffic import Rejected, TrafficReport
from mjrig.core.sim.world import World
from mjrig.editor.session.state import EditorState
from mjrig.editor.text import tr
from mjrig.editor.ui.colours import AMBER, GREEN, GREY
from mjrig.editor.ui.panel import Panel

# Served -------------------------------------------------------------------------------------------


#: Time between two looks at the traffic [s].
LOOKED_EVERY = 0.2


@dataclass(frozen=True)
class BridgeStatus:
    """What the window shows of one bridge."""

    label: str
    address: str
    phase: str
    #: Who has the lease of motors of the robot.
    holders: tuple[str, ...]
    traffic: TrafficReport
    rejected: tuple[Rejected, ...]


class Served:
    """Opens the bridges of the running world, and again those of a world that takes its place.

    Everything that touches a bridge runs on the thread that steps the world.
    """

    def __init__(self, state: EditorState) -> None:
        self.state = state
        self._bridges: list[Bridge] = []
        self._out: Outgoing | None = None
        self._world: World | None = None
        self._wanted = False
        self._paused = False
        self._looked = 0.0
        self._generation = -1
        #: The bridges as they were a moment ago.
        self.status: tuple[BridgeStatus, ...] = ()
        state.simulation.on_leave.append(self._leave)

    @property
    def is_on(self) -> bool:
        """Whether bridges are open."""
        return self._wanted

    @property
    def is_possible(self) -> bool:
        """Whether the scene has a bridge."""
        actors = self.state.scene.actors
        return any(isinstance(c, Bridge) for actor in actors for c in actor.components)

    def toggle(self) -> None:
        """Open the bridges and play, or close them."""
        self.state.attempt(self.stop if self._wanted else self.start)

    def start(self) -> None:
        """Open the bridges, and play.

        Raises:
            MjrigError: one cannot listen; then none does.
        """
        simulation = self.state.simulation
        simulation.call(self._open)
        self._wanted, self._generation = True, simulation.generation
        simulation.drive(self._drive)
        simulation.play()

    def stop(self) -> None:
        """Close the bridges; the world goes on."""
        self._wanted = False
        self.state.simulation.call(self._leave)

    def tick(self) -> None:
        """Once per frame: serve a new world too, and a client that steps the world itself."""
        simulation = self.state.simulation
        if not self._wanted:
            return
        if simulation.generation != self._generation:
            self._wanted = False
            self.state.attempt(self.start)
        elif not simulation.playing:
            simulation.put("serve", self._attend_paused)

    # On the thread that steps ---------------------------------------------------------------------

    def _open(self, world: World) -> None:
        bridges = bridges_of(world)
        self._world, self._bridges = world, bridges
        try:
            for bridge in bridges:
                bridge.open(self)
        except BaseException:
            self._leave(world)
            raise
        self._out = Outgoing(bridges)
        self._look()

    def _leave(self, world: World) -> None:
        for bridge in self._bridges:
            bridge.close()
        self._bridges, self._world, self._out, self.status = [], None, None, ()

    def _drive(self, world: World) -> bool:
        """Before every step: send the state, answer what was asked."""
        if not self._wanted or world is not self._world:
            return False
        self._send(world.steps)
        self._attend()
        return True

    def _send(self, steps: int) -> None:
        out = self._out
        if out is not None and not steps % out.stride:
            out.send(steps)

    def _attend(self) -> None:
        in_lock_step = [bridge.attend(0.0) for bridge in self._bridges]
        if any(in_lock_step) and self.state.simulation.playing:
            self._paused = True
            self.state.simulation.pause()
        self._look()

    def _attend_paused(self, world: World) -> None:
        if not self._wanted or world is not self._world:
            return
        in_lock_step = [bridge.attend(0.0) for bridge in self._bridges]
        if self._paused and not any(in_lock_step):  # the client lets it run again
            self._paused = False
            self.state.simulation.play()
        self._look()
        self.state.simulation.publish()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOKED_EVERY and self.status:
            return
        self._looked = now
        self.status = tuple(
            BridgeStatus(
                b.label, b.address, b.phase, b.holders, b.traffic.report(), tuple(b.traffic.log)
            )
            for b in self._bridges
        )

    # What bridges ask for -------------------------------------------------------------------------

    @property
    def world(self) -> World:
        """The world that is served."""
        assert self._world is not None, tr("nothing is served")
        return self._world

    def advance(self, steps: int) -> int:
        """Take steps for a client in lock step."""
        for done in range(steps):
            if not self.world.step():
                return done
            self._send(self.world.steps)
        return steps

    def reset(self, keyframe: str | None) -> None:
        """Reset the world for a client."""
        self.world.reset(keyframe)
        self.state.simulation.history.clear()


# Serve panel --------------------------------------------------------------------------------------
# The serve panel: who commands from outside, how often, and what was rejected.


_COLOURS = {BridgePhase.COMMANDED: GREEN, BridgePhase.LOST: AMBER}
#: Rejected messages that are shown.
_SHOWN = 50


class ServePanel(Panel):
    """The bridges of the scene: open, commanded, lost."""

    title = "Serve"
    place = "bottom"

    def __init__(self, state: EditorState) -> None:
        super().__init__(state)
        self.served = Served(state)

    def draw(self) -> None:
        served = self.served
        if not served.is_possible and not served.is_on:
            imgui.push_style_color(imgui.Col_.text, GREY)
            imgui.text_wrapped(
                tr(
                    "Add a SocketBridge, UnitreeBridge or RosBridge to an actor, and programs in "
                    "other processes can command it."
                )
            )
            imgui.pop_style_color()
            return
        if imgui.button(tr("Stop serving") if served.is_on else tr("Serve")):
            served.toggle()
        if not served.is_on:
            imgui.same_line()
            imgui.text_colored(GREY, tr("Nothing listens."))
        for status in served.status:
            self._bridge(status)

    def _bridge(self, status: BridgeStatus) -> None:
        traffic = status.traffic
        imgui.separator_text(status.label)
        imgui.text_colored(_COLOURS.get(BridgePhase(status.phase), GREY), _phase_text(status))
        imgui.text_colored(GREY, status.address)
        imgui.text(
            tr("lease: {holders}", holders=", ".join(status.holders))
            if status.holders
            else tr("lease: free")
        )
        age = (
            tr("none yet") if math.isinf(traffic.age) else tr("{age:.0f} ms", age=1e3 * traffic.age)
        )
        imgui.text(
            tr(
                "commands {rate:.0f}/s, age {age}, jitter {jitter:.1f} ms; {accepted} used, "
                "{rejected} rejected; {sent} states sent",
                rate=traffic.rate,
                age=age,
                jitter=traffic.jitter * 1000.0,
                accepted=traffic.accepted,
                rejected=traffic.rejected,
                sent=traffic.sent,
            )
        )
        for entry in reversed(status.rejected[-_SHOWN:]):
            clock = time.strftime("%H:%M:%S", time.localtime(entry.when))
            imgui.text_colored(AMBER, f"{clock} {entry.reason}")


def _phase_text(status: BridgeStatus) -> str:
    return {
        BridgePhase.CLOSED: tr("closed"),
        BridgePhase.WAITING: tr("waits for the first command"),
        BridgePhase.COMMANDED: tr("a program commands the motors"),
        BridgePhase.LOST: tr("no commands any more: the motors damp"),
    }[BridgePhase(status.phase)]
