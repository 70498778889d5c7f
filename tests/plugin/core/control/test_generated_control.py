"""Commands and readings by chance: leases against a model of them, efforts against MuJoCo."""

import random
import re

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig import Source
from mjrig.components import PassthroughController, PDController
from mjrig.core.arrays import FloatArray
from mjrig.core.control.sampler import FIELDS, BindingReader, SampleLog
from mjrig.core.control.setpoints import Lease, Setpoints
from mjrig.core.errors import BindingError, LeaseError
from mjrig.core.patterns import Slots
from tests.campaign import Tally
from tests.worlds import arm, hinge, make_robot, make_world

# Leases -----------------------------------------------------------------------------------------

NAMES = [("hip", "roll"), ("knee", "pitch"), ("ankle", "yaw"), ("grip",)]
INPUTS = {"pose": 4, "lamp": 2}
PATTERNS = (
    ".*", "hip", "roll", "knee|grip", ".*e", "pitch|pose", "pose", "lamp|hip", "toe", "l.*", "p.*",
)  # fmt: skip
ROWS = ("position", "velocity", "feedforward")


class Model:
    """What leases and setpoints are to be: who holds each name, and every value."""

    def __init__(self) -> None:
        self.held: dict[str, Lease] = {}
        self.values = np.zeros((3, len(NAMES)))
        self.inputs = {name: [0.0] * size for name, size in INPUTS.items()}

    @staticmethod
    def columns(pattern: str) -> list[int]:
        return [i for i, names in enumerate(NAMES) if any(re.fullmatch(pattern, n) for n in names)]

    @staticmethod
    def named_inputs(pattern: str) -> list[str]:
        return [name for name in INPUTS if re.fullmatch(pattern, name)]

    def covers(self, lease: Lease) -> list[str]:
        return [name for name, holder in self.held.items() if holder is lease]


def outcome(call: object) -> type[BaseException] | None:
    """The kind of error that a call raises."""
    try:
        call()  # type: ignore[operator]
    except (LeaseError, BindingError, ValueError) as error:
        return LeaseError if isinstance(error, LeaseError) else type(error)
    return None


def take(rng: random.Random, store: Setpoints, model: Model, leases: list[Lease]) -> str:
    pattern = rng.choice(PATTERNS)
    names = [NAMES[i][0] for i in model.columns(pattern)] + model.named_inputs(pattern)
    wanted = None if names else BindingError
    if any(name in model.held for name in names):
        wanted = LeaseError
    taken: list[Lease] = []
    error = outcome(lambda: taken.append(store.take(rng.choice(list(Source)), actuators=pattern)))
    if error is not wanted:
        return f"take {pattern!r}: {error}, expected {wanted}"
    leases += taken
    model.held |= dict.fromkeys(names, taken[0]) if taken else {}
    return ""


def release(rng: random.Random, store: Setpoints, model: Model, leases: list[Lease]) -> str:
    lease = rng.choice(leases) if leases else None
    if lease is not None:
        lease.release()
        for name in model.covers(lease):
            del model.held[name]
        if lease.is_held:
            return "a released lease is held"
    return ""


def write(rng: random.Random, store: Setpoints, model: Model, leases: list[Lease]) -> str:
    """By pattern, through a lease or past all of them."""
    lease = rng.choice([None, *leases])
    row, pattern, value = rng.randrange(3), rng.choice(PATTERNS), round(rng.uniform(-9, 9), 3)
    columns = model.columns(pattern)
    wanted = None if columns else BindingError
    if any(model.held.get(NAMES[i][0], lease) is not lease for i in columns):
        wanted = LeaseError
    elif lease is not None and any(NAMES[i][0] not in model.covers(lease) for i in columns):
        wanted = LeaseError
    if lease is not None and not lease.is_held:
        wanted = LeaseError
    targets = {ROWS[row]: {pattern: value}}
    call = store.write if lease is None else lease.set_targets
    if (error := outcome(lambda: call(**targets))) is not wanted:  # type: ignore[arg-type]
        return f"write {pattern!r} through {lease}: {error}, expected {wanted}"
    if wanted is None:
        model.values[row, columns] = value
    return ""


def write_array(rng: random.Random, store: Setpoints, model: Model, leases: list[Lease]) -> str:
    row, value = rng.randrange(3), round(rng.uniform(-9, 9), 3)
    column = rng.randrange(len(NAMES))
    wanted = ValueError if any(lease.is_held and lease.indices for lease in leases) else None
    array = getattr(store, ROWS[row])
    if (error := outcome(lambda: array.__setitem__(column, value))) is not wanted:
        return f"array {ROWS[row]}: {error}, expected {wanted}"
    if wanted is None:
        model.values[row, column] = value
    return ""


