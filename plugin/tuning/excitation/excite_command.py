"""`mjrig tune excite`: a safe motion that shows parameters. Imports nothing heavy at first."""

import argparse
import json

from mjrig.terminal.help import examples
from mjrig.terminal.outputs import add_output
from mjrig.terminal.scene_options import load_scene


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
    )
    examples(
        parser,
        "mjrig tune excite config/scenes/arm.yaml --parameters kp,kv,armature --csv motion.csv",
        "mjrig tune excite config/scenes/pendulum.yaml --duration 4 --record motion.h5",
    )


def run(options: argparse.Namespace) -> int:
    """Design a motion, print what it is, and write it as the options request."""
    from mjrig.tuning.excitation.excite import (
        ExcitationLimits,
        excite,
        record_excitation,
        write_csv,
    )

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
        record_excitation(found, scene, options.record)
    if options.json:
        data = {
            "actor": found.actor,
            "joints": list(found.joints),
            "duration": float(found.time[-1]),
            "information": found.information,
            "others": list(found.others),
            "speed": found.speed,
            "effort": found.effort,
        }
        print(json.dumps(data, indent=2))
        return 0
    print(
        f"{found.actor}: {len(found.joints)} joints, {found.time[-1]:.3g} s, at most "
        f"{found.speed:.3g} rad/s or m/s and {100.0 * found.effort:.3g} % of the effort limits, "
        "no contact"
    )
    print(
        f"information {found.information:.4g} (log), the best of {1 + len(found.others)} that "
        "keep the limits"
    )
    for path in (options.csv, options.record):
        if path is not None:
            print(f"wrote {path}")
    return 0
