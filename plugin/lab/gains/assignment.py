"""Gains from a natural frequency and a damping ratio: kp = M ω² − k, kv = 2 ζ M ω − d.

M is the inertia a joint moves while the others are held (Mᵢᵢ, rotor inertia times gear² included):
every joint is held by its own law. k and d are the joint's own spring and damping. Mirrored joints
get the same gains.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mjrig.core.control.effort_limits import effort_limit
from mjrig.core.errors import BindingError, PropertyError
from mjrig.core.names import listed, suggestion
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.gains.gain_presets import save_preset
from mjrig.lab.gains.gain_rows import Change, GainRow, gain_rows, rounded, set_gains
from mjrig.lab.gains.pose_sampling import SampledPoses, Seen, active_equalities
from mjrig.lab.gains.stability_limits import put_gains, stable_shares
from mjrig.lab.report.content import BAD, Report, ReportColumn, ReportTable, ReportText, words
from mjrig.lab.report.text import to_text
from mjrig.lab.responses.frequency_response import LinearResponse, Mode
from mjrig.lab.rollouts.actuator_selection import Chosen, Skipped, choose
from mjrig.lab.rollouts.joint_bench import suspend
from mjrig.lab.rollouts.worker import build_world

# Second order -------------------------------------------------------------------------------------
# Second-order model of a joint under PD: M q̈ + kv q̇ + kp q = kp q*.


def frequency(kp: float, inertia: float) -> float:
    """Natural frequency of a joint under kp [Hz]."""
    return math.sqrt(kp / inertia) / (2.0 * math.pi)


def damping_ratio(kp: float, kv: float, inertia: float) -> float:
    """Damping ratio; 1: critically damped, infinite without stiffness."""
    return kv / (2.0 * math.sqrt(kp * inertia)) if kp > 0.0 else math.inf


def stiffness_for(hertz: float, inertia: float) -> float:
    """The kp that gives a natural frequency."""
    return inertia * (2.0 * math.pi * hertz) ** 2


def damping_for(ratio: float, kp: float, inertia: float) -> float:
    """The kv that gives a damping ratio."""
    return 2.0 * ratio * math.sqrt(kp * inertia)


# Mirror -------------------------------------------------------------------------------------------
# Mirror images: joints on the left and right that are built alike, and get the same gains.


#: Letters and words for the sides; names are hints, the model decides.
SIDES = (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"))
LETTERS = {"l": "r", "r": "l", "L": "R", "R": "L"}
#: Relative difference of masses and inertias up to which links are alike.
ALIKE = 0.01
#: The same of the largest inertia over all poses, which is searched for.
SEARCHED = 0.05


def mirrored_names(name: str) -> set[str]:
    """What the joint on the other side could be called."""
    found = {name.replace(a, b) for a, b in SIDES} | {name.replace(b, a) for a, b in SIDES}
    for i, letter in enumerate(name):
        if letter in LETTERS:
            found.add(name[:i] + LETTERS[letter] + name[i + 1 :])
    return found - {name}


def twins(chosen: Sequence[Chosen], seen: Sequence[Seen]) -> dict[int, int]:
    """Index → index of its mirror image: by name, and the model shows that it is one."""
    found: dict[int, int] = {}
    for i, one in enumerate(chosen):
        names = mirrored_names(one.binding.joint)
        same = [
            j
            for j, other in enumerate(chosen)
            if other.robot is one.robot
            and other.binding.joint in names
            and _built_alike(one, other)
            and abs(seen[i].largest / seen[j].largest - 1.0) <= SEARCHED
        ]
        if len(same) == 1:
            found[i] = same[0]
    return {i: j for i, j in found.items() if found.get(j) == i}


def _built_alike(one: Chosen, other: Chosen) -> bool:
    """Whether joints, links and what hangs on them are equal but for their place."""
    model = one.robot.model
    a, b = (_build(model, c) for c in (one, other))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=ALIKE, atol=1e-9))


def _build(model: Any, chosen: Chosen) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    joint, dof = chosen.binding.joint_id, chosen.binding.dof_address
    body = int(model.jnt_bodyid[joint])
    carried = [i for i in range(body, model.nbody) if _is_carried(model, i, body)]
    reach = np.sort(np.abs(model.jnt_range[joint]))
    return np.array(
        [
            model.jnt_type[joint],
            model.jnt_stiffness[joint],
            model.dof_armature[dof],
            model.dof_damping[dof],
            model.dof_frictionloss[dof],
            *(reach if model.jnt_limited[joint] else ()),
            *np.sort(model.body_mass[carried]),
            *np.sort(model.body_inertia[carried], axis=None),
        ],
        dtype=np.float64,
    )


def _is_carried(model: Any, body: int, by: int) -> bool:
    """Whether a body is another one, or hangs on it."""
    while body > by:
        body = int(model.body_parentid[body])
    return body == by


# Assign -------------------------------------------------------------------------------------------


#: A second mode of more than this share of the first one in a step response is noted.
ALSO = 0.5
#: Said of a joint that moves by itself.
UNHELD = "which no controller holds"


class Inertia(StrEnum):
    """Inertia that gains are computed with."""

    #: At the initial pose of the scene.
    POSE = "pose"
    #: The largest over all sampled poses: nowhere less damped than requested.
    LARGEST = "largest"


@dataclass(frozen=True)
class Wish:
    """Requested dynamics of every joint.

    Attributes:
        frequency: natural frequency [Hz].
        damping: damping ratio; 1 is critical.
        step: a step that must not saturate [rad or m]; None: no such requirement.
        inertia: inertia to compute with.
    """

    frequency: float
    damping: float = 1.0
    step: float | None = None
    inertia: Inertia = Inertia.POSE

    def __post_init__(self) -> None:
        if self.inertia not in list(Inertia):
            hint = suggestion(str(self.inertia), [kind.value for kind in Inertia])
            raise PropertyError(f"unknown inertia {str(self.inertia)!r}; {hint}")
        object.__setattr__(self, "inertia", Inertia(self.inertia))  # a plain string is accepted
        for name, least in (("frequency", "> 0"), ("step", "> 0"), ("damping", ">= 0")):
            value = getattr(self, name)
            if value is not None and not (0.0 <= value < math.inf and (value or least == ">= 0")):
                raise PropertyError(f"the {name} must be {least}, got {value:g}")

    def inertia_of(self, seen: Seen) -> float:
        """The inertia to compute with."""
        return seen.largest if self.inertia is Inertia.LARGEST else seen.inertia


@dataclass(frozen=True)
class Assignment:
    """The new gains of one joint.

    Attributes:
        row: the joint, its gains so far and where they are authored.
        seen: its inertias, own springs and damping, and gravity load.
        basis: what the gains are computed from: the same, or that of its mirror image if heavier.
        hertz: the natural frequency assigned [Hz].
        kp: new stiffness [N·m/rad or N/m].
        kv: new damping [N·m·s/rad or N·s/m].
        limit: the largest effort [N·m or N]; inf: nothing limits it.
        notes: bounds that limited it.
        modes: in its response to a step of its target, the largest first, at the initial pose of
            the suspended robot with all new gains; empty: not known, as with laws of several rates.
    """

    row: GainRow
    seen: Seen
    basis: Seen
    hertz: float
    kp: float
    kv: float
    limit: float
    notes: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()

    @property
    def mode(self) -> Mode | None:
        """The largest mode in its step response; None: not known."""
        return self.modes[0] if self.modes else None

    def frequency(self, inertia: float) -> float:
        """Natural frequency with an inertia [Hz]."""
        return frequency(self.kp + self.seen.stiffness, inertia)

    def damping(self, inertia: float) -> float:
        """Damping ratio with an inertia."""
        return damping_ratio(self.kp + self.seen.stiffness, self.kv + self.seen.damping, inertia)

    @property
    def saturating_step(self) -> float:
        """The step from rest at the initial pose that just saturates the effort [rad or m]."""
        return max(0.0, self.limit - abs(self.seen.load)) / self.kp if self.kp else math.inf


@dataclass(frozen=True)
class AssignmentPlan:
    """New gains, and the actuators that get none.

    `poses` is the number of sampled poses; `unstable` are actors that gains other than these
    make unstable in one of them. `notes` say what was left out.
    """

    wish: Wish
    assignments: tuple[Assignment, ...]
    skipped: tuple[Skipped, ...]
    poses: int
    unstable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """What changes, row by row."""
        return [(a.row, {"kp": rounded(a.kp), "kv": rounded(a.kv)}) for a in self.assignments]

    def put(self, scene: Scene) -> None:
        """Write the gains into a scene, all or nothing; does not save it.

        Raises:
            BindingError: some are authored in another file.
        """
        set_gains(scene, self.changes)

    def save(self, path: Path) -> None:
        """Write the gains to a preset.

        Raises:
            PropertyError: they are of several actors.
            SceneError: the file cannot be written.
        """
        rows = [replace(row, values={n: float(v) for n, v in g.items()}) for row, g in self.changes]
        save_preset(path, rows)


def assign(
    scene: Scene | str | Path,
    wish: Wish,
    *,
    actor: str | None = None,
    joint: str = ".*",
    poses: int = 32,
    seed: int = 0,
) -> AssignmentPlan:
    """Compute gains that give joints a natural frequency and a damping ratio.

    Inertias are taken at the initial pose of the scene and at sampled ones within the joint ranges,
    from which the extreme ones are searched for. Mirror images get the same gains.
    The frequency of a joint is lowered where a step of `wish.step` would saturate it, and where
    the loops would be unstable with twice the gains in one of the poses, as `mjrig check` judges.

    Args:
        scene: a Scene, or the path of a scene file; it is not changed.
        wish: the requested dynamics.
        actor: name of the robot; None: all.
        joint: pattern of joint or actuator names.
        poses: number of poses to begin searches at, and of random ones to check the result in.
        seed: random seed for the latter.

    Raises:
        BindingError: nothing matches, or nothing that does has kp and kv.
        PropertyError: a number is out of range.
        SceneError: the scene cannot be read or built.
    """
    if poses < 0:
        raise PropertyError(f"poses must be >= 0, got {poses}")
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    world = build_world(scene)
    chosen, skipped = _with_gains(*choose(world, actor, joint))
    rows = {(r.actor, r.actuator): r for r in gain_rows(world, scene)}
    looked = SampledPoses(world, poses, seed)
    seen = looked.seen(chosen)
    pairs = twins(chosen, seen)
    asked = [
        _asked(wish, c, rows[c.robot.name, c.binding.actuator], s, seen[pairs.get(i, i)])
        for i, (c, s) in enumerate(zip(chosen, seen, strict=True))
    ]
    asked = [_as_its_twin(wish, asked, i, pairs.get(i, i)) for i in range(len(asked))]
    assignments, hopeless = _stable(wish, looked, chosen, asked, pairs)
    assignments = _with_modes(scene, assignments)
    notes = tuple(_coupled(world, chosen))
    return AssignmentPlan(wish, tuple(assignments), tuple(skipped), poses, tuple(hopeless), notes)


def _with_gains(
    chosen: Sequence[Chosen], skipped: Sequence[Skipped]
) -> tuple[list[Chosen], list[Skipped]]:
    found, left = [], list(skipped)
    for c in chosen:
        reason = ""
        if not {"kp", "kv"} <= set(c.controller.gains()):
            reason = f"the law of {c.controller._role} has no kp and kv"
        elif not c.binding.on_joint:
            reason = f"its law acts on a {c.binding.transmission}, not on a joint"
        if reason:
            left.append(Skipped(c.robot.name, c.binding.actuator, reason))
        else:
            found.append(c)
    if not found:
        raise BindingError(f"nothing to tune: {'; '.join(map(str, left[:3]))}")
    return found, left


def gains_for(wish: Wish, seen: Seen, hertz: float) -> tuple[float, float]:
    """kp = M ω² − k, kv = 2 ζ M ω − d; not below 0 where the joint itself has more."""
    inertia = wish.inertia_of(seen)
    total = stiffness_for(hertz, inertia)
    damped = 2.0 * wish.damping * math.sqrt(total * inertia)
    return max(0.0, total - seen.stiffness), max(0.0, damped - seen.damping)


def _asked(wish: Wish, chosen: Chosen, row: GainRow, seen: Seen, twin: Seen) -> Assignment:
    """The gains before the stability check, of a joint and its mirror image (or itself)."""
    heavier = twin if wish.inertia_of(twin) > wish.inertia_of(seen) else seen
    basis = replace(seen, inertia=heavier.inertia, largest=heavier.largest)
    limit = effort_limit(chosen.binding, chosen.controller, chosen.index)
    hertz, notes = wish.frequency, []
    if wish.step is not None:
        room = max(0.0, limit - abs(seen.load)) / wish.step + seen.stiffness
        if (most := frequency(room, wish.inertia_of(basis))) < hertz:
            hertz = most
            notes.append(f"torque: {hertz:.3g} Hz, for a step of {wish.step:g}")
    kp, kv = gains_for(wish, basis, hertz)
    if seen.damping:
        notes.append(f"damping {seen.damping:.3g} is the joint's own")
    if seen.stiffness:
        notes.append(f"stiffness {seen.stiffness:.3g} is the joint's own")
    return Assignment(row, seen, basis, hertz, kp, kv, limit, tuple(notes))


def _as_its_twin(wish: Wish, asked: Sequence[Assignment], i: int, j: int) -> Assignment:
    """With the frequency of its mirror image if that is lower."""
    one, other = asked[i], asked[j]
    if other.hertz >= one.hertz:
        return one
    kp, kv = gains_for(wish, one.basis, other.hertz)
    note = f"as {other.row.actuator}: {other.hertz:.3g} Hz"
    return replace(one, hertz=other.hertz, kp=kp, kv=kv, notes=(note, *one.notes))


def _with_modes(scene: Scene, found: Sequence[Assignment]) -> list[Assignment]:
    """With what the coupled robot does with all new gains on."""
    world = build_world(scene)
    places = {(c.robot.name, c.binding.actuator): c for c in choose(world)[0]}
    chosen = [places[a.row.actor, a.row.actuator] for a in found]
    put_gains(chosen, lambda i, share: (found[i].kp, found[i].kv))
    suspend(world)
    linear = LinearResponse.of(world)
    held = {(c.robot.name, c.binding.joint) for c in places.values()}
    made = []
    for a in found:
        modes = linear.modes(a.row.actor, a.row.actuator)
        whose = [_whose(world, mode, a, held) for mode in modes]
        made.append(_with_mode(a, modes, whose))
    return made


def _whose(world: World, mode: Mode, found: Assignment, held: Container[tuple[str, str]]) -> str:
    """The joint that moves most in a mode, and whether it is controlled; empty: the row's own."""
    full = str(world.model.joint(world.model.dof_jntid[mode.dof]).name)
    actor, _, joint = full.rpartition("/")
    if (actor, joint) == (found.row.actor, found.row.joint):
        return ""
    return f" of {joint}" + (f", {UNHELD}" if (actor, joint) not in held else "")


