"""EditorState and Selection: what the panels of one window share."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mjrig.core.errors import MjrigError
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.registry import described
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.scene.scene_description import SCENE, existing
from mjrig.core.sim.world import World
from mjrig.editor.session.console import Console, EventTeller
from mjrig.editor.session.elements import Elements
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from mjrig.editor.text import error_text, tr


@dataclass
class Selection:
    """What is selected, by path, first selected first.

    Paths: `dog`, `dog.PDController`, `dog.PDController.delay` (anything `Scene.set` can reach), the
    scene itself as `scene`, and elements of the running model as `dog.joint:FL_hip`.
    """

    paths: list[str] = field(default_factory=list)

    def only(self, path: str) -> None:
        """Select one thing."""
        self.paths = [path]

    def toggle(self, path: str) -> None:
        """Add to the selection, or take out of it."""
        if path in self.paths:
            self.paths.remove(path)
        else:
            self.paths.append(path)

    def clear(self) -> None:
        """Select nothing."""
        self.paths = []

    def follow(self, old: str, new: str) -> None:
        """Something was renamed."""
        self.paths = [
            new + p[len(old) :] if p == old or p.startswith(old + ".") else p for p in self.paths
        ]

    @property
    def actor(self) -> str | None:
        """Name of the actor the first selected thing is or belongs to."""
        if not self.paths or self.paths[0] == "scene":
            return None
        return self.paths[0].partition(".")[0]


@dataclass(frozen=True)
class Idle:
    """A controller of an actor that drives nothing, and why, per actuator."""

    actor: str
    role: str
    reasons: tuple[str, ...]


class EditorState:
    """The open session, the selection, the console: what panels read and edit through.

    Panels never touch the running world; they read `simulation.frame` and immutable arrays of
    live components, and change things through `attempt(lambda: session…)`.
    """

    def __init__(self, session: Session, console: Console | None = None) -> None:
        self.session = session
        self.selection = Selection()
        self.console = console or Console()
        #: Validation errors by property path, shown at the field until it is edited again.
        self.problems: dict[str, str] = {}
        #: One plain value, component or actor that was copied: (kind, data).
        self.clipboard: tuple[str, Any] | None = None
        #: What is being dragged inside the window: (kind, value), the payload is only a number.
        self.dragged: tuple[str, Any] | None = None
        self.wants_to_close = False
        #: The signal that ended the editor; 0: none.
        self.ended_by = 0
        #: A scene file to open; the window asks about unsaved edits first.
        self.wants_to_open: Path | None = None
        #: A recording to show, and the robot it is for; empty: found by name and joints.
        self.wants_to_replay: tuple[Path, str] | None = None
        #: Files of a policy, and the actor it is for.
        self.wants_to_import: tuple[list[Path], str] | None = None
        #: A controller that was added and drives nothing.
        self.wants_motors: Idle | None = None
        #: Brings a file that was written within the user's reach; by the window, from any thread.
        self.offer_file: Callable[[Path], object] = lambda path: None
        self._teller = EventTeller(self.console)
        self._elements: tuple[World, Elements] | None = None

    @property
    def is_ending(self) -> bool:
        """Whether the window closes: the user or the system asked for it."""
        return self.wants_to_close or self.ended_by != 0

    @property
    def scene(self) -> Scene:
        """The description that is edited."""
        return self.session.scene

    @property
    def simulation(self) -> Simulation:
        """What runs."""
        return self.session.simulation

    @property
    def elements(self) -> Elements:
        """The joints and actuators of the running world; made once per world."""
        world = self.simulation.world
        if self._elements is None or self._elements[0] is not world:
            self._elements = (world, Elements(world))
        return self._elements[1]

    def attempt(self, edit: Callable[[], Any], field: str = "") -> bool:
        """Run an edit; a refusal is shown in the console, and at a field if one is named.

        Returns:
            Whether it was done.
        """
        try:
            edit()
        except MjrigError as error:
            if field:
                self.problems[field] = error_text(error)
            self.console.fail(error_text(error))
            return False
        except Exception as error:
            self.console.fail(described(error), traceback.format_exc())
            return False
        self.problems.pop(field, None)
        return True

    def open(self, scene: Scene) -> None:
        """Put another scene in place of this one; the simulation starts over, paused.

        Raises:
            MjrigError: its world cannot be built; this one stays.
        """
        simulation = self.simulation
        world = World(scene)
        simulation.pause()
        simulation.replace(world, lambda old, new: None)
        self.session = Session(scene, simulation)
        self.selection.clear()
        self.problems.clear()

    def hear_events(self) -> None:
        """Log events of the running world to the console; once per frame."""
        self._teller.tell(self.simulation.take_events())

    # Objects ------------------------------------------------------------------------------------

    def described(self, path: str) -> HasProperties | None:
        """The object of the scene a selection path means; None if it is gone or no such thing."""
        return self.scene if path == SCENE else existing(self.scene, path)

    def why_not_edited(self, name: str) -> str:
        """Why an actor of the world cannot be edited here; empty if it can, or is none."""
        if any(actor.name == name for actor in self.scene.actors):
            return ""
        for placed in self.simulation.world.placements.actors:
            if placed.name == name and placed.scene is not self.scene:
                return tr(
                    "{name} comes from the included file {path}: edit it there",
                    name=name,
                    path=placed.scene.path,
                )
            if placed.name == name:
                return tr(
                    "{name} is a copy of {original}: edit that one",
                    name=name,
                    original=placed.original.name,
                )
        return ""

    def live(self, path: str) -> HasProperties | None:
        """The running counterpart of a described object: only its arrays may be read."""
        return existing(self.simulation.world, path)

    def selected(self, kind: type[HasProperties] = HasProperties) -> Sequence[HasProperties]:
        """The described objects of the selection that are of a kind."""
        found = [self.described(path) for path in self.selection.paths]
        return [obj for obj in found if isinstance(obj, kind)]

    @property
    def title(self) -> str:
        """For the window's title bar."""
        path = self.scene.path
        name = path.name if isinstance(path, Path) else "untitled"
        return f"{'*' if self.session.is_dirty else ''}{name} - mjrig"
