"""Files of a training: env.yaml, agent.yaml and IO_descriptors.yaml.

env.yaml of Isaac Lab (manager-based and Direct) and of mjlab answers one set of questions.
IO descriptors hold names, order and defaults of a training, resolved.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mjrig.components.importers.isaac.actions import ActionTerm, described_action
from mjrig.components.importers.isaac.actuator_groups import ActuatorGroup, GroupKind
from mjrig.components.importers.isaac.joint_order import TreeOrder
from mjrig.components.importers.isaac.observations import (
    UPRIGHT,
    ObservedTerm,
    described_term,
    observed_term,
    placement,
)
from mjrig.components.importers.isaac.patterns import (
    Values,
    bounds,
    flat_numbers,
    matching,
    per_name,
    python_name,
)
from mjrig.components.importers.sources.vendor_file import VendorEntry, VendorFile
from mjrig.core.errors import SceneError
from mjrig.core.names import listed

# Env file -----------------------------------------------------------------------------------------

#: Keys of an observation group that are no terms.
_GROUP = ("concatenate_terms", "concatenate_dim", "enable_corruption", "history_length",
          "flatten_history_dim", "nan_policy", "nan_check_per_term")  # fmt: skip
_HEADING = "in training the yaw rate followed a heading: 0.5 · (heading error), inside of its range"
_VELOCITY = {"lin_vel_x": "vx", "lin_vel_y": "vy", "ang_vel_z": "wz"}
#: Widths of commands that are no velocities, by class.
_COMMANDS = {
    "UniformPose2dCommand": ("x", "y", "z", "heading"),
    "TerrainBasedPose2dCommand": ("x", "y", "z", "heading"),
    "UniformPoseCommand": ("x", "y", "z", "qw", "qx", "qy", "qz"),
}
#: Options of MuJoCo that env.yaml of mjlab and of Isaac Lab with Newton have under their own names.
_OPTIONS = ("cone", "impratio", "iterations", "ls_iterations", "tolerance", "ls_tolerance",
            "integrator")  # fmt: skip


class EnvFile:
    """env.yaml of Isaac Lab."""

    stack = "isaac_lab"

    def __init__(self, config: VendorFile) -> None:
        self.config, self.root = config, config.root
        self.name = config.path.name

    # Time and solver ----------------------------------------------------------------------------

    @property
    def timestep(self) -> float:
        """Physics timestep [s]."""
        return self.root.at("sim").number("dt", above=0.0)

    @property
    def decimation(self) -> int:
        """Physics steps per tick."""
        return self.root.whole("decimation")

    @property
    def newton(self) -> VendorEntry | None:
        """Settings of the Newton solver; None: PhysX."""
        for key in ("physics", "newton_cfg"):
            physics = self.root.at("sim").section(key)
            if physics is not None:
                _, kind = python_name(physics.text("class_type"))
                if "solver_cfg" in physics or "newton" in kind.lower():
                    return physics
        return None

    @property
    def order(self) -> TreeOrder:
        """How the simulator numbers joints."""
        return TreeOrder.BREADTH if self.newton is None else TreeOrder.DEPTH

    def options(self) -> dict[str, Any]:
        """Options of MuJoCo that the file sets."""
        newton = self.newton
        if newton is None or "solver_cfg" not in newton:
            return {}
        return _options(newton.at("solver_cfg"))

    @property
    def gravity(self) -> list[float] | None:
        """Gravity [m/s²], if it is there."""
        return self._gravity_in(self.root.at("sim"))

    def _gravity_in(self, entry: VendorEntry) -> list[float] | None:
        return entry.numbers("gravity", 3, "component") if "gravity" in entry else None

    @property
    def tick(self) -> float:
        """From one action to the next [s]."""
        return self.timestep * self.decimation

    # The robot ----------------------------------------------------------------------------------

    @property
    def robot_name(self) -> str:
        """Key of the robot."""
        return str(self.robot.path[-1])

    @property
    def robot(self) -> VendorEntry:
        """The articulation: `scene.robot`, the first articulation, or of a Direct task `robot`."""
        scene = self.root.at("scene")
        if "robot" in scene:
            return scene.at("robot")
        for where in (scene, self.root):
            for _, entry in where.entries():
                if isinstance(entry.data, dict) and _is_articulation(entry):
                    return entry
        raise scene.error("has no robot: no entry whose class_type is an Articulation")

    def groups(self) -> list[tuple[str, VendorEntry]]:
        """Actuator groups."""
        actuators = self.robot.at("actuators")
        return list(actuators.entries())

    @property
    def xyzw(self) -> bool:
        """Whether quaternions are x, y, z, w: from 3.0 on; identity tells."""
        state = self.robot.at("init_state")
        turn = state.numbers("rot", 4, "component", default=UPRIGHT)
        if turn in ([1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]):
            return turn[3] == 1.0
        return "physics" in self.root.at("sim")

    def base(self) -> tuple[list[float], list[float]]:
        """Initial position and quaternion (wxyz) of the base."""
        state = self.robot.at("init_state")
        position, turn = placement(state, self.xyzw)
        size = math.sqrt(sum(v * v for v in turn))
        if not size > 0.1:
            raise state.at("rot").error(f"is no quaternion: {turn}")
        return position, [v / size for v in turn] if abs(size - 1.0) > 1e-6 else turn

    def moving(self) -> list[str]:
        """Initial velocities that are not zero."""
        state, found = self.robot.at("init_state"), []
        for key in ("lin_vel", "ang_vel"):
            if key in state and any(state.numbers(key, 3, "component")):
                found.append(f"{key} {state.at(key).data}")
        if "joint_vel" in state:
            entry = state.at("joint_vel")
            values = entry.data.values() if isinstance(entry.data, dict) else [entry.data]
            found += ["joint_vel"] if any(v not in (0, 0.0, None) for v in values) else []
        return found

    def default(self, joints: Sequence[str], unmatched: list[str]) -> dict[str, float]:
        """Default positions; a joint that no pattern names is at 0."""
        state = self.robot.at("init_state")
        if "joint_pos" not in state:
            return dict.fromkeys(joints, 0.0)
        values = per_name(state.at("joint_pos"), joints, unmatched)
        return {j: 0.0 if v is None else v for j, v in zip(joints, values, strict=True)}

    def knows(self, names: Sequence[str]) -> bool:
        """Whether the patterns of the file match some of these names."""
        return any(matching(entry, text, names) for entry, text in self._patterns() if text != ".*")

    def _patterns(self) -> Iterator[tuple[VendorEntry, object]]:
        """Patterns of joints: of actuators, actions and the default pose."""
        entries = [entry for _, entry in self.groups()]
        if self.root.section("actions") is not None:
            entries += [entry for _, entry in self.actions()]
        keys = ("joint_names_expr", "target_names_expr", "joint_names", "actuator_names")
        for entry in entries:
            for key in keys:
                if key in entry:
                    yield from ((entry.at(key), e.data) for e in entry.at(key).one_or_more())
        state = self.robot.at("init_state")
        pose = state.section("joint_pos")
        yield from ((state, key) for key in pose.mapping()) if pose is not None else ()

    @property
    def soft_limit(self) -> float:
        """Share of a joint's range that is inside of its soft limits."""
        return self.robot.number("soft_joint_pos_limit_factor", 1.0, above=0.0)

    # Observations and actions -------------------------------------------------------------------

    @property
    def is_direct(self) -> bool:
        """Whether the observation is in code: the Direct workflow."""
        return "observations" not in self.root

    def observed(self, groups: Sequence[str]) -> list[ObservedTerm]:
        """The terms of the policy's groups, in order.

        Args:
            groups: names by agent.yaml; none: the usual one.

        Raises:
            SceneError: there is no such group, or it has what cannot be expressed.
        """
        there = self.root.at("observations")
        names = list(groups) or [self._usual_group(there)]
        found: list[ObservedTerm] = []
        for name in names:
            found += [replace(term, group=name) for term in self._group(there.at(name))]
        if not found:
            raise there.error(f"the groups {listed(names)} have no terms")
        return found

    def _usual_group(self, there: VendorEntry) -> str:
        for name in ("policy", "actor"):
            if name in there:
                return name
        others = [n for n, e in there.entries() if e.data is not None and n != "critic"]
        if len(others) == 1:
            return others[0]
        raise there.error(
            f"has no group 'policy': which of {listed(there.mapping())} is the policy's? "
            "agent.yaml (obs_groups) says it; give it too"
        )

    def _group(self, group: VendorEntry) -> list[ObservedTerm]:
        data = group.mapping()
        if data.get("concatenate_terms") is False:
            raise group.error("concatenate_terms is false: the network takes several inputs")
        if data.get("concatenate_dim", -1) not in (-1, None):
            raise group.error(f"concatenate_dim is {data['concatenate_dim']}; known is -1")
        history = None
        if "history_length" in group:
            history = int(group.number("history_length"))
        flat = data.get("flatten_history_dim") if history is not None else None
        return [
            observed_term(name, entry, history, flat)
            for name, entry in self._terms(group)
            if entry.data is not None
        ]

    def _terms(self, group: VendorEntry) -> Iterator[tuple[str, VendorEntry]]:
        for name, entry in group.entries():
            if name not in _GROUP and (isinstance(entry.data, dict) or entry.data is None):
                yield name, entry

    def actions(self) -> list[tuple[str, VendorEntry]]:
        """The action terms."""
        return list(self.root.at("actions").entries())

    def sensor(self, name: str) -> VendorEntry | None:
        """A sensor of the scene by name."""
        return self.root.at("scene").get(name) if name else None

    # Commands -----------------------------------------------------------------------------------

    def commands(self) -> dict[str, list[str]]:
        """Names of the values of each command; none where its class is not known."""
        commands = self.root.get("commands")
        entries = commands.entries() if commands is not None else ()
        return {name: self._values(e) for name, e in entries if isinstance(e.data, dict)}

    def _values(self, entry: VendorEntry) -> list[str]:
        _, kind = python_name(entry.text("class_type"))
        if kind in _COMMANDS:
            return list(_COMMANDS[kind])
        return [_VELOCITY.get(key, key) for key in _velocities(entry)]

    def command(self, name: str, notes: list[str]) -> dict[str, Any]:
        """`command` of policy.yaml for a command of the file; `notes` get what it followed."""
        if not name:
            return {}
        entry = self.root.at("commands").at(name)
        command: dict[str, Any] = {"names": self.commands()[name]}
        keys = _velocities(entry)
        if keys and all(key in entry.at("ranges") for key in keys):
            command["ranges"] = [bounds(entry.at("ranges").at(key)) for key in keys]
        if entry.flag("heading_command"):
            notes.append(_HEADING)
        return command

    # What is not imported -----------------------------------------------------------------------

    def left_out(self) -> Iterator[str]:
        """What of the training has no place in the import, as text."""
        terrain = self.root.at("scene").get("terrain") or self.root
        if terrain.text("terrain_type") == "generator":
            yield "the terrain generator: the ground is that of the model"
        events = self.root.section("events")
        if events is not None:
            names = [name for name, entry in events.entries() if entry.data is not None]
            if names:
                yield f"randomisation ({listed(names)})"