def _with_mode(found: Assignment, modes: Sequence[Mode], whose: Sequence[str]) -> Assignment:
    """With its modes, and a note of the second if it is about as large as the first."""
    notes = found.notes
    if modes and UNHELD in whose[0]:
        notes += (f"Hz and ζ are those{whose[0]}",)
    if len(modes) > 1 and modes[1].size > ALSO * modes[0].size:
        notes += (f"also {modes[1].frequency:.3g} Hz, ζ {modes[1].damping:.3g}{whose[1]}",)
    return replace(found, modes=tuple(modes), notes=notes)


def _coupled(world: World, chosen: Sequence[Chosen]) -> Iterator[str]:
    """What equality constraints do to robots is not in these numbers."""
    for robot in {c.robot.name: c.robot for c in chosen}.values():
        names = active_equalities(world.model, robot.model_map.joint_ids)
        if names := [name.removeprefix(f"{robot.name}/") for name in names]:
            some = "an equality constraint" if len(names) == 1 else "equality constraints"
            yield (
                f"{robot.name}: {some} ({listed(names)}): left out of M, Hz, ζ and the stability "
                "bound; what moves together through them is heavier than M says"
            )


def _stable(
    wish: Wish,
    poses: SampledPoses,
    chosen: Sequence[Chosen],
    asked: Sequence[Assignment],
    pairs: Mapping[int, int],
) -> tuple[list[Assignment], list[str]]:
    """The assignments with frequencies lowered until all poses are stable; and unstable actors."""

    def gains(i: int, share: float) -> tuple[float, float]:
        return gains_for(wish, asked[i].basis, asked[i].hertz * share)

    shares, hopeless = stable_shares(poses, chosen, gains, pairs)
    found = []
    for i, (a, share) in enumerate(zip(asked, shares, strict=True)):
        if share == 1.0:
            found.append(a)
            continue
        kp, kv = gains(i, share)
        note = f"stability: {a.hertz * share:.3g} Hz"
        found.append(replace(a, hertz=a.hertz * share, kp=kp, kv=kv, notes=(note, *a.notes)))
    return found, hopeless