def write_input(rng: random.Random, store: Setpoints, model: Model, leases: list[Lease]) -> str:
    lease, name = rng.choice([None, *leases]), rng.choice(list(INPUTS))
    size = INPUTS[name] + rng.choice((0, 0, 0, 1))
    values = [round(rng.uniform(-1, 1), 3) for _ in range(size)]
    if lease is None:
        wanted: type[BaseException] | None = ValueError if name in model.held else None
        wanted = ValueError if size != INPUTS[name] else wanted
        array = store.inputs[name]
        error = outcome(lambda: array.__setitem__(slice(None), values))
    else:
        wanted = None if model.held.get(name) is lease else LeaseError
        wanted = ValueError if wanted is None and size != INPUTS[name] else wanted
        error = outcome(lambda: lease.set_input(name, values))
    if error is not wanted:
        return f"input {name} through {lease}: {error}, expected {wanted}"
    if wanted is None:
        model.inputs[name] = values
    return ""


OPERATIONS = (take, take, release, write, write, write, write_array, write_input)


@pytest.mark.campaign
def test_leases_protect_what_they_cover_and_nothing_else(tally: Tally) -> None:
    for rng in tally.cases("leases by chance", 200, 20_000, minutes=1.0):
        store, model, leases = Setpoints(Slots(NAMES, "dog"), INPUTS, "dog"), Model(), list[Lease]()
        for _ in range(40):
            operation = rng.choice(OPERATIONS)
            problem = operation(rng, store, model, leases)
            holders = [model.held.get(names[0]) for names in NAMES]
            sources = [lease.source if lease else Source.SCRIPT for lease in holders]
            if not np.array_equal(store.values, model.values):
                problem = problem or f"{operation.__name__}: {store.values}, {model.values}"
            if {n: list(a) for n, a in store.inputs.items()} != model.inputs:
                problem = problem or f"{operation.__name__}: inputs {dict(store.inputs)}"
            if [store.source_of(i) for i in range(len(NAMES))] != sources:
                problem = problem or f"{operation.__name__}: sources"
            if problem:
                tally.found(problem)
                break


# Efforts ----------------------------------------------------------------------------------------

FLAGS = ("clampctrl", "actuation", "gravity")
#: A spatial tendon, whose moments change with the pose.
CROSSED = """<worldbody><site name="wall" pos="0.1 0 0.4"/></worldbody>
<tendon><spatial name="rope"><site site="wall"/><site site="tip"/></spatial>"""
OTHERS = ('tendon="cable"', 'tendon="rope"')
INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")


def interval(rng: random.Random, size: float) -> str:
    return f"{-rng.uniform(0.1, size):.3f} {rng.uniform(0.1, size):.3f}"


def drive(rng: random.Random, name: str, target: str) -> str:
    """A motor or a servo of the model, with limits of its own."""
    kind, gains = rng.choice((("motor", ""), ("motor", ""), ("position", 'kp="30" kv="1"')))
    limits = "".join(
        f' {limit}="{interval(rng, 5)}"'
        for limit in ("ctrlrange", "forcerange")
        if rng.random() < 0.4
    )
    gear = rng.choice((1.0, -2.0, 0.3, 6.0))
    group = rng.randrange(2)
    return f'<{kind} name="{name}" {target} gear="{gear}" group="{group}" {gains}{limits}/>'


def robot_text(rng: random.Random) -> str:
    """An arm with one or two drives per joint, and limits of the joints' sums.

    Tendons, a site and gravity compensation may act on the joints too.
    """
    drives = [
        drive(rng, f"{joint}_{i}", f'joint="{joint}"')
        for joint in ("shoulder", "elbow")
        for i in range(rng.randint(1, 2))
    ]
    drives += [drive(rng, t.split('"')[1], t) for t in OTHERS if rng.random() < 0.25]
    if rng.random() < 0.2:
        drives.append('<general name="tip" site="tip" gear="1 2 3 0 1 0" biastype="affine"/>')
    rng.shuffle(drives)
    flags = " ".join(f'{name}="disable"' for name in FLAGS if rng.random() < 0.15)
    groups = 'actuatorgroupdisable="1"' if rng.random() < 0.2 else ""
    option = f'integrator="{rng.choice(INTEGRATORS)}" {groups}'
    joint = f'actuatorfrcrange="{interval(rng, 4)}"' if rng.random() < 0.6 else ""
    joint += ' actuatorgravcomp="true"' if rng.random() < 0.4 else ""
    xml = arm("".join(drives), option=option, joint=joint).replace("<tendon>", CROSSED, 1)
    xml = xml.replace('<body name="lower"', f'<body name="lower" gravcomp="{rng.randint(0, 2)}"')
    return xml.replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>", 1)


@pytest.mark.campaign
@pytest.mark.parametrize("execution", ["python", "auto"])
def test_applied_efforts_add_up_to_what_mujoco_applies(execution: str, tally: Tally) -> None:
    for rng in tally.cases(f"applied efforts, {execution}", 60, 5_000, minutes=1.0):
        xml = robot_text(rng)
        law = {"kp": rng.uniform(1, 60), "kv": rng.uniform(0, 2), "decimation": rng.randint(1, 4)}
        components: list[mjrig.ActorComponent] = [PDController(actuators=".*", **law)]
        if rng.random() < 0.2:
            components = [PassthroughController()]
        world = make_world(xml, components, execution=execution)
        robot = world["robot"]
        reader = BindingReader(robot.actuators, robot.actuators)
        joints = [b.on_joint for b in robot.actuators]
        for step in range(12):
            robot.set_targets([rng.uniform(-2, 2) for _ in robot.actuator_names])
            world.step()
            efforts = reader.applied_effort(world.data)
            wanted = shares(world, robot)
            if not np.allclose(efforts[joints], wanted[joints], rtol=1e-11, atol=1e-12):
                tally.found(f"step {step}: {efforts} instead of {wanted}: {components} {xml}")
                break
            if not np.array_equal(robot.applied_effort, efforts[_bound(robot)]):
                tally.found(f"step {step}: {robot.applied_effort} instead of {efforts}: {xml}")
                break


