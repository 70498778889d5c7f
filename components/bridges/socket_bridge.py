"""SocketBridge: one documented protocol over ZMQ and WebSocket."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.components.bridges.bridge import Bridge, BridgePhase, ServedWorld
from mjrig.components.bridges.motors import Motors
from mjrig.components.bridges.protocol import (
    MOST_STEPS,
    PROTOCOL,
    RequestError,
    check_keys,
    decoded,
    encoded,
    is_json,
    numbers,
    op_of,
    whole,
)
from mjrig.control.articulation import Articulation
from mjrig.control.base import base_address
from mjrig.errors import MjrigError
from mjrig.properties.per_actuator import DEFAULT
from mjrig.properties.scalar_kinds import Bool, Int, Text
from mjrig.readings.sampler import BindingReader, by_column

if TYPE_CHECKING:
    from mjrig.components.bridges.sockets import Sockets

_ROWS = ("position", "velocity", "feedforward")
_GAINS = ("kp", "kv")
_COMMAND = (*_ROWS, *_GAINS, "sequence")
#: What a request may have beside `op`.
_KEYS = {
    "get": ("sensors",),
    "set": _COMMAND,
    "step": ("n", "sensors", *_COMMAND),
    "reset": ("keyframe", "sensors"),
}
#: Steps between two looks at whether everything still listens.
_MENDED_EVERY = 100


class SocketBridge(Bridge):
    """Serves the actor over ZMQ and WebSocket: describe, set, step, get, reset, subscribe.

    Free run: the world runs in real time and commands act from the next physics step on. Lock step:
    from the first `step` on it runs only when a client asks, until `run`.
    """

    host = Text("127.0.0.1", doc="Address to listen on; the default is this machine only.")
    port = Int(5559, min=0, max=65535, doc="TCP port of requests (ZMQ REP); 0: any free one.")
    state_port = Int(5560, min=0, max=65535, doc="TCP port of states (ZMQ PUB); 0: any free one.")
    websocket = Bool(True, doc="Also listen for WebSocket clients.")
    websocket_port = Int(
        5561, min=0, max=65535, edit_if="websocket", doc="TCP port of WebSocket; 0: any free one."
    )

    def prepare(self) -> None:
        super().prepare()
        self._sockets: Sockets | None = None
        self._stage: ServedWorld | None = None
        self._in_lock_step = False
        self._sequence = -1
        self._attended = 0
        self._ops: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "describe": self._describe,
            "get": self._get,
            "set": self._set,
            "step": self._step,
            "run": self._run,
            "pause": self._pause,
            "reset": self._reset_world,
            "release": self._release,
        }

    def attach(self, articulation: Any) -> None:
        super().attach(articulation)
        self._reader = BindingReader(self.motors.bindings, articulation.actuators)
        self._base = base_address(articulation)

    def make_motors(self, robot: Articulation) -> Motors:
        return Motors(robot, by_column(robot), self.label, strict=False)

    # Life ---------------------------------------------------------------------------------------

    def start(self, stage: ServedWorld) -> None:
        from mjrig.components.bridges.sockets import Sockets

        web = self.websocket_port if self.websocket else None
        self._sockets = Sockets(self.host, self.port, self.state_port, web, self.label)
        self._stage, self._in_lock_step, self._sequence = stage, False, -1

    def stop(self) -> None:
        if self._sockets is not None:
            self._sockets.close()
        self._sockets = self._stage = None

    @property
    def address(self) -> str:
        return "" if self._sockets is None else self._sockets.address

    @property
    def endpoints(self) -> dict[str, str]:
        """Addresses by use: `request`, `state`, `websocket`."""
        return {} if self._sockets is None else dict(self._sockets.endpoints)

    @property
    def is_in_lock_step(self) -> bool:
        """Whether a client decides when the world steps."""
        return self._in_lock_step

    # Run ----------------------------------------------------------------------------------------

    def attend(self, wait: float = 0.05) -> bool:
        if self._sockets is not None:
            self._sockets.attend(self.answer, wait=wait if self._in_lock_step else 0.0)
            self._attended += 1
            if self._in_lock_step or self._attended % _MENDED_EVERY == 0:
                said = self._sockets.mend()
                if said:
                    self.robot.report("bridge", f"{self.label}: {said}")
        return self._in_lock_step

    def before_controls(self, time: float) -> None:
        if self._in_lock_step:  # time passes only because a client wants it to
            self._last = time
            self._set_deadline()
        super().before_controls(time)

    def send(self) -> None:
        if self._sockets is not None:
            self._traffic.sent += self._sockets.publish(self.state)

    # Requests -----------------------------------------------------------------------------------

    def answer(self, message: bytes) -> bytes:
        """The reply to a request, whatever it contains."""
        as_json = is_json(message)
        try:
            request = decoded(message)
            op = op_of(request, self._ops)
            check_keys(request, op, _KEYS.get(op, ()))
            reply = {"ok": True, **self._ops[op](request)}
            return encoded(reply, as_json)
        except MjrigError as error:
            problem = str(error)
        except Exception as error:  # a client must not stop the world
            problem = f"{type(error).__name__}: {error}"
        self.reject(problem)
        return encoded({"ok": False, "error": problem}, as_json)

    def _describe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        stage, robot = self._stage, self.robot
        assert stage is not None
        kp, kv = self.motors.gains()
        own = set(self.motors.with_gains.tolist())
        return {
            "protocol": PROTOCOL,
            "actor": robot.name,
            "timestep": stage.world.timestep,
            "actuators": list(robot.actuator_names),
            "joints": [b.joint for b in self.motors.bindings],
            "units": [b.effort_unit for b in self.motors.bindings],
            "kp": [float(v) if i in own else None for i, v in enumerate(kp)],
            "kv": [float(v) if i in own else None for i, v in enumerate(kv)],
            "keyframes": list(robot.keyframes),
            "sensors": {n: len(v) for n, v in robot.sensors.items()},
            "ops": list(self._ops),
            "endpoints": self.endpoints,
            "lock_step": self._in_lock_step,
            "sequence": self._sequence,
        }

    def state(self) -> dict[str, Any]:
        """The state as clients get it; arrays in the order of `describe`'s actuators."""
        data, stage, read = self.robot.data, self._stage, self._reader
        found: dict[str, Any] = {
            "time": float(data.time),
            "step": 0 if stage is None else stage.world.steps,
            "position": read.position(data.qpos, data.actuator_length).tolist(),
            "velocity": read.velocity(data.qvel, data.actuator_velocity).tolist(),
            "effort": read.applied_effort(data.actuator_force).tolist(),
        }
        if self._base is not None:
            dof = self._base_dof()
            found["base"] = {
                "position": data.qpos[self._base : self._base + 3].tolist(),
                "orientation": data.qpos[self._base + 3 : self._base + 7].tolist(),
                "velocity": data.qvel[dof : dof + 3].tolist(),
                "angular_velocity": data.qvel[dof + 3 : dof + 6].tolist(),
            }
        return found

    def _base_dof(self) -> int:
        model = self.robot.model
        joint = int(np.flatnonzero(model.jnt_qposadr == self._base)[0])
        return int(model.jnt_dofadr[joint])

    def _get(self, request: Mapping[str, Any]) -> dict[str, Any]:
        state = self.state()
        if request.get("sensors"):
            state["sensors"] = {n: v.tolist() for n, v in self.robot.sensors.items()}
        return state

    def _set(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._command(request, required=True)
        return {}

    def _step(self, request: Mapping[str, Any]) -> dict[str, Any]:
        n = whole(request, "n", 1, 0, MOST_STEPS)
        self._command(request, required=False)
        assert self._stage is not None
        self._in_lock_step = True
        self._stage.advance(n)
        return self._get(request)

    def _run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._in_lock_step = False
        return {}

    def _pause(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._in_lock_step = True
        return {}

    def _reset_world(self, request: Mapping[str, Any]) -> dict[str, Any]:
        keyframe = request.get("keyframe")
        if keyframe is not None and not isinstance(keyframe, str):
            raise RequestError(f"keyframe: must be a name, got {keyframe!r}")
        assert self._stage is not None
        self._stage.reset(keyframe)
        return self._get(request)

    def _release(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.motors.release()
        self._sequence = -1
        self._phase = BridgePhase.WAITING
        self._set_deadline()
        return {}

    def _command(self, request: Mapping[str, Any], *, required: bool) -> None:
        """Use the targets and gains of a request, all or nothing."""
        if self._phase is BridgePhase.LOST:
            self._sequence = -1  # that of a program that is gone
        sequence = whole(request, "sequence", self._sequence + 1, 0, 1 << 53)
        rows = {n: self._targets(n, request[n]) for n in _ROWS if n in request}
        gains = {n: self._targets(n, request[n]) for n in _GAINS if n in request}
        if not rows and not gains:
            if required:
                raise RequestError(f"set: needs one of {', '.join((*_ROWS, *_GAINS))}")
            return
        if sequence <= self._sequence and "sequence" in request:
            raise RequestError(f"sequence: {sequence} is not after {self._sequence}")
        if not self.take_over():
            raise RequestError(self.traffic.log[-1].reason)
        if self._phase is BridgePhase.LOST:
            self.motors.return_gains()
        self._sequence = sequence
        values = self.robot.setpoints.values
        for row, name in enumerate(_ROWS):
            if name in rows:
                columns, given = rows[name]
                values[row, columns] = given
        if gains:
            new = dict(zip(_GAINS, self.motors.gains(), strict=True))
            for name, (columns, given) in gains.items():
                new[name][columns] = given
            self.motors.use_gains(new["kp"], new["kv"])
        self.commanded(float(self.robot.data.time))

    def _targets(self, name: str, value: object) -> tuple[list[int], FloatArray]:
        rest: object = None
        if isinstance(value, Mapping):
            value = {str(pattern): number for pattern, number in value.items()}
            rest = value.pop(DEFAULT, None) if name in _GAINS else None
        elif not isinstance(value, list | tuple | int | float) or isinstance(value, bool):
            raise RequestError(f"{name}: must be numbers or numbers by pattern, got {value!r}")
        try:
            columns, values = self.robot.setpoints.spread(value)
            if rest is not None:  # for the motors that no pattern matches, as in a scene
                left = [i for i in self.motors.with_gains.tolist() if i not in columns]
                if not isinstance(rest, int | float) or isinstance(rest, bool):
                    raise RequestError(f"{name}: {DEFAULT} must be a number, got {rest!r}")
                columns, values = [*columns, *left], np.append(values, [float(rest)] * len(left))
        except ValueError as error:  # says what is wrong with the numbers, but not which
            raise RequestError(f"{name}: {error}") from None
        if name in _GAINS and not set(columns) <= set(self.motors.with_gains.tolist()):
            raise RequestError(f"{name}: one of them has no PDController whose gains can be set")
        return columns, numbers(name, values, negative=name not in _GAINS)
