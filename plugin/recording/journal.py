"""Journal of live edits during a recording, and the gains they led to."""

from collections.abc import Callable, Sequence
from typing import Any

from mjrig.control.articulation import Articulation
from mjrig.properties.has_properties import HasProperties
from mjrig.recording.description import authored_gains_of, gains_of
from mjrig.recording.values import plain, to_json


class Journal:
    """Watches the components of some robots.

    Args:
        robots: whose components.
        on_edit: called when a property changed.
    """

    def __init__(self, robots: Sequence[Articulation], on_edit: Callable[[], None]) -> None:
        self._robots, self._on_edit = robots, on_edit
        self._edits: list[tuple[HasProperties, str]] = []
        self._components: list[HasProperties] = []
        self._unwatch: list[Callable[[], None]] = []
        # What is in force at the first step and is not the robot's own is the first change.
        self._gains = {r.name: authored_gains_of(r) for r in robots}
        self._watch()

    def close(self) -> None:
        """Stop watching."""
        for stop_watching in self._unwatch:
            stop_watching()
        self._unwatch = []

    def news(self) -> list[dict[str, object]]:
        """Changes since the last call: components, properties as authored, gains in force."""
        entries: list[dict[str, object]] = []
        if [c for robot in self._robots for c in robot.components] != self._components:
            self._watch()
            labels = {r.name: [c.label for c in r.components] for r in self._robots}
            entries.append({"components": labels})
        edits, self._edits = self._edits, []
        written = {f"{obj.label}.{name}": obj.to_data().get(name) for obj, name in edits}
        entries += [{"path": path, "value": plain(value)} for path, value in written.items()]
        gains = self._all_gains()
        for name, now in gains.items():
            if now != self._gains[name]:
                entries.append({"actor": name, "gains": now})
        self._gains = gains
        return entries

    def _watch(self) -> None:
        self.close()
        self._components = [c for robot in self._robots for c in robot.components]
        self._unwatch = [component.watch(self._note) for component in self._components]

    def _note(self, obj: HasProperties, names: tuple[str, ...]) -> None:
        self._edits += [(obj, name) for name in names]
        self._on_edit()

    def _all_gains(self) -> dict[str, dict[str, list[Any]]]:
        return {r.name: {n: to_json(v) for n, v in gains_of(r).items()} for r in self._robots}
