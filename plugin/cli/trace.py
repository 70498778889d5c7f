"""Sampled signals of a robot, for statistics and plots."""

from dataclasses import dataclass, field

from mjrig.arrays import FloatArray
from mjrig.control.articulation import Articulation


@dataclass
class Trace:
    """Sampled signals of one robot, each a list of (n,) arrays over its bindings."""

    names: list[str]
    time: list[float] = field(default_factory=list)
    target: list[FloatArray] = field(default_factory=list)
    position: list[FloatArray] = field(default_factory=list)
    effort: list[FloatArray] = field(default_factory=list)
    raw_effort: list[FloatArray] = field(default_factory=list)

    def sample(self, robot: Articulation, now: float) -> None:
        """Take one sample."""
        column = {name: i for i, name in enumerate(robot.actuator_names)}
        columns = [column[b.actuator] for b in robot.bindings]
        self.time.append(now)
        self.target.append(robot.setpoints.position[columns])
        self.position.append(robot.position)
        self.effort.append(robot.effort)
        self.raw_effort.append(robot.raw_effort)
