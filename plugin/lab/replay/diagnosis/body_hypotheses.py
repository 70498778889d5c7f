"""Hypotheses about the body: payload, friction, gravity, joints, and states that were edited."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.plant import PER_JOINT, at_joint
from mjrig.core.findings import Finding, RepairEdit
from mjrig.core.names import listed
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.core.sim.world import World
from mjrig.lab.findings.rendering import EACH
from mjrig.lab.replay.diagnosis.hypothesis import MAX_SAMPLES, NAMED, Alternative, Change
from mjrig.lab.replay.diagnosis.plant_differences import dynamics_fix
from mjrig.lab.replay.diagnosis.predictions import EXACT, ParameterFit, Segments, size
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Indices, Match
from mjrig.lab.replay.plant_edit import JOINT_FIELDS, CannotEdit, PlantEdit
from mjrig.lab.replay.players import TargetsPlayer
from mjrig.lab.replay.start_state import is_same_model
from mjrig.lab.rollouts.tracks import advance

#: Short predictions that miss by more than this are rarely those of the same robot with another
#: mass or friction: setpoints, orders or units are wrong, unless one parameter explains all of it
#: [rad/s or m/s].
GROSS = 1.5
#: With this share no other parameter is fitted.
CERTAIN = 0.995
#: A value that is less than this share of the one here is zero.
NOTHING = 1e-4
#: A parameter whose slope promises less is not fitted.
HOPELESS = 0.02
#: Joints whose properties are tried one by one: those pushed most; and how many are fitted.
PUSHED, SINGLE = 3, 2
#: Properties of joints that are fitted where the recording does not list them, with a first step.
JOINTS = {
    "armature": 2e-3,
    "damping": 2e-2,
    "frictionloss": 2e-2,
    "stiffness": 0.2,
    "kp": 1.0,
    "kv": 0.05,
}
#: Values of joints that differ by more than this factor are changed by the same share, others by
#: the same amount.
UNLIKE = 2.0
#: First step of such a share.
SHARE = 0.02
#: Changes of the vertical gravity to begin from [m/s²].
GRAVITY = (-2.0, -0.5, 0.5, 2.0, 6.0, 9.81)
#: A change beyond these is no property of a robot: gravity [m/s²]; friction, as a logarithm; of a
#: joint's property so many times what it is here, or steps; of a mass, that of the whole robot.
MOST_GRAVITY, MOST_FRICTION, MANY, STEPS = 25.0, 3.0, 20.0, 25.0
#: Changes of a mass to begin from, as shares of the robot's; of a joint's property, of its own.
MASSES = (-0.3, -0.2, -0.1, -0.05, 0.05, 0.1, 0.2, 0.3)
SHARES = (-0.9, -0.7, -0.4, 0.5, 1.5)
#: Factors of friction to begin from, as logarithms: half, double, …
SCAN = (-1.4, -1.0, -0.7, -0.35, -0.15, 0.15, 0.35, 0.7, 1.0, 1.4)


@dataclass(frozen=True)
class PlantParameter:
    """One number of the body: how to change it by x, and how to report that."""

    what: str
    where: str
    change: Callable[[PlantEdit, float], object]
    here: float
    step: float
    low: float = -np.inf
    #: The largest change that a robot can have; what fits best beyond it is not named.
    most: float = np.inf
    scan: tuple[float, ...] = ()
    repairable: bool = False
    #: The joints' values, all of one kind, and their unit.
    values: Mapping[str, float] = field(default_factory=dict)
    unit: str = ""
    #: Its effect is not smooth: a slope says nothing about it.
    scans_always: bool = False


def body(case: ReplayCase) -> Iterator[Alternative]:
    """Properties that the recording does not list, fitted to short predictions."""
    assert case.segments is not None
    for finding, change in BodyFits(case.segments, case.world).run():
        yield Alternative(finding, (case.segments.pair.robot, change))


class BodyFits:
    """Fits one parameter at a time to short predictions; `run` names those that explain them."""

    def __init__(self, segments: Segments, world: World) -> None:
        self._segments, self._world = segments, world
        self._pair: Match = segments.pair

    def run(self) -> list[tuple[Finding, Change]]:
        """Findings and how to repair them in this world, the one that explains most first."""
        before = self._segments.miss()
        if size(before) <= EXACT:
            return []
        gross = size(before) > GROSS
        found: list[tuple[Finding, Change]] = []
        for parameter in self._parameters():
            found += self._fitted(parameter, before)
            if found and (found[-1][0].share or 0.0) > CERTAIN:
                found = found[-1:] if gross else found
                break
        else:
            if gross:
                return []
            for parameter in self._promising(before):
                if (parameter.what, parameter.where) not in {(f.kind, f.where) for f, _ in found}:
                    found += self._fitted(parameter, before)
        return sorted(found, key=lambda pair: -(pair[0].share or 0.0))

    def _fitted(
        self, parameter: PlantParameter, before: FloatArray
    ) -> list[tuple[Finding, Change]]:
        """The finding of one parameter, if it explains enough."""
        edit = PlantEdit(self._world, self._pair.robot)
        change = partial(parameter.change, edit)
        try:
            # With contacts a slope depends on its side: what one side hides, the other shows.
            if not parameter.scans_always and not any(
                self._segments.promise(change, edit.undo, way * parameter.step, before) > HOPELESS
                for way in (1.0, -1.0)
            ):
                return []
            fit = self._segments.fit(
                change, edit.undo, parameter.step, before, low=parameter.low, scan=parameter.scan
            )
        except CannotEdit:
            return []
        finally:
            edit.undo()
        if fit.share <= NAMED or abs(fit.change) > parameter.most:
            return []
        return [(self._finding(parameter, fit), lambda edit: parameter.change(edit, fit.change))]

    def _promising(self, before: FloatArray) -> list[PlantParameter]:
        """The best guesses of what is wrong with a single joint, of those that are pushed most."""
        push, edit = self._segments.efforts(before), PlantEdit(self._world, self._pair.robot)
        single = [h for _, h in self._pair.joints if h.kind in ("hinge", "slide")]
        worst = sorted(single, key=lambda h: -push[h.dof.start])[:PUSHED]
        hopes: list[tuple[float, PlantParameter]] = []
        for place, joint in enumerate(worst):
            for parameter in self._of_joints((joint.name,)):
                change = partial(parameter.change, edit)
                # With contacts a slope depends on its side: both, where it is most likely.
                ways = (1.0, -1.0) if place == 0 else (1.0,)
                try:
                    hope = max(
                        self._segments.promise(change, edit.undo, w * parameter.step, before)
                        for w in ways
                    )
                except CannotEdit:
                    continue
                finally:
                    edit.undo()
                hopes.append((hope, parameter))
        hopes = [h for h in hopes if h[0] > HOPELESS]
        return [p for _, p in sorted(hopes, key=lambda h: -h[0])[:SINGLE]]

    def _finding(self, parameter: PlantParameter, fit: ParameterFit) -> Finding:
        new, old = parameter.here + fit.change, parameter.here
        if parameter.what == "ground friction":
            new = old * float(np.exp(fit.change))
        value = _rounded(new, old)
        fix: tuple[RepairEdit, ...] = ()
        if parameter.what == "gravity":
            down = [*(float(g) for g in self._world.model.opt.gravity[:2]), value]
            fix = (repair("scene", "sim.gravity", down, f"z {old:g} → {value:g}"),)
        there: object = value
        here: object = float(f"{old:.4g}")
        if len(set(parameter.values.values())) > 1:
            here = {j: float(f"{v:.4g}") for j, v in parameter.values.items()}
            changed = _changed(parameter.values, fit.change)
            there = {j: _rounded(v, parameter.values[j]) for j, v in changed.items()}
        if parameter.repairable:
            wanted = dict.fromkeys(parameter.values, value)
            fix = (dynamics_fix(self._world, self._pair.robot, parameter.what, wanted),)
        return replay_finding(
            parameter.what,
            parameter.where,
            there,
            here,
            "fitted",
            fit.share,
            fix,
            parameter.unit,
            before=fit.before,
            after=fit.after,
        )

    # Parameters ---------------------------------------------------------------------------------

    def _parameters(self) -> Iterator[PlantParameter]:
        yield from self._friction()
        yield from self._payload()
        yield from self._gravity()
        yield from self._of_joints(())

    def _gravity(self) -> Iterator[PlantParameter]:
        if "gravity" in self._pair.recorded.plant.overall:
            return
        down = [float(g) for g in self._world.model.opt.gravity]
        yield PlantParameter(
            "gravity", "z", partial(_fall, down), down[2], 0.1, most=MOST_GRAVITY, scan=GRAVITY
        )

    def _of_joints(self, only: tuple[str, ...]) -> Iterator[PlantParameter]:
        """Properties that the recording does not list, of all joints of a kind or of some."""
        known = self._pair.recorded.plant.joints
        here = plant_of(self._world, self._pair.robot).joints
        for what in JOINTS:
            for kind in ("hinge", "slide"):
                own = {j.name for _, j in self._pair.joints if j.kind == kind}
                values = {
                    j: v
                    for j, v in here.get(what, {}).items()
                    if j in own and (not only or j in only)
                }
                if what not in known and values:
                    yield _of_kind(what, kind, values)

    def _friction(self) -> Iterator[PlantParameter]:
        model = self._world.model
        touching = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
        if not touching.any():
            return
        ground = float(_ground_friction(model))
        yield PlantParameter(
            "ground friction",
            "",
            lambda edit, x: edit.scale_friction(float(np.exp(x))),
            ground,
            0.05,
            -3.0,
            MOST_FRICTION,
            SCAN,
            scans_always=True,
        )

    def _payload(self) -> Iterator[PlantParameter]:
        model, prefix = self._world.model, self._pair.robot.model_map.prefix
        # An actor may have loose things beside its robot: a cube on a table carries no payload.
        roots = {int(model.body_rootid[model.jnt_bodyid[j]]) for j in self._driven_joints()}
        bodies = [
            i
            for i in range(1, model.nbody)
            if int(model.body_rootid[i]) in roots and model.body_mass[i] > 0.0
        ]
        if not bodies:
            return
        total = float(model.body_mass[bodies].sum())
        floats = self._pair.base is not None
        heavy = max(bodies, key=lambda i: float(model.body_mass[i]))
        chosen = {heavy} if floats else {heavy, bodies[-1]}
        for body in sorted(chosen):
            mass = float(model.body_mass[body])
            yield PlantParameter(
                "payload",
                model.body(body).name.removeprefix(prefix),
                partial(_load, body),
                mass,
                0.01 * total,
                -0.9 * mass,
                total,
                tuple(share * total for share in MASSES if share * total > -0.9 * mass),
                scans_always=True,
            )

    def _driven_joints(self) -> list[int]:
        return [b.joint_id for b in self._pair.robot.actuators if b.joint and b.on_joint]


def _of_kind(what: str, kind: str, values: Mapping[str, float]) -> PlantParameter:
    """A property of joints of one kind: like values change by an amount, unlike ones by a share."""
    mean, step = float(np.mean(list(values.values()))), JOINTS[what]
    many = len(values) > EACH
    by_share = _are_unlike(values)
    return PlantParameter(
        what,
        f"{len(values)} {kind}s" if many else listed(values),
        partial(_shift, what, values),
        mean,
        SHARE if by_share else step,
        -1.0 if by_share else -min(values.values()),
        MANY if by_share else MANY * max(mean, STEPS * step),
        SHARES if by_share else tuple(share * mean for share in SHARES),
        what in JOINT_FIELDS and len(set(values.values())) == 1,
        values=values,
        unit=at_joint(PER_JOINT[what], slides=kind == "slide"),
    )


def _are_unlike(values: Mapping[str, float]) -> bool:
    return max(values.values()) > UNLIKE * min(values.values()) > 0.0


def _changed(values: Mapping[str, float], x: float) -> dict[str, float]:
    """Values that are changed by an amount; by a share, if they are too different for one."""
    unlike = _are_unlike(values)
    return {j: max(0.0, v + x * (v if unlike else 1.0)) for j, v in values.items()}


def _rounded(new: float, old: float) -> float:
    return float(f"{new:.4g}") if abs(new) > NOTHING * abs(old) else 0.0


def _shift(what: str, values: Mapping[str, float], edit: PlantEdit, x: float) -> None:
    edit.set_joints(what, _changed(values, x))


def _fall(here: list[float], edit: PlantEdit, x: float) -> None:
    edit.set_option("gravity", [*here[:2], here[2] + x])


def _load(body: int, edit: PlantEdit, kilograms: float) -> None:
    edit.add_mass(kilograms, body)


def _ground_friction(model: mujoco.MjModel) -> float:
    """Sliding friction of the floor: of a plane if there is one."""
    planes = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    fixed = np.flatnonzero(model.geom_bodyid == 0)
    chosen = planes if len(planes) else fixed if len(fixed) else np.arange(model.ngeom)
    return float(model.geom_friction[chosen[0], 0])


# Single steps -------------------------------------------------------------------------------------
# One step from every recorded state, compared with the next state.


#: The fewest steps that show what is rare.
MIN_STEPS = 10
#: A change of velocity in one step that physics did not make [rad/s or m/s].
JUMP = 1e-2
#: With jumps in more than this share of the steps, it is the physics that differs.
RARE = 0.3


def state_edits(case: ReplayCase) -> Iterator[Finding | str]:
    """Jumps that no physics step makes: the source wrote into its state."""
    with TargetsPlayer(
        case.recording, case.world, robot=case.robot, resample=case.resample
    ) as player:
        pair = player.matches[0]
        rows = _single_steps(pair)
        if len(player.matches) > 1 or player.ratio != 1.0 or len(rows) < MIN_STEPS:
            return
        player.start()
        missed = np.array([_missed(player, pair, case.world, int(row)) for row in rows])
    worst, names = missed.max(axis=1), [here.name for _, here in pair.joints]
    jumps = worst > JUMP
    if 0 < jumps.sum() <= RARE * len(jumps) and np.median(worst[~jumps]) < EXACT:
        jumped = missed[jumps].max(axis=0)
        # Coupled joints react too; the one that was written jumps most.
        most = max(JUMP, 0.5 * float(jumped.max()))
        joints = [n for n, r in zip(names, jumped, strict=True) if r > most]
        when = float(pair.recorded.time[int(rows[np.flatnonzero(jumps)[0]])])
        kind, count = "state edited by the source", f"{int(jumps.sum())} of {len(jumps)}"
        there = f"velocity jumps by {jumped.max():.3g} in {count} steps, first at {when:.3f} s"
        yield replay_finding(kind, ", ".join(joints[:6]), there, "no such jump", kind)
    elif np.median(worst) > EXACT:
        joint = names[int(np.median(missed, axis=0).argmax())]
        yield (
            f"single steps from recorded states differ too, most at {joint} (median "
            f"{np.median(worst):.2g} rad/s or m/s a step): the physics or the law differs"
        )


def _single_steps(pair: Match) -> Indices:
    recorded = pair.recorded
    if recorded.qvel is None:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(np.diff(recorded.step) == 1)[:MAX_SAMPLES]


def _missed(player: TargetsPlayer, pair: Match, world: World, row: int) -> FloatArray:
    """Velocity here minus recorded after one step, per joint."""
    recorded, data = pair.recorded, world.data
    assert recorded.qvel is not None
    pair.qpos(recorded.qpos[row], data.qpos)
    pair.qvel(recorded.qvel[row], data.qvel)
    player.seek(int(recorded.step[row] - recorded.step[0]))
    advance(world, 1)
    after = recorded.qvel[row + 1]
    return np.array(
        [np.abs(data.qvel[here.dof] - after[there.dof]).max() for there, here in pair.joints]
    )


def another_model(case: ReplayCase) -> Iterator[str]:
    """Whether the compiled model is another: nothing that is listed explains the error."""
    known = any("model_hash" in pair.recorded.plant.overall for pair in case.matches)
    if known and not is_same_model(case.world, case.recording):
        yield (
            "the compiled model differs from the recording's: masses, geometry or something else "
            "that the recording does not list may differ"
        )
