"""The sentence of every kind of finding: what is wrong, what would be right, why not by an edit.

`rendering.py` describes the fields. The key is the finding's `form`, or its `kind`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class FindingText:
    """The texts of one kind.

    Attributes:
        text: what is wrong.
        fix: what would be right; empty: that is evident from the text.
        by_hand: why no edit of the scene resolves it.
        each: the text of one name, where `{each}` lists all of them.
    """

    text: str
    fix: str = ""
    by_hand: str = ""
    each: str = ""


_DATASHEET = "the motor's data sheet has the number"
_MEASURED = "the right number is the real robot's"
_INERTIAL = "check the units and the frame of <inertial>"
_CHOOSE = "which of the two numbers is right is for you to decide"
_LIMIT_NOTE = "torque_limit: the motor's peak effort"

_DRIVES = {
    "owns-nothing": FindingText(
        "owns no actuator: nothing its patterns match can be bound",
        'add actuators: to the actor, as in actuators: [{{type: MotorActuator, joint: ".*"}}]',
    ),
    "owns-nothing servos": FindingText(
        "owns no actuator: nothing its patterns match can be bound",
        "{reason}: use_motors: true on the actor makes motors of its position actuators; or "
        "drop this controller and set other gains, as in "
        'native_gains: {{kp: {{"{servo}": 40}}}}',
    ),
    "owns-nothing others": FindingText(
        "owns no actuator: nothing its patterns match can be bound",
        '{reason}: actuators: [{{type: MotorActuator, replaces: ".*"}}] on the actor puts motors '
        "in their place",
    ),
    "owns-nothing unknown": FindingText(
        "owns no actuator: nothing its patterns match can be bound",
        "{reason}",
        "which actuators it is to own is for you to decide",
    ),
    "disabled": FindingText(
        "is disabled: position setpoints in rad go as torque to {motors:listed}",
        "enabled: true, or drop the controller",
    ),
    "two-actuators": FindingText(
        "two or more owned actuators act on this joint: {here:listed}; each applies its full "
        "effort",
        "exclude one from the controller's actuators: patterns",
        "which of them is to drive the joint is for you to decide",
    ),
    "two-actuators stiff": FindingText(
        "two or more actuators hold this joint: {here}; their stiffnesses add up",
        "remove one, as in removed: [{last}]",
    ),
    "no-actuators": FindingText(
        "has {here} hinge and slide joints and no actuator: nothing can move it",
        'add them, as in actuators: [{{type: MotorActuator, joint: ".*"}}]',
    ),
    "no-controller": FindingText(
        "has no controller: setpoints go as torque to its motors {here:listed}",
        "components: [{{type: PDController}}]",
    ),
}

_LIMITS = {
    "no-limit": FindingText(
        "has no effort limit, neither here nor in the model", _LIMIT_NOTE, _DATASHEET
    ),
    "no-limit servo": FindingText(
        "has no force limit: its ctrlrange bounds the target, not the effort",
        'add one: native_gains: {{forcerange: {{"{literal}": [low, high]}}}}',
        _DATASHEET,
    ),
    "no-limit servo unbounded": FindingText(
        "is driven directly and has neither ctrlrange nor forcerange",
        'add one: native_gains: {{forcerange: {{"{literal}": [low, high]}}}}',
        _DATASHEET,
    ),
    "no-limit motor": FindingText(
        "is driven directly and has neither ctrlrange nor forcerange",
        "add a forcerange in the model",
        _DATASHEET,
    ),
    "zero-limit": FindingText("torque limit 0: it cannot apply any effort"),
    "limit-above-model": FindingText(
        "torque limit {here:g} {unit} is above the model's {attribute} ({expected:g} {unit}), "
        "which wins",
        "[[torque_limit: {expected} shows clipping where it happens]]",
    ),
    "limit-above-model default": FindingText(
        "no torque limit is set, and the default of {here:g} {unit} is above the model's limits, "
        "which win"
    ),
    "ctrlrange-past-joint": FindingText(
        "ctrlrange {here[0]:g} {here[1]:g} takes the joint from {reach[0]:.4g} to {reach[1]:.4g} "
        "{unit}, far past its range {range[0]:.4g} {range[1]:.4g}: targets there press it against "
        "its stop[[; it looks like degrees{in_degrees:?}]]",
        "ctrlrange {expected[0]:g} {expected[1]:g}, in native_gains or in the model",
    ),
    "inverted-range": FindingText(
        "{attribute} {here[0]:g} {here[1]:g} is inverted: MuJoCo silently ignores it",
        "{attribute} {expected[0]:g} {expected[1]:g}",
        "it is in the model file, which is never written",
    ),
    "no-range": FindingText("clamp_targets has no effect: the joint has no range"),
}

_MOTORS = {
    "motor-kind": FindingText(
        "is a {transmission}, and its motor {motor} is {output}: its numbers are assumed to be the "
        "joint's, {read_as}; a gear of the actuator does not change that",
        "a motor file with the numbers at the {transmission} (for a {part}: {conversion})",
        "the transmission between motor and joint is for you to describe",
    ),
    "motor-limit": FindingText(
        "torque limit {here:g} N·m is more than its motor {motor} can drive with "
        "({expected:g} N·m)",
        "torque_limit: {expected:g}",
    ),
    "motor-limit clamp": FindingText(
        "the clamp's {attribute} {here:g} {unit} is more than its motor {motor} has ({expected:g})",
        "drop the clamp: the motor's limits then apply",
        _CHOOSE,
    ),
    "motor-limit native": FindingText(
        "forcerange ±{here:g} N·m is more than its motor {motor} can drive with ({expected:g} N·m)",
        "native_gains: {{forcerange: {{{actuator}: [-{expected:g}, {expected:g}]}}}}",
        "a range is written by hand",
    ),
    "motor-curve": FindingText(
        "MuJoCo's position actuator does not follow the torque-speed limits of {motor}",
        "use_motors: true on the actor: a controller does",
    ),
    "motor-overridden": FindingText(
        "{clamp} of the controller replaces the torque-speed limits of its motor {motor}"
    ),
    "motor-overridden joint": FindingText(
        "{attributes} of the scene replaces its motor's ({motor})"
    ),
    "motor-armature": FindingText(
        "dynamics.armature {here:g} {unit} differs from that of its motor {motor} "
        "({expected:g} {unit})",
        "drop it: the motor's armature then applies",
        _CHOOSE,
    ),
    "motor-armature replaced": FindingText(
        "the model's armature {here:g} {unit} was replaced by that of its motor {motor} "
        "({expected:g} {unit})"
    ),
    "motor-speed": FindingText(
        "begins at {here:g} rad/s, faster than its motor {motor} can drive it ({expected:g} rad/s)",
        by_hand="the initial velocity is for you to decide",
    ),
}

_MASSES = {
    "impossible-inertia": FindingText(
        "principal inertias {here[0]:.3g}, {here[1]:.3g}, {here[2]:.3g}: no body has one above the "
        "sum of the others",
        "correct <inertial>, or set `compiler: {{balanceinertia: true}}` on the actor",
        "MuJoCo balances inertias only while it compiles a model from its source",
    ),
    "inertia-too-large": FindingText(
        "the mass would have to be outside the body; radius of gyration: {each}",
        _INERTIAL,
        _MEASURED,
        each="{name} {here:.2g} m, reaches {expected:.2g} m",
    ),
    "inertia-too-small": FindingText(
        "almost a point mass; radius of gyration: {each}",
        _INERTIAL,
        _MEASURED,
        each="{name} {here:.2g} m, reaches {expected:.2g} m",
    ),
    "tiny-mass": FindingText(
        "weighs {here:.2g} kg of {total:.3g} kg: the solver loses precision, and any gain is too "
        "high for it",
        "set its mass, or its joint's armature",
        _MEASURED,
    ),
    "mass-ratio": FindingText(
        "a light link carries a heavy one: {each}",
        "armature on its joint keeps the solver precise",
        _MEASURED,
        each="{name} {here:.2g} kg carries {carried:.3g} kg",
    ),
    "no-shape": FindingText("has mass but no geom: it is invisible and has no contacts"),
}

_CONTACTS = {
    "below-floor": FindingText(
        "starts {here:.3g} m below the floor", "pose: {{position: [x, y, z + {up:g}]}}"
    ),
    "below-floor own": FindingText(
        "starts {here:.3g} m below the floor",
        "start {up:g} m higher: with a keyframe, or free_bodies:",
        "its pose moves its floor too: which body is to start where is for you to decide",
    ),
    "below-floor tilted": FindingText(
        "starts {here:.3g} m below the floor",
        "pose: {{position: [x, y, z + {up:g}]}}",
        "its support is not level, or it is attached",
    ),
    "penetration": FindingText(
        "starts inside {other}: {here:lines}[[; and {more} more]]",
        "move it away",
        "where to is for you to decide",
    ),
    "penetration self": FindingText(
        "starts inside itself: {here:lines}[[; and {more} more]]",
        "start in another pose",
        "which pose is for you to decide",
    ),
    "penetration floor": FindingText(
        "starts inside the floor: {here:lines}[[; and {more} more]]",
        "pose: {{position: [x, y, z + {up:g}]}}",
    ),
    "penetration floor own": FindingText(
        "starts inside the floor: {here:lines}[[; and {more} more]]",
        "start {up:g} m higher: with a keyframe, or free_bodies:",
        "its pose moves its floor too: which body is to start where is for you to decide",
    ),
    "penetration floor tilted": FindingText(
        "starts inside the floor: {here:lines}[[; and {more} more]]",
        "pose: {{position: [x, y, z + {up:g}]}}",
        "its support is not level, or it is attached",
    ),
    "two-floors": FindingText(
        "{here} floors are in one plane: everything on it is in contact with each of them",
        "[[scenery: false for {others:listed}]]",
        "which of them to drop is for you to decide",
    ),
    "fast-solref": FindingText(
        "solref time constant {here:g} s of {count} {constraints} is below 2·timestep "
        "({expected:g} s)[[; MuJoCo uses {used:g} s instead]]",
        "timestep: {step:g} at most, or solref {expected:g} at least",
    ),
    "fast-solref unsafe": FindingText(
        "solref time constant {here:g} s of {count} {constraints} is below 2·timestep "
        "({expected:g} s), and refsafe is off",
        "timestep: {step:g} at most, or solref {expected:g} at least",
    ),
    "no-floor": FindingText(
        "floats free, and nothing that it can touch is under it: it falls",
        "add a floor, as in actors: [{{name: floor, prop: {{type: GroundProp}}}}], or base: fixed",
    ),
    "links-touch": FindingText(
        "links touch in every pose that was tried, which holds them like a brake: "
        "{here:lines}[[; and {more} more]]",
        "collision_groups: [{{name: {group}, members: [{members}], ignores: [{group}]}}]",
    ),
    "static-links": FindingText(
        "links of the URDF without a joint stay bodies ({here}); MuJoCo alone fuses them with "
        "their parents",
        "compiler: {{fusestatic: true}}",
    ),
    "one-for-all": FindingText("the world has one value of each, the first model's: {here:lines}"),
}

_STABILITY = {
    "unstable-pd": FindingText(
        "{law} is unstable in this pose: [[the integral gain is too high; {integral:?}]]"
        "[[too little damping for an effort held over {tick:g} s; ]]"
        "[[the joints are coupled, each alone would be stable; {coupled:?}]]{numbers}",
        "{ways:or}",
    ),
    "close-to-unstable": FindingText(
        "{law} is close to its stability bound, {here:.2f} times these gains: {numbers}",
        "{ways:or}",
    ),
    "undamped": FindingText(
        "kv is 0 and the joint has no damping: it oscillates forever",
        "kv, or damping on the joint",
        "how fast it is to settle is for you to decide",
    ),
}

_START = {
    "start-out-of-range": FindingText(
        "starts at {here:.4g}, outside its range {expected[0]:.4g} to {expected[1]:.4g}",
        "set starting positions with joints:",
    ),
    "start-out-of-range keyframe": FindingText(
        "starts at {here:.4g}, outside its range {expected[0]:.4g} to {expected[1]:.4g}",
        "keyframe: {keyframe}",
    ),
    "start-out-of-range joints": FindingText(
        "starts at {here:.4g}, outside its range {expected[0]:.4g} to {expected[1]:.4g}",
        "correct it under joints:",
    ),
    "keyframe-out-of-range": FindingText(
        "is at {here:.4g}, outside its range {expected[0]:.4g} to {expected[1]:.4g} in keyframe "
        "{keyframe!r}"
    ),
    "degrees": FindingText(
        "starts at angles that look like degrees, and are read as radians: {each}",
        "joints: {{{radians}}}, or units: degrees on the actor for the values of joints:",
        each="{name} {here:.4g}[[, outside its range {range[0]:.4g} to {range[1]:.4g}]]",
    ),
    "setpoint-out-of-range": FindingText(
        "is commanded {here:.4g} at start, clipped to ctrlrange {expected[0]:.4g} to "
        "{expected[1]:.4g}",
        "change the keyframe's ctrl, or start inside the range",
        "the command that it is to start with is for you to decide",
    ),
    "overloaded": FindingText(
        "gravity at the start pose needs more than the limit: {each}",
        "raise the limit, or start in a pose that needs less",
        "a stronger motor or another pose is for you to choose",
        each="{name} {here:.3g} of {expected:.3g} {units}",
    ),
    "droops": FindingText(
        "gravity pulls it away from its setpoint: {each}",
        "raise kp, use PIDController, or command feedforward",
        "stiffness, an integral and feedforward cost differently: choose one",
        each="{name} {here:.2g} {units} ({load:.3g} {effort_units})",
    ),
}

#: Kinds of `mjrig check`.
CHECK = {**_DRIVES, **_LIMITS, **_MOTORS, **_MASSES, **_CONTACTS, **_STABILITY, **_START}

_RUN = (
    "as declared it [[falls after {fell[0]:.2g} s]][[tilts by {tilt[0]:.0f}°]][[misses its command "
    "by {missed[0]:.2g} of {missed[1]:.2g}]][[ends {goal[1]:.0f}° from its goal after "
    "{goal[0]:.0f}° at the start]][[costs {cost[0]:.2f}]]"
)
_WRONG_ORDER = (
    f"the joint order looks wrong: {_RUN}; with {{order}} it costs only {{least:.2f}} "
    "(upright {upright:.2f})"
)
_OVERRIDE = "{--robot} confirms the robot, {--joints} sets the order"

#: Kinds of the pre-flight of `mjrig import`.
IMPORT = {
    "in the files": FindingText("{detail}", "[[{advice}]]"),
    "order-by-place": FindingText(
        "the files have no joint names; by index they are {here:listed}",
        "compare with the order the network was trained with; {--joints} sets another one",
    ),
    "not-judged": FindingText("not judged: order, signs and scales: no runs were tried"),
    "not-judged torchscript": FindingText(
        "not judged: order, signs and scales: TorchScript is not run"
    ),
    "not-judged fixed base": FindingText(
        "not judged: order, signs and scales: the base is fixed, so that a run with a wrong order "
        "does not fall"
    ),
    "not-judged healthy": FindingText(
        "a healthy run of a few seconds supports order and signs; not judged: scales, the default "
        "pose and a rate that are somewhat off, effort limits, delays, friction of the ground, "
        "payload (mjrig replay tries some)"
    ),
    "order-probe": FindingText(_WRONG_ORDER, "{--joints} {joints}"),
    "unclear": FindingText(
        f"unclear: {_RUN}; no other joint order that was tried does all that a healthy run does, "
        "so that its cause cannot be told from this run",
        "compare the assumptions with the training run: {--scale}, {--default}, {--keyframe}, "
        "{--height}, {--rate}, {--joints}; gains, limits and armature with the model's",
    ),
    "default-out-of-range": FindingText(
        "the default pose is out of range: {here:listed}", "{--default} sets another one"
    ),
    "default-out-of-range by index": FindingText(
        "the default pose is out of range: {here:listed}",
        f"another robot, or another order of its joints? {_OVERRIDE}; {{--default}} another pose",
    ),
    "left-right": FindingText(
        "{property} differs between left and right: {here:listed}",
        f"[[is this the order of this robot's joints? {_OVERRIDE}{{by_index:?}}]]",
    ),
    "plant-differs": FindingText(
        "{property} is {here} in the model, {expected} {source}",
        "dynamics: {{{property}: …}} sets it",
    ),
    "limit": FindingText("efforts are limited by the model's {attribute} ({joints} joints)"),
    "no-limit import": FindingText(
        "has no effort limit in the model or the files", "set a torque_limit on the controller"
    ),
    "limit-differs": FindingText(
        "effort limits of the model are not those {source} [{unit}]: {here:listed}"
    ),
    "gains-differ": FindingText(
        "the model's position actuators have other gains than the files: {here:listed}",
        "choose a model with motors, or set these gains on its actuators",
    ),
    "stability": FindingText(
        "h·kv/M is {here:.2f} at {worst}[[ {stage}]], bound 2: stable, with little margin"
    ),
    "stability lost": FindingText(
        "h·kv/M is {here:.2f} at {worst}[[ {stage}]], bound 2",
        "a smaller timestep, or armature as in training; efforts saturate otherwise",
    ),
    "beside": FindingText("also read, as it is in the same folder: {here:listed}"),
    "gap": FindingText(
        "the policy is not complete: {here}",
        "write its terms into policy.yaml, then add {{type: Policy, file: policy.yaml}}",
    ),
    "other-robot": FindingText(
        "the files are for the robot {expected!r}, [[the name {model} is of {here!r}]]"
        "[[ or {also[0]!r}]][[not for {chosen!r}, which was chosen]]; "
        "[[all its joints exist{by_name:?}]][[it has as many motors{by_index:?}]]",
        "[[{--robot} names the robot of the model{model:?}]]",
    ),
    "joint-alias": FindingText("is called {expected!r} in the files"),
    "joint-extra": FindingText(
        "has a motor, but the policy does not move it: it holds its starting pose",
        "set its gains in the scene, or choose a model without it",
    ),
    "observation-size": FindingText(
        "{network} takes {expected} values[[ as {input!r}]], the terms have {here}: {parts}",
        "is it the network of this configuration?",
    ),
    "observation-size unknown": FindingText("the size of {here:listed} is only known at run time"),
    "observation-size declared": FindingText(
        "the files declare {expected} values, the terms have {here}: {parts}"
    ),
    "missing-name": FindingText("{term} needs the {element} {expected!r}"),
    "no-base": FindingText("{term} needs a floating base, and {model} has none"),
    "torchscript": FindingText(
        "{network} is TorchScript, which only torch can open: sizes not checked",
        "an ONNX export needs no torch",
    ),
    "action-size": FindingText("{network} gives {here} actions for {expected} joints"),
    "network-input": FindingText("unknown source for the input {input!r} of {network}"),
    "recurrent": FindingText("the network has memory: {here}, zero after a reset"),
    "timestep": FindingText(
        "the model has a timestep of {here:g} s, the policy {expected:g} s",
        "the scene sets the policy's",
    ),
    "timestep assumed": FindingText(
        "the files name no timestep: {here:g} s × {decimation} is assumed"
    ),
    "phase after": FindingText(
        "the first tick is after {decimation} steps, none before the first step"
    ),
    "phase inside": FindingText(
        "ticks fall between the position stage and actuation, in the last step of each {decimation}"
    ),
    "float32": FindingText("the framework rounds measurements to float32; so does the import"),
    "start-height": FindingText(
        "the files name no start height: the base starts at {here:g} m, standing on its feet in "
        "the default pose",
        "{--height} sets another one",
    ),
    "start-pose": FindingText(
        "a run starts in the model's pose, {here:.2g} rad from the default pose",
        "{--keyframe} sets another one",
    ),
    "start-gains": FindingText("the robot stands for {here:g} s first, with other gains"),
    "actuator-kind": FindingText(
        "is a {here} actuator: neither a motor for PD nor a position actuator"
    ),
    "actuator-kind mixed": FindingText("some actuators are motors, others take positions"),
    "gear": FindingText("has gear·gain {here:g}; gains are at the joint, the controller divides"),
    "no-gains": FindingText("motors need gains, and the files have none"),
}

_SAG = ", {sag:.2g} of {error:.2g} at kp {kp:g}"
_AT_MOST = ", at most {expected:.3g}[[ {unit}]]"

#: Kinds of responses and gain tests.
RESPONSES = {
    # Causes of an error that remains.
    "moving": FindingText("still moving after {here:.3g} s: no final value to measure by"),
    "no frequency response": FindingText(
        "the sine has not swung in: no frequency response; test longer"
    ),
    "no frequency response moving": FindingText(
        "still moving {here:.3g} s after the start: no frequency response"
    ),
    "saturation": FindingText(
        "saturation: the effort stays at {here:.3g} {unit}",
        by_hand="a stronger motor or a smaller motion is for you to choose",
    ),
    "no stiffness": FindingText("kp is 0: no stiffness towards the target"),
    "integral": FindingText("the integral has not converged: ki {here:g} needs more time"),
    "gravity sag": FindingText(
        "gravity sag: {here:.3g} {unit} of gravity" + _SAG,
        by_hand="stiffness, an integral and feedforward cost differently: choose one",
    ),
    "joint spring": FindingText("the joint's own spring: {here:.3g} {unit}" + _SAG),
    "tendon springs": FindingText("springs of tendons: they pull with {here:.3g} {unit}" + _SAG),
    "joint limit": FindingText("joint limit: it pushes back with {here:.3g} {unit}" + _SAG),
    "dry friction": FindingText("dry friction: it holds with {here:.3g} {unit}" + _SAG),
    "contact": FindingText("contact: it pushes with {here:.3g} {unit}" + _SAG),
    "constraint": FindingText("a constraint: it pushes with {here:.3g} {unit}" + _SAG),
    # Thresholds of gain tests.
    "measure": FindingText("{kind}: {here:.3g}[[ {unit}]]" + _AT_MOST),
    "measure missing": FindingText("{kind}: no value" + _AT_MOST),
    "measure in range": FindingText(
        "{kind}: {here:.3g}[[ {unit}]], {expected[0]:.3g} to {expected[1]:.3g}[[ {unit}]]"
    ),
    "measure in range missing": FindingText(
        "{kind}: no value, {expected[0]:.3g} to {expected[1]:.3g}[[ {unit}]]"
    ),
    # Gain tests without a result.
    "not simulated": FindingText("[[{stage}: ]]{event}"),
    "no range": FindingText("the joint has no range"),
    "at an end": FindingText("it starts at this end"),
    "no room": FindingText("it starts at an end of its range: no room for a sine"),
}

_DIFFERS = (
    "{kind}[[ of {place}]] is {here}[[ {unit}]] here, {expected}[[ {unit}]] in the {origin}: "
)
_LARGEST = "{kind}[[ of {place}]] is {here} here, the largest recorded effort is {expected}: "
_AS_RECORDED = "{kind}[[ of {place}]]: "
_REFIT = (
    "[[{term}: ]]recorded and recomputed values differ by {before:.2g} of their size, with it by "
    "{after:.2g}, over {ticks} ticks"
)

#: Kinds of the diagnosis of `mjrig replay`.
REPLAY = {
    # Properties of the plant, undone in a run.
    "undone": FindingText(_DIFFERS + "undoing it {share:removes}"),
    "undone, largest effort": FindingText(_LARGEST + "undoing it {share:removes}"),
    "not tried": FindingText(_DIFFERS + "not tried: {reason}"),
    "not tried, largest effort": FindingText(_LARGEST + "not tried: {reason}"),
    "undone, stays up": FindingText(_DIFFERS + "undoing it, the robot no longer falls"),
    "undone, falls later": FindingText(
        _DIFFERS + "undoing it, the robot falls {longer:.1f} s later"
    ),
    "undone, still falls": FindingText(_DIFFERS + "undoing it, the robot still falls"),
    "undone, falls": FindingText(_DIFFERS + "undoing it, the robot falls: it is better as it is"),
    "undone, little changes": FindingText(_DIFFERS + "undoing it changes little[[: {moved}]]"),
    "undone, changes": FindingText(_DIFFERS + "undoing it: {changes}"),
    "fitted": FindingText(
        _DIFFERS + "fitted to short predictions from recorded states: with it they miss by "
        "{after:.2g} instead of {before:.2g} rad/s or m/s"
    ),
    "precision": FindingText(_DIFFERS + "computing in {expected} {share:removes}"),
    "precision of values": FindingText(
        _DIFFERS + "computed in {expected}, {same:.0%} of {count} recorded numbers are "
        "bit-identical, in {here} {same_here:.0%}"
    ),
    # How the recording is read.
    "tick phase": FindingText(
        _DIFFERS + "the first recorded tick is at step {first[0]}, here at step {first[1]}: "
        "recorded ticks begin {shift:many physics step} {when}"
    ),
    "tick phase late": FindingText(
        _DIFFERS + "recorded setpoints follow the recorded actions on straight lines, "
        "{steps:many physics step} after the tick of those actions"
    ),
    "tick phase shifted": FindingText(
        _AS_RECORDED + "setpoints that start {shift} {when} {share:remove}"
    ),
    "quaternion run": FindingText(
        _DIFFERS + "read as {expected}, the run here is another: it {share:removes}"
    ),
    "quaternion observed": FindingText(
        _DIFFERS + "read as {expected}, the base's terms differ by {after:.2g} instead of "
        "{before:.2g} of their size from the recorded ones"
    ),
    "joint order tried": FindingText(
        _AS_RECORDED + "{subject} in another order ({order}) {share:remove}; the columns are "
        "[{columns}]"
    ),
    "joint order probed": FindingText(_AS_RECORDED + _WRONG_ORDER + "; it is {joints}"),
    "joint order listed": FindingText(
        _DIFFERS + "the recording lists the joints of the policy in another order: {expected}"
    ),
    "joint order of setpoints": FindingText(
        _DIFFERS + "the setpoints that are recorded as [{expected}] follow the actions of [{here}] "
        "on straight lines: they are in that order"
    ),
    "sign of setpoints": FindingText(_AS_RECORDED + "negated setpoints {share:remove}"),
    "state edited by the source": FindingText(
        _DIFFERS + "all other steps agree: something acted at these only, as when a source loop "
        "writes into its state; setpoints alone cannot reproduce it"
    ),
    "velocity units": FindingText(
        _DIFFERS + "recorded joint velocities are {factor:.4g} times as large as recorded "
        "positions change[[, as degrees are of radians{in_degrees:?}]]; that leaves "
        "{residual:.1g} of their size"
    ),
    # Timing and start of the policy.
    "decimation": FindingText(
        _DIFFERS + "recorded ticks are {expected} steps apart ({rate:g} Hz, {ticks} ticks), the "
        "policy here ticks every {here} ({rate_here:g} Hz)"
    ),
    "start duration": FindingText(
        _DIFFERS + "the first recorded tick is at step {steps[0]} ({times[0]:g} s), here at step "
        "{steps[1]} ({times[1]:g} s)"
    ),
    "start gains": FindingText(
        _DIFFERS + "the recording lists these gains for the {steps} steps before its first tick"
    ),
    "start target": FindingText(
        _DIFFERS + "recorded targets before the first tick differ by up to {largest:.3g} "
        "{largest_unit}"
    ),
    "history.fill": FindingText(
        _DIFFERS + "in the first recorded observation, all earlier values are {shown}"
    ),
    # Observations.
    "refit": FindingText(
        _DIFFERS + _REFIT + "[[; unknown for {hidden:listed}, which the recording does not move]]"
    ),
    "refit as recorded": FindingText(_AS_RECORDED + _REFIT),
    "observation clip": FindingText(
        _DIFFERS + "recorded values reach {most:.4g}, here they end at {here:.4g}"
    ),
    "command scale": FindingText(
        _DIFFERS + "recorded observations are recorded commands times this"
    ),
    "recorded commands": FindingText(
        _DIFFERS + "recorded observations show a command of {commands:listed}, the recorded "
        "commands are zero: they are not those the policy received"
    ),
    "term order": FindingText(_DIFFERS + "in this order all terms agree over {ticks} ticks"),
    "history order": FindingText(
        _DIFFERS + "arranged like that, recorded and recomputed observations differ by "
        "{after:.2g} instead of {before:.2g} of their size, over {ticks} ticks"
    ),
    "gait phase": FindingText(
        _DIFFERS + "the recorded phase is constantly {ahead} turns ahead of the one here"
    ),
    "gait phase swapped": FindingText(
        _DIFFERS + "with sine and cosine exchanged, recorded and recomputed values agree"
    ),
    "gait phase period": FindingText(
        _DIFFERS + "the recorded phase turns once in {expected:.4g} s, here in {here:.4g} s"
    ),
    "gait phase still": FindingText(_DIFFERS + "one of them does not turn"),
    "gait phase backwards": FindingText(_DIFFERS + "the recorded one turns backwards"),
    "gait phase stands": FindingText(_DIFFERS + "one turns while the other one stands"),
    "gait phase drifts": FindingText(
        _DIFFERS + "the lead of the recorded one changes during the run"
    ),
    # Network and actions.
    "network": FindingText(
        _DIFFERS + "on the recorded observations its actions differ by {error:.2g} of their size, "
        "over {ticks:many tick}[[; but the observations are not those of the policy here "
        "either{terms_differ:?}]]"
    ),
    "recorded actions": FindingText(
        _DIFFERS + "recorded actions are {factor:.4g} times the network's output on the recorded "
        "observations: they were recorded after a scale"
    ),
    "action scale": FindingText(
        _DIFFERS + "recorded targets are a straight line over recorded actions with these slopes; "
        "it leaves {residual:.1g} {residual_unit}"
    ),
    "action offset": FindingText(_DIFFERS + "recorded targets are there when the action is zero"),
    "action clip": FindingText(
        _DIFFERS + "recorded targets follow actions up to {most:.4g}, here they end at {here:.4g}"
    ),
    "action clip recorded": FindingText(
        _DIFFERS + "recorded targets of {stopped:many joint} stop at actions of {expected:g}"
    ),
    "target clip": FindingText(
        _DIFFERS + "recorded targets reach {expected}, here they end at {here[0]:g} and {here[1]:g}"
    ),
    "lost setpoints": FindingText(
        _DIFFERS + "at {lost} of {ticks} ticks (steps {steps}[[, …{more:?}]]) the actions move and "
        "all recorded targets stay those of the tick before"
    ),
    "action mode": FindingText(
        _DIFFERS + "recorded targets follow actions on straight lines with it, {joints} joints"
    ),
    "action filter": FindingText(
        _DIFFERS + "recorded targets are straight lines over actions[[ smoothed with β = {beta:g}]]"
    ),
    "action filter of the network": FindingText(
        _DIFFERS + "recorded actions are those of the network here, smoothed with β = {beta:g}"
    ),
}

#: Kinds of the verdicts of fits; the reason is that of the estimate.
FITS = {
    "fit-rejected": FindingText("{reason}"),
    "not-converged": FindingText("the search did not converge: nothing is identified"),
    "not-identified": FindingText(
        "{reason}", by_hand="another recording is needed, or a value from elsewhere"
    ),
    "conditional": FindingText("{reason}"),
    "correlated": FindingText(
        "{first} and {second} are hardly told apart (correlation {here:+.3f}): {apart} would"
    ),
}

#: Kinds of reloading while a world runs.
RELOAD = {
    "changed-file": FindingText(
        "{here:listed} changed on disk and cannot be reloaded yet: {reason}",
        by_hand="correct the file: it is tried again when it changes",
    ),
    "changed-file without dialog": FindingText(
        "{here:listed} changed and cannot be reloaded, the old world runs on: {reason}"
    ),
}

_TAKE = '; add "take": true to take over'
_OF_STEPS = " after {here:d} of {expected:d} steps"
_SILENT = "[[{client}: ]]no request for {here:g} {unit} in lock step (lock_timeout); "

#: Kinds of bridges: rejected messages, notices, and warnings about how they are served.
BRIDGES = {
    # Requests that are rejected.
    "rejected": FindingText("{reason}"),
    "invalid": FindingText("{subject}: {reason}"),
    "unreadable-request": FindingText("cannot be read: {reason}"),
    "not-a-map": FindingText("must be a map with texts as keys, got {here}"),
    "unknown-operation": FindingText("op: {here} is not known; {hint}"),
    "unknown-key": FindingText("{subject}: unknown key {here}; {hint}"),
    "not-a-whole-number": FindingText(
        "{subject}: must be a whole number from {expected[0]:d} to {expected[1]:d}, got {here}"
    ),
    "not-a-switch": FindingText("{subject}: must be true or false, got {here}"),
    "not-finite": FindingText("{subject}: must be finite numbers, got {here}"),
    "negative": FindingText("{subject}: must be >= 0, got {here:g}"),
    "not-numbers": FindingText("{subject}: must be numbers or numbers by pattern, got {here}"),
    "not-a-default": FindingText("{subject}: default must be a number, got {here}"),
    "not-a-keyframe": FindingText("keyframe: must be a name, got {here}"),
    "too-large": FindingText("{subject}: a number is too large"),
    "long-pattern": FindingText("{subject}: a pattern has more than {expected} letters"),
    "too-many-patterns": FindingText(
        "{subject}: {here:d} patterns; at most {expected:d} are allowed"
    ),
    "no-gains-to-set": FindingText(
        "{subject}: one of them has no PDController whose gains can be set"
    ),
    "nothing-to-set": FindingText("set: needs one of {expected}"),
    "old-sequence": FindingText("sequence: {here:d} is not after {expected:d}"),
    "no-subscription": FindingText("unsubscribe: WebSocket only; close the ZMQ SUB socket instead"),
    "no-subscription zmq": FindingText(
        "subscribe: WebSocket only; connect a ZMQ SUB socket to {here}"
    ),
    "wrong-token": FindingText(
        "token: missing or wrong; send the token that was printed when serving began"
    ),
    "client-left": FindingText("{subject}: {here} has left"),
    "clock-taken": FindingText("{subject}: {here} took the clock from {client}" + _TAKE),
    "not-the-clock": FindingText(
        "{subject}: {here}[[ of {bridge}]] has the clock (lock step), not {client}" + _TAKE
    ),
    "not-the-commander": FindingText("{subject}: {here} commands this robot, not {client}" + _TAKE),
    "too-many-requests": FindingText("{here} requests already wait for the running step"),
    "step-ended": FindingText("step: cancelled" + _OF_STEPS),
    "step-ended by": FindingText("step: ended by {client}" + _OF_STEPS),
    "step-ended left": FindingText("step: {client} left" + _OF_STEPS),
    # What clients cause.
    "connection": FindingText("{reason}"),
    "commands-again": FindingText("commands arrive again"),
    "commands-lost": FindingText(
        "no command for {here:g} {unit}; the motors damp with {damping:g} N·m·s/rad"
    ),
    "other-commander": FindingText("{here} commands instead of {before}"),
    "other-commander after": FindingText("{here} commands after the end of {before}"),
    "other-clock": FindingText("{here} takes the clock from {before}"),
    "lock-step-left": FindingText(
        "{here} left in lock step; the world waits {patience:g} s (lock_timeout) for another "
        "client, then on_lock_timeout: {reaction}"
    ),
    "lock-step-silent runs": FindingText(_SILENT + "the world runs in real time"),
    "lock-step-silent waits": FindingText(
        _SILENT + "the world stays paused until a client steps or runs it"
    ),
    # How they are served.
    "state-rate": FindingText(
        "states are sent at {here:.4g} {unit} instead of {expected:.4g}: after every {every} steps "
        "of {timestep_ms:.4g} ms; set rate to {here:.4g}, or the timestep to {period_ms:.4g} ms or "
        "a fraction"
    ),
    "open-network": FindingText(
        "it listens on {here}, which other machines can reach: requests need the token, and the "
        "connection is not encrypted; host 127.0.0.1 and `ssh -L` are safer"
    ),
    "open-network dds": FindingText(
        "DDS on {here} has neither tokens nor encryption: every program in that network can "
        "command this robot, and a real robot there gets the same messages"
    ),
}

TEXTS: dict[str, FindingText] = {
    **CHECK,
    **IMPORT,
    **RESPONSES,
    **REPLAY,
    **FITS,
    **BRIDGES,
    **RELOAD,
}