class MjlabEnvFile(EnvFile):
    """env.yaml of mjlab."""

    stack = "mjlab"

    @property
    def timestep(self) -> float:
        return self.root.at("sim").at("mujoco").number("timestep", above=0.0)

    @property
    def order(self) -> TreeOrder:
        return TreeOrder.DEPTH

    def options(self) -> dict[str, Any]:
        return _options(self.root.at("sim").at("mujoco"))

    @property
    def gravity(self) -> list[float] | None:
        return self._gravity_in(self.root.at("sim").at("mujoco"))

    @property
    def robot(self) -> VendorEntry:
        entities = self.root.at("scene").at("entities")
        if "robot" in entities:
            return entities.at("robot")
        for _, entry in entities.entries():
            if isinstance(entry.data, dict) and "articulation" in entry:
                return entry
        raise entities.error("has no robot: no entity with an articulation")

    def groups(self) -> list[tuple[str, VendorEntry]]:
        actuators = self.robot.at("articulation").at("actuators")
        return [(str(i + 1), entry) for i, entry in enumerate(actuators.items())]

    @property
    def xyzw(self) -> bool:
        return False

    @property
    def soft_limit(self) -> float:
        return self.robot.at("articulation").number("soft_joint_pos_limit_factor", 1.0, above=0.0)

    def _usual_group(self, there: VendorEntry) -> str:
        return "actor" if "actor" in there else super()._usual_group(there)

    def _terms(self, group: VendorEntry) -> Iterator[tuple[str, VendorEntry]]:
        return super()._terms(group.at("terms") if "terms" in group else group)

    def sensor(self, name: str) -> VendorEntry | None:
        sensors = self.root.at("scene").get("sensors")
        entries = (e for e in sensors.items() if isinstance(e.data, dict)) if sensors else ()
        return next((entry for entry in entries if entry.text("name") == name), None)


