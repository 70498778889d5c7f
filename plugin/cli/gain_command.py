"""`mjrig tune test`: the gain test suite.

Imports nothing heavy before the command runs.
"""

from mjrig.cli.command_options import Parsed, Texts, command
from mjrig.cli.options import ActorOptions, PageOptions, ResponseOptions, load_scene, print_report

#: As in GainTest, which is not imported for `--help`.
TESTS = ("limits", "step", "sine", "load", "timestep")


def _test_name(text: str) -> str:
    if text not in TESTS:
        raise ValueError(f"must be one of {', '.join(TESTS)}; got {text!r}")
    return text


class GainTestOptions(PageOptions, ResponseOptions, ActorOptions):
    """Options of `mjrig tune test`."""

    joints = Texts(
        "joints or actuators, regular expressions",
        "PATTERN",
        default=(".*",),
        many="+",
        otherwise=".*",
    )
    tests = Parsed(
        _test_name,
        f"tests to run: {', '.join(TESTS)}",
        "TEST",
        default=TESTS,
        many="+",
        otherwise="all",
    )


def run(options: GainTestOptions) -> int:
    """Test, print, write; 1 where a test fails, or none applies."""
    from mjrig.lab.responses.gain_report import described
    from mjrig.lab.responses.gain_suite import check_gains

    results = check_gains(
        load_scene(options), **options.values("actor", "joints", "tests", "execution", "workers")
    )
    print_report(described(results), as_json=options.json, page=options.report)
    return 0 if results.is_passed else 1


add = command(
    "test",
    GainTestOptions,
    run,
    "run the gain tests, exit with 1 if one fails",
    examples=(
        "mjrig tune test config/scenes/arm.yaml --tests step load",
        'mjrig tune test config/scenes/quadruped.yaml --joints ".*_calf" --report calves.html',
    ),
)
