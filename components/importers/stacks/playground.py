"""mujoco_playground: a bare network. Its settings are in code; bundled templates replace a file.

Which template it is follows from the sensors and sites the model has and from the size of the
observation; gains and limits are the model's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mjrig.components.importers.sources.found import Begin, FoundPolicy, Term, ValueOrder
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import NetworkFile, PolicySource
from mjrig.errors import SceneError
from mjrig.names import listed
from mjrig.yaml_text.yaml_document import Document


@dataclass(frozen=True)
class Template:
    """A layout of observations, and what a model needs for it."""

    name: str
    data: dict[str, Any]

    def terms(self, robot: Robot, count: int) -> list[Term]:
        """The terms for a robot: its names, its number of joints."""
        found = []
        for item in self.data["observation"]:
            data = {k: self._name(k, v, robot) for k, v in item.items() if k != "size"}
            found.append(Term(data, count if item["size"] == "joints" else int(item["size"])))
        return found

    def _name(self, key: str, value: Any, robot: Robot) -> Any:
        """`gyro_pelvis|gyro`: the first the model has."""
        if key not in ("sensor", "site", "other", "minus"):
            return value
        return _first(value, robot.sites if key == "site" else robot.sensors) or value

    def keyframe(self, robot: Robot) -> str:
        """The keyframe whose joints are the default pose."""
        return _first(self.data["needs"]["keyframe"], robot.articulation.keyframes)

    def lacks(self, robot: Robot) -> list[str]:
        """What the model lacks for it."""
        needs = self.data["needs"]
        lacking = [f"sensor {n}" for n in needs["sensors"] if not _first(n, robot.sensors)]
        lacking += [f"site {n}" for n in needs["sites"] if not _first(n, robot.sites)]
        if not self.keyframe(robot):
            lacking.append(f"keyframe {needs['keyframe']}")
        if (needs["base"] == "free") != bool(robot.base):
            lacking.append("a floating base" if needs["base"] == "free" else "a fixed base")
        if not robot.is_servo:
            lacking.append("position actuators")
        return lacking


def _first(choices: str, names: Sequence[str]) -> str:
    return next((c for c in choices.split("|") if c in names), "")


def templates() -> list[Template]:
    """Ours."""
    folder = files("mjrig.config").joinpath("policies")
    found = []
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.startswith("playground_") and file.name.endswith(".yaml"):
            data = Document(file.read_text(), file.name).data
            found.append(Template(file.name.removesuffix(".yaml"), data))
    return found


def recognises(source: PolicySource) -> bool:
    """A network alone, without metadata."""
    return not source.configs and source.network is not None


def read(source: PolicySource) -> FoundPolicy:
    """The template that fits, filled with the model's keyframe.

    Raises:
        SceneError: none fits.
    """
    network, robot = source.network, source.robot
    assert network is not None
    count = len(robot.motors)
    width, given = network.width(network.observation), network.width(network.action)
    if given is not None and given != count:
        raise SceneError(
            f"{network.path.name}: gives {given} actions, but {robot.label} has "
            f"{count} motors on joints. A policy for another robot?"
        )
    template = _fitting(network, robot, count, width)
    keyframe = template.keyframe(robot)
    data = template.data
    return FoundPolicy(
        stack="mujoco_playground",
        count=count,
        order=ValueOrder.MOTORS,
        motors=tuple(range(count)),
        timestep=data.get("timestep"),
        tick=float(data["tick"]),
        phase=data["phase"],
        default=_pose(robot, keyframe),
        terms=template.terms(robot, count),
        action=data["action"],
        command=data.get("command", {}),
        begin=Begin.KEYFRAME,
        keyframe=keyframe,
        size=width,
        notes=("gains and limits are those of the model's own actuators",),
        assumed=(
            f"there is no configuration: the layout {template.name} fits the model's sensors "
            f"and the size of the observation",
            f"the default pose is keyframe {keyframe!r}",
            "the network's joints are in the model's order",
        ),
    )


def _fitting(network: NetworkFile, robot: Robot, count: int, width: int | None) -> Template:
    problems = []
    for template in templates():
        lacking = template.lacks(robot)
        size = sum(t.length for t in template.terms(robot, count))
        if width is not None and width != size:
            lacking.append(f"an observation of {size}, the network takes {width}")
        if not lacking:
            return template
        problems.append(f"{template.name} needs {listed(lacking)}")
    raise SceneError(
        f"{network.path.name}: has no metadata, no configuration was given, and no layout of "
        f"mujoco_playground fits {robot.label}: {'; '.join(problems)}. "
        "Write a policy.yaml for it (docs/policies.md), or give the configuration too"
    )


def _pose(robot: Robot, keyframe: str) -> list[float]:
    """Joint positions of a keyframe, in actuator order."""
    where = robot.articulation.model_map
    places = {int(address): i for i, address in enumerate(where.qpos)}
    state = robot.articulation.keyframe(keyframe)
    found = {b.joint: float(state.qpos[places[b.qpos_address]]) for b in robot.driven}
    return [found[joint] for joint in robot.motors]
