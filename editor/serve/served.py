"""Served: the bridges of the open scene, opened from the window and answered between steps."""

import time
from dataclasses import dataclass

from mjrig.components.bridges.bridge import Bridge
from mjrig.components.bridges.serving import Outgoing, bridges_of
from mjrig.components.bridges.traffic import Rejected, TrafficReport
from mjrig.editor.session.state import EditorState
from mjrig.editor.texts.texts import tr
from mjrig.sim.world import World

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
