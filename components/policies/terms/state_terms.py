"""State terms: measurements of the base, joints, feet and sensors."""

from abc import ABC
from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

import mujoco
import numpy as np

from mjrig.components.policies.terms.property_kinds import Names
from mjrig.components.policies.terms.term import ObservationTerm, missing
from mjrig.components.policies.terms.view import Indices, View
from mjrig.core.arrays import FloatArray
from mjrig.core.errors import BindingError
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.patterns import Slots
from mjrig.core.properties.collection_kinds import Samples
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Patterns, Text

# Base terms ---------------------------------------------------------------------------------------


def sensor_of(term: ObservationTerm, view: View, name: str, size: int | None = None) -> FloatArray:
    """A view of a sensor's values.

    Raises:
        BindingError: there is none of that name, or it has the wrong number of values.
    """
    sensors = view.robot.sensors
    if name not in sensors:
        raise missing(term, "sensor", name, sensors)
    if size is not None and sensors[name].size != size:
        raise BindingError(
            f"{term.label}: the sensor {name!r} has {sensors[name].size} values, needs {size}"
        )
    return view.sensor(name)


def each(*arrays: FloatArray) -> Iterable[tuple[FloatArray, ...]]:
    """The arrays of every world, for functions of MuJoCo that take one vector."""
    return (arrays,) if arrays[0].ndim == 1 else zip(*arrays, strict=True)


class _BaseVelocityTerm(ObservationTerm, ABC):
    """Base class of base velocities, from a sensor or the free joint.

    A sensor has the value of MuJoCo's last evaluation; a site that of the present state.
    """

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor to read instead of the free joint.")
    site = Text("", doc="Site of the base whose velocity to take, in its frame: an IMU.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor and self.site:
            raise BindingError(f"{self.label}: give a sensor or a site, not both")
        self._sensor = sensor_of(self, view, self.sensor, 3) if self.sensor else None
        self._offset, self._turn = np.zeros(3), None
        if self._sensor is None:
            qpos, dof = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
            self._linear = view.data.qvel[..., dof : dof + 3]
            self._angular = view.data.qvel[..., dof + 3 : dof + 6]
        if self.site:
            self._connect_site(view)
        return 3

    def _connect_site(self, view: View) -> None:
        """Place and orientation of the site in the base."""
        site, model = view.site_id(self.site, self), view.model
        if int(model.site_bodyid[site]) != view.base_body(self.label):
            raise BindingError(f"{self.label}.site: {self.site!r} is not on the base")
        self._offset[:] = model.site_pos[site]
        if np.any(model.site_quat[site] != (1.0, 0.0, 0.0, 0.0)):
            self._turn = np.zeros(4)
            mujoco.mju_negQuat(self._turn, model.site_quat[site])

    _turn: FloatArray | None

    def _in_frame(self, vector: FloatArray) -> FloatArray:
        """A vector of the base in the frame of the site."""
        if self._turn is None:
            return vector
        found = np.zeros_like(vector)
        for out, own in each(found, vector):
            mujoco.mju_rotVecQuat(out, own, self._turn)
        return found


class BaseAngularVelocity(_BaseVelocityTerm):
    """Angular velocity of the base, in its own frame [rad/s]: of the free joint, or a gyro."""

    def measure(self, out: FloatArray) -> None:
        found = self._sensor
        if found is None:
            found = self._angular if self._turn is None else self._in_frame(self._angular)
        out[...] = self._view.seen(found)


class VelocityPoint(StrEnum):
    """Point of the base whose velocity is taken."""

    ORIGIN = "origin"
    COM = "com"


class BaseLinearVelocity(_BaseVelocityTerm):
    """Velocity of the base, in its own frame [m/s]: of the free joint, or a velocimeter."""

    point = Choice(
        VelocityPoint.ORIGIN, doc="Point of the base: its origin, or its centre of mass (com)."
    )

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._aside = bool(self.site)
        if self.point is VelocityPoint.COM:
            if self.site or self.sensor:
                raise BindingError(
                    f"{self.label}.point: com is of the base, not of a site or sensor"
                )
            self._offset[:] = view.model.body_ipos[view.base_body(self.label)]
            self._aside = True
        return size

    def measure(self, out: FloatArray) -> None:
        if self._sensor is not None:
            out[...] = self._view.seen(self._sensor)
            return
        inverse = np.zeros(4)
        for own, velocity, quaternion in each(out, self._linear, self._quaternion):
            mujoco.mju_negQuat(inverse, quaternion)
            mujoco.mju_rotVecQuat(own, velocity, inverse)
        if self._aside:
            out += np.cross(self._angular, self._offset)
            out[...] = self._in_frame(out)
        out[...] = self._view.seen(out)


class QuaternionOrder(StrEnum):
    """Order of the numbers of a quaternion."""

    WXYZ = "wxyz"
    XYZW = "xyzw"


class BaseOrientation(ObservationTerm):
    """Orientation of the base in the world, or of a framequat sensor: a quaternion."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor with the quaternion, instead of the free joint.")
    convention = Choice(QuaternionOrder.WXYZ, doc="Order of the numbers.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor:
            self._quaternion = sensor_of(self, view, self.sensor, 4)
        else:
            qpos, _ = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
        return 4

    def measure(self, out: FloatArray) -> None:
        seen = self._view.seen(self._quaternion)
        out[...] = seen if self.convention is QuaternionOrder.WXYZ else np.roll(seen, -1, axis=-1)


class ProjectedGravity(ObservationTerm):
    """Direction of gravity: unit vector in the frame of the base, a framequat sensor or a site."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Quaternion sensor to use instead of the free joint.")
    site = Text("", doc="Site whose frame to use instead.")

    def connect(self, view: View) -> int:
        self._view = view
        if self.sensor and self.site:
            raise BindingError(f"{self.label}: give a sensor or a site, not both")
        self._frame: FloatArray | None = None
        if self.site:
            frames = view.data.site_xmat[..., view.site_id(self.site, self), :]
            self._frame = frames[..., 6:9]  # the third row: world z in the frame
        elif self.sensor:
            self._quaternion = sensor_of(self, view, self.sensor, 4)
        else:
            qpos, _ = view.free_joint(self.label)
            self._quaternion = view.data.qpos[..., qpos + 3 : qpos + 7]
        return 3

    def measure(self, out: FloatArray) -> None:
        if self._frame is not None:
            out[...] = self._view.seen(-self._frame)
            return
        seen = self._view.seen(self._quaternion)
        w, x, y, z = seen.T if self._view.worlds else seen.tolist()
        down = out.T
        down[0] = 2.0 * (w * y - x * z)
        down[1] = -2.0 * (y * z + w * x)
        down[2] = 1.0 - 2.0 * (w * w + z * z)


