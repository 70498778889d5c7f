"""`mjrig tune excite`: a safe motion that identifies parameters. Imports nothing heavy at first."""

import argparse
import json
from typing import Any

from mjrig.cli.options import add_output, load_scene
from mjrig.cli.terminal import examples
from mjrig.core.names import how_many, listed


def add(parser: argparse.ArgumentParser) -> None:
    """Add its options to a parser that has SCENE, --actor, --joint and --json."""
    parser.add_argument(
        "--parameters",
        type=lambda text: [name.strip() for name in text.split(",") if name.strip()],
        default=["kp", "kv", "armature", "damping", "frictionloss"],
        metavar="A,B,…",
        help="what the motion should show, as for tune fit (kp,kv,armature,damping,frictionloss)",
    )
    parser.add_argument("--duration", type=float, default=8.0, metavar="S", help="duration [s] (8)")
    parser.add_argument(
        "--speed", type=float, default=8.0, metavar="V", help="largest speed [rad/s or m/s] (8)"
    )
    parser.add_argument(
        "--effort", type=float, default=0.8, metavar="F", help="share of the effort limits (0.8)"
    )
    parser.add_argument(
        "--candidates", type=int, default=12, metavar="N", help="motions that are compared (12)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (0)")
    add_output(
        parser, "--csv", metavar="F.csv", help="write the setpoints as a table", suffixes=(".csv",)
    )
    add_output(
        parser,
        "--record",
        metavar="F.h5",
        help="write a recording of the simulated motion",
        suffixes=(".h5",),
        keeps=True,
        needs=("recording", "h5py", "record"),
    )
    parser.add_argument("--overwrite", action="store_true", help="replace F.h5 if it exists")
    examples(
        parser,
        "mjrig tune excite config/scenes/arm.yaml --parameters kp,kv,armature --csv motion.csv",
        "mjrig tune excite config/scenes/pendulum.yaml --duration 4 --record motion.h5",
    )


def run(options: argparse.Namespace) -> int:
    """Design a motion, print what it is, and write it as the options request."""
    from mjrig.lab.fit.excitation import ExcitationLimits, excite, record_excitation, write_csv

    scene = load_scene(options)
    found = excite(
        scene,
        options.parameters,
        actor=options.actor,
        joints=options.joint,
        duration=options.duration,
        limits=ExcitationLimits(options.speed, options.effort),
        candidates=options.candidates,
        seed=options.seed,
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
