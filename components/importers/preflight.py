"""Pre-flight of an import: does the policy described by the files fit this robot?"""

from collections.abc import Iterator
from dataclasses import dataclass

from mjrig.check.finding import Finding, arranged, error, note, warning
from mjrig.components.importers.order_checks import about_order, by_name
from mjrig.components.importers.plant_checks import about_plant
from mjrig.components.importers.sources.found import Begin, FoundPolicy
from mjrig.components.importers.sources.matching import Matched, other_robot
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.writing import standing_height, timing
from mjrig.names import listed

#: Start farther from the default pose than this is reported [rad].
AWAY = 0.05
_BASE_TERMS = ("BaseAngularVelocity", "BaseLinearVelocity", "BaseOrientation", "ProjectedGravity")


@dataclass(frozen=True)
class PreflightCase:
    """The policy, network and robot to check."""

    source: PolicySource
    found: FoundPolicy
    matched: Matched

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.source.robot

    @property
    def pose(self) -> dict[str, float]:
        """The default pose by joint."""
        return dict(zip(self.matched.joints, self.found.default, strict=True))


def findings(case: PreflightCase) -> list[Finding]:
    """All findings, most severe first."""
    return arranged(_findings(case))


def _findings(case: PreflightCase) -> Iterator[Finding]:
    yield from _about_joints(case)
    confirmed = bool(case.source.said.robot)
    yield from about_order(case.found, case.matched, case.robot, confirmed=confirmed)
    yield from _about_observation(case)
    yield from _about_network(case)
    yield from _about_timing(case)
    yield from _about_start(case)
    yield from _about_actuators(case)
    yield from about_plant(case.found, case.matched, case.robot)
    if case.source.unnamed:
        names = listed(f"{path.parent.name}/{path.name}" for path in case.source.unnamed)
        yield note("beside", ACTOR, (), f"also read, as it lies beside what was given: {names}")
    for doubt in case.found.doubts:
        make = note if doubt.mild else warning
        yield make(doubt.code, ACTOR, (), doubt.text, doubt.fix)
    if case.found.gap:
        fix = "write its terms into policy.yaml, then add {type: Policy, file: policy.yaml}"
        yield warning("gap", ACTOR, (), f"the policy is not complete: {case.found.gap}", fix)
    for text in case.found.assumed:
        yield note("assumed", ACTOR, (), text)


def _about_joints(case: PreflightCase) -> Iterator[Finding]:
    said = case.source.said.robot
    named = other_robot(case.found, case.robot, said)
    if named:
        fix = "" if said else "--robot says which robot the model is"
        fits = "all its joints are there" if by_name(case.found) else "it has as many motors"
        yield warning("other-robot", ACTOR, (), f"{named}; {fits}", fix)
    for theirs, ours in case.matched.aliases.items():
        yield note("joint-alias", ACTOR, (ours,), f"is called {theirs!r} in the files")
    held = {case.robot.motors[h.motor] for h in case.found.held if h.motor < len(case.robot.motors)}
    extra = [j for j in case.matched.extra if j not in held]
    if extra:
        yield warning(
            "joint-extra",
            ACTOR,
            extra,
            "has a motor, but the policy does not move it: it holds its starting pose",
            "give it gains in the scene, or take a model without it",
        )


def _about_observation(case: PreflightCase) -> Iterator[Finding]:
    """Observation size: of the terms, of the files, and of the network."""
    found = case.found
    unknown = [t.data["type"] for t in found.terms if not t.size]
    if unknown:
        yield note(
            "observation-size",
            ACTOR,
            (),
            f"the size of {listed(unknown)} is only known at run time",
        )
        return
    built = found.observation_size
    parts = " + ".join(f"{t.data['type']} {t.length}" for t in found.terms)
    if found.size is not None and found.size != built:
        text = f"the files declare {found.size} values, the terms have {built}: {parts}"
        yield error("observation-size", ACTOR, (), text)
    for name in dict.fromkeys(("", *(str(t.data.get("input", "")) for t in found.terms))):
        yield from _about_input(case, name)
    for term in found.terms:
        yield from _about_names(case, dict(term.data))


def _about_input(case: PreflightCase, name: str) -> Iterator[Finding]:
    """The size of one input of the network; empty: the one that takes the observation."""
    network = case.source.network
    if network is None:
        return
    own = [t for t in case.found.terms if t.data.get("input", "") == name]
    if not name and not own and case.found.terms:
        return  # every input has terms of its own
    built = sum(t.length for t in own)
    takes = network.width(network.observation) if not name else network.values(name)
    if takes is not None and takes != built:
        parts = " + ".join(f"{t.data['type']} {t.length}" for t in own)
        of = f" as {name!r}" if name else ""
        text = f"{network.path.name} takes {takes} values{of}, the terms have {built}: {parts}"
        yield error("observation-size", ACTOR, (), text, "is it the network of this configuration?")


