"""`mjrig tune test`: the gain test suite.

Imports nothing heavy before the command runs.
"""

import argparse
from dataclasses import replace

from mjrig.cli.options import add_output, load_scene
from mjrig.cli.terminal import command_line, examples

#: As in GainTest, which is not imported for `--help`.
TESTS = ("limits", "step", "sine", "load", "timestep")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--tests",
        nargs="+",
        choices=TESTS,
        default=list(TESTS),
        metavar="TEST",
        help=f"tests to run: {', '.join(TESTS)} (all)",
    )
    add_output(
        parser,
        "--report",
        metavar="OUT.html",
        help="write a page with the curves, and OUT.json beside it",
        suffixes=(".html",),
    )
    examples(
        parser,
        "mjrig tune test config/scenes/arm.yaml --tests step load",
        'mjrig tune test config/scenes/quadruped.yaml --joints ".*_calf" --report calves.html',
    )


def run(options: argparse.Namespace) -> int:
    """Test, print, write; 1 where a test fails, or none applies."""
    from mjrig.lab.report.html_page import write_report
    from mjrig.lab.report.output import to_json
    from mjrig.lab.report.text import to_text
    from mjrig.lab.responses.gain_report import described
    from mjrig.lab.responses.gain_suite import check_gains

    results = check_gains(
        load_scene(options),
        actor=options.actor,
        joints=options.joints,
        tests=options.tests,
        execution=options.execution,
        workers=options.workers,
    )
    report = replace(described(results), command=command_line())
    if options.report is not None:
        write_report(report, options.report, options.report.with_suffix(".json"))
    print(to_json(report.data) if options.json else to_text(report))
    return 0 if results.is_passed else 1
