"""BeyondMimic and mjlab: an ONNX file with nearly everything in its metadata.

Timestep, decimation, effort limits and armature are not in it. The exporters choose
`kp = armature·ω²`, `kd = 4·armature·ω` with ω = 2π·10 Hz and `action_scale = effort/(4·kp)`, so the
last two follow from the first three; where kd does not agree they do not.
"""

import math
from collections.abc import Sequence
from typing import Any

from mjrig.components.importers.sources.policy_description import (
    FoundPolicy,
    Term,
    term,
    term_size,
    velocity_command,
)
from mjrig.components.importers.sources.source import Metadata, NetworkFile, PolicySource
from mjrig.core.errors import option
from mjrig.core.names import listed, suggestion

TIMESTEP, DECIMATION = 0.005, 4
OMEGA = 2.0 * math.pi * 10.0
#: Largest relative deviation of kd from the value implied by the other gains.
TOLERANCE = 0.01
#: What is written with three decimals is off by up to this.
HALF_DIGIT = 0.0005
_KEYS = ("joint_names", "joint_stiffness", "action_scale", "observation_names")


def recognises(source: PolicySource) -> bool:
    """By the metadata of the network."""
    return source.network is not None and all(k in source.network.metadata for k in _KEYS)


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the metadata, and what follows from it.

    Raises:
        SceneError: a key is missing or has a wrong value.
    """
    network = source.network
    assert network is not None
    metadata = Metadata(network.path.name, network.metadata)
    names = metadata.names("joint_names")
    count = len(names)
    kp, kv = metadata.numbers("joint_stiffness", count), metadata.numbers("joint_damping", count)
    scale = metadata.numbers("action_scale", count)
    trained, agrees = recovered(kp, kv, scale)
    tracks = "motion" in metadata.texts.get("command_names", "") or "time_step" in network.inputs
    found, assumed = _MetadataTerms(metadata, source, count, tracks).all()
    return FoundPolicy(
        stack="beyond_mimic" if tracks else "mjlab",
        names=tuple(names),
        timestep=TIMESTEP,
        tick=TIMESTEP * DECIMATION,
        kp=kp,
        kv=kv,
        default=metadata.numbers("default_joint_pos", count),
        terms=found,
        history={"order": "oldest_first", "fill": "first", "by": "term"},
        action={"scale": scale, "dtype": "float32"},
        command={} if tracks else velocity_command(),
        trained={"kp": kp, "kv": kv, **trained},
        recovered=tuple(trained),
        network=_motion(metadata, network) if tracks else {},
        notes=(
            "effort limits and armature were recovered from stiffness, damping and action scale"
            if agrees
            else "effort limits and armature cannot be recovered: the damping does not agree",
            "it was trained with native position actuators, whose damping is implicit",
        ),
        assumed=(
            f"timestep {TIMESTEP:g} s and decimation {DECIMATION}, as this family has ("
            + option("rate")
            + ")",
            *assumed,
        ),
    )


def recovered(
    kp: Sequence[float], kv: Sequence[float], scale: Sequence[float]
) -> tuple[dict[str, list[float]], bool]:
    """Effort limits and armature by `effort = 4·scale·kp`, `armature = kp/ω²`; nothing where
    `kd = 4·armature·ω` fails for a joint."""
    armature = [k / OMEGA**2 for k in kp]
    if any(
        abs(v - 4.0 * a * OMEGA) > TOLERANCE * 4.0 * a * OMEGA + HALF_DIGIT
        for v, a in zip(kv, armature, strict=True)
    ):
        return {}, False
    efforts = [_effort(s, k) for s, k in zip(scale, kp, strict=True)]
    return {"torque_limit": efforts, "armature": armature}, True


def _effort(scale: float, kp: float) -> float:
    """The roundest effort that the rounded scale allows; motors are sold by round numbers."""
    low, high = (4.0 * kp * (scale + sign * HALF_DIGIT) for sign in (-1, 1))
    for digits in range(3):
        value = round(4.0 * scale * kp, digits)
        step = 10.0**-digits
        for candidate in (value, value - step, value + step):
            if low <= candidate <= high:
                return round(candidate, digits)
    return 4.0 * scale * kp


# Observations -----------------------------------------------------------------------------------

_TERMS = {
    "motion_anchor_pos_b": "MotionAnchorPosition",
    "motion_anchor_ori_b": "MotionAnchorOrientation",
    "base_lin_vel": "BaseLinearVelocity",
    "base_ang_vel": "BaseAngularVelocity",
    "base_quat": "BaseOrientation",
    "projected_gravity": "ProjectedGravity",
    "joint_pos": "JointPositions",
    "joint_vel": "JointVelocities",
    "actions": "LastAction",
    "last_action": "LastAction",
}
_SCAN = "height_scan"
#: Rays of this family's scan: 1.6 m × 1 m around the base, every 0.1 m.
SCAN_SIZE = 187
#: Names of the IMU's sensors in this family's models, and of its site in others.
_IMU_SENSORS = ("imu_lin_vel", "local_linvel", "imu_ang_vel")
_IMU_SITES = ("imu", "imu_in_pelvis", "imu_site", "imu_link", "imu_in_torso")


class _MetadataTerms:
    """The observation terms by their names in the metadata."""

    def __init__(self, metadata: Metadata, source: PolicySource, count: int, tracks: bool) -> None:
        self._metadata, self._source, self._count, self._tracks = metadata, source, count, tracks
        self._names = metadata.names("observation_names")
        self._assumed: list[str] = []
        # Keys of the exporter whose tasks measure velocities at the IMU.
        self._imu = any(key.startswith("observation_terms_") for key in metadata.texts)

    def all(self) -> tuple[list[Term], list[str]]:
        """All terms, in order, and what no key states."""
        metadata, size = self._metadata, len(self._names)
        lengths = self._lengths(size)
        key = "observation_terms_scale"
        scales = metadata.lists(key, size) if key in metadata else [[1.0]] * size
        key = "observation_terms_clip"
        clips = metadata.pairs(key, size) if key in metadata else [None] * size
        found = []
        for name, length, scale, clip in zip(self._names, lengths, scales, clips, strict=True):
            kind, width, more = self._kind(name, lengths)
            more |= {"clip": clip, "history": length}
            if clip:
                more["order"] = "clip_then_scale"
            if len(scale) > 1 and len(scale) != width:
                text = f"has {len(scale)} values for {name!r}, which has {width}"
                raise metadata.error("observation_terms_scale", text)
            found.append(term(kind, width, scale or None, **more))
        return found, list(dict.fromkeys(self._assumed))

    def _lengths(self, size: int) -> list[int]:
        metadata = self._metadata
        keys = ("observation_terms_history_length", "observation_history_lengths")
        values = next(
            (metadata.numbers(key, size) for key in keys if key in metadata), [1.0] * size
        )
        lengths = [max(1, int(length)) for length in values]
        key = "observation_terms_flatten_history_dim"
        flat = metadata.numbers(key, size) if key in metadata else [1.0] * size
        kept = [n for n, h, f in zip(self._names, lengths, flat, strict=True) if h > 1 and not f]
        if kept:
            text = f"keeps the history of {listed(kept)} as a dimension of its own; "
            raise metadata.error(key, text + "export it with flatten_history_dim")
        return lengths

    def _kind(self, name: str, lengths: Sequence[int]) -> tuple[str, int, dict[str, Any]]:
        """Type, size and more of a term."""
        if name in ("command", "velocity_commands", "twist", "motion"):
            kind = "MotionJoints" if self._tracks else "CommandTerm"
            return kind, self._size(kind), {}
        if name == _SCAN:
            return "HeightScan", self._scan(lengths), {}
        if name not in _TERMS:
            hint = suggestion(name, ("command", *_TERMS, _SCAN))
            text = f"has {name!r}, for which there is no term; {hint}"
            raise self._metadata.error("observation_names", text)
        measured = name in ("base_lin_vel", "base_ang_vel") and self._imu
        kind = _TERMS[name]
        return kind, self._size(kind), self._at_imu(name) if measured else {}

    def _size(self, kind: str) -> int:
        return term_size({"type": kind}, self._count) or 0

    def _at_imu(self, name: str) -> dict[str, Any]:
        """The site at which the exporter's task measures velocities."""
        robot = self._source.robot
        sites = [robot.site_of_sensor(sensor) for sensor in _IMU_SENSORS]
        on_base = robot.base_sites()
        site = next((s for s in (*sites, *_IMU_SITES) if s and s in on_base), "")
        if not site and name == "base_lin_vel":
            self._assumed.append(
                "the velocity is that of the base's origin: the model has no velocimeter and no "
                "IMU site on its base, where the task measures it"
            )
        return {"site": site or None}

    def _scan(self, lengths: Sequence[int]) -> int:
        """The number of rays is what the other terms leave of the network's input."""
        network, others = self._source.network, 0
        assert network is not None
        for name, length in zip(self._names, lengths, strict=True):
            others += 0 if name == _SCAN else self._kind(name, lengths)[1] * length
        takes = network.width(network.observation)
        rays = SCAN_SIZE if takes is None else takes - others
        if rays != SCAN_SIZE:
            raise self._metadata.error(
                "observation_names",
                f"has {_SCAN!r} with {rays} rays, and does not say where they are; known is the "
                f"usual grid of {SCAN_SIZE}. Write a policy.yaml with its HeightScan",
            )
        self._assumed.append(
            "the height scan is this family's: 1.6 m × 1 m around the base, every 0.1 m, x fastest"
        )
        return rays


def _motion(metadata: Metadata, network: NetworkFile) -> dict[str, Any]:
    """Where the motion comes from: the network gives it beside the action."""
    found: dict[str, Any] = {}
    if "time_step" in network.inputs:
        found["time_step"] = "time_step"
    motion: dict[str, Any] = {"from_network": "joint_pos" in network.outputs}
    if "body_names" in metadata:
        motion["bodies"] = metadata.names("body_names")
    if "anchor_body_name" in metadata:
        motion["anchor"] = metadata.names("anchor_body_name")[0]
    return {**found, "motion": motion}
