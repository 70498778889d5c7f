"""The table of all hypotheses: what may differ between a recording and here.

A new diagnosis is a function of a case in the module of its subject, a row here, and a sentence in
`mjrig.lab.findings.texts`. The order is that of rows of one cost: simple explanations first.
"""

from typing import Any

from mjrig.lab.replay.diagnosis.action_hypotheses import (
    action_clip,
    action_filter,
    action_mode,
    action_offset,
    action_scale,
    late_setpoints,
    lost_setpoints,
    network,
    order_of_setpoints,
    target_clip,
)
from mjrig.lab.replay.diagnosis.body_hypotheses import another_model, body, state_edits
from mjrig.lab.replay.diagnosis.hypothesis import CAUSE, Aspect, Cost, Estimate, Hypothesis
from mjrig.lab.replay.diagnosis.loop_case import trained_plant
from mjrig.lab.replay.diagnosis.observation_hypotheses import (
    history_order,
    last_action,
    observation_clip,
    observed_quaternion,
    term_order,
    terms,
)
from mjrig.lab.replay.diagnosis.order_hypotheses import (
    listed_order,
    tried_orders,
    tried_quaternions,
    tried_signs,
)
from mjrig.lab.replay.diagnosis.plant_hypotheses import plant
from mjrig.lab.replay.diagnosis.precision_hypotheses import controller_precision, value_precision
from mjrig.lab.replay.diagnosis.timing_hypotheses import (
    history_fill,
    shifted_setpoints,
    start_gains,
    start_target,
    ticks,
    velocity_units,
)

#: With this share explained, no further causes are sought.
ENOUGH = 0.95

_POLICY = (Aspect.START, Aspect.ACTION, Aspect.OBSERVATION, Aspect.NETWORK, Aspect.PRECISION)
_REPLAY = (Aspect.PLANT, Aspect.SETPOINTS, Aspect.BODY, Aspect.STATE)


def _policy(kind: str, part: Aspect, estimate: Estimate, **more: Any) -> Hypothesis:
    """About a recorded policy: values are compared, nothing is simulated."""
    return Hypothesis(kind, part, Cost.COMPARE, estimate, **more)


def _action(kind: str, estimate: Estimate, *, explains_all: bool = False) -> Hypothesis:
    """About targets: if recorded actions are others, lines over them mean nothing."""
    settles = (Aspect.ACTION,) if explains_all else ()
    others = ("recorded actions",)
    return _policy(kind, Aspect.ACTION, estimate, settles=settles, consequence_of=others)


def _whole(kind: str, estimate: Estimate) -> Hypothesis:
    """About the observation as a whole: its terms are not judged one by one then."""
    return _policy(kind, Aspect.OBSERVATION, estimate, settles=(Aspect.OBSERVATION,))


def _replay(kind: str, part: Aspect, estimate: Estimate, **more: Any) -> Hypothesis:
    """About the replay of recorded setpoints: one run for each candidate."""
    return Hypothesis(kind, part, Cost.RUN, estimate, **more)


HYPOTHESES = (
    _policy(
        "velocity units",
        Aspect.VELOCITY,
        velocity_units,
        settles=(Aspect.TIMING, Aspect.ORDER, *_POLICY),
        because="terms and actions: recorded velocities are not those of the joints",
    ),
    _policy("decimation, tick phase, start.duration", Aspect.TIMING, ticks),
    _policy(
        "joint order",
        Aspect.ORDER,
        listed_order,
        settles=_POLICY,
        because="terms and actions: they are in another order",
    ),
    _policy("history.fill", Aspect.START, history_fill),
    _policy("start.kp, start.kv", Aspect.START, start_gains),
    # A pose, an order or a sign that is wrong in all targets is wrong in the stand's too.
    _policy("start.target", Aspect.START, start_target, consequence_of=(Aspect.ACTION,)),
    _action("action filter", action_filter),
    _action("joint order", order_of_setpoints, explains_all=True),
    _action("tick phase", late_setpoints, explains_all=True),
    _action("action mode", action_mode, explains_all=True),
    _action("action_scale, sign, units", action_scale),
    _action("action clip", action_clip),
    _action("lost setpoints", lost_setpoints),
    _action("target clip", target_clip),
    _action("action offset, default_pose", action_offset),
    _whole("observation clip", observation_clip),
    _whole("term order", term_order),
    _whole("history order", history_order),
    _whole("quaternion order", observed_quaternion),
    # One wrong pose shows in the observation and in the targets.
    _policy("observation scale, gait phase, …", Aspect.OBSERVATION, terms, repeats=Aspect.ACTION),
    _policy(
        "observation scale, …",
        Aspect.OBSERVATION,
        last_action,
        repeats=Aspect.ACTION,
        consequence_of=("recorded actions",),
    ),
    _policy("network, recorded actions", Aspect.NETWORK, network, rests_on=Aspect.OBSERVATION),
    _policy("precision", Aspect.PRECISION, value_precision, until=0.0),
    _replay("precision", Aspect.CONTROLLER, controller_precision, settles=_REPLAY),
    _replay("kp, armature, timestep, …", Aspect.PLANT, plant),
    _replay("kp, armature, …", Aspect.TRAINED, trained_plant),
    _replay("tick phase", Aspect.SETPOINTS, shifted_setpoints, until=ENOUGH),
    _replay("quaternion order", Aspect.SETPOINTS, tried_quaternions, until=ENOUGH),
    _replay("joint order", Aspect.SETPOINTS, tried_orders, until=ENOUGH),
    _replay("sign", Aspect.SETPOINTS, tried_signs, until=ENOUGH),
    Hypothesis("payload, gravity, friction, …", Aspect.BODY, Cost.FIT, body, until=ENOUGH),
    Hypothesis("state edited by the source", Aspect.STATE, Cost.FIT, state_edits, until=CAUSE),
    Hypothesis("another model", Aspect.STATE, Cost.FIT, another_model, until=CAUSE),
)
