"""`mjrig import`: a policy of another stack becomes a scene. What does it is found when it runs."""

import argparse
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

GROUP = "mjrig.importers"


def add(commands: Any) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "import",
        help="make a scene of another stack's policy",
        description="Make scene.yaml and policy.yaml of another stack's policy, and say what "
        "does not fit.",
    )
    parser.add_argument(
        "files", metavar="CONFIG|NETWORK", type=Path, nargs="+", help="configurations and network"
    )
    parser.add_argument("--model", type=Path, required=True, metavar="MODEL", help="the robot")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR/scene.yaml", help="scene to write"
    )
    parser.add_argument("--stack", default="", metavar="NAME", help="whose files these are")
    parser.add_argument(
        "--height", type=float, metavar="M", help="of the base at the start (on its feet)"
    )
    parser.add_argument(
        "--no-probe", action="store_true", help="do not try other joint orders in short runs"
    )
    parser.add_argument("--copy", action="store_true", help="copy the network beside the scene")
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    parser.add_argument("--json", action="store_true", help="print the pre-flight as JSON")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Import."""
    (point,) = entry_points(group=GROUP, name="policy")
    code: int = point.load()(options)
    return code
