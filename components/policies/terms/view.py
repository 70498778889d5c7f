"""View: the robot's state as observation terms read it in one tick."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, ClassVar

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.errors import BindingError
from mjrig.core.names import suggestion
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.memory import DeclaredMemory

Float32 = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]
#: Arrays of a frame; the last axes of the arrays in a file, and of the network's outputs.
MOTION_SHAPES = {
    "joint_pos": ("frames", "joints"), "joint_vel": ("frames", "joints"),
    "body_pos_w": ("frames", "bodies", 3), "body_quat_w": ("frames", "bodies", 4),
}  # fmt: skip


class Motion:
    """One frame at a time: of a clip, or of a network's output.

    Attributes:
        joint_pos, joint_vel: in the order of the policy's joints; (worlds, …) in a batch.
        anchor_position, anchor_quaternion: of the anchor body in the world, wxyz.
        anchor: its name.
    """

    def __init__(self, joints: int, anchor: str, bodies: Sequence[str], worlds: int = 0) -> None:
        self.anchor = anchor
        self._index = bodies.index(anchor) if anchor in bodies else 0
        lead = (worlds,) if worlds else ()
        self.joint_pos, self.joint_vel = np.zeros((*lead, joints)), np.zeros((*lead, joints))
        self.anchor_position = np.zeros((*lead, 3))
        self.anchor_quaternion = np.zeros((*lead, 4))
        self.anchor_quaternion[..., 0] = 1.0

    def take(self, frame: Mapping[str, npt.NDArray[np.floating]], world: int | None = None) -> None:
        """Set the current frame: `MOTION_SHAPES` → values; leading axes of size 1 are dropped."""
        own: Any = ... if world is None else world
        self.joint_pos[own] = frame["joint_pos"].reshape(-1)
        self.joint_vel[own] = frame["joint_vel"].reshape(-1)
        self.anchor_position[own] = frame["body_pos_w"].reshape(-1, 3)[self._index]
        self.anchor_quaternion[own] = frame["body_quat_w"].reshape(-1, 4)[self._index]


@dataclass(eq=False)
class View(DeclaredMemory):
    """The robot as a policy sees it; arrays are rewritten in place before every tick.

    In a batch there are many worlds, which are the first axis of every array here and in `data`:
    `position` is (worlds, joints), `data.qpos` (worlds, nq). A term that indexes from the end,
    `[..., i]`, reads one world and many alike.

    Attributes:
        robot: the actor.
        model, data: MuJoCo's; in a batch `data` is the `mujoco.batch.Batch`.
        joints: names, in the policy's order, then those only observed; the order of `default`,
            `position` and `velocity`.
        moved: how many of them the policy moves: the first ones; the size of `target` and `last`.
        timestep: physics timestep [s].
        default: the default pose.
        command: the current command, unscaled.
        rounded: whether measurements are rounded to float32.
        motion: the reference of a motion-tracking policy.
        steps: physics steps since the policy began; in a batch one number per world.
        worlds: how many; 0: one, without an axis of its own.
        position, velocity: of the joints [rad, rad/s or m, m/s], rounded as in the file.
        target: current targets of the joints.
        last: the action before this tick, in the form the file selects.
        due: which worlds tick (or are reset): an index of the first axis; `...`: all.
        ticking: the same as numbers, for memory that is kept per world in a list.
    """

    _remembered: ClassVar[tuple[str, ...]] = ("command", "target", "last")

    robot: Articulation
    model: Any
    data: Any
    joints: tuple[str, ...]
    timestep: float
    default: FloatArray
    command: FloatArray
    rounded: bool = False
    motion: Motion | None = None
    moved: int = -1
    steps: Any = 0
    worlds: int = 0

    def __post_init__(self) -> None:
        size = len(self.joints)
        self.moved = size if self.moved < 0 else self.moved
        self.position, self.velocity = self.zeros(size), self.zeros(size)
        self.target = self.zeros(self.moved)
        self.last: Float32 = self.zeros(self.moved).astype(np.float32)
        self.due: Indices | EllipsisType = ...
        self.ticking: Sequence[int] = range(self.count)

    @property
    def count(self) -> int:
        """How many worlds there are."""
        return self.worlds or 1

    def zeros(self, *shape: int) -> FloatArray:
        """Zeros of that shape, for every world."""
        return np.zeros((self.worlds, *shape) if self.worlds else shape)

    def column(self, values: Any) -> Any:
        """One number per world, to go with arrays of several values per world."""
        return values[:, None] if self.worlds else values

    def keep(self, into: npt.NDArray[Any], values: Any) -> None:
        """Write the values of the worlds that tick."""
        if self.due is ...:
            into[...] = values
        else:
            into[self.due] = values[self.due]

    @contextmanager
    def only(self, worlds: Sequence[int]) -> Iterator[None]:
        """Meanwhile only these worlds tick."""
        before = self.due, self.ticking
        self.ticking = worlds
        self.due = ... if len(worlds) == self.count else np.array(worlds, dtype=np.intp)
        try:
            yield
        finally:
            self.due, self.ticking = before

    def seen(self, values: FloatArray) -> FloatArray:
        """A measurement as the policy sees it: rounded to float32 if the file requires it."""
        return values.astype(np.float32).astype(np.float64) if self.rounded else values

    def sensor(self, name: str) -> FloatArray:
        """A view of the values of a sensor of the actor, by local name; it must exist."""
        if not self.worlds:
            return self.robot.sensors[name]
        full = self.robot.model_map.prefix + name
        sensor = int(mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_SENSOR, full))
        first, size = int(self.model.sensor_adr[sensor]), int(self.model.sensor_dim[sensor])
        values: FloatArray = self.data.sensordata[:, first : first + size]
        return values

    # Names in the model -------------------------------------------------------------------------

    def free_joint(self, who: str) -> tuple[int, int]:
        """Addresses in qpos and qvel of the first free joint of the actor.

        Raises:
            BindingError: it has none.
        """
        joint = self._free_joint(who)
        return int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])

    def base_body(self, who: str) -> int:
        """The body of that joint.

        Raises:
            BindingError: there is none.
        """
        return int(self.model.jnt_bodyid[self._free_joint(who)])

    def _free_joint(self, who: str) -> int:
        for joint in self.robot.model_map.joint_ids:
            if self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                return int(joint)
        raise BindingError(f"{who}: {self.robot.name!r} has no free joint; name a sensor instead")

    def site_id(self, name: str, who: HasProperties) -> int:
        """A site by local name.

        Raises:
            BindingError: there is no such site.
        """
        return self._id(mujoco.mjtObj.mjOBJ_SITE, name, who)

    def body_id(self, name: str, who: HasProperties) -> int:
        """A body by local name.

        Raises:
            BindingError: there is no such body.
        """
        return self._id(mujoco.mjtObj.mjOBJ_BODY, name, who)

    def geom_id(self, name: str, who: HasProperties) -> int:
        """A geom by local name.

        Raises:
            BindingError: there is no such geom.
        """
        return self._id(mujoco.mjtObj.mjOBJ_GEOM, name, who)

    def camera_id(self, name: str, who: HasProperties) -> int:
        """A camera by local name.

        Raises:
            BindingError: there is no such camera.
        """
        return self._id(mujoco.mjtObj.mjOBJ_CAMERA, name, who)

    def motion_for(self, who: str) -> Motion:
        """The motion.

        Raises:
            BindingError: the file has none.
        """
        if self.motion is None:
            raise BindingError(f"{who}: the policy file has no motion: give a file or from_network")
        return self.motion

    def _id(self, kind: Any, name: str, who: HasProperties) -> int:
        prefix = self.robot.model_map.prefix
        found = int(mujoco.mj_name2id(self.model, kind, prefix + name))
        if found < 0:
            what, count = {
                mujoco.mjtObj.mjOBJ_SITE: ("site", self.model.nsite),
                mujoco.mjtObj.mjOBJ_BODY: ("body", self.model.nbody),
                mujoco.mjtObj.mjOBJ_GEOM: ("geom", self.model.ngeom),
                mujoco.mjtObj.mjOBJ_CAMERA: ("camera", self.model.ncam),
            }[kind]
            names = [str(mujoco.mj_id2name(self.model, kind, i) or "") for i in range(count)]
            own = [n.removeprefix(prefix) for n in names if n.startswith(prefix)]
            raise BindingError(f"{who.label}: there is no {what} {name!r}; {suggestion(name, own)}")
        return found