def shares(world: mjrig.World, robot: mjrig.Articulation) -> FloatArray:
    """The part of every joint's drive in `qfrc_actuator`: all that acts there is scaled alike."""
    model, data = world.model, world.data
    moment = np.zeros((len(data.actuator_force), model.nv))
    rows = (data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    mujoco.mju_sparse2dense(moment, data.actuator_moment, *rows)
    forces = moment * data.actuator_force[:, None]
    total = forces.sum(axis=0) + model.jnt_actgravcomp * data.qfrc_gravcomp
    nothing = (total == 0.0) | np.isclose(total, data.qfrc_actuator, rtol=1e-12, atol=1e-12)
    scale = np.where(nothing, 1.0, data.qfrc_actuator / np.where(nothing, 1.0, total))
    parts = forces * scale
    return np.array([parts[b.output_address, max(b.dof_address, 0)] for b in robot.actuators])


def _bound(robot: mjrig.Articulation) -> list[int]:
    ids = [b.actuator_id for b in robot.actuators]
    return [ids.index(b.actuator_id) for b in robot.bindings]


@pytest.mark.parametrize("execution", ["python", "compiled", "auto"])
@pytest.mark.parametrize("decimation", [1, 2, 5])
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_channels_show_the_law_of_the_last_tick(
    execution: str, decimation: int, delay: int
) -> None:
    """Every field of a sample, against the law worked out here from the state before the tick."""
    kp, kv, limit = 20.0, 1.5, 6.0
    tick = {"decimation": decimation, "delay": {"steps": delay}}
    law = PDController(kp=kp, kv=kv, torque_limit=limit, **tick)
    xml = hinge('<motor name="drive" joint="swing" gear="2" forcerange="-2 2"/>', inertia=0.05)
    world = make_world(xml, [law], execution=execution)
    robot, rng = world["robot"], np.random.default_rng(0)
    log, held = SampleLog(robot), (0.0, 0.0)
    targets: list[float] = []
    for step in range(30):
        target = float(rng.uniform(-1, 1))
        robot.set_targets(target)
        if step % decimation == 0:
            targets.append(target)
            seen = targets[max(len(targets) - 1 - delay, 0)]
            raw = kp * (seen - world.data.qpos[0]) - kv * world.data.qvel[0]
            held = (raw, float(np.clip(raw, -limit, limit)))
        world.step()
        log.take(world.time)
        sample = dict(zip(FIELDS, log.arrays()[1][-1, :, 0], strict=True))
        applied = 2 * np.clip(held[1] / 2, -2, 2)
        assert (sample["target"], sample["position"]) == (target, world.data.qpos[0])
        assert sample["raw_effort"] == pytest.approx(held[0], rel=1e-12)
        assert sample["effort"] == pytest.approx(held[1], rel=1e-12)
        assert sample["applied_effort"] == pytest.approx(applied, rel=1e-12)
    assert len(log) == 30 and log.values("effort").shape == (30, 1)


# Holds ------------------------------------------------------------------------------------------

KEYS = '<key name="bent" qpos="0.5 -0.4"/><key name="flat" qpos="0 0.2"/>'


@pytest.mark.parametrize("decimation", [1, 4])
@pytest.mark.parametrize("seed", range(6))
def test_holds_pin_the_setpoints_until_the_last_is_released(seed: int, decimation: int) -> None:
    rng = random.Random(seed)
    poses = {"bent": [0.5, -0.4], "flat": [0.0, 0.2]}
    law = PDController(kp=50, kv=5, decimation=decimation)
    world, robot = make_robot(arm(keys=KEYS), law)
    pinned, snapshots = "", []
    for _ in range(40):
        action = rng.choice(("hold", "release", "command", "snapshot", "restore", "step"))
        if action == "hold":
            pinned = rng.choice(list(poses))
            robot.hold(pinned)
        elif action == "release":
            pinned = ""
            robot.release_hold()
        elif action == "command":
            robot.set_targets([rng.uniform(-1, 1), rng.uniform(-1, 1)])
        elif action == "snapshot":
            snapshots.append((world.snapshot(), pinned))
        elif action == "restore" and snapshots:
            snapshot, pinned = rng.choice(snapshots)
            world.restore(snapshot)
        before = robot.setpoints.position.copy()
        world.step()
        wanted = poses[pinned] if pinned else before
        assert robot.setpoints.position.tolist() == list(wanted)
