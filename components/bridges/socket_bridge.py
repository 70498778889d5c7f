"""SocketBridge: one documented protocol over ZMQ and WebSocket."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mjrig.components.bridges.bridge import Bridge, BridgePhase, ServedWorld
from mjrig.components.bridges.clients import (
    MIN_TOKEN_LETTERS,
    Client,
    CommandRight,
    network_warning,
    required_token,
)
from mjrig.components.bridges.lock_step import LockStep, OnLockTimeout, StepJob
from mjrig.components.bridges.motors import Motors
from mjrig.components.bridges.protocol import (
    GAINS,
    MOST_STEPS,
    PROTOCOL,
    ROWS,
    RequestError,
    check_keys,
    decoded,
    encoded,
    flag,
    is_json,
    numbers,
    op_of,
    whole,
)
from mjrig.components.bridges.traffic import REPLIED_LETTERS, rejection, shortened
from mjrig.core.arrays import FloatArray
from mjrig.core.control.actor_in_world import base_address
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.sampler import BindingReader, by_column
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding, note
from mjrig.core.pattern_program import pattern_budget
from mjrig.core.properties.per_actuator import DEFAULT
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float, Int, Text

if TYPE_CHECKING:
    from mjrig.components.bridges.socket_server import Sockets


# Robot view ---------------------------------------------------------------------------------------
# RobotView: a robot as clients of SocketBridge see and command it.


#: Longest name pattern of a request: all actuators of a large robot, joined by |, fit.
MAX_PATTERN_LETTERS = 4000
#: Values by name, each with the columns of the actuators that they are for.
Targets = dict[str, tuple[list[int], FloatArray]]


class RobotView:
    """Reads and commands a robot; arrays are in the order of its actuators."""

    def __init__(self, robot: Articulation, motors: Motors) -> None:
        self._robot, self._motors = robot, motors
        self._reader = BindingReader(motors.bindings, robot.actuators)
        self._base = base_address(robot)
        if self._base is not None:
            joint = int(np.flatnonzero(robot.model.jnt_qposadr == self._base)[0])
            self._base_dof = int(robot.model.jnt_dofadr[joint])

    def description(self) -> dict[str, Any]:
        """Names, units, gains and sensors."""
        robot, motors = self._robot, self._motors
        kp, kv = motors.gains()
        with_gains = set(motors.with_gains.tolist())
        return {
            "actor": robot.name,
            "actuators": list(robot.actuator_names),
            "joints": [b.joint for b in motors.bindings],
            "units": [b.effort_unit for b in motors.bindings],
            "kp": [float(v) if i in with_gains else None for i, v in enumerate(kp)],
            "kv": [float(v) if i in with_gains else None for i, v in enumerate(kv)],
            "keyframes": list(robot.keyframes),
            "sensors": {n: len(v) for n, v in robot.sensors.items()},
        }

    def state(self, step: int) -> dict[str, Any]:
        """The state after so many steps."""
        data, read = self._robot.data, self._reader
        state: dict[str, Any] = {
            "time": float(data.time),
            "step": step,
            "position": read.position(data.qpos, data.actuator_length).tolist(),
            "velocity": read.velocity(data.qvel, data.actuator_velocity).tolist(),
            "effort": read.applied_effort(data).tolist(),
        }
        if self._base is not None:
            base, dof = self._base, self._base_dof
            state["base"] = {
                "position": data.qpos[base : base + 3].tolist(),
                "orientation": data.qpos[base + 3 : base + 7].tolist(),
                "velocity": data.qvel[dof : dof + 3].tolist(),
                "angular_velocity": data.qvel[dof + 3 : dof + 6].tolist(),
            }
        return state

    def sensors(self) -> dict[str, list[float]]:
        """Readings of all sensors by name."""
        return {n: v.tolist() for n, v in self._robot.sensors.items()}

    # Commands -----------------------------------------------------------------------------------

    def targets(self, request: Mapping[str, Any]) -> Targets:
        """The valid targets and gains of a request; all waits for it, so its patterns have a limit.

        Raises:
            RequestError: one is not valid.
        """
        with pattern_budget():
            return {n: self._target(n, request[n]) for n in (*ROWS, *GAINS) if n in request}

    def command(self, targets: Targets) -> None:
        """Write targets and gains."""
        values, motors = self._robot.setpoints.values, self._motors
        for row, name in enumerate(ROWS):
            if name in targets:
                columns, new = targets[name]
                values[row, columns] = new
        if any(name in targets for name in GAINS):
            gains = dict(zip(GAINS, motors.gains(), strict=True))
            for name in GAINS:
                if name in targets:
                    columns, new = targets[name]
                    gains[name][columns] = new
            motors.use_gains(gains["kp"], gains["kv"])

    def _target(self, name: str, value: object) -> tuple[list[int], FloatArray]:
        default: object = None
        if isinstance(value, Mapping):
            value = {str(pattern): number for pattern, number in value.items()}
            default = value.pop(DEFAULT, None) if name in GAINS else None
            limit = 2 * len(self._robot.actuator_names) + 16  # matching takes time, and all wait
            if any(len(pattern) > MAX_PATTERN_LETTERS for pattern in value):
                raise RequestError("long-pattern", subject=name, expected=MAX_PATTERN_LETTERS)
            if len(value) > limit:
                values = {"here": len(value), "expected": limit}
                raise RequestError("too-many-patterns", subject=name, **values)
        elif not isinstance(value, list | tuple | int | float) or isinstance(value, bool):
            raise RequestError("not-numbers", subject=name, here=shortened(repr(value)))
        try:
            columns, values = self._robot.setpoints.spread(value)
            if default is not None:  # for the motors that no pattern matches, as in a scene
                others = [i for i in self._motors.with_gains.tolist() if i not in columns]
                if not isinstance(default, int | float) or isinstance(default, bool):
                    text = shortened(repr(default))
                    raise RequestError("not-a-default", subject=name, here=text)
                columns = [*columns, *others]
                values = np.append(values, [float(default)] * len(others))
        except OverflowError:
            raise RequestError("too-large", subject=name) from None
        except ValueError as error:  # describes the problem, but not in which of the values
            raise RequestError("invalid", subject=name, reason=str(error)) from None
        if name in GAINS and not set(columns) <= set(self._motors.with_gains.tolist()):
            raise RequestError("no-gains-to-set", subject=name)
        return columns, numbers(name, values, negative=name not in GAINS)


# Socket bridge ------------------------------------------------------------------------------------


#: Steps between two checks of the connections.
_STEPS_PER_CHECK = 100
#: A reply, or None while a `step` is running.
Result = dict[str, Any] | None


class SocketBridge(Bridge):
    """Serves the actor over ZMQ and WebSocket: describe, set, step, get, reset, subscribe.

    Free run: the world runs in real time and commands act from the next physics step on. Lock step:
    from the first `step` on it runs only when a client asks, until `run`. One client at a time
    commands the motors, and one has the clock; others are refused unless they `take`.
    """

    host = Text("127.0.0.1", doc="Address to listen on; the default is this machine only.")
    port = Int(5559, min=0, max=65535, doc="TCP port of requests (ZMQ REQ); 0: any free one.")
    state_port = Int(5560, min=0, max=65535, doc="TCP port of states (ZMQ PUB); 0: any free one.")
    websocket = Bool(True, doc="Also listen for WebSocket clients.")
    websocket_port = Int(
        5561, min=0, max=65535, edit_if="websocket", doc="TCP port of WebSocket; 0: any free one."
    )
    max_clients = Int(
        64,
        min=1,
        max=10_000,
        category="Safety",
        doc="Connections to each of its ports at once; further ones are refused.",
    )
    token = Text(
        "",
        category="Safety",
        doc=f"Secret that requests must contain, at least {MIN_TOKEN_LETTERS} letters; none: on "
        "this machine no secret, otherwise a new one at each start, which is printed.",
    )
    lock_timeout = Float(
        30.0,
        min=0.0,
        above=True,
        soft_max=120.0,
        unit="s",
        category="Safety",
        doc="Real time without a request of the client in lock step after which lock step ends; "
        "inf: never.",
    )
    on_lock_timeout = Choice(
        OnLockTimeout.RUN,
        category="Safety",
        doc="After lock_timeout: run in real time, or stay paused until any client runs or steps.",
    )

    def prepare(self) -> None:
        super().prepare()
        self._sockets: Sockets | None = None
        self._stage: ServedWorld | None = None
        self._lock = LockStep("", self._locks, self.notify)
        self._right = CommandRight()
        self._secret = ""
        self._sequence = -1
        self._attended = 0
        self._local = Client("a program in this process", is_admitted=True)
        self._ops: dict[str, Callable[[Client, Mapping[str, Any]], Result]] = {
            "describe": self._describe,
            "get": self._get,
            "set": self._set,
            "step": self._step,
            "run": self._run,
            "pause": self._pause,
            "cancel": self._cancel,
            "reset": self._reset_world,
            "release": self._release,
            "subscribe": self._subscribe,
            "unsubscribe": self._unsubscribe,
        }

    def validate(self) -> None:
        if 0 < len(self.token) < MIN_TOKEN_LETTERS:
            raise ValueError(f"token: needs at least {MIN_TOKEN_LETTERS} letters")

    def attach(self, articulation: Any) -> None:
        super().attach(articulation)
        self._view = RobotView(articulation, self.motors)

    def make_motors(self, robot: Articulation) -> Motors:
        return Motors(robot, by_column(robot), self.label, strict=False)

    # Life ---------------------------------------------------------------------------------------

    def start(self, stage: ServedWorld) -> None:
        from mjrig.components.bridges.socket_server import Sockets

        web = self.websocket_port if self.websocket else None
        self._secret = required_token(self.host, self.token)
        self._sockets = Sockets(
            self.host,
            self.port,
            self.state_port,
            web,
            self.label,
            max_clients=self.max_clients,
            token=self._secret,
        )
        self._stage, self._sequence = stage, -1
        self._lock = LockStep(self.label, self._locks, self.notify)
        self._right = CommandRight()

    def stop(self) -> None:
        if self._sockets is not None:
            self._sockets.close()
        self._sockets = self._stage = None
        self._lock.end()

    @property
    def address(self) -> str:
        if self._sockets is None:
            return ""
        secret = f", token {self._secret}" if self._secret and not self.token else ""
        return self._sockets.address + secret

    def network_remark(self) -> Finding | None:
        return network_warning(self.host)

    @property
    def endpoints(self) -> dict[str, str]:
        """Addresses by use: `request`, `state`, `websocket`."""
        return {} if self._sockets is None else dict(self._sockets.endpoints)

    @property
    def is_in_lock_step(self) -> bool:
        """Whether a client decides when the world steps."""
        return self._lock.is_on

    def _locks(self) -> Iterator[LockStep]:
        """Of all bridges of this world: it has one clock."""
        robots = () if self._stage is None else self._stage.world.articulations.values()
        for other in (c for r in robots for c in r.components):
            if isinstance(other, SocketBridge):
                yield other._lock

    # Run ----------------------------------------------------------------------------------------

    def attend(self, wait: float = 0.05) -> bool:
        sockets, stage, lock = self._sockets, self._stage, self._lock
        if sockets is not None and stage is not None:
            lock.proceed(stage.advance)
            is_waiting = lock.is_on and lock.job is None
            self._attended += 1
            try:
                sockets.attend(self.handle, wait=wait if is_waiting else 0.0)
                if lock.is_on or self._attended % _STEPS_PER_CHECK == 0:
                    self._check_connections(sockets)
            except Exception as error:  # connections must not stop the world
                self.reject(rejection(error))
        return lock.is_on

    def _check_connections(self, sockets: "Sockets") -> None:
        repair = sockets.mend()
        for text in (*([repair] if repair else []), *sockets.notes()):
            self.notify(note("connection", "", reason=text))
        if self._lock.check_silence(self.lock_timeout, self.on_lock_timeout):
            self._right.release()

    def before_controls(self, time: float) -> None:
        if self._lock.is_on:  # time passes only because a client wants it to
            self._last = time
            self._set_deadline()
        super().before_controls(time)

    def _lose(self) -> None:
        super()._lose()
        self._right.release()

    def send(self) -> None:
        if self._sockets is not None:
            try:
                self._traffic.sent += self._sockets.publish(self.state)
            except Exception as error:  # as in `attend`
                self.reject(rejection(error))

    # Requests -----------------------------------------------------------------------------------

    def answer(self, message: bytes) -> bytes:
        """The reply to a request of this process, whatever it contains."""
        replies: list[bytes] = []
        self.handle(message, self._local, replies.append)
        while not replies:
            self.attend(0.0)
        return replies[0]

    def handle(self, message: bytes, client: Client, reply: Callable[[bytes], None]) -> None:
        """Answer a request of a client, now or when its `step` is done; nothing is raised."""
        client.last_request = time.monotonic()
        job, as_json = self._lock.job, is_json(message)
        try:
            if job is not None and client is job.client:
                is_cancel = b"cancel" in message and decoded(message).get("op") == "cancel"
                job.queue(lambda: self.handle(message, client, reply), cancel=is_cancel)
                return
            request = decoded(message)
            client.admit(request.pop("token", None), self._secret)
            op = op_of(request, self._ops)
            check_keys(request, op)
            result = self._ops[op](client, {**request, "as_json": as_json})
            job = self._lock.job
            if result is not None or job is None:
                text = self._accepted(client, result, as_json)
            else:
                job.finish = lambda problem: reply(self._step_reply(job, request, as_json, problem))
                return
        except Exception as error:  # a client must not stop the world
            reply(self._refused(error, as_json))
            if not isinstance(error, MjrigError):
                client.close()  # its next request could do worse
            return
        reply(text)

    def _accepted(self, client: Client, result: Result, as_json: bool) -> bytes:
        warning = {"warning": client.warning} if client.warning else {}
        client.warning = ""
        return encoded({"ok": True, **(result or {}), **warning}, as_json)

    def _refused(self, error: Exception, as_json: bool) -> bytes:
        """The reply to a request that is not used."""
        problem = rejection(error)
        self.reject(problem)
        return encoded({"ok": False, "error": shortened(problem.text, REPLIED_LETTERS)}, as_json)

    def _step_reply(
        self,
        job: StepJob,
        request: Mapping[str, Any],
        as_json: bool,
        problem: RequestError | None,
    ) -> bytes:
        if problem is not None:
            return self._refused(problem, as_json)
        return self._accepted(job.client, self._get(job.client, request), as_json)

    def _describe(self, client: Client, request: Mapping[str, Any]) -> Result:
        stage, current = self._stage, self._lock.current
        assert stage is not None
        commander, clock = self._right.holder, None if current is None else current.holder
        return {
            "protocol": PROTOCOL,
            "timestep": stage.world.timestep,
            **self._view.description(),
            "ops": list(self._ops),
            "endpoints": self.endpoints,
            "lock_step": self._lock.is_on,
            "sequence": self._sequence,
            "client": client.name,
            "commander": None if commander is None else commander.name,
            "clock": None if clock is None else clock.name,
        }

    def state(self) -> dict[str, Any]:
        """The state as clients get it; arrays in the order of `describe`'s actuators."""
        return self._view.state(0 if self._stage is None else self._stage.world.steps)

    def _get(self, client: Client, request: Mapping[str, Any]) -> Result:
        state = self.state()
        if request.get("sensors"):
            state["sensors"] = self._view.sensors()
        return state

    def _set(self, client: Client, request: Mapping[str, Any]) -> Result:
        self._command(client, request, required=True)
        return {}

    def _subscribe(self, client: Client, request: Mapping[str, Any]) -> Result:
        if not client.subscribe(request["as_json"]):
            where = self.endpoints.get("state", "the state port")
            raise RequestError("no-subscription", form="no-subscription zmq", here=where)
        return {}

    def _unsubscribe(self, client: Client, request: Mapping[str, Any]) -> Result:
        if not client.unsubscribe():
            raise RequestError("no-subscription")
        return {}

    # The clock ----------------------------------------------------------------------------------

    def _claim_clock(self, client: Client, op: str, *, take: bool) -> None:
        """Make sure that a client may stop, step or reset the world.

        Raises:
            RequestError: another client has the clock, or commands this robot.
        """
        self._lock.claim(client, op, take=take)
        if self._lock.current is None and self._phase is BridgePhase.COMMANDED:
            self._right.check(client, op, take=take)

    def _step(self, client: Client, request: Mapping[str, Any]) -> Result:
        n = whole(request, "n", 1, 0, MOST_STEPS)
        self._claim_clock(client, "step", take=flag(request, "take"))
        self._command(client, request, required=False)
        assert self._stage is not None
        self._lock.begin(client)
        job = StepJob(client, n)
        if job.advance(self._stage.advance):
            return self._get(client, request)
        self._lock.job = job
        return None

    def _cancel(self, client: Client, request: Mapping[str, Any]) -> Result:
        steps = self._lock.cancel(client, take=flag(request, "take"))
        return {"cancelled": False} if steps is None else {"cancelled": True, "steps": steps}

    def _run(self, client: Client, request: Mapping[str, Any]) -> Result:
        self._lock.claim(client, "run", take=flag(request, "take"))
        self._lock.end()
        return {}

    def _pause(self, client: Client, request: Mapping[str, Any]) -> Result:
        self._claim_clock(client, "pause", take=flag(request, "take"))
        self._lock.begin(client)
        return {}

    def _reset_world(self, client: Client, request: Mapping[str, Any]) -> Result:
        keyframe = request.get("keyframe")
        if keyframe is not None and not isinstance(keyframe, str):
            raise RequestError("not-a-keyframe", here=shortened(repr(keyframe)))
        self._claim_clock(client, "reset", take=flag(request, "take"))
        assert self._stage is not None
        self._stage.reset(keyframe)
        return self._get(client, request)

    # Commands -----------------------------------------------------------------------------------

    def _release(self, client: Client, request: Mapping[str, Any]) -> Result:
        self._right.check(client, "release", take=flag(request, "take"))
        self._right.release()
        self.motors.release()
        self._sequence = -1
        self._phase = BridgePhase.WAITING
        self._set_deadline()
        return {}

    def _command(self, client: Client, request: Mapping[str, Any], *, required: bool) -> None:
        """Use the targets and gains of a request, all or nothing."""
        is_next = self._right.holder not in (None, client)
        # A program that left, or no longer commands, counted for itself.
        last = -1 if self._phase is BridgePhase.LOST or is_next else self._sequence
        sequence = whole(request, "sequence", last + 1, 0, 1 << 53)
        take = flag(request, "take")
        if not any(name in request for name in (*ROWS, *GAINS)):
            if required:
                raise RequestError("nothing-to-set", expected=[*ROWS, *GAINS])
            return
        # Before the targets: resolving them takes time, and others may not take any.
        self._right.check(client, "set" if required else "step", take=take)
        targets = self._view.targets(request)
        if sequence <= last and "sequence" in request:
            raise RequestError("old-sequence", here=sequence, expected=last)
        self.motors.take()
        notice = self._right.give(client)
        if notice is not None:
            self.notify(notice)
        if self._phase is BridgePhase.LOST:
            self.motors.return_gains()
        self._sequence = sequence
        self._view.command(targets)
        self.commanded(float(self.robot.data.time))
