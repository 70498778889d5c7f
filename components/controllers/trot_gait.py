"""TrotGait: a scripted trot for a four-legged robot with hip, thigh and calf motors."""

import math
from typing import Any, ClassVar

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.setpoints import Lease, Source
from mjrig.core.errors import BindingError
from mjrig.core.names import suggestion
from mjrig.core.properties.component import ActorComponent
from mjrig.core.properties.scalar_kinds import Bool, Float

LEGS = ("FL", "FR", "RL", "RR")
JOINTS = ("hip", "thigh", "calf")
#: Diagonal pairs are half a stride apart.
PHASE = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}


class TrotGait(ActorComponent):
    """Moves the position setpoints of twelve leg motors so that the robot trots, open loop.

    Actuators are named `FL_hip`, `FL_thigh`, `FL_calf` and so on for FR, RL, RR. It starts from
    the pose the robot has when enabled or reset, and fades the motion in.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("_began", "_start")

    enabled = Bool(True, doc="Move the setpoints; off: they stay where they are.")
    frequency = Float(
        2.5,
        min=0.1,
        max=10.0,
        soft_max=4.0,
        unit="Hz",
        category="Gait",
        doc="Stride frequency.",
    )
    step_length = Float(
        0.12,
        min=-0.5,
        max=0.5,
        soft_min=-0.2,
        soft_max=0.2,
        unit="m",
        category="Gait",
        doc="Distance a foot sweeps in stance; negative: backward.",
    )
    lift = Float(
        0.06,
        min=0.0,
        max=0.3,
        soft_max=0.12,
        unit="m",
        category="Gait",
        doc="Height a foot is lifted in swing.",
    )
    height = Float(
        0.29,
        min=0.05,
        max=1.0,
        soft_min=0.2,
        soft_max=0.35,
        unit="m",
        category="Gait",
        doc="Distance from thigh axis to foot in stance.",
    )
    fade = Float(
        1.0, min=0.0, max=10.0, unit="s", category="Gait", doc="Fade-in time of the motion."
    )
    thigh_length = Float(
        0.21, min=0.01, max=2.0, unit="m", category="Robot", doc="Thigh axis to calf axis."
    )
    calf_length = Float(
        0.21, min=0.01, max=2.0, unit="m", category="Robot", doc="Calf axis to foot centre."
    )

    def prepare(self) -> None:
        self._robot: Articulation | None = None
        self._lease: Lease | None = None
        self._began = -1.0
        self._start: FloatArray = np.zeros(12)
        self._columns: list[int] = []

    def attach(self, articulation: Any) -> None:
        self._robot = articulation
        names = articulation.actuator_names
        wanted = [f"{leg}_{joint}" for leg in LEGS for joint in JOINTS]
        for name in wanted:
            if name not in names:
                raise BindingError(
                    f"{self.label}: needs an actuator {name!r}; {suggestion(name, names)}"
                )
        self._columns = [names.index(name) for name in wanted]
        self._update_lease()

    def detach(self) -> None:
        if self._lease is not None:
            self._lease.release()
        self.prepare()

    def on_change(self, names: tuple[str, ...]) -> None:
        if "enabled" in names and self._robot is not None:
            self._update_lease()

    def _update_lease(self) -> None:
        """Hold a lease while trotting, so that nothing else moves the legs meanwhile."""
        assert self._robot is not None
        if self.enabled and self._lease is None:
            self._lease = self._robot.take(
                Source.SCRIPT, actuators=r"(FL|FR|RL|RR)_(hip|thigh|calf)", holder=self.label
            )
            self._began = -1.0
        elif not self.enabled and self._lease is not None:
            self._lease.release()
            self._lease = None

    def reset(self) -> None:
        self._began = -1.0

    def before_controls(self, time: float) -> None:
        if self._lease is None or self._robot is None:
            return
        position = self._robot.setpoints.values[0]
        if self._began < 0.0:
            self._began = time
            self._start = position[self._columns]
        share = min((time - self._began) / self.fade, 1.0) if self.fade > 0.0 else 1.0
        share = share * share * (3.0 - 2.0 * share)
        gait = self.targets(time - self._began, share)
        position[self._columns] = self._start + share * (gait - self._start)

    def targets(self, t: float, share: float = 1.0) -> FloatArray:
        """Twelve joint targets [rad], legs FL, FR, RL, RR, `t` seconds into the gait.

        Args:
            t: time since the gait began [s].
            share: fraction of the motion that is faded in, 0 to 1.
        """
        found = []
        for leg in LEGS:
            x, z = self._foot((self.frequency * t + PHASE[leg]) % 1.0, share)
            found += [0.0, *self._leg(x, z)]
        return np.array(found)

    def _foot(self, phase: float, share: float) -> tuple[float, float]:
        """Foot relative to the thigh axis, x forward and z up [m]."""
        if phase < 0.5:  # stance: sweep back at constant speed
            x, up = self.step_length * (0.5 - 2.0 * phase), 0.0
        else:  # swing: cycloid forward, so that the foot lands without speed
            s = 2.0 * phase - 1.0
            x = self.step_length * (s - 0.5 - math.sin(2.0 * math.pi * s) / (2.0 * math.pi))
            up = self.lift * 0.5 * (1.0 - math.cos(2.0 * math.pi * s))
        return share * x, share * up - self.height

    def _leg(self, x: float, z: float) -> tuple[float, float]:
        """Thigh and calf angle that put the foot there [rad]; knees bend backward."""
        a, b = self.thigh_length, self.calf_length
        cosine = (x * x + z * z - a * a - b * b) / (2.0 * a * b)
        calf = -math.acos(min(max(cosine, -1.0), 1.0))
        thigh = math.atan2(-x, -z) - math.atan2(b * math.sin(calf), a + b * math.cos(calf))
        return thigh, calf