# Assign report ------------------------------------------------------------------------------------
# Report of assigned gains, as a table and as plain data.


def assign_report(plan: AssignmentPlan) -> str:
    """A table with one row per joint, then the actuators that get no gains, as text."""
    return to_text(described(plan))


def described(plan: AssignmentPlan) -> Report:
    """Gains before and after by joint, the bounds that acted, and skipped actuators."""
    unstable = "unstable in some pose due to other gains; see `mjrig check`"
    return Report(
        f"Gains for {plan.wish.frequency:g} Hz and a damping ratio of {plan.wish.damping:g}",
        f"{listed(plan.unstable)}: {unstable}" if plan.unstable else "",
        BAD if plan.unstable else "",
        sections=[
            table(plan),
            ReportText(title="skipped", lines=[str(skipped) for skipped in plan.skipped]),
            ReportText(title="notes", lines=plan.notes),
        ],
        data=report_data(plan),
    )


def table(plan: AssignmentPlan) -> ReportTable:
    """One row per joint."""
    gains = ReportColumn("kp", "N·m/rad, N/m"), ReportColumn("kv", "N·m·s/rad, N·s/m")
    inertias = (ReportColumn(name, "kg·m², kg") for name in ("M", "min M", "max M"))
    rates = ReportColumn("alone", "Hz"), ReportColumn("f", "Hz"), ReportColumn("ζ")
    columns = *words("joint"), *gains, *rates, ReportColumn("saturates at", "rad, m"), *inertias
    return ReportTable(
        columns, [_row(a) for a in plan.assignments], remarks=[a.notes for a in plan.assignments]
    )


