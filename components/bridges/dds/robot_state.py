"""RobotState: joints and base of a robot, from the raw numbers that the world hands over.

The world copies them as they lie in memory; everything that can be computed later is computed here,
in the process of the bridge. Needs numpy alone.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.efforts import AppliedEffort

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class BaseLayout:
    """Where the base is in a frame: indices of its first position, velocity and acceleration."""

    position: int
    velocity: int
    acceleration: int
    #: Index of an accelerometer's reading; None: it is computed.
    accelerometer: int | None
    #: Orientation of the inertial sensor in the base, w x y z.
    turn: FloatArray
    gravity: FloatArray


@dataclass(frozen=True)
class RobotState:
    """Reads frames; index 0 of a frame is the time."""

    size: int
    q: Index
    dq: Index
    ddq: Index
    terms: Index
    effort: AppliedEffort
    #: None: the robot has a fixed base, which is at rest, upright.
    base: BaseLayout | None
    gravity: FloatArray

    def joints(self, frame: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Position, velocity, acceleration and effort of each motor."""
        effort = self.effort.of(frame[self.terms])
        return frame[self.q], frame[self.dq], frame[self.ddq], effort

    def orientation(self, frame: FloatArray) -> FloatArray:
        """Quaternion w x y z of the base itself, not of the sensor."""
        if self.base is None:
            return np.array([1.0, 0.0, 0.0, 0.0])
        return frame[self.base.position + 3 : self.base.position + 7]

    def body(self, frame: FloatArray) -> FloatArray:
        """Quaternion w x y z, angular velocity and acceleration in its frame, position, velocity.

        The first three as the inertial sensor has them; position and velocity are of the base in
        the world. The acceleration is that of the last step, with gravity as an accelerometer shows
        it.
        """
        base, out = self.base, np.zeros(16)
        if base is None:
            out[0], out[7:10] = 1.0, -self.gravity
            return out
        velocity = frame[base.velocity : base.velocity + 6]
        out[0:4] = product(self.orientation(frame), base.turn)
        out[4:7] = rotated_back(velocity[3:], base.turn)
        if base.accelerometer is not None:
            out[7:10] = frame[base.accelerometer : base.accelerometer + 3]
        else:
            acceleration = frame[base.acceleration : base.acceleration + 3]
            out[7:10] = rotated_back(acceleration - base.gravity, out[0:4])
        out[10:13], out[13:16] = frame[base.position : base.position + 3], velocity[:3]
        return out


def product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Of two quaternions w x y z; one without a turn changes no bit."""
    if b[0] == 1.0:
        return a
    (w, x, y, z), (u, i, j, k) = a.tolist(), b.tolist()
    return np.array(
        [
            w * u - x * i - y * j - z * k,
            w * i + x * u + y * k - z * j,
            w * j - x * k + y * u + z * i,
            w * k + x * j - y * i + z * u,
        ]
    )


def rotated_back(vector: FloatArray, quaternion: FloatArray) -> FloatArray:
    """A vector of the outer frame in the frame that a unit quaternion w x y z turns it to."""
    if quaternion[0] == 1.0:
        return vector
    w, axis = quaternion[0], -quaternion[1:]
    twice = 2.0 * np.cross(axis, vector)
    found: FloatArray = vector + w * twice + np.cross(axis, twice)
    return found
