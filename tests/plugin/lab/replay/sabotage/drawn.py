"""Mistakes drawn at random that the table does not have: other sizes, other joints, two at once.

The table was written beside the diagnosis; these were not. A draw decides the fixture, the kind,
the joints and the size; nothing is drawn again because it is difficult.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import mjrig
from mjrig.lab.replay.diagnosis.order_hypotheses import shifted, with_order, with_signs
from tests.plugin.lab.replay.sabotage.draft import Draft
from tests.plugin.lab.replay.sabotage.fixtures import Fixture
from tests.plugin.lab.replay.sabotage.policy_mistakes import spread, terms_of
from tests.plugin.lab.replay.sabotage.sabotaged import (
    Sabotaged,
    busiest,
    controller_of,
    gains_of,
    tick_steps,
)

#: The part of the cases with two mistakes, and of those without a listed plant.
TWO, UNLISTED = 0.3, 0.5


@dataclass(frozen=True)
class Drawn:
    """One mistake: its description, and what a finding may call it."""

    text: str
    names: tuple[str, ...]


#: Puts one mistake into a draft; None: it cannot be made with this robot.
Kind = Callable[[Draft], Drawn | None]


# In the scene and the model ---------------------------------------------------------------------


def gains(what: str) -> Kind:
    """The gain of one joint, of some or of all."""

    def made(draft: Draft) -> Drawn | None:
        factor, found = draft.factor(0.4, 2.5), gains_of(draft.fixture, what)
        if found is not None:
            chosen = draft.some([j for j, v in found.items() if v > 0.0])
            new = {j: v * (factor if j in chosen else 1.0) for j, v in found.items()}
            controller_of(draft.scene).assign({what: new})
        elif what == "kp":
            servos = mjrig.World(draft.scene)[draft.fixture.robot].actuators
            mine = {b.actuator_id: b.actuator for b in servos if b.kind == "position"}
            if not mine:
                return None
            chosen = draft.some(list(mine.values()))
            rows = [i for i, n in mine.items() if n in chosen]

            def model(m: Any) -> None:
                m.actuator_gainprm[rows, 0] *= factor
                m.actuator_biasprm[rows, 1] *= factor

            draft.models.append(model)
        else:
            return None
        # The damping of a joint and of its servo act alike.
        names = ("kv", "damping") if what == "kv" else (what,)
        return Drawn(f"{what} × {factor:g} of {len(chosen)}", names)

    return made


def dynamics(what: str, low: float, high: float, also: tuple[str, ...] = ()) -> Kind:
    """Armature, damping, friction or a spring of one joint or some."""

    def made(draft: Draft) -> Drawn | None:
        joints = [j for j in draft.fixture.actor.driven if j]
        chosen = [draft.rng.choice(joints)] if draft.rng.random() < 0.5 else draft.some(joints)
        value = float(f"{draft.rng.uniform(low, high):.3g}")
        draft.scene.actors[0].assign({"dynamics": {what: dict.fromkeys(chosen, value)}})
        return Drawn(f"{what} {value:g} of {len(chosen)}", (what, *also))

    return made


def torque_limit(draft: Draft) -> Drawn | None:
    """A limit at some share of the largest recorded effort of a joint."""
    found, (joint, most) = gains_of(draft.fixture, "torque_limit"), busiest(draft.fixture)
    if found is None or joint not in found:
        return None
    share = draft.rng.uniform(0.3, 0.9)
    listed = {j: v for j, v in found.items() if v < float("inf")}
    limits = {**listed, joint: float(f"{share * most:.4g}")}
    controller_of(draft.scene).assign({"torque_limit": limits})
    return Drawn(f"torque limit {share:.2f} of {joint}", ("torque_limit",))


def delay(draft: Draft) -> Drawn | None:
    """Three to five ticks, or any number of steps."""
    tick = tick_steps(draft.fixture)
    steps = draft.rng.choice([tick * draft.rng.randint(3, 5), draft.rng.randint(2, 3 * tick)])
    controller = controller_of(draft.scene)
    if controller is None:
        return None
    controller.assign({"delay": {"steps": steps}})
    return Drawn(f"delay {steps} steps", ("delay", "tick phase"))


def friction(draft: Draft) -> Drawn | None:
    factor = draft.factor(0.3, 2.0)

    def model(m: Any) -> None:
        m.geom_friction[:, 0] *= factor

    draft.models.append(model)
    return Drawn(f"friction × {factor:g}", ("ground friction",))


def payload(draft: Draft) -> Drawn | None:
    """3 to 25 % of a walking robot's mass, on its heaviest body."""
    if not any(j.kind == "free" for j in draft.fixture.actor.joints[:1]):
        return None
    share = draft.rng.uniform(0.03, 0.25)
    moved = next(j.name for j in draft.fixture.actor.joints if j.kind in ("hinge", "slide"))

    def model(m: Any) -> None:
        at = next(j for j in range(m.njnt) if m.joint(j).name.endswith(moved))
        root = m.body_rootid[m.jnt_bodyid[at]]
        mine = [i for i in range(m.nbody) if m.body_rootid[i] == root]
        body = max(mine, key=lambda i: float(m.body_mass[i]))
        extra = share * float(m.body_mass[mine].sum())
        m.body_inertia[body] *= (m.body_mass[body] + extra) / m.body_mass[body]
        m.body_mass[body] += extra

    draft.models.append(model)
    return Drawn(f"payload {share:.2f} of the mass", ("payload",))


