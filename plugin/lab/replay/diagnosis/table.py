"""The table of all hypotheses: what may differ between a recording and here.

A new diagnosis is a function of a case in the module of its subject or a new one, a row here, and a
sentence in `mjrig.lab.findings.texts`. Rows of one cost are asked in this order, and rows about one
aspect are together: simple explanations first.
"""

from typing import Any

from mjrig.lab.replay.diagnosis import action_hypotheses as actions
from mjrig.lab.replay.diagnosis import body_hypotheses as bodies
from mjrig.lab.replay.diagnosis import loop_case as loop
from mjrig.lab.replay.diagnosis import observation_hypotheses as observations
from mjrig.lab.replay.diagnosis import order_hypotheses as orders
from mjrig.lab.replay.diagnosis import plant_hypotheses as plants
from mjrig.lab.replay.diagnosis import precision_hypotheses as precision
from mjrig.lab.replay.diagnosis import timing_hypotheses as timing
from mjrig.lab.replay.diagnosis.hypothesis import (
    CAUSE,
    POLICY,
    Aspect,
    Cost,
    Estimate,
    Hypothesis,
)

#: With this share explained, no further causes are sought.
ENOUGH = 0.95

_REPLAY = (Aspect.PLANT, Aspect.SETPOINTS, Aspect.BODY, Aspect.STATE)


def _policy(kind: str, aspect: Aspect, estimate: Estimate, **more: Any) -> Hypothesis:
    """About a recorded policy: values are compared, nothing is simulated."""
    return Hypothesis(kind, aspect, Cost.COMPARE, estimate, **more)


def _action(kind: str, estimate: Estimate, *, explains_all: bool = False) -> Hypothesis:
    """About targets: if recorded actions are others, lines over them mean nothing."""
    settles = (Aspect.ACTION,) if explains_all else ()
    others = ("recorded actions",)
    return _policy(kind, Aspect.ACTION, estimate, settles=settles, consequence_of=others)


def _whole(kind: str, estimate: Estimate) -> Hypothesis:
    """About the observation as a whole: its terms are not judged one by one then."""
    return _policy(kind, Aspect.OBSERVATION, estimate, settles=(Aspect.OBSERVATION,))


def _replay(kind: str, aspect: Aspect, estimate: Estimate, **more: Any) -> Hypothesis:
    """About the replay of recorded setpoints: one run for each alternative."""
    return Hypothesis(kind, aspect, Cost.RUN, estimate, **more)


HYPOTHESES = (
    _policy(
        "velocity units",
        Aspect.VELOCITY,
        timing.velocity_units,
        settles=(Aspect.TIMING, Aspect.ORDER, *POLICY),
        because="terms and actions: recorded velocities are not those of the joints",
    ),
    _policy("decimation, tick phase, start.duration", Aspect.TIMING, timing.ticks),
    _policy(
        "joint order",
        Aspect.ORDER,
        orders.listed_order,
        settles=POLICY,
        because="terms and actions: they are in another order",
    ),
    _policy("history.fill", Aspect.START, timing.history_fill),
    _policy("start.kp, start.kv", Aspect.START, timing.start_gains),
    # A pose, an order or a sign that is wrong in all targets is wrong in the stand's too.
    _policy("start.target", Aspect.START, timing.start_target, consequence_of=(Aspect.ACTION,)),
    _action("action filter", actions.action_filter),
    _action("joint order", actions.order_of_setpoints, explains_all=True),
    _action("tick phase", actions.late_setpoints, explains_all=True),
    _action("action mode", actions.action_mode, explains_all=True),
    _action("action_scale, sign, units", actions.action_scale),
    _action("action clip", actions.action_clip),
    _action("lost setpoints", actions.lost_setpoints),
    _action("target clip", actions.target_clip),
    _action("action offset, default_pose", actions.action_offset),
    _whole("observation clip", observations.observation_clip),
    _whole("term order", observations.term_order),
    _whole("history order", observations.history_order),
    _whole("quaternion order", observations.observed_quaternion),
    # One wrong pose shows in the observation and in the targets.
    _policy(
        "observation scale, gait phase, …",
        Aspect.OBSERVATION,
        observations.terms,
        repeats=Aspect.ACTION,
    ),
    _policy(
        "observation scale, …",
        Aspect.OBSERVATION,
        observations.last_action,
        repeats=Aspect.ACTION,
        consequence_of=("recorded actions",),
    ),
    _policy(
        "recorded actions, action filter",
        Aspect.NETWORK,
        actions.recorded_actions,
        settles=(Aspect.NETWORK,),
    ),
    _policy("network", Aspect.NETWORK, actions.network, rests_on=Aspect.OBSERVATION),
    _policy("precision", Aspect.PRECISION, precision.value_precision, until=0.0),
    _replay("precision", Aspect.CONTROLLER, precision.controller_precision, settles=_REPLAY),
    _replay("kp, armature, timestep, …", Aspect.PLANT, plants.plant),
    _replay("kp, armature, …", Aspect.TRAINED, loop.trained_plant),
    _replay("tick phase", Aspect.SETPOINTS, timing.shifted_setpoints, until=ENOUGH),
    _replay("quaternion order", Aspect.SETPOINTS, orders.tried_quaternions, until=ENOUGH),
    _replay("joint order", Aspect.SETPOINTS, orders.tried_orders, until=ENOUGH),
    _replay("sign", Aspect.SETPOINTS, orders.tried_signs, until=ENOUGH),
    Hypothesis("payload, gravity, friction, …", Aspect.BODY, Cost.FIT, bodies.body, until=ENOUGH),
    Hypothesis(
        "state edited by the source", Aspect.STATE, Cost.FIT, bodies.state_edits, until=CAUSE
    ),
    Hypothesis("another model", Aspect.STATE, Cost.FIT, bodies.another_model, until=CAUSE),
)
