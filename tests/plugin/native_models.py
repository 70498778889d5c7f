"""Random robots with MuJoCo's own actuators, and the same ones with other gains written by hand."""

import random
from typing import Any

Attributes = dict[str, Any]

BODIES = """
<body name="one"><joint name="turn" axis="0 1 0" range="-90 120" armature="0.05"/>
  <geom size="0.08"/><site name="grip" pos="0.1 0 0"/>
  <body name="two" pos="0.3 0 0"><joint name="slide" type="slide" range="-0.2 0.4"/>
    <geom type="box" size="0.1 0.05 0.04"/>
    <body name="three" pos="0.2 0 0"><joint name="bend" axis="0 1 0" range="-60 60"/>
      <geom size="0.06"/>
      <body name="four" pos="0.2 0 0"><joint name="roll" type="ball"/><geom size="0.05"/></body>
    </body>
  </body>
</body>"""
TENDON = """<fixed name="cable" range="-1 1">
<joint joint="turn" coef="2"/><joint joint="bend" coef="0.5"/></fixed>"""
#: Where scalar actuators may act, and where a damping ratio and an inherited range are defined.
PLACES: tuple[Attributes, ...] = (
    {"joint": "turn"},
    {"joint": "slide"},
    {"joint": "bend"},
    {"tendon": "cable"},
)
AT_SITE: Attributes = {"site": "grip", "gear": [0.0, 0.0, 1.0, 0.0, 0.5, 0.0]}

#: The gains that each element takes.
GAINS = {
    "position": ("kp", "kv", "dampratio"),
    "intvelocity": ("kp", "kv", "dampratio"),
    "pid": ("kp", "kv", "dampratio", "ki"),
    "orientation": ("kp", "kv", "dampratio"),
    "velocity": ("kv",),
    "damper": ("kv",),
    "dcmotor": ("kp", "kv", "ki"),
    "general": ("kp", "kv"),
}


def xml_of(actuators: list[tuple[str, Attributes]]) -> str:
    """A robot with these actuators: (element, attributes)."""
    lines = "".join(f"<{tag} {_attributes(given)}/>" for tag, given in actuators)
    return (
        f"<mujoco><worldbody>{BODIES}</worldbody><tendon>{TENDON}</tendon>"
        f"<actuator>{lines}</actuator></mujoco>"
    )


def _attributes(given: Attributes) -> str:
    return " ".join(f'{name}="{_text(value)}"' for name, value in given.items())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return repr(value) if isinstance(value, float) else str(value)


def some_actuators(rng: random.Random) -> list[tuple[str, Attributes]]:
    """Two to seven actuators of any kind."""
    made = [_some_actuator(rng) for _ in range(rng.randint(2, 7))]
    return [(tag, {"name": f"a{i}", **given}) for i, (tag, given) in enumerate(made)]


def _number(rng: random.Random) -> float:
    return round(rng.choice([rng.uniform(0.1, 2), rng.uniform(1, 400)]), rng.randint(1, 6))


def _damping(rng: random.Random) -> Attributes:
    return rng.choice([{}, {"kv": _number(rng)}, {"dampratio": round(rng.uniform(0.1, 2), 3)}])


def _some_actuator(rng: random.Random) -> tuple[str, Attributes]:
    tag = rng.choice([*GAINS, "gripper", "motor", "cylinder", "muscle", "adhesion"])
    place: Attributes = rng.choice([*PLACES, AT_SITE])
    place = {"orientation": {"joint": "roll"}, "adhesion": {"body": "three"},
             "muscle": PLACES[0]}.get(tag, place)  # fmt: skip
    law = _law(rng, tag)
    if tag == "position" and "site" not in place and rng.random() < 0.4:
        law["inheritrange"] = 0.8
    return ("general" if tag == "gripper" else tag), {**place, **law, **_limits(rng, tag)}