def _options(entry: VendorEntry) -> dict[str, Any]:
    found = {}
    for key in _OPTIONS:
        if key in entry:
            value: Any = entry.at(key).data
            found[key] = value if isinstance(value, str) and key in _WORDS else entry.number(key)
            if key in ("iterations", "ls_iterations"):
                found[key] = int(found[key])
    return found


_WORDS = ("cone", "integrator")


def _velocities(command: VendorEntry) -> list[str]:
    """Keys of the ranges of a velocity command, in its order; none: it is of another kind."""
    ranges = command.get("ranges")
    keys = [key for key in ranges.mapping() if key != "heading"] if ranges is not None else []
    return keys if set(_VELOCITY) <= set(keys) else []


def _is_articulation(entry: VendorEntry) -> bool:
    return python_name(entry.text("class_type"))[1] == "Articulation"


def env_of(config: VendorFile) -> EnvFile | None:
    """The file as env.yaml of a stack; None: it is not one."""
    if not config.has("sim", "scene", "decimation"):
        return None
    data: Any = config.data
    scene, sim = data["scene"], data["sim"]
    if not isinstance(scene, dict) or not isinstance(sim, dict):
        return None
    if "entities" in scene or "mujoco" in sim:
        return MjlabEnvFile(config)
    return EnvFile(config)


