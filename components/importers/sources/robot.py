"""The robot of an import: the model as mjrig builds it, with the quantities a policy needs."""

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.effort_limits import model_ranges, symmetric
from mjrig.core.errors import SceneError
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World

#: Name of the actor in the scenes that are written.
ACTOR = "robot"
_GEOM = mujoco.mjtGeom
_OBJECT = mujoco.mjtObj


class Robot:
    """A model on its own in a world.

    Args:
        path: of the model.
        actor: what the scene says of the actor besides: actuators, dynamics.
        sim: options of the simulation.

    Raises:
        SceneError: the model cannot be read.
    """

    def __init__(
        self,
        path: Path,
        actor: Mapping[str, Any] | None = None,
        sim: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = path
        if not path.exists():
            raise SceneError(f"model {str(path)!r} does not exist")
        scene = Scene()
        scene.add_actor(ACTOR, model=path.resolve(), **(actor or {}))
        if sim:
            scene.assign({"sim": dict(sim)})
        self.world = World(scene, "python")
        self.articulation = self.world[ACTOR]
        self.model: Any = self.world.model

    @property
    def label(self) -> str:
        """Name for messages: folder and file."""
        return f"{self.path.resolve().parent.name}/{self.path.name}"

    @property
    def timestep(self) -> float:
        """Timestep of the model's own options [s]."""
        return float(self.model.opt.timestep)

    @cached_property
    def driven(self) -> tuple[ActuatorBinding, ...]:
        """Actuators on a hinge or slide joint, in actuator order: the motors."""
        return tuple(b for b in self.articulation.actuators if b.on_joint and b.ctrl_count == 1)

    @property
    def motors(self) -> tuple[str, ...]:
        """The joints they drive, in actuator order."""
        return tuple(dict.fromkeys(b.joint for b in self.driven))

    @property
    def joints(self) -> tuple[str, ...]:
        """The same joints, in the model's order."""
        by_id = sorted(self.driven, key=lambda b: b.joint_id)
        return tuple(dict.fromkeys(b.joint for b in by_id))

    @property
    def is_servo(self) -> bool:
        """Whether the model's own actuators take positions: they need no law."""
        return bool(self.driven) and all(b.kind in ("position", "pid") for b in self.driven)

    def actuator_of(self, joint: str) -> ActuatorBinding:
        """The actuator on a joint."""
        return next(b for b in self.driven if b.joint == joint)

    def keyframe_pose(self, name: str) -> dict[str, float]:
        """Positions of the motors' joints in a keyframe."""
        places = {int(address): i for i, address in enumerate(self.articulation.model_map.qpos)}
        state = self.articulation.keyframe(name)
        return {b.joint: float(state.qpos[places[b.qpos_address]]) for b in self.driven}

    def start_pose(self) -> dict[str, float]:
        """Positions of its hinges and slides in its first keyframe, else in its reference pose."""
        keyframes = self.articulation.keyframes
        if keyframes and self.driven:
            return self.keyframe_pose(next(iter(keyframes)))
        return {b.joint: float(self.model.qpos0[b.qpos_address]) for b in self.driven}

    def _names(self, kind: Any, count: int) -> tuple[str, ...]:
        return tuple(name for _, name in self._named(kind, count))

    def _named(self, kind: Any, count: int) -> list[tuple[int, str]]:
        """Ids and local names."""
        prefix = self.articulation.model_map.prefix
        found = ((i, str(mujoco.mj_id2name(self.model, kind, i) or "")) for i in range(count))
        return [(i, name.removeprefix(prefix)) for i, name in found if name.startswith(prefix)]

    def _body_name(self, body: int) -> str:
        name = str(mujoco.mj_id2name(self.model, _OBJECT.mjOBJ_BODY, int(body)) or "")
        return name.removeprefix(self.articulation.model_map.prefix)

    @property
    def sensors(self) -> tuple[str, ...]:
        """Names of its sensors."""
        return self._names(_OBJECT.mjOBJ_SENSOR, self.model.nsensor)

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of its sites."""
        return self._names(_OBJECT.mjOBJ_SITE, self.model.nsite)

    def base_sites(self) -> tuple[str, ...]:
        """Names of the sites on the floating base."""
        names = self._named(_OBJECT.mjOBJ_SITE, self.model.nsite)
        return tuple(
            name
            for i, name in names
            if self.base and self._body_name(self.model.site_bodyid[i]) == self.base
        )

    def site_of_sensor(self, name: str) -> str:
        """The site a sensor is on; empty: there is no such sensor."""
        for i, sensor in self._named(_OBJECT.mjOBJ_SENSOR, self.model.nsensor):
            if sensor == name and self.model.sensor_objtype[i] == _OBJECT.mjOBJ_SITE:
                site = int(self.model.sensor_objid[i])
                return next(
                    n for j, n in self._named(_OBJECT.mjOBJ_SITE, self.model.nsite) if j == site
                )
        return ""

    def sensor_size(self, name: str) -> int:
        """Number of values of a sensor."""
        return int(self.articulation.sensors[name].size)

    def site_pose(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Position and quaternion (wxyz) of a site in its body."""
        found = next(i for i, n in self._named(_OBJECT.mjOBJ_SITE, self.model.nsite) if n == name)
        return self.model.site_pos[found], self.model.site_quat[found]

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of its bodies."""
        return self._names(_OBJECT.mjOBJ_BODY, self.model.nbody)

    # The floating base --------------------------------------------------------------------------

    @cached_property
    def base(self) -> str:
        """The body with the free joint that carries the motors; empty: it is fixed."""
        model = self.model
        if not self.driven:
            return ""
        root = model.body_rootid[model.jnt_bodyid[self.driven[0].joint_id]]
        first = model.body_jntadr[root]
        if first < 0 or model.jnt_type[first] != mujoco.mjtJoint.mjJNT_FREE:
            return ""
        return self._body_name(root)

    def standing_height(self, pose: Mapping[str, float]) -> float:
        """Height of the upright base at which the lowest point of a pose touches z = 0 [m]."""
        data = mujoco.MjData(self.model)
        root = int(self.model.body_rootid[self.model.jnt_bodyid[self.driven[0].joint_id]])
        start = int(self.model.jnt_qposadr[self.model.body_jntadr[root]])
        data.qpos[:] = self.model.qpos0
        data.qpos[start : start + 7] = (0, 0, 0, 1, 0, 0, 0)
        for binding in self.driven:
            data.qpos[binding.qpos_address] = pose.get(
                binding.joint, data.qpos[binding.qpos_address]
            )
        mujoco.mj_kinematics(self.model, data)
        return -min(self._lowest_points(data, root), default=0.0)

    def floor_height(self, pose: Mapping[str, float]) -> float:
        """The same to the millimetre, and not below the floor [m]."""
        return math.ceil(self.standing_height(pose) * 1000.0) / 1000.0

    def _lowest_points(self, data: Any, root: int) -> Iterator[float]:
        model = self.model
        for geom in range(model.ngeom):
            mine = model.body_rootid[model.geom_bodyid[geom]] == root
            if mine and (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                yield float(data.geom_xpos[geom][2]) - _reach_down(model, data, geom)

    # The plant ----------------------------------------------------------------------------------

    def limit(self, joint: str) -> tuple[float, str]:
        """The smallest effort limit of a joint in the model and its source; inf, empty: none."""
        ranges = model_ranges(self.actuator_of(joint))
        if not ranges:
            return float("inf"), ""
        name = min(ranges, key=lambda n: symmetric(ranges[n]))
        return symmetric(ranges[name]), name

    def dof_value(self, field: str, joint: str) -> float:
        """`armature`, `damping` or `frictionloss` of a joint."""
        values = np.asarray(getattr(self.model, f"dof_{field}"))
        return float(np.ravel(values[self.actuator_of(joint).dof_address])[0])

    def inertias(self, pose: Mapping[str, float]) -> dict[str, float]:
        """Effective inertia at each motor in a pose, 1/(M⁻¹)ᵢᵢ [kg·m²]."""
        model = self.model
        data = mujoco.MjData(model)
        for binding in self.driven:
            data.qpos[binding.qpos_address] = pose.get(
                binding.joint, data.qpos[binding.qpos_address]
            )
        mujoco.mj_forward(model, data)
        inverse = np.zeros((model.nv, model.nv))
        mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
        return {b.joint: float(1.0 / inverse[b.dof_address, b.dof_address]) for b in self.driven}

    def body_of(self, joint: str) -> str:
        """The body a joint moves."""
        return self._body_name(self.model.jnt_bodyid[self.actuator_of(joint).joint_id])

    def joint_range(self, joint: str) -> tuple[float, float] | None:
        """The range of any hinge or slide joint; None: unlimited."""
        prefix = self.articulation.model_map.prefix
        found = mujoco.mj_name2id(self.model, _OBJECT.mjOBJ_JOINT, prefix + joint)
        if found < 0 or not self.model.jnt_limited[found]:
            return None
        low, high = self.model.jnt_range[found]
        return float(low), float(high)

    def range_of(self, joint: str) -> tuple[float, float] | None:
        """The range of a joint; None: unlimited."""
        return self.actuator_of(joint).joint_range


def _reach_down(model: Any, data: Any, geom: int) -> float:
    """How far below its centre a geom reaches."""
    rotation: FloatArray = data.geom_xmat[geom].reshape(3, 3)
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == _GEOM.mjGEOM_SPHERE:
        return float(size[0])
    if kind == _GEOM.mjGEOM_CAPSULE:
        return float(size[0] + abs(rotation[2, 2]) * size[1])
    if kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        return float(-(points @ rotation[2]).min())
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    return float(np.abs(rotation[2]) @ half - rotation[2] @ centre)