# Joint terms --------------------------------------------------------------------------------------


class _JointTerm(ObservationTerm, ABC):
    """Base class of joint terms: a selection of joints in order."""

    over_worlds: ClassVar[bool] = True
    #: Whether it reads what is measured: then joints that are only observed are among its own.
    measures: ClassVar[bool] = True

    joints = Names(doc="Joints, in this order; none: all that the policy moves.")

    def connect(self, view: View) -> int:
        self._view = view
        known = view.joints if self.measures else view.joints[: view.moved]
        names = self.joints or view.joints[: view.moved]
        for name in names:
            if name not in known:
                raise missing(self, "joint of the policy", name, known)
        self._columns = np.array([view.joints.index(n) for n in names], dtype=np.intp)
        self._own: Indices | slice = self._columns
        first = int(self._columns[0])
        if np.array_equal(self._columns, np.arange(first, first + len(names))):
            self._own = slice(first, first + len(names))  # a view instead of a copy
        return len(names)

    @pattern_budget()
    def matching(self, patterns: tuple[str, ...], what: str) -> Indices:
        """Indices in this term of the joints that match patterns.

        Raises:
            BindingError: one matches nothing.
        """
        slots = Slots([(self._view.joints[i],) for i in self._columns], "", "joint")
        try:
            found = [i for pattern in patterns for i in slots.match(pattern)]
        except BindingError as error:
            raise BindingError(f"{self.label}.{what}: {error}") from None
        return np.array(sorted(set(found)), dtype=np.intp)


class JointPositions(_JointTerm):
    """Joint positions [rad or m], absolute or relative to the default pose."""

    relative = Bool(True, doc="Subtract the default pose.")
    zero = Patterns((), doc="Joints whose entries are always zero: wheels.")

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._zero = self.matching(self.zero, "zero")
        self._default = view.default[self._columns] if self.relative else np.zeros(size)
        return size

    def measure(self, out: FloatArray) -> None:
        np.subtract(self._view.position[..., self._own], self._default, out=out)
        if self._zero.size:
            out[..., self._zero] = 0.0


class JointVelocities(_JointTerm):
    """Joint velocities [rad/s or m/s]."""

    zero = Patterns((), doc="Joints whose entries are always zero.")

    def connect(self, view: View) -> int:
        size = super().connect(view)
        self._zero = self.matching(self.zero, "zero")
        return size

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.velocity[..., self._own]
        if self._zero.size:
            out[..., self._zero] = 0.0


class JointTargetErrors(_JointTerm):
    """Joint position errors q − q* [rad or m]."""

    measures: ClassVar[bool] = False

    def measure(self, out: FloatArray) -> None:
        position, target = self._view.position, self._view.target
        np.subtract(position[..., self._own], target[..., self._own], out=out)


class LastAction(_JointTerm):
    """The action of the previous tick, zeros at first, in the form given by `action.last`."""

    measures: ClassVar[bool] = False

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.last[..., self._own]


# Foot terms ---------------------------------------------------------------------------------------


