"""Random models, actuators and controllers: every feature that an execution might treat wrongly."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import mujoco

PLUGIN = """<extension><plugin plugin="mujoco.pid"><instance name="servo">
<config key="kp" value="{kp}"/><config key="kd" value="0.1"/></instance></plugin></extension>"""
INTEGRATORS = ("Euler", "Euler", "Euler", "RK4", "implicit", "implicitfast", "discrete")
FLAGS = (
    ("clampctrl", "disable"), ("actuation", "disable"), ("eulerdamp", "disable"),
    ("damper", "disable"), ("spring", "disable"), ("gravity", "disable"), ("limit", "disable"),
    ("frictionloss", "disable"), ("warmstart", "disable"), ("island", "disable"),
    ("invdiscrete", "enable"), ("sleep", "enable"), ("energy", "enable"), ("fwdinv", "enable"),
)  # fmt: skip
GEARS = (1.0, 1.0, 1.0, -1.0, 3.0, 0.1, 6.33, -50.0, 0.01, 1e-5, -1e-3, 0.0)


@dataclass
class Case:
    """One case: a model, the options of the scene and its controllers, and what is done to it."""

    xml: str
    sim: dict[str, object]
    components: list[dict[str, object]]
    steps: int
    #: Step → what is done before it.
    edits: dict[int, tuple[str, Any]] = field(default_factory=dict)


class Draw(Random):
    """A random generator of cases that are unusual in few respects, or in many.

    Features that are all drawn independently hide each other: one alone decides what happens.
    """

    #: The chance that a feature occurs in this case at all.
    wild = 1.0

    def __init__(self, seed: float) -> None:
        super().__init__(seed)
        self._active: dict[str, bool] = {}

    def odd(self, what: str, chance: float) -> bool:
        """Whether something unusual is drawn: rarely, or often where the case has this feature."""
        if what not in self._active:
            self._active[what] = self.random() < self.wild
        return self._active[what] and self.random() < min(2.5 * chance, 0.9)


def _number(rng: Draw, low: float, high: float) -> str:
    return f"{rng.uniform(low, high):.4g}"


def _maybe(rng: Draw, chance: float, text: str) -> str:
    return f" {text}" if rng.odd(text.partition("=")[0], chance) else ""


def _limits(rng: Draw, what: str, size: float) -> str:
    """A range, with or without its flag; sometimes a flag that switches it off."""
    if not rng.odd(what, 0.3):
        return ""
    low, high = -rng.uniform(0.05, size), rng.uniform(0.05, size)
    if rng.random() < 0.1:
        low = high * 0.5
    flag = rng.choice(("", "", f'{what}limited="true"', f'{what}limited="false"'))
    return f' {what}range="{low:.4g} {high:.4g}" {flag}'


def _joint(rng: Draw, k: int) -> str:
    kind = rng.choices(("hinge", "slide", "ball"), (8, 3, 1))[0]
    axis = rng.choice(("1 0 0", "0 1 0", "0 0 1", "0.6 0 0.8"))
    text = f'<joint name="j{k}" type="{kind}"'
    if kind == "ball":
        return text + f' damping="{_number(rng, 0, 1)}" armature="0.02"/>'
    text += f' axis="{axis}" armature="{_number(rng, 0.01, 0.1)}"'
    text += _maybe(rng, 0.5, f'damping="{_number(rng, 0, 1)}"')
    text += _maybe(rng, 0.2, f'stiffness="{_number(rng, 0, 5)}"')
    text += _maybe(rng, 0.2, f'frictionloss="{_number(rng, 0, 0.3)}"')
    text += _maybe(rng, 0.3, f'range="{_number(rng, -1, -0.1)} {_number(rng, 0.1, 1)}"')
    text += _maybe(rng, 0.2, f'actuatorfrcrange="{_number(rng, -2, -0.1)} {_number(rng, 0.1, 2)}"')
    text += _maybe(rng, 0.2, 'actuatorgravcomp="true"')
    return text + "/>"


def _kind(rng: Draw) -> tuple[str, str]:
    """An element and the attributes that only it has."""
    kp, kv = _number(rng, 1, 20), _number(rng, 0.05, 1)
    if not rng.odd("kind", 0.3):
        return "motor", ""
    return rng.choices(
        (
            ("motor", ""),
            ("general", _general(rng)),
            ("position", f'kp="{kp}" kv="{kv}"' + _maybe(rng, 0.3, 'timeconst="0.05"')),
            ("velocity", f'kv="{kv}"'),
            ("intvelocity", f'kp="{kp}" actrange="-1 1"'),
            ("damper", f'kv="{kv}" ctrlrange="0 1"'),
            ("cylinder", 'timeconst="0.1" area="0.5"'),
            ("muscle", 'lengthrange="0.1 1"'),
            ("pid", f'kp="{kp}" kv="{kv}" input="{rng.choice(("pos", "pos vel", "pos vel ff"))}"'),
            ("dcmotor", 'motorconst="0.1" resistance="1"'),
            ("plugin", 'plugin="mujoco.pid" instance="servo"'),
        ),
        (2, 4, 2, 1, 1, 1, 1, 1, 1, 1, 2),
    )[0]


def _general(rng: Draw) -> str:
    gain, bias = rng.choice(("fixed", "fixed", "affine")), rng.choice(("none", "none", "affine"))
    dyn = rng.choice(("none", "none", "none", "integrator", "filter", "filterexact"))
    text = f'gaintype="{gain}" gainprm="{rng.choice((1, 1, 2, -0.5, 0))} 0.1 0.1"'
    text += f' biastype="{bias}" biasprm="0.1 -2 -0.1"' if bias != "none" else ""
    text += f' dyntype="{dyn}" dynprm="0.05"' if dyn != "none" else ""
    return text + _maybe(rng, 0.3, 'actearly="true"')


def _target(rng: Draw, joints: list[str]) -> str:
    joint = rng.choice(joints)
    if not rng.odd("target", 0.3):
        return f'joint="{joint}"'
    return rng.choices(
        (
            f'joint="{joint}"',
            f'jointinparent="{joint}"',
            'tendon="cable"',
            f'site="{rng.choice(("tip", "mid"))}"',
            'site="tip" refsite="mid"',
            'cranksite="mid" slidersite="rail" cranklength="0.6"',
        ),
        (6, 3, 2, 1, 1, 1),
    )[0]


def _actuator(rng: Draw, k: int, joints: list[str]) -> str:
    element, own = _kind(rng)
    target = _target(rng, joints)
    gear = (
        f"{rng.choice(GEARS if rng.odd('gear', 0.4) else GEARS[:8]):g}"
        if "site" not in target
        else "0 0 1 0 0.5 0"
    )
    text = f'<{element} name="m{k}" {target} gear="{gear}" {own}'
    text += "" if "ctrlrange" in own else _limits(rng, "ctrl", 3.0)
    text += _limits(rng, "force", 2.0)
    if rng.odd("nsample", 0.3):
        samples = rng.randint(0, 6)
        text += f' nsample="{samples}" interp="{rng.choice(("zoh", "linear", "cubic"))}"'
        text += f' delay="{_number(rng, 0, 0.01)}"' if samples and rng.random() < 0.8 else ""
    text += _maybe(rng, 0.15, f'damping="{_number(rng, 0, 0.5)}"')
    text += _maybe(rng, 0.15, f'armature="{_number(rng, 0, 0.05)}"')
    text += _maybe(rng, 0.2, f'group="{rng.randint(0, 3)}"')
    return text + "/>"


def _model(rng: Draw) -> str:
    joints = [f"j{k}" for k in range(rng.randint(1, 3))]
    comp = _maybe(rng, 0.2, 'gravcomp="0.7"')
    bodies = "".join(
        f'<body pos="0 0 -0.2"{comp}>{_joint(rng, k)}<geom/>' for k in range(len(joints))
    )
    tendon = ""
    scalars = [j for k, j in enumerate(joints) if f'"{j}" type="ball"' not in bodies]
    if scalars:
        coefs = "".join(f'<joint joint="{j}" coef="{_number(rng, -1, 1)}"/>' for j in scalars)
        tendon = f'<tendon><fixed name="cable">{coefs}</fixed></tendon>'
    flags = dict(rng.sample(FLAGS, rng.choice((1, 2)) if rng.odd("flags", 0.4) else 0))
    disabled = _maybe(rng, 0.15, f'actuatorgroupdisable="{rng.randint(0, 3)}"')
    actuators = "".join(_actuator(rng, k, joints) for k in range(rng.randint(1, 4)))
    first = next((k for k in range(len(joints)) if joints[k] in scalars), None)
    key = "" if first is None or len(scalars) != len(joints) else (
        f'<keyframe><key name="bent" qpos="{" ".join(["0.3"] * len(joints))}"/></keyframe>'
    )  # fmt: skip
    return f"""<mujoco>
    <compiler angle="radian" autolimits="true"/>
    <option timestep="{rng.choice((0.0005, 0.001, 0.002, 0.004))}"
      integrator="{rng.choice(INTEGRATORS) if rng.odd("integrator", 0.5) else "Euler"}"{disabled}>
      <flag {" ".join(f'{name}="{value}"' for name, value in flags.items())}/>
    </option>
    {PLUGIN.format(kp=_number(rng, 1, 20)) if 'instance="servo"' in actuators else ""}
    <default>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0" conaffinity="0"/>
    </default>
    <worldbody><site name="rail" pos="0.1 0 0"/>{bodies}
      <site name="tip" pos="0 0 -0.2"/><site name="mid" pos="0.05 0 -0.1"/>{"</body>" * len(joints)}
    </worldbody>
    {tendon}<actuator>{actuators}</actuator>{key}</mujoco>"""


def model(rng: Draw) -> tuple[str, Any]:
    """A model that MuJoCo takes, as text and compiled."""
    while True:
        text = _model(rng)
        try:
            compiled = mujoco.MjModel.from_xml_string(text)
            mujoco.mj_forward(compiled, mujoco.MjData(compiled))
        except (ValueError, mujoco.FatalError):
            continue
        return text, compiled


# Controllers ------------------------------------------------------------------------------------


def motors(compiled: Any) -> list[str]:
    """The actuators that any law can own, by an own reading of the model."""
    found = []
    for i in range(compiled.nactuator):
        trn = int(compiled.actuator_trntype[i])
        joint = int(compiled.actuator_trnid[i][0])
        if (
            trn in (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
            and int(compiled.jnt_type[joint]) in (2, 3)
            and int(compiled.actuator_plugin[i]) < 0
            and not compiled.actuator_dyntype[i]
            and not compiled.actuator_gaintype[i]
            and not compiled.actuator_biastype[i]
            and compiled.actuator_gainprm[i][0] != 0.0
            and compiled.actuator_gear[compiled.actuator_outadr[i]][0] != 0.0
        ):
            found.append(compiled.actuator(i).name)
    return found


def _per_actuator(rng: Draw, low: float, high: float, owned: list[str]) -> object:
    value = float(_number(rng, low, high))
    if rng.random() < 0.7 or not owned:
        return value
    return {rng.choice(owned): float(_number(rng, low, high)), "default": value}


def _delay(rng: Draw) -> dict[str, object]:
    made: list[dict[str, object]] = [
        {"steps": rng.randint(0, 4), "max_steps": 6},
        {"seconds": rng.choice((0.0, 0.003, 0.008))},
        {"random": [0, 3]},
    ]
    return rng.choice(made)


def _clamps(rng: Draw) -> list[dict[str, object]]:
    made: list[dict[str, object]] = [
        {"type": "MaxEffort", "max_effort": float(_number(rng, 0.1, 3))},
        {"type": "MaxEffort", "max_effort": 1.5, "min_effort": -0.4},
        {"type": "DCMotor", "saturation_effort": 2.0, "velocity_limit": 5.0, "max_effort": 1.5},
        {"type": "DCMotor", "saturation_effort": 3.0, "velocity_limit": 2.0},
        {"type": "TorqueSpeedCurve", "x1": 1.0, "x2": 4.0, "y1": 1.2, "y2": 1.7},
        {"type": "TorqueSpeedCurve", "x1": 0.0, "x2": 2.0, "y1": float(_number(rng, 0.1, 3))},
        {"type": "PositionTable", "positions": [-0.5, 0.0, 0.7], "efforts": [0.4, 1.5, 0.8]},
    ]
    return rng.sample(made, rng.choice((1, 1, 2)))


def _controller(rng: Draw, actuators: str, compiled: Any) -> dict[str, object]:
    owned = [name for name in motors(compiled) if re.fullmatch(actuators, name)]
    kind = rng.choice(("PDController", "PDController", "PIDController"))
    made: dict[str, object] = {"type": kind, "actuators": actuators}
    made |= {"kp": _per_actuator(rng, 0, 30, owned), "kv": _per_actuator(rng, 0, 1, owned)}
    if kind == "PIDController":
        made["ki"] = _per_actuator(rng, 0, 30, owned)
        if rng.random() < 0.5:
            made["integral_max"] = _per_actuator(rng, 0.001, 0.05, owned)
    if rng.random() < 0.6:
        made["torque_limit"] = rng.choice((_per_actuator(rng, 0.2, 5, owned), "inf"))
    if rng.random() < 0.4:
        made["delay"] = _delay(rng)
    if rng.odd("clamps", 0.3):
        made["clamps"] = _clamps(rng)
    for name, chance, value in (
        ("decimation", 0.15, rng.randint(2, 4)), ("clamp_targets", 0.2, True),
        ("transmissions", 0.3, "all"), ("count_clamps", 0.1, True),
        ("precision", 0.07, "float32"), ("effort", 0.05, "implicit"), ("order", 0.1, "textbook"),
    ):  # fmt: skip
        if rng.odd(name, chance):
            made[name] = value
    return made


def _matching(rng: Draw, compiled: Any) -> list[str]:
    """Patterns of one or two controllers that do not overlap."""
    names = [compiled.actuator(i).name for i in range(compiled.nactuator)]
    if len(names) > 1 and rng.random() < 0.3:
        return ["|".join(names[::2]) + "|m9?", "|".join(names[1::2]) + "|m9?"]
    return [".*"]


EDITS = ("kp", "torque_limit", "off", "on", "reset", "keyframe", "snapshot", "restore", "delay")


def case(source: Random, steps: int) -> tuple[Case, Any]:
    """A case and its model, compiled."""
    rng = Draw(source.random())
    rng.wild = rng.choice((0.0, 0.1, 0.1, 0.2, 0.4, 0.8))
    text, compiled = model(rng)
    components = [_controller(rng, pattern, compiled) for pattern in _matching(rng, compiled)]
    sim: dict[str, object] = {"actuation": "implicit"} if rng.random() < 0.2 else {}
    times = sorted(rng.sample(range(1, steps), rng.choice((0, 1, 3))))
    edits = {}
    for time in times:
        what = rng.choice(EDITS)
        value = float(_number(rng, 0.1, 20)) if what != "delay" else rng.randint(0, 8)
        edits[time] = (what, value)
    return Case(text, sim, components, steps, edits), compiled


def cases(sources: Sequence[Random], steps: int) -> list[tuple[Case, Any]]:
    """Cases that fit into one world: they have the options of the first one."""
    found: list[tuple[Case, Any]] = []
    for source in sources:
        while True:
            drawn, compiled = case(source, steps)
            if found:
                first = found[0][0]
                drawn.xml, drawn.sim = drawn.xml.replace(options(drawn), options(first)), first.sim
                try:
                    compiled = mujoco.MjModel.from_xml_string(drawn.xml)
                    mujoco.mj_forward(compiled, mujoco.MjData(compiled))
                except (ValueError, mujoco.FatalError):
                    continue
            found.append((drawn, compiled))
            break
    return found


_OPTIONS = re.compile("<option.*?</option>", re.DOTALL)


def options(drawn: Case) -> str:
    """The options of a case, as they stand in its model."""
    return str(_OPTIONS.findall(drawn.xml)[0])
