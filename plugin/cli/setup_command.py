"""`mjrig new` and `mjrig doctor`. Imports nothing heavy before a command runs."""

import json
from pathlib import Path

from mjrig.cli.command_options import Flag, InputFile, Options, OutputFile, command
from mjrig.cli.options import SCENES


class NewOptions(Options):
    """Options of `mjrig new`."""

    model = InputFile("MJCF, URDF or MJB file", "MODEL", positional=True)
    output = OutputFile(
        "scene to write",
        "SCENE",
        short="-o",
        suffixes=SCENES,
        keeps=True,
        default_name=lambda options: Path(f"{options.model.stem}.yaml"),
        otherwise="MODEL's name with .yaml in the current folder",
    )
    overwrite = Flag("replace an existing scene")


class DoctorOptions(Options):
    """Options of `mjrig doctor`."""

    json = Flag("print the same as JSON")


def _new(options: NewOptions) -> int:
    from mjrig.cli.first_scene import first_scene

    target: Path = options.output
    made = first_scene(options.model, target.parent)
    made.scene.save(target, overwrite=options.overwrite)
    for note in made.notes:
        print(note)
    print(f"wrote {target}; next: mjrig edit {target}, or mjrig check {target}")
    return 0


def _doctor(options: DoctorOptions) -> int:
    from mjrig.cli.doctor import diagnose, doctor_report

    found = diagnose()
    print(json.dumps(found.as_data(), indent=2) if options.json else doctor_report(found))
    return 0


add_new = command(
    "new",
    NewOptions,
    _new,
    "write a first scene for a model",
    description="Write a commented scene for a model: floor, start pose, and a controller "
    "with gains computed from its inertias.",
    examples=(
        "mjrig new assets/arm/arm.xml -o my_arm.yaml",
        "mjrig new assets/quadruped/quadruped.xml -o dog.yaml --overwrite",
    ),
)
add_doctor = command(
    "doctor",
    DoctorOptions,
    _doctor,
    "show what is installed, and how to get what is missing",
    description="Show versions, extras, how pictures are drawn, and how to get what is missing.",
    examples=("mjrig doctor", "mjrig doctor --json"),
)
