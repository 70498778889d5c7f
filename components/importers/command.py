"""`mjrig import`: policies of other stacks as scenes. Imports nothing heavy before it runs."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mjrig.cli.options import SCENES, add_debug, add_output
from mjrig.cli.terminal import examples
from mjrig.components.importers.sources.flags import FLAGS

if TYPE_CHECKING:
    from mjrig.components.importers.policy_import import Imported


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "import",
        help="import a policy of another stack as a scene",
        description="Write scene.yaml and policy.yaml for a policy of another stack, and list what "
        "does\nnot match the robot.",
    )
    parser.add_argument(
        "files",
        metavar="CONFIG|NETWORK",
        type=Path,
        nargs="+",
        help="configuration files and the network",
    )
    parser.add_argument("--model", type=Path, required=True, metavar="MODEL", help="robot model")
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="DIR/scene.yaml",
        help="scene to write",
        suffixes=SCENES,
    )
    parser.add_argument(
        "--stack", default="", metavar="NAME", help="stack the files come from (detected)"
    )
    _add_overrides(parser)
    parser.add_argument(
        "--no-probe", action="store_true", help="do not try other joint orders in short runs"
    )
    parser.add_argument("--copy", action="store_true", help="copy the network beside the scene")
    parser.add_argument("--overwrite", action="store_true", help="replace existing files")
    parser.add_argument("--json", action="store_true", help="print the pre-flight report as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    add_debug(parser)
    parser.set_defaults(run=run)
    policy = "assets/walk/policy.yaml --model assets/quadruped/quadruped.xml"
    examples(
        parser,
        f"mjrig import {policy} -o walk/scene.yaml",
        f"mjrig import {policy} -o walk/scene.yaml --copy --overwrite --strict",
    )


def _add_overrides(parser: argparse.ArgumentParser) -> None:
    """What replaces the values of the files, and guesses."""
    given = parser.add_argument_group("instead of what the files say, or what is guessed")
    for flag, (metavar, about) in FLAGS.items():
        given.add_argument(f"--{flag}", default="", metavar=metavar, help=about)


def run(options: argparse.Namespace) -> int:
    """Import; returns the exit code.

    Raises:
        MjrigError: it cannot be imported; nothing was written.
    """
    from mjrig.components.importers.policy_import import RefusedError, import_policy
    from mjrig.components.importers.sources.overrides import Overrides
    from mjrig.lab.check.preflight import exit_code

    try:
        imported = import_policy(
            options.files,
            None,
            options.model,
            options.output,
            stack=options.stack,
            copy=options.copy,
            overwrite=options.overwrite,
            overrides=Overrides.parse({flag: getattr(options, flag) for flag in FLAGS}),
            probe=not options.no_probe,
        )
    except RefusedError as refused:
        _print(refused.imported, options, written=False)
        raise
    _print(imported, options, written=True)
    return exit_code(imported.findings, strict=options.strict)


def _print(imported: "Imported", options: argparse.Namespace, *, written: bool) -> None:
    from mjrig.components.importers.policy_import import report, report_data

    if options.json:
        data = {**report_data(imported), "written": written}
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return
    print(report(imported))
    if written:
        print(f"{imported.scene} and {imported.policy.name} written")
