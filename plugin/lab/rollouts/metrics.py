"""Metrics of rollouts: name, unit, meaning, and which direction is better, each declared once."""

from collections.abc import Iterable
from dataclasses import dataclass

from mjrig.core.errors import PropertyError
from mjrig.core.names import suggestion


@dataclass(frozen=True)
class MetricDefinition:
    """A number that a scenario measures.

    Attributes:
        name: its name in objectives and tables.
        unit: empty: a ratio, or yes and no as 1 and 0.
        meaning: how it is computed.
        better: `lower`, `higher`, or the best value.
    """

    name: str
    unit: str
    meaning: str
    better: str = "lower"


_ALL = (
    # Tracking of setpoints
    ("rmse", "rad or m", "root mean square of the position error over joints and samples"),
    ("worst_rmse", "rad or m", "the same of the worst joint"),
    ("velocity_rmse", "rad/s or m/s", "root mean square of the velocity error"),
    ("effort_rmse", "N·m or N", "root mean square of the effort error"),
    ("max_error", "rad or m", "largest position error"),
    ("effort", "N·m or N", "root mean square of the applied effort"),
    ("saturation", "", "share of joint samples whose commanded effort was limited"),
    # Response to a step
    ("rise_time", "s", "time from 10 to 90 % of the step to the final value"),
    ("settling_time", "s", "time after which it stays within ±2 % of the step around the final "
     "value"),
    ("overshoot", "", "way beyond the final value, as a share of the step"),
    ("steady_state_error", "rad or m", "target minus final value"),
    # Bases
    ("travel", "m", "horizontal distance from the start to the end of the free base", "higher"),
    ("fell", "", "1 if the base leaned by 60°, sank to half its height above the ground, or a body "
     "of `terminate` touched the ground"),
    # Episodes of policies
    ("survival", "s", "time of the fall, else the duration", "higher"),
    ("lin_vel_rmse", "m/s", "root mean square of the horizontal velocity error, yaw-aligned frame"),
    ("yaw_rate_rmse", "rad/s", "root mean square of the error of the base's angular velocity in z"),
    ("tracking_score", "", "mean of exp(−error²/0.25) of the horizontal velocity", "higher"),
    ("velocity_gain", "", "mean velocity along the command / commanded speed", "1"),
    ("drift", "m", "distance from where the command leads, at the end"),
    ("heading_drift", "rad", "heading at the end minus the integral of the commanded yaw rate",
     "0"),
    ("power", "W", "mean of Σ|τ·q̇| over actuators and physics steps: nothing is regenerated"),
    ("positive_power", "W", "mean of Σ max(τ·q̇, 0) over actuators and physics steps"),
    ("cost_of_transport", "", "energy of `power` / (m·g·distance); none below 0.2 m"),
    ("distance", "m", "length of the way of the base in the plane", "higher"),
    ("torque_rms", "N·m", "root mean square of the applied effort over joints"),
    ("joint_limit_use", "", "share of joint samples within 5 % of an end of the joint's range"),
    ("action_rate", "rad", "root mean square of the change of setpoints from tick to tick"),
    ("action_acceleration", "rad", "the same of second differences"),
    ("joint_acceleration", "rad/s²", "mean of |Δq̇|/Δt at the policy's rate"),
    ("base_shake", "rad/s", "root mean square of the base's roll and pitch rates"),
    ("foot_slip", "", "way that bodies slide on the ground (contact above 1 N) / distance"),
)  # fmt: skip
METRICS = {name: MetricDefinition(name, *rest) for name, *rest in _ALL}


def metric(name: str) -> MetricDefinition:
    """A metric by name.

    Raises:
        PropertyError: there is none of that name.
    """
    if name not in METRICS:
        raise PropertyError(f"unknown metric {name!r}; {suggestion(name, METRICS)}")
    return METRICS[name]


def metrics_table(names: Iterable[str]) -> str:
    """Metrics as a table in Markdown, for documentation."""
    rows = [f"| `{m.name}` | {m.unit} | {m.meaning} | {m.better} |" for m in map(metric, names)]
    return "\n".join(["| metric | unit | meaning | better |", "|---|---|---|---|", *rows])