def _row(a: Assignment) -> tuple[object, ...]:
    seen, old = a.seen, a.row.values
    ends = seen.largest, seen.smallest
    hertz, ratio = (a.mode.frequency, a.mode.damping) if a.mode else (math.nan, math.nan)
    return (
        f"{a.row.actor}.{a.row.actuator}",
        f"{old['kp']:g} → {rounded(a.kp):g}",
        f"{old['kv']:g} → {rounded(a.kv):g}",
        _span(*(a.frequency(m) for m in ends)),
        hertz,
        ratio,
        a.saturating_step if math.isfinite(a.saturating_step) else "never",
        seen.inertia,
        seen.smallest,
        seen.largest,
    )


def _span(low: float, high: float) -> str:
    """A range over the poses, or one value if they agree."""
    texts = f"{low:.3g}", f"{high:.3g}"
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def report_data(plan: AssignmentPlan) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "poses": plan.poses,
        "joints": [
            {
                "actor": a.row.actor,
                "actuator": a.row.actuator,
                "joint": a.row.joint,
                **vars(a.seen),
                "frequency": a.hertz,
                "damping_ratio": finite(a.damping(plan.wish.inertia_of(a.basis))),
                "coupled_frequency": None if a.mode is None else finite(a.mode.frequency),
                "coupled_damping_ratio": None if a.mode is None else finite(a.mode.damping),
                "kp": {"old": a.row.values["kp"], "new": rounded(a.kp)},
                "kv": {"old": a.row.values["kv"], "new": rounded(a.kv)},
                "saturating_step": finite(a.saturating_step),
                "bounds": list(a.notes),
            }
            for a in plan.assignments
        ],
        "skipped": [vars(s) for s in plan.skipped],
        "unstable": list(plan.unstable),
        "notes": list(plan.notes),
    }


def finite(value: float) -> float | None:
    """JSON knows no infinity."""
    return value if math.isfinite(value) else None