def _law(rng: random.Random, tag: str) -> Attributes:
    kp, servo = _number(rng), _damping(rng)
    affine = {"biasprm": [0.0, -kp, -0.5], "biastype": "affine"}
    integral = {"ki": _number(rng), **rng.choice([{}, {"imax": 3.0}])}
    controller = [kp, rng.choice([0.0, 2.0]), 0.3, 0.0, 0.0, 24.0]
    laws: dict[str, Attributes] = {
        "position": {"kp": kp, **servo, **rng.choice([{}, {"timeconst": 0.1}])},
        "intvelocity": {"kp": kp, **servo, "actrange": [-1.0, 1.0]},
        "velocity": {"kv": kp},
        "pid": {
            "kp": kp,
            **servo,
            **rng.choice([{}, {"slewmax": 2.0}]),
            **rng.choice([{}, integral]),
            "input": rng.choice(["pos", "pos vel", "pos vel ff"]),
        },
        "orientation": {"kp": kp, **servo},
        "damper": {"kv": kp, "ctrlrange": [0.0, 1.0]},
        "dcmotor": {
            "motorconst": [0.1, 0.1],
            "resistance": 1.5,
            "controller": controller,
            "input": "pos",
        },
        "general": {"gainprm": [kp], **affine},
        "gripper": {"gainprm": [0.0157], **affine},
        "cylinder": {"area": 2.0, "timeconst": 0.2},
        "adhesion": {"gain": 3.0, "ctrlrange": [0.0, 1.0]},
    }
    return laws.get(tag, {})


def _limits(rng: random.Random, tag: str) -> Attributes:
    found: Attributes = {}
    if rng.random() < 0.3 and tag not in ("orientation", "dcmotor"):
        found["forcerange"] = [-20.0, 30.0]
        if rng.random() < 0.3:
            found["forcelimited"] = "false"
    return found


def some_values(rng: random.Random, tag: str, given: Attributes) -> Attributes:
    """Gains and limits to give to an actuator instead of its own."""
    names = [n for n in GAINS.get(tag, ()) if rng.random() < 0.5]
    if "kv" in names and "dampratio" in names:
        names.remove(rng.choice(["kv", "dampratio"]))
    values: Attributes = {n: rng.choice([0.0, *[_number(rng)] * 5]) for n in names}
    low = 0.0 if tag in ("damper", "adhesion") else -round(rng.uniform(0.1, 5), 3)
    if rng.random() < 0.3:
        least = {"orientation": 0.0, "dcmotor": -7.5}.get(tag, low)
        values["forcerange"] = [least, 7.5]
    if rng.random() < 0.3 and tag != "orientation":
        values["ctrlrange"] = [low, 2.5]
    if rng.random() < 0.3 and tag not in ("orientation", "adhesion"):
        values["gear"] = [0.0, 0.0, 2.0, 0.0, 0.25, 0.0] if "site" in given else [rng.choice(
            [-2.0, 0.5, 6.33])]  # fmt: skip
    return values


def by_hand(tag: str, given: Attributes, values: Attributes) -> Attributes:
    """The attributes an engineer would write in the model file for these gains and limits."""
    new = dict(given)
    gains = {n: v for n, v in values.items() if n in ("kp", "kv", "ki", "dampratio")}
    if tag == "dcmotor":
        kp, ki, kd, *rest = given["controller"]
        new["controller"] = [
            gains.get("kp", kp), gains.get("ki", ki), gains.get("kv", kd), *rest
        ]  # fmt: skip
    elif tag == "general":
        offset, kp, kv = list[float](given["biasprm"])
        if "kp" in gains:
            same = given["gainprm"][0] == -kp
            ratio = gains["kp"] / -kp
            new["gainprm"] = [gains["kp"] if same else given["gainprm"][0] * ratio]
        new["biasprm"] = [offset, -gains.get("kp", -kp), -gains.get("kv", -kv)]
    else:
        if "kv" in gains:
            new.pop("dampratio", None)
        if "dampratio" in gains:
            new.pop("kv", None)
        new |= gains
    if tag == "dcmotor" and "forcerange" in values:
        new["saturation"] = [7.5, 0.0, 0.0]
    for name in ("forcerange", "ctrlrange", "gear"):
        if name in values and (tag, name) != ("dcmotor", "forcerange"):
            new[name] = values[name]
            if name != "gear":
                new.pop(name.replace("range", "limited"), None)
    if "ctrlrange" in values and tag in ("position", "pid"):
        new.pop("inheritrange", None)
    return new


def native_gains(values: dict[str, Attributes]) -> dict[str, dict[str, Any]]:
    """The key of a scene that gives actuators these values, by actuator."""
    found: dict[str, dict[str, Any]] = {}
    for actuator, given in values.items():
        for name, value in given.items():
            found.setdefault(name, {})[actuator] = value
    return found
