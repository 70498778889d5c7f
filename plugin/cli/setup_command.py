"""`mjrig new` and `mjrig doctor`. Imports nothing heavy before a command runs."""

import argparse
import json
from pathlib import Path
from typing import Any

from mjrig.cli.options import SCENES, add_debug, add_output
from mjrig.cli.terminal import examples


def add_new(commands: Any) -> None:
    """Add `mjrig new`."""
    parser = commands.add_parser(
        "new",
        help="write a first scene for a model",
        description="Write a commented scene for a model: floor, start pose, and a controller "
        "with gains computed from its inertias.",
    )
    parser.add_argument("model", metavar="MODEL", type=Path, help="MJCF, URDF or MJB file")
    add_output(
        parser,
        "-o",
        "--output",
        metavar="SCENE",
        suffixes=SCENES,
        keeps=True,
        default_name=lambda options: Path(f"{options.model.stem}.yaml"),
        help="scene to write (MODEL's name with .yaml in the current folder)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing scene")
    examples(
        parser,
        "mjrig new assets/arm/arm.xml -o my_arm.yaml",
        "mjrig new assets/quadruped/quadruped.xml -o dog.yaml --overwrite",
    )
    add_debug(parser)
    parser.set_defaults(run=_new)


def add_doctor(commands: Any) -> None:
    """Add `mjrig doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="show what is installed, and how to get what is missing",
        description="Show versions, extras, how pictures are drawn, and how to get what is "
        "missing.",
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    examples(parser, "mjrig doctor", "mjrig doctor --json")
    add_debug(parser)
    parser.set_defaults(run=_doctor)


def _new(options: argparse.Namespace) -> int:
    from mjrig.cli.first_scene import first_scene

    target: Path = options.output
    made = first_scene(options.model, target.parent)
    made.scene.save(target, overwrite=options.overwrite)
    for note in made.notes:
        print(note)
    print(f"wrote {target}; next: mjrig edit {target}, or mjrig check {target}")
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from mjrig.cli.doctor import diagnose, doctor_report

    found = diagnose()
    print(json.dumps(found.as_data(), indent=2) if options.json else doctor_report(found))
    return 0
