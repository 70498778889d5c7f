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
from mjrig.lab.replay.diagnosis.hypothesis import Cost, Estimate, Hypothesis, Part
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
from mjrig.lab.replay.diagnosis.plant_hypotheses import plant, trained_plant
from mjrig.lab.replay.diagnosis.precision_hypotheses import controller_precision, value_precision
from mjrig.lab.replay.diagnosis.timing_hypotheses import (
    history_fill,
    shifted_setpoints,
    start_gains,
    start_target,
    ticks,
    velocity_units,
)

#: What explains more than this share of the error is a cause.
CAUSE = 0.5
#: With this share explained, no further causes are sought.
ENOUGH = 0.95

_POLICY = (Part.START, Part.ACTION, Part.OBSERVATION, Part.NETWORK, Part.PRECISION)
_REPLAY = (Part.PLANT, Part.SETPOINTS, Part.BODY, Part.STATE)


def _policy(kind: str, part: Part, estimate: Estimate, **more: Any) -> Hypothesis:
    """About a recorded policy: values are compared, nothing is simulated."""
    return Hypothesis(kind, part, Cost.COMPARE, estimate, **more)


def _action(kind: str, estimate: Estimate, *, explains_all: bool = False) -> Hypothesis:
    """About targets: if recorded actions are others, lines over them mean nothing."""
    settles = (Part.ACTION,) if explains_all else ()
    others = ("recorded actions",)
    return _policy(kind, Part.ACTION, estimate, settles=settles, consequence_of=others)


def _whole(kind: str, estimate: Estimate) -> Hypothesis:
    """About the observation as a whole: its terms are not judged one by one then."""
    return _policy(kind, Part.OBSERVATION, estimate, settles=(Part.OBSERVATION,))


def _replay(kind: str, part: Part, estimate: Estimate, **more: Any) -> Hypothesis:
    """About the replay of recorded setpoints: one run for each candidate."""
    return Hypothesis(kind, part, Cost.RUN, estimate, **more)


HYPOTHESES = (
    _policy(
        "velocity units",
        Part.VELOCITY,
        velocity_units,
        settles=(Part.TIMING, Part.ORDER, *_POLICY),
        because="terms and actions: recorded velocities are not those of the joints",
    ),
    _policy("decimation, tick phase, start.duration", Part.TIMING, ticks),
    _policy(
        "joint order",
        Part.ORDER,
        listed_order,
        settles=_POLICY,
        because="terms and actions: they are in another order",
    ),
    _policy("history.fill", Part.START, history_fill),
    _policy("start.kp, start.kv", Part.START, start_gains),
    # A pose, an order or a sign that is wrong in all targets is wrong in the stand's too.
    _policy("start.target", Part.START, start_target, consequence_of=(Part.ACTION,)),
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
    _policy("observation scale, gait phase, …", Part.OBSERVATION, terms, repeats=Part.ACTION),
    _policy(
        "observation scale, …",
        Part.OBSERVATION,
        last_action,
        repeats=Part.ACTION,
        consequence_of=("recorded actions",),
    ),
    _policy("network, recorded actions", Part.NETWORK, network, rests_on=Part.OBSERVATION),
    _policy("precision", Part.PRECISION, value_precision, until=0.0),
    _replay("precision", Part.CONTROLLER, controller_precision, settles=_REPLAY),
    _replay("kp, armature, timestep, …", Part.PLANT, plant),
    _replay("kp, armature, …", Part.TRAINED, trained_plant),
    _replay("tick phase", Part.SETPOINTS, shifted_setpoints, until=ENOUGH),
    _replay("quaternion order", Part.SETPOINTS, tried_quaternions, until=ENOUGH),
    _replay("joint order", Part.SETPOINTS, tried_orders, until=ENOUGH),
    _replay("sign", Part.SETPOINTS, tried_signs, until=ENOUGH),
    Hypothesis("payload, gravity, friction, …", Part.BODY, Cost.FIT, body, until=ENOUGH),
    Hypothesis("state edited by the source", Part.STATE, Cost.FIT, state_edits, until=CAUSE),
    Hypothesis("another model", Part.STATE, Cost.FIT, another_model, until=CAUSE),
)