class ContactTerm(ObservationTerm):
    """1 for each body or geom that touches something outside the robot, else 0.

    It is of the geometry at this tick. A force is a touch sensor, seen by a `SensorTerm`.
    """

    bodies = Names(doc="Bodies, in order; each with all its geoms.")
    geoms = Names(doc="Geoms, in order, after the bodies.")
    gap = Float(0.0, unit="m", doc="Largest distance that counts as touching; negative: depth.")

    needs_position_stage: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        model = self._model = view.model
        self._data = view.data
        count = len(self.bodies) + len(self.geoms)
        if not count:
            raise BindingError(f"{self.label}: needs bodies or geoms")
        places = np.full(model.ngeom, -1, dtype=np.intp)
        for i, name in enumerate(self.bodies):
            places[model.geom_bodyid == view.body_id(name, self)] = i
        for i, name in enumerate(self.geoms, len(self.bodies)):
            geom = view.geom_id(name, self)
            if places[geom] >= 0:
                body = self.bodies[places[geom]]
                raise BindingError(
                    f"{self.label}: the geom {name!r} is of the body {body!r} already"
                )
            places[geom] = i
        self._places = places
        self._roots = model.body_rootid[model.geom_bodyid]
        return count

    def measure(self, out: FloatArray) -> None:
        out[:] = 0.0
        pairs = self._data.contact.geom
        if not len(pairs):
            return
        # A flex has no geom: −1 reads the last one here, and is put right below.
        roots = np.where(pairs >= 0, self._roots[pairs], -1)
        apart = (self._data.contact.dist <= self.gap) & (roots[:, 0] != roots[:, 1])
        touched = pairs[apart].reshape(-1)
        places = self._places[touched[touched >= 0]]
        out[places[places >= 0]] = 1.0


class FootPositions(ObservationTerm):
    """Positions of bodies and sites in the frame of the base: x, y, z of each [m]."""

    bodies = Names(doc="Bodies, in order.")
    sites = Names(doc="Sites, in order, after the bodies.")

    needs_position_stage: ClassVar[bool] = True
    over_worlds: ClassVar[bool] = True

    def connect(self, view: View) -> int:
        if not self.bodies and not self.sites:
            raise BindingError(f"{self.label}: needs bodies or sites")
        self._view = view
        base = view.base_body(self.label)
        data = view.data
        self._place, self._turned = data.xpos[..., base, :], data.xmat[..., base, :]
        self._body_places, self._site_places = data.xpos, data.site_xpos
        self._bodies = [view.body_id(name, self) for name in self.bodies]
        self._sites = [view.site_id(name, self) for name in self.sites]
        return 3 * (len(self._bodies) + len(self._sites))

    def measure(self, out: FloatArray) -> None:
        bodies, sites = self._body_places, self._site_places
        places = np.concatenate([bodies[..., self._bodies, :], sites[..., self._sites, :]], axis=-2)
        places -= self._place[..., None, :]
        turned = self._turned.reshape(*self._turned.shape[:-1], 3, 3)
        out[...] = self._view.seen((places @ turned).reshape(out.shape))


# Sensor terms -------------------------------------------------------------------------------------


class SensorTerm(ObservationTerm):
    """Values of a sensor, optionally minus those of another."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor, by local name.")
    minus = Text("", doc="Sensor to subtract.")

    def connect(self, view: View) -> int:
        self._view = view
        self._sensor = sensor_of(self, view, self.sensor)
        size = self._sensor.shape[-1]
        self._minus = sensor_of(self, view, self.minus, size) if self.minus else None
        return size

    def measure(self, out: FloatArray) -> None:
        out[...] = self._view.seen(self._sensor)
        if self._minus is not None:
            out -= self._view.seen(self._minus)


class RelativeRotation(ObservationTerm):
    """Rows of the rotation matrix of q · q_other⁻¹, two framequat sensors."""

    over_worlds: ClassVar[bool] = True

    sensor = Text("", doc="Sensor with the quaternion q.")
    other = Text("", doc="Sensor with the quaternion q_other.")
    rows = Samples([0, 1, 2], min=0, max=2, doc="Rows to include, counted from 0.")

    def connect(self, view: View) -> int:
        self._view = view
        self._sensor = sensor_of(self, view, self.sensor, 4)
        self._other = sensor_of(self, view, self.other, 4)
        if self.rows.ndim != 1 or np.any(self.rows % 1.0):
            raise BindingError(f"{self.label}.rows: must be whole numbers from 0 to 2")
        self._rows = self.rows.astype(np.intp)
        self._product, self._matrix = np.zeros(4), np.zeros(9)
        return 3 * self._rows.size

    def measure(self, out: FloatArray) -> None:
        inverse, seen = np.zeros(4), self._view.seen
        for own, mine, other in each(out, seen(self._sensor), seen(self._other)):
            mujoco.mju_negQuat(inverse, other)
            mujoco.mju_mulQuat(self._product, mine, inverse)
            mujoco.mju_quat2Mat(self._matrix, self._product)
            own[:] = self._matrix.reshape(3, 3)[self._rows].reshape(-1)