def env_in(configs: Sequence[VendorFile]) -> EnvFile | None:
    """The env.yaml among some files.

    Raises:
        SceneError: there are two.
    """
    found = [env for env in map(env_of, configs) if env is not None]
    if len(found) > 1:
        names = listed([str(env.config.path) for env in found])
        raise SceneError(f"one run has one env.yaml, got {names}")
    return found[0] if found else None


# Agent file ---------------------------------------------------------------------------------------

AGENT_KEYS = ("algorithm", "num_steps_per_env")


@dataclass(frozen=True)
class AgentFile:
    """What matters of agent.yaml.

    Attributes:
        groups: observation groups of the policy, in order; none: the usual one.
        clip: bound of the actions; None: none.
        normalised: whether the observation is normalised; None: not stated.
        recurrent: whether the network has a memory.
    """

    file: str = ""
    groups: tuple[str, ...] = ()
    clip: float | None = None
    normalised: bool | None = None
    recurrent: bool = False


def agent_in(configs: Sequence[VendorFile]) -> AgentFile:
    """The agent.yaml among some files; an empty one where there is none.

    Raises:
        SceneError: a value is wrong.
    """
    for config in configs:
        if config.has(*AGENT_KEYS) or config.has("clip_actions", "policy"):
            return _read(config.path.name, config.root)
    return AgentFile()


def _read(file: str, root: VendorEntry) -> AgentFile:
    clip = root.number("clip_actions", above=0.0) if "clip_actions" in root else None
    policy = root.section("policy" if "policy" in root else "actor")
    flags, recurrent = [root.flag("empirical_normalization")], False
    if policy is not None:
        flags += [policy.flag(k) for k in ("actor_obs_normalization", "obs_normalization")]
        recurrent = "Recurrent" in policy.text("class_name") or "rnn_type" in policy
    stated = [flag for flag in flags if flag is not None]
    groups = root.section("obs_groups")
    key = next((k for k in ("policy", "actor") if groups is not None and k in groups), "")
    return AgentFile(
        file,
        tuple(groups.texts(key)) if groups is not None and key else (),
        clip,
        any(stated) if stated else None,
        recurrent,
    )


# Descriptors --------------------------------------------------------------------------------------

DESCRIPTOR_KEYS = ("articulations", "observations", "actions")


