"""Metrics of one episode, computed from its samples; `DEFINITIONS` states each."""

from dataclasses import dataclass

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.lab.rollouts.metrics import metric

#: Acceleration of gravity for the cost of transport [m/s²].
GRAVITY = 9.81
#: Shorter ways have no cost of transport and no slip [m].
LEAST_WAY = 0.2
#: Smaller commands have no gain [m/s].
LEAST_SPEED = 0.1
#: σ² of the tracking score, as in the rewards of Isaac Lab.
KERNEL = 0.25

#: Of the policy's ticks after `settle`, before a fall.
METRICS = (
    "fell", "survival", "lin_vel_rmse", "yaw_rate_rmse", "tracking_score", "velocity_gain", "drift",
    "heading_drift", "power", "positive_power", "cost_of_transport", "distance", "torque_rms",
    "saturation", "joint_limit_use", "action_rate", "action_acceleration", "joint_acceleration",
    "base_shake", "foot_slip",
)  # fmt: skip
#: Unit and definition of each.
DEFINITIONS = {name: (metric(name).unit, metric(name).meaning) for name in METRICS}


@dataclass
class EpisodeLog:
    """Samples of an episode at the policy's ticks, (ticks, …), and what they refer to.

    Attributes:
        period: time from sample to sample [s].
        settle: samples that metrics leave out.
        duration: planned length [s].
        mass: of the robot [kg].
        limits: (joints, 2) joint ranges, infinite where there is none.
        pose, twist: (ticks, 7) and (ticks, 6) of the base as in qpos and qvel; empty: it is fixed.
        command: (ticks, 3) commanded vx, vy, yaw rate; empty: it takes none.
        position, velocity, target, effort, at_limit: (ticks, joints).
        power: (ticks, 2) mean of Σ|τ·q̇| and of Σ max(τ·q̇, 0) since the previous sample.
        slip: (ticks,) how far bodies of the robot slid on the ground since the previous sample [m].
        fell_at: time of a fall [s]; None: it stayed up.
    """

    period: float
    settle: int
    duration: float
    mass: float
    limits: FloatArray
    pose: FloatArray
    twist: FloatArray
    command: FloatArray
    position: FloatArray
    velocity: FloatArray
    target: FloatArray
    effort: FloatArray
    at_limit: FloatArray
    power: FloatArray
    slip: FloatArray
    fell_at: float | None = None


def episode_metrics(log: EpisodeLog) -> dict[str, float]:
    """The metrics that are defined; the others are left out."""
    found = {
        "fell": float(log.fell_at is not None),
        "survival": log.duration if log.fell_at is None else log.fell_at,
    }
    own = slice(log.settle, None)
    if len(log.position[own]) < 3:
        return found  # it fell before there was anything to measure
    found |= _joints(log, own)
    found["power"], found["positive_power"] = map(float, log.power[own].mean(axis=0))
    if log.pose.size:
        found |= _base(log, own, found["power"])
        if log.command.size:
            found |= _tracking(log, own)
    return found


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _joints(log: EpisodeLog, own: slice) -> dict[str, float]:
    position, target = log.position[own], log.target[own]
    low, high = log.limits.T
    room = 0.05 * (high - low)
    with np.errstate(invalid="ignore"):  # joints without a range: infinity minus infinity
        close = (position < low + room) | (position > high - room)
    close &= np.isfinite(high - low)
    return {
        "torque_rms": _rms(log.effort[own]),
        "saturation": float(np.mean(log.at_limit[own])),
        "joint_limit_use": float(np.mean(close)),
        "action_rate": _rms(np.diff(target, axis=0)),
        "action_acceleration": _rms(np.diff(target, n=2, axis=0)),
        "joint_acceleration": float(
            np.mean(np.abs(np.diff(log.velocity[own], axis=0))) / log.period
        ),
    }


def _base(log: EpisodeLog, own: slice, power: float) -> dict[str, float]:
    pose, twist = log.pose[own], log.twist[own]
    way = float(np.sum(np.hypot(*np.diff(pose[:, :2], axis=0).T)))
    found = {"distance": way, "base_shake": _rms(np.hypot(twist[:, 3], twist[:, 4]))}
    if way >= LEAST_WAY:
        energy = power * log.period * (len(pose) - 1)
        found["cost_of_transport"] = energy / (log.mass * GRAVITY * way)
        found["foot_slip"] = float(np.sum(log.slip[own][1:])) / way
    return found


def _tracking(log: EpisodeLog, own: slice) -> dict[str, float]:
    pose, twist, command = log.pose[own], log.twist[own], log.command[own]
    yaw = yaw_of(pose[:, 3:])
    velocity = turned(twist[:, :2], -yaw)
    squares = np.sum((velocity - command[:, :2]) ** 2, axis=1)
    found = {
        "lin_vel_rmse": float(np.sqrt(np.mean(squares))),
        "yaw_rate_rmse": _rms(twist[:, 5] - command[:, 2]),
        "tracking_score": float(np.mean(np.exp(-squares / KERNEL))),
    }
    speed = np.hypot(*command[:, :2].T)
    if np.all(speed >= LEAST_SPEED):
        along = np.sum(velocity * command[:, :2], axis=1) / speed
        found["velocity_gain"] = float(np.mean(along) / np.mean(speed))
    # Where the command leads from the first sample on.
    turn = np.concatenate([[0.0], np.cumsum(command[:-1, 2]) * log.period])
    led = np.sum(turned(command[:-1, :2], (yaw[0] + turn)[:-1]), axis=0) * log.period
    found["drift"] = float(np.hypot(*(pose[-1, :2] - pose[0, :2] - led)))
    found["heading_drift"] = float(np.unwrap(yaw)[-1] - yaw[0] - turn[-1])
    return found


def yaw_of(quat: FloatArray) -> FloatArray:
    """Headings of (n, 4) quaternions."""
    w, x, y, z = quat.T
    yaw: FloatArray = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return yaw


def turned(vectors: FloatArray, angle: FloatArray) -> FloatArray:
    """(n, 2) vectors, each turned by its angle."""
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = vectors.T
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)