def gravity(draft: Draft) -> Drawn | None:
    value = float(f"{draft.rng.uniform(-12.0, -7.0):.3g}")

    def model(m: Any) -> None:
        m.opt.gravity[2] = value

    draft.models.append(model)
    return Drawn(f"gravity {value:g}", ("gravity",))


# In how the recording was read ------------------------------------------------------------------


def setpoints_swapped(draft: Draft) -> Drawn | None:
    """Setpoints of some joints, not all, in another order."""
    actor = draft.fixture.actor
    places = [i for i, n in enumerate(actor.driven) if n]
    if len(places) < 3:
        return None
    count = draft.rng.randint(2, min(4, len(places)))
    chosen = draft.rng.sample(places, count)
    order = list(range(len(actor.driven)))
    for a, b in zip(chosen, [*chosen[1:], chosen[0]], strict=True):
        order[a] = b
    draft.recording = with_order(draft.recording, actor.name, order)  # type: ignore[arg-type]
    return Drawn(f"setpoints of {count} joints in a circle", ("joint order",))


def setpoints_negated(draft: Draft) -> Drawn | None:
    """The signs of one joint, or of two."""
    actor = draft.fixture.actor
    places = [i for i, n in enumerate(actor.driven) if n]
    chosen = draft.rng.sample(places, draft.rng.randint(1, 2))
    draft.recording = with_signs(draft.recording, actor.name, chosen)
    return Drawn(f"signs of {len(chosen)} setpoints", ("sign",))


def late(draft: Draft) -> Drawn | None:
    steps = draft.rng.randint(2, 2 * tick_steps(draft.fixture)) * draft.rng.choice([1, -1])
    draft.recording = shifted(draft.recording, steps)
    return Drawn(f"setpoints {steps} steps late", ("tick phase", "delay"))


# In the policy file -----------------------------------------------------------------------------


def term_scale(draft: Draft) -> Drawn | None:
    """One term, or one value of it, with another factor."""
    terms = draft.policy["observation"]["terms"]
    scaled = ("BaseAngularVelocity", "BaseLinearVelocity", "ProjectedGravity", "CommandTerm",
              "JointPositions", "JointVelocities", "LastAction")  # fmt: skip
    term = draft.rng.choice([t for t in terms if t["type"] in scaled])
    factor, scale = draft.factor(0.2, 5.0), term.get("scale", 1.0)
    term["scale"] = [s * factor for s in scale] if isinstance(scale, list) else scale * factor
    what = "command scale" if term["type"] == "CommandTerm" else "observation scale"
    return Drawn(f"scale × {factor:g} of {term['type']}", (what,))


def term_latency(draft: Draft) -> Drawn | None:
    """One term some ticks late."""
    kinds = ("BaseAngularVelocity", "ProjectedGravity", "JointPositions", "JointVelocities")
    terms = [t for t in draft.policy["observation"]["terms"] if t["type"] in kinds]
    term, ticks = draft.rng.choice(terms), draft.rng.randint(1, 3)
    term["delay"] = ticks
    return Drawn(f"{term['type']} {ticks} ticks late", ("observation latency",))


def action_scale(draft: Draft) -> Drawn | None:
    data, factor = draft.policy, draft.factor(0.4, 2.5)
    chosen = draft.some(list(data["joints"]))
    action = data.setdefault("action", {})
    scale = spread(data, action.get("scale", 1.0))
    pairs = zip(scale, data["joints"], strict=True)
    action["scale"] = [s * (factor if j in chosen else 1.0) for s, j in pairs]
    return Drawn(f"action scale × {factor:g} of {len(chosen)}", ("action_scale",))