class DescriptorFile:
    """IO_descriptors.yaml of Isaac Lab: answers as an `EnvFile` does, as far as it can."""

    stack = "isaac_lab"
    robot_name = "robot"
    is_direct = xyzw = False
    gravity = None

    def __init__(self, config: VendorFile) -> None:
        self.config, self.root, self.name = config, config.root, config.path.name
        robots = self.root.at("articulations")
        key = "robot" if "robot" in robots else next(iter(robots.mapping()), "robot")
        self.robot = robots.at(key)
        self.joints = tuple(self.robot.texts("joint_names", distinct=True))

    def values(self, key: str) -> dict[str, float]:
        """`default_joint_pos` and others by joint; none: not in the file."""
        if key not in self.robot:
            return {}
        found = flat_numbers(self.robot.at(key), len(self.joints))
        return dict(zip(self.joints, found, strict=True))

    @property
    def timestep(self) -> float:
        """Physics timestep [s]."""
        return self.root.at("scene").number("physics_dt", above=0.0)

    @property
    def tick(self) -> float:
        """From one action to the next [s]."""
        return self.root.at("scene").number("dt", above=0.0)

    def group(self) -> ActuatorGroup:
        """Every joint with gains as an implicit actuator; its limits are the model's."""
        kp, kd, armature = (
            self.values(f"default_joint_{key}") for key in ("stiffness", "damping", "armature")
        )
        joints = tuple(j for j in self.joints if kp.get(j) or kd.get(j))
        absent: Values = [None] * len(joints)
        return ActuatorGroup(
            name="descriptors",
            kind=GroupKind.IMPLICIT,
            entry=self.robot,
            joints=joints,
            kp=[kp.get(j, 0.0) for j in joints],
            kd=[kd.get(j, 0.0) for j in joints],
            effort=absent,
            saturation=absent,
            speed=absent,
            armature=[armature.get(j) for j in joints],
            viscous=absent,
            dynamic=absent,
        )

    def options(self) -> dict[str, Any]:
        """None of the simulation's options are in the file."""
        return {}

    def base(self) -> None:
        """The file has no initial pose."""

    def sensor(self, name: str) -> None:
        """The file has no sensors."""

    def commands(self) -> dict[str, list[str]]:
        """The names of commands are not in the file."""
        return {}

    def command(self, name: str, notes: list[str]) -> dict[str, Any]:
        """`command` of policy.yaml: only the number of its values is in the file."""
        sizes = [t.size or 3 for t in self.observed(())
                 if t.function == "generated_commands" or t.kind == "Command"]  # fmt: skip
        if not sizes:
            return {}
        more = [f"value {i + 1}" for i in range(3, sizes[0])]
        return {"names": ["vx", "vy", "wz", *more][: sizes[0]]}

    def observed(self, groups: Sequence[str]) -> list[ObservedTerm]:
        """The terms of the policy that the exporter described: it leaves some out."""
        terms = self.root.at("observations")
        if not isinstance(terms.data, list):
            usual = next(iter(terms.mapping()), "")
            terms = terms.at(next((k for k in ("policy", "actor") if k in terms), usual))
        return [described_term(entry) for entry in terms.items()]

    def actions(self) -> list[ActionTerm]:
        """The action terms."""
        found = list(self._actions())
        if not found:
            raise self.root.at("actions").error("is empty: nothing says what the network commands")
        return found

    def _actions(self) -> Iterator[ActionTerm]:
        entry = self.root.at("actions")
        items: list[VendorEntry] = (
            [e for _, e in entry.entries()] if isinstance(entry.data, dict) else entry.items()
        )
        for i, item in enumerate(items):
            yield described_action(item.text("name", str(i)), item, self.joints)


def descriptors_in(configs: Sequence[VendorFile]) -> DescriptorFile | None:
    """The descriptors among some files.

    Raises:
        SceneError: there are two, or a value is wrong.
    """
    found = [config for config in configs if config.has(*DESCRIPTOR_KEYS)]
    if len(found) > 1:
        raise SceneError(
            f"one run has one list of descriptors, got {found[0].path}, {found[1].path}"
        )
    return DescriptorFile(found[0]) if found else None