def _about_names(case: PreflightCase, data: dict[str, object]) -> Iterator[Finding]:
    robot = case.robot
    known = {"sensor": robot.sensors, "minus": robot.sensors, "other": robot.sensors,
             "site": robot.sites}  # fmt: skip
    named = {key: data[key] for key in known if data.get(key)}
    for key, name in named.items():
        if name not in known[key]:
            what = "site" if key == "site" else "sensor"
            yield error("missing-name", ACTOR, (), f"{data['type']} needs the {what} {name!r}")
    if data["type"] in _BASE_TERMS and not named and not robot.base:
        text = f"{data['type']} needs a floating base, and {robot.label} has none"
        yield error("no-base", ACTOR, (), text)


def _about_network(case: PreflightCase) -> Iterator[Finding]:
    network = case.source.network
    if network is None:
        return
    if network.onnx is None:
        text = f"{network.path.name} is TorchScript, which only torch can open: sizes not checked"
        yield note("torchscript", ACTOR, (), text, "an ONNX export needs no torch")
        return
    gives = network.width(network.action)
    if gives is not None and gives != case.found.count:
        text = f"{network.path.name} gives {gives} actions for {case.found.count} joints"
        yield error("action-size", ACTOR, (), text)
    recurrent = network.recurrent()
    special = {network.observation, *recurrent, case.found.network.get("time_step", "")}
    special |= {str(term.data.get("input", "")) for term in case.found.terms}
    for name in network.inputs:
        if name not in special:
            text = f"unknown source for the input {name!r} of {network.path.name}"
            yield error("network-input", ACTOR, (), text)
    if recurrent:
        pairs = ", ".join(f"{a} ← {b}" for a, b in recurrent.items())
        yield note("recurrent", ACTOR, (), f"the network has memory: {pairs}, zero after a reset")


def _about_timing(case: PreflightCase) -> Iterator[Finding]:
    timestep, decimation = timing(case.found, case.robot)
    if case.found.timestep is None:
        text = f"the files name no timestep: {timestep:g} s × {decimation} is assumed"
        yield note("timestep", ACTOR, (), text)
    elif abs(timestep - case.robot.timestep) > 1e-12:
        text = f"the model has a timestep of {case.robot.timestep:g} s, the policy {timestep:g} s"
        yield note("timestep", ACTOR, (), text, "the scene sets the policy's")
    phases = {
        "after": f"the first tick is after {decimation} steps, none before the first step",
        "inside": "ticks fall between the position stage and actuation, in the last step of each "
        f"{decimation}",
    }
    if case.found.phase in phases:
        yield note("phase", ACTOR, (), phases[case.found.phase])
    if case.found.state == "float32":
        yield note(
            "float32", ACTOR, (), "the stack rounds measurements to float32; so does the import"
        )


def _about_height(case: PreflightCase) -> Iterator[Finding]:
    """Height of the base where no file and no keyframe names one."""
    found, robot = case.found, case.robot
    if not robot.base or case.source.said.height is not None or found.base is not None:
        return
    if found.begin is Begin.DEFAULT:
        text = (
            f"the files name no start height: the base starts at "
            f"{standing_height(robot, case.pose):g} m, standing on its feet in the default pose"
        )
        yield note("start-height", ACTOR, (), text, "--height gives another one")


def _about_start(case: PreflightCase) -> Iterator[Finding]:
    yield from _about_height(case)
    if case.found.begin is Begin.RESET:
        model = case.robot.model
        away = {
            j: abs(v - float(model.qpos0[case.robot.actuator_of(j).qpos_address]))
            for j, v in case.pose.items()
        }
        worst = max(away, key=lambda j: away[j])
        if away[worst] > AWAY:
            text = f"a run starts in the model's pose, {away[worst]:.2g} rad from the default pose"
            yield note("start-pose", ACTOR, (worst,), text, "--keyframe gives another one")
    if case.found.start is not None:
        text = f"the robot stands for {case.found.start.duration:g} s first, with other gains"
        yield note("start-gains", ACTOR, (), text)


def _about_actuators(case: PreflightCase) -> Iterator[Finding]:
    robot = case.robot
    own = case.found.controllers is not None  # the files describe every actuator
    for joint in case.matched.joints:
        binding = robot.actuator_of(joint)
        if not own and binding.kind not in ("motor", "position", "pid"):
            text = f"is a {binding.kind} actuator: neither a motor for PD nor a position actuator"
            yield error("actuator-kind", ACTOR, (binding.actuator,), text)
        if abs(binding.factor) != 1.0 and binding.kind == "motor":
            text = (
                f"has gear·gain {binding.factor:g}; gains are at the joint, the controller divides"
            )
            yield note("gear", ACTOR, (binding.actuator,), text)
    kinds = {robot.actuator_of(j).kind == "motor" for j in case.matched.joints}
    if len(kinds) == 2 and not own:
        yield error("actuator-kind", ACTOR, (), "some actuators are motors, others take positions")
    if case.found.kp is None and not robot.is_servo and not own:
        yield error("no-gains", ACTOR, (), "motors need gains, and the files have none")
