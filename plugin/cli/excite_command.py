"""`mjrig tune excite`: a safe motion that identifies parameters. Imports nothing heavy at first."""

import json
from typing import Any

from mjrig.cli.command_options import Flag, FloatOption, IntOption, OutputFile, Parsed, command
from mjrig.cli.options import RECORDING, JointOptions, load_scene, names
from mjrig.core.names import how_many, listed


class ExciteOptions(JointOptions):
    """Options of `mjrig tune excite`."""

    parameters = Parsed(
        names,
        "what the motion should show, as for tune fit",
        "A,B,…",
        default=("kp", "kv", "armature", "damping", "frictionloss"),
        otherwise="kp,kv,armature,damping,frictionloss",
    )
    duration = FloatOption(8.0, "duration", "S", unit="s")
    speed = FloatOption(8.0, "largest speed", "V", unit="rad/s or m/s")
    effort = FloatOption(0.8, "share of the effort limits", "F")
    candidates = IntOption(12, "motions that are compared", "N")
    seed = IntOption(0, "random seed", "S")
    csv = OutputFile("write the setpoints as a table", "F.csv", suffixes=(".csv",))
    record = OutputFile(
        "write a recording of the simulated motion",
        "F.h5",
        suffixes=(".h5",),
        keeps=True,
        needs=RECORDING,
    )
    overwrite = Flag("replace F.h5 if it exists")


def run(options: ExciteOptions) -> int:
    """Design a motion, print what it is, and write it as the options request."""
    from mjrig.lab.fit.excitation import ExcitationLimits, excite, record_excitation, write_csv

    scene = load_scene(options)
    found = excite(
        scene,
        options.parameters,
        joints=options.joint,
        limits=ExcitationLimits(options.speed, options.effort),
        **options.values("actor", "duration", "candidates", "seed"),
    )
    if options.csv is not None:
        write_csv(found, options.csv)
    if options.record is not None:
        record_excitation(found, scene, options.record, overwrite=options.overwrite)
    if options.json:
        data = {
            "actor": found.actor,
            "joints": list(found.joints),
            "duration": float(found.time[-1]),
            "information": found.information,
            "others": list(found.others),
            "speeds": dict(zip(found.joints, found.speeds, strict=True)),
            "units": dict(zip(found.joints, found.units, strict=True)),
            "effort": found.effort,
            "still": list(found.still),
            "contacts_checked": found.has_contacts,
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return 0
    print(
        f"{found.actor}: {how_many(len(found.joints), 'joint')}, {found.time[-1]:.3g} s, at most "
        f"{_fastest(found)}, {_strongest(found)}, {_touching(found)}"
    )
    if found.still:
        print(f"no room to move: {listed(found.still)}")
    kept = how_many(1 + len(found.others), "motion")
    print(
        f"information {found.information:.4g} (log): the most of {kept} that kept the limits, of "
        f"{options.candidates} tried"
    )
    for path in (options.csv, options.record):
        if path is not None:
            print(f"wrote {path}")
    return 0


def _fastest(found: Any) -> str:
    """The largest speed, of joints that turn and of those that slide."""
    most: dict[str, float] = {}
    for speed, unit in zip(found.speeds, found.units, strict=True):
        most[unit] = max(speed, most.get(unit, 0.0))
    return " and ".join(f"{speed:.3g} {unit}/s" for unit, speed in most.items())


def _touching(found: Any) -> str:
    return "no contact" if found.has_contacts else "contacts not checked: the scene has them off"


def _strongest(found: Any) -> str:
    if found.effort is None:
        return "efforts without a limit"
    return f"{100.0 * found.effort:.3g} % of the effort limits"


add = command(
    "excite",
    ExciteOptions,
    run,
    "design a safe motion that shows parameters",
    examples=(
        "mjrig tune excite config/scenes/arm.yaml --parameters kp,kv,armature --csv motion.csv",
        "mjrig tune excite config/scenes/pendulum.yaml --duration 4 --record motion.h5",
    ),
)
