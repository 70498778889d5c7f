"""mujoco_playground: a bare network. Its settings are in code; bundled templates replace a file.

Which template it is follows from the joints, sensors and sites the model has and from the size of
the observation, those of a robot before those of a kind; gains and limits are the model's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mjrig.components.importers.sources.joint_matching import known_robot
from mjrig.components.importers.sources.overrides import Overrides
from mjrig.components.importers.sources.policy_description import Begin, FoundPolicy, Term
from mjrig.components.importers.sources.robot import Robot
from mjrig.components.importers.sources.source import NetworkFile, PolicySource
from mjrig.core.errors import SceneError, Wording, option
from mjrig.core.names import listed
from mjrig.core.yaml_text.yaml_document import Document


@dataclass(frozen=True)
class Template:
    """A layout of observations, and what a model needs for it."""

    name: str
    data: dict[str, Any]

    @property
    def robot(self) -> str:
        """The robot it is for; empty: any of its kind."""
        return str(self.data["robot"])

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
        """The keyframe whose joints are the default pose; empty: the model lacks it."""
        return _first(self.data["needs"]["keyframe"], robot.articulation.keyframes)

    def start(self, robot: Robot) -> str:
        """The keyframe a run starts in; empty: the model's own pose."""
        return _first(self.data.get("start", self.keyframe(robot)), robot.articulation.keyframes)

    def lacks(self, robot: Robot, overrides: Overrides) -> list[str]:
        """What the model lacks for it, whatever its joints are called if the user named it."""
        needs = self.data["needs"]
        named = [j for term in self.data["observation"] for j in term.get("zero", ())]
        joints = named if overrides.robot else needs["joints"]
        missing = next((j for j in joints if j not in robot.joints), "")
        if missing:
            return [f"the joint {missing}"]
        lacking = [f"sensor {n}" for n in needs["sensors"] if not _first(n, robot.sensors)]
        lacking += [f"site {n}" for n in needs["sites"] if not _first(n, robot.sites)]
        if not self.keyframe(robot) and not overrides.default:
            lacking.append(f"keyframe {needs['keyframe']} (or a default pose)")
        if (needs["base"] == "free") != bool(robot.base):
            lacking.append("a floating base" if needs["base"] == "free" else "a fixed base")
        if not robot.is_servo:
            lacking.append("position actuators")
        return lacking


def _first(choices: str, names: Sequence[str]) -> str:
    return next((c for c in choices.split("|") if c in names), "")


def templates(robot: str = "") -> list[Template]:
    """Ours: those of a robot before those of a kind; of a named robot only its own, if any."""
    folder = files("mjrig.config").joinpath("policies")
    found = []
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.startswith("playground_") and file.name.endswith(".yaml"):
            data = Document(file.read_text(), file.name).data
            found.append(Template(file.name.removesuffix(".yaml"), data))
    named = known_robot(robot) or robot.lower()
    own = [template for template in found if named and template.robot == named]
    if own:
        return own
    if named:
        return [template for template in found if not template.robot]
    return sorted(found, key=lambda template: not template.robot)


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
    template = _fitting(source, network, count, width)
    keyframe, start = template.keyframe(robot), template.start(robot)
    pose = robot.keyframe_pose(keyframe) if keyframe else dict.fromkeys(robot.motors, 0.0)
    data = template.data
    return FoundPolicy(
        stack="mujoco_playground",
        motors=tuple(range(count)),
        timestep=data.get("timestep"),
        tick=float(data["tick"]),
        phase=data["phase"],
        default=[pose[joint] for joint in robot.motors],
        terms=template.terms(robot, count),
        action=data["action"],
        command=data.get("command", {}),
        begin=Begin.KEYFRAME if start else Begin.RESET,
        keyframe=start,
        size=width,
        notes=("gains and limits are those of the model's own actuators", *data.get("notes", ())),
        assumed=_assumed(template, keyframe, start),
    )


def _assumed(template: Template, keyframe: str, start: str) -> tuple[Wording, ...]:
    """What no file states, each with the option that sets it."""
    whose = f"that of the robot {template.robot!r}" if template.robot else "that of its kind"
    texts = {
        "robot": f"there is no configuration: the layout {template.name}, {whose}, fits the "
        "model's joints, sensors and the size of the observation",
        "scale": f"the action scale is {template.data['action']['scale']:g}",
        "rate": f"the policy ticks at {1.0 / template.data['tick']:g} Hz",
        "default": f"the default pose is keyframe {keyframe!r}",
        "keyframe": f"a run starts in keyframe {start!r}"
        if start
        else "a run starts in the model's own pose",
        "joints": "the network's joints are in the model's order",
    }
    return tuple(f"{text} (" + option(name) + ")" for name, text in texts.items())


def _fitting(source: PolicySource, network: NetworkFile, count: int, width: int | None) -> Template:
    robot, problems = source.robot, []
    for template in templates(source.overrides.robot):
        lacking = template.lacks(robot, source.overrides)
        size = sum(t.length for t in template.terms(robot, count))
        if width is not None and width != size:
            lacking.append(f"an observation of {size}, the network takes {width}")
        if not lacking:
            return template
        problems.append(f"{template.name} needs {listed(lacking)}")
    raise SceneError(
        f"{network.path.name}: has no metadata, no configuration was given, and no layout of "
        f"mujoco_playground fits {robot.label}: {'; '.join(problems)}. "
        "Add its configuration, choose a layout with "
        + option("robot")
        + ", or write a policy.yaml for it (docs/policies.md)"
    )