def action_signs(draft: Draft) -> Drawn | None:
    """The signs of a pair, as where the axes of one side are mirrored."""
    data = draft.policy
    chosen = draft.rng.sample(list(data["joints"]), 2)
    action = data.setdefault("action", {})
    scale = spread(data, action.get("scale", 1.0))
    pairs = zip(scale, data["joints"], strict=True)
    action["scale"] = [-s if j in chosen else s for s, j in pairs]
    return Drawn("signs of two actions", ("sign",))


def action_filter(draft: Draft) -> Drawn | None:
    beta = float(f"{draft.rng.uniform(0.15, 0.9):.2g}")
    draft.policy.setdefault("action", {})["smoothing"] = beta
    return Drawn(f"action filter {beta:g}", ("action filter",))


def default_pose(draft: Draft) -> Drawn | None:
    data, rng = draft.policy, draft.rng
    values, names = spread(data, data.get("default", 0.0)), list(data["joints"])
    chosen = draft.some(names)
    for joint in chosen:
        values[names.index(joint)] += rng.choice([-1, 1]) * rng.uniform(0.02, 0.4)
    data["default"] = values
    if data.get("action", {}).get("mode") == "delta" and not terms_of(data, "JointPositions"):
        return None
    return Drawn(f"default of {len(chosen)}", ("default_pose",))


def joints_swapped(draft: Draft) -> Drawn | None:
    """Two to four joints of the policy in a circle; all others are right."""
    data = draft.policy
    names = list(data["joints"])
    count = draft.rng.randint(2, min(4, len(names)))
    places = draft.rng.sample(range(len(names)), count)
    data["default"] = spread(data, data.get("default", 0.0))
    data["joints"] = list(names)
    for a, b in zip(places, [*places[1:], places[0]], strict=True):
        data["joints"][a] = names[b]
    data.pop("trained", None)
    return Drawn(f"{count} joints of the policy in a circle", ("joint order",))


def gait_period(draft: Draft) -> Drawn | None:
    terms = terms_of(draft.policy, "GaitPhase")
    factor = draft.factor(0.5, 2.0)
    for term in terms:
        key = "period" if "period" in term else "frequency"
        term[key] *= factor
    return Drawn(f"gait × {factor:g}", ("gait phase",)) if terms else None


def rate(draft: Draft) -> Drawn | None:
    data = draft.policy
    now = int(data["decimation"])
    data["decimation"] = draft.rng.choice([n for n in range(1, 2 * now + 3) if n != now])
    return Drawn(f"decimation {now} as {data['decimation']}", ("decimation",))


#: Kinds by the part they touch: two at once are of two parts.
PLANT: tuple[Kind, ...] = (
    gains("kp"),
    gains("kv"),
    dynamics("armature", 0.005, 0.15),
    dynamics("damping", 0.3, 3.0, ("kv",)),
    dynamics("frictionloss", 0.3, 3.0),
    dynamics("stiffness", 1.0, 10.0),
    torque_limit,
    delay,
    friction,
    payload,
    gravity,
)
READING: tuple[Kind, ...] = (setpoints_swapped, setpoints_negated, late)
POLICY: tuple[Kind, ...] = (
    term_scale,
    term_latency,
    action_scale,
    action_signs,
    action_filter,
    default_pose,
    joints_swapped,
    gait_period,
    rate,
)


def draw(
    fixture: Fixture, rng: Random, folder: Path
) -> tuple[str, Sequence[Sequence[str]], Sabotaged] | None:
    """A random case: its description, the names of each mistake, and what to run.

    None: what was drawn cannot be made with this robot.
    """
    draft, parts = Draft.of(fixture, rng), [PLANT, READING]
    parts += [POLICY, POLICY] if draft.data is not None else []
    if rng.random() < TWO:
        first = rng.choice([PLANT, parts[-1]])
        second = READING if first is PLANT else PLANT
        found = [rng.choice(first)(draft), rng.choice(second)(draft)]
    else:
        found = [rng.choice(rng.choice(parts))(draft)]
    if any(one is None for one in found):
        return None
    texts = [one.text for one in found if one is not None]
    if not draft.edited and rng.random() < UNLISTED:
        draft.forget_plant()
        texts.append("not listed")
    names = [one.names for one in found if one is not None]
    return "; ".join(texts), names, draft.finished(folder)
