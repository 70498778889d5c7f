"""Random scene files: comments everywhere, anchors, merges, brackets, CRLF, byte order marks."""

import random
from dataclasses import dataclass, field
from typing import Any

from mjrig.core.yaml_text.formatting import format_flow

MODELS = 12
#: Names that actors have or get: few, so that names are used again.
NAMES = ("ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal")
FRAMES = ("dock", "gate", "hall", "isle")
#: What the mark of a frame begins with.
FRAME = "frame "

Keys = tuple[str, ...]


@dataclass
class SceneSource:
    """A scene file, and to which items and keys its comments belong."""

    text: str = ""
    #: Comment → (model or size of the actor, kv of the component, keys), each empty if it is about
    #: something outside.
    comments: dict[str, tuple[str, str, Keys]] = field(default_factory=dict)
    #: Model or size of an actor → its lines.
    actors: dict[str, str] = field(default_factory=dict)


class SceneWriter:
    """Writes one random scene file."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self.source = rng, SceneSource()
        self._number = 0
        self._anchors: dict[str, list[str]] = {}

    def write(self) -> SceneSource:
        """The scene file."""
        rng = self._rng
        lines = [self._line("mjrig: 1", keys=("mjrig",))]
        if rng.random() < 0.5:
            lines.append(self._line("vars: {stiff: 20, far: [1, 2, 3]}", keys=("vars",)))
            self._anchors["variable"] = ["${stiff}"]
        if rng.random() < 0.5:
            lines += [
                self._line("sim:", keys=("sim",)),
                self._line("  timestep: 0.002", keys=("sim", "timestep")),
            ]
        if rng.random() < 0.3:
            lines.append(self._line("seed: 4", keys=("seed",)))
        frames = self._frames() if rng.random() < 0.5 else []
        is_last = rng.random() < 0.5
        lines += [] if is_last else frames
        names = rng.sample(NAMES, rng.randint(2, 5))
        in_brackets = rng.random() < 0.2
        lines.append(self._line("actors: [" if in_brackets else "actors:", keys=("actors",)))
        pad = rng.choice(("  ", "", "    "))
        for i, name in enumerate(names):
            if in_brackets:
                lines += self._actor_in_brackets(name, i, is_last=i + 1 == len(names))
            else:
                lines += self._actor(name, i, pad)
        if in_brackets:
            lines.append("]")
        lines += frames if is_last else []
        text = "\n".join(lines) + rng.choice(("\n", "\n", "\n\n", ""))
        if rng.random() < 0.3:
            text = text.replace("\n", "\r\n")
        self.source.text = ("\ufeff" if rng.random() < 0.3 else "") + text
        return self.source

    # Lines --------------------------------------------------------------------------------------

    def _comment(self, actor: str = "", part: str = "", keys: Keys = ()) -> str:
        self._number += 1
        comment = f"# note {self._number};"
        self.source.comments[comment] = (actor, part, keys)
        return comment

    def _line(self, text: str, actor: str = "", part: str = "", keys: Keys = ()) -> str:
        """A line, perhaps with a comment."""
        if self._rng.random() < 0.5:
            return f"{text}{' ' * self._rng.randint(1, 3)}{self._comment(actor, part, keys)}"
        return text

    def _above(self, pad: str, actor: str, part: str = "", keys: Keys = ()) -> list[str]:
        """Perhaps a comment of its own line, or a blank line."""
        draw = self._rng.random()
        if draw < 0.25:
            return [pad + self._comment(actor, part, keys)]
        return [""] if draw < 0.35 else []

    # Frames -------------------------------------------------------------------------------------

    def _frames(self) -> list[str]:
        lines = [self._line("frames:", keys=("frames",))]
        for i, name in enumerate(self._rng.sample(FRAMES, self._rng.randint(1, 3))):
            mark = f"{FRAME}{i + 1}"
            lines += self._above("  ", mark)
            if self._rng.random() < 0.5:
                lines.append(self._line(f"  - {{name: {name}, position: [0, 0, {i + 1}]}}", mark))
                continue
            lines.append(self._line(f"  - name: {name}", mark, keys=("name",)))
            position = f"    position: [0, 0, {i + 1}]"
            lines.append(self._line(position, mark, keys=("position",)))
        return lines

    # Actors -------------------------------------------------------------------------------------

    def _mark(self, index: int) -> tuple[str, str]:
        """What nobody edits, and how it is written: it identifies the actor."""
        if self._rng.random() < 0.5:
            return f"m{index}.xml", f"model: m{index}.xml"
        size = 0.5 + index
        return str(size), f"prop: {{type: BoxProp, size: [0.1, 0.2, {size}]}}"

    def _actor_in_brackets(self, name: str, index: int, *, is_last: bool) -> list[str]:
        mark, written = self._mark(index)
        pose = f", pose: {self._shared('pose', self._pose())}" if self._rng.random() < 0.7 else ""
        text = f"{{name: {name}, {written}{pose}}}"
        self.source.actors[mark] = text
        comma = "" if is_last and self._rng.random() < 0.7 else ","
        return [*self._above("  ", mark), self._line(f"  {text}{comma}", mark)]

    def _actor(self, name: str, index: int, pad: str) -> list[str]:
        rng = self._rng
        mark, written = self._mark(index)
        if rng.random() < 0.15:
            text = f"{pad}- {{name: {name}, {written}}}"
            self.source.actors[mark] = text
            return [*self._above(pad, mark), self._line(text, mark)]
        inner = pad + "  "
        above = self._above(pad, mark)
        lines = [self._line(f"{pad}- name: {name}", mark, keys=("name",))]
        key = written.partition(":")[0]
        lines += [
            *self._above(inner, mark, keys=(key,)),
            self._line(inner + written, mark, keys=(key,)),
        ]
        if rng.random() < 0.7:
            lines += self._above(inner, mark, keys=("pose",)) + self._pose_lines(mark, inner)
        if key == "model" and rng.random() < 0.8:
            lines += self._components(mark, inner)
        if rng.random() < 0.3:
            lines.append(inner + self._comment(mark))
        self.source.actors[mark] = "\n".join(lines)
        return [*above, *lines]

    def _pose(self) -> str:
        return format_flow({"position": [self._rng.randint(0, 9), 0, 1]})

    def _pose_lines(self, mark: str, pad: str) -> list[str]:
        if self._rng.random() < 0.5:
            return [
                self._line(f"{pad}pose: {self._shared('pose', self._pose())}", mark, keys=("pose",))
            ]
        anchor = f" {self._anchor('pose')}" if self._rng.random() < 0.4 else ""
        lines = [self._line(f"{pad}pose:{anchor}", mark, keys=("pose",))]
        if "pose" in self._anchors and not anchor and self._rng.random() < 0.4:
            merged = f"{pad}  <<: *{self._rng.choice(self._anchors['pose'])}"
            lines.append(self._line(merged, mark, keys=("pose",)))
        if anchor:
            self._anchors.setdefault("pose", []).append(anchor.strip(" &"))
        position = f"{pad}  position: [{self._rng.randint(0, 9)}, 0, 2]"
        return [*lines, self._line(position, mark, keys=("pose", "position"))]

    def _components(self, mark: str, pad: str) -> list[str]:
        rng = self._rng
        if "components" in self._anchors and rng.random() < 0.3:
            name = rng.choice(self._anchors["components"])
            return [self._line(f"{pad}components: *{name}", mark, keys=("components",))]
        anchor = self._anchor("components") if rng.random() < 0.25 else ""
        line = f"{pad}components: {anchor}".rstrip()
        lines = [self._line(line, mark, keys=("components",))]
        for _ in range(rng.randint(1, 3)):
            lines += self._component(mark, pad + "  ")
        if anchor:
            self._anchors.setdefault("components", []).append(anchor[1:])
        return lines

    def _component(self, mark: str, pad: str) -> list[str]:
        rng = self._rng
        self._number += 1
        part = str(self._number)
        kp = rng.choice(
            [*map(str, (10, 20.5)), *(f'"{v}"' for v in self._anchors.get("variable", ()))]
        )
        above = self._above(pad, mark, part)
        if rng.random() < 0.5:
            merge = ""
            if "part" in self._anchors and rng.random() < 0.4:
                merge = f"<<: *{rng.choice(self._anchors['part'])}, "
            text = f"{{{merge}type: PDController, kv: {part}, kp: {kp}}}"
            if not merge and rng.random() < 0.4:
                anchor = self._anchor("part")
                self._anchors.setdefault("part", []).append(anchor[1:])
                text = f"{anchor} {text}"
            return [*above, self._line(f"{pad}- {text}", mark, part)]
        lines = [
            self._line(f"{pad}- type: PDController", mark, part),
            self._line(f"{pad}  kv: {part}", mark, part, ("kv",)),
            self._line(f"{pad}  kp: {kp}", mark, part, ("kp",)),
        ]
        if rng.random() < 0.4:
            delay = f"{pad}  delay: {self._shared('delay', '{steps: 1}')}"
            lines.append(self._line(delay, mark, part, ("delay",)))
        if rng.random() < 0.3:
            lines.append(f"{pad}  {self._comment(mark, part)}")
        return [*above, *lines]

    # Anchors ------------------------------------------------------------------------------------

    def _anchor(self, kind: str) -> str:
        self._number += 1
        return f"&{kind}{self._number}"

    def _shared(self, kind: str, value: str) -> str:
        """A value, perhaps with an anchor; or an alias of an earlier one."""
        draw = self._rng.random()
        if kind in self._anchors and draw < 0.4:
            return f"*{self._rng.choice(self._anchors[kind])}"
        if draw < 0.7:
            anchor = self._anchor(kind)
            self._anchors.setdefault(kind, []).append(anchor[1:])
            return f"{anchor} {value}"
        return value


def item_marked(data: Any, mark: str) -> Any:
    """The data of the actor or frame of a mark; None: it is not there."""
    if mark.startswith(FRAME):
        frames = data.get("frames", ())
        return next((f for f in frames if FRAME + str(f["position"][-1]) == mark), None)
    return next((a for a in data["actors"] if actor_mark(a) == mark), None)


def actor_mark(data: dict[str, Any]) -> str:
    """What identifies an actor whatever its name is; empty for one that was added later."""
    return data["model"] if "model" in data else str(data["prop"].get("size", [""])[-1])
