"""`mjrig import`: policies of other stacks as scenes. Imports nothing heavy before it runs."""

from typing import TYPE_CHECKING

from mjrig.cli.command_options import Flag, InputFile, OutputFile, TextOption, command
from mjrig.cli.options import SCENES, PageOptions, print_report
from mjrig.components.importers.sources.overrides import FLAGS, Overrides, ReplacementOptions

if TYPE_CHECKING:
    from mjrig.components.importers.policy_import import Imported


class ImportOptions(PageOptions, ReplacementOptions):
    """Options of `mjrig import`."""

    files = InputFile(
        "configuration files and the network", "CONFIG|NETWORK", positional=True, many="+"
    )
    model = InputFile("robot model", "MODEL", required=True)
    output = OutputFile(
        "scene to write", "DIR/scene.yaml", short="-o", required=True, suffixes=SCENES
    )
    stack = TextOption("", "stack the files come from", "NAME", otherwise="detected")
    no_probe = Flag("do not try other joint orders in short runs")
    copy_network = Flag("copy the network beside the scene", flag="--copy")
    overwrite = Flag("replace existing files")
    json = Flag("print the pre-flight report as JSON")
    strict = Flag("exit with 1 on warnings too")


def run(options: ImportOptions) -> int:
    """Import; returns the exit code.

    Raises:
        MjrigError: it cannot be imported; nothing was written.
    """
    from mjrig.components.importers.policy_import import RefusedError, import_policy
    from mjrig.lab.check.preflight import exit_code

    try:
        imported = import_policy(
            options.files,
            None,
            options.model,
            options.output,
            stack=options.stack,
            copy=options.copy_network,
            overwrite=options.overwrite,
            overrides=Overrides.parse(options.values(*FLAGS)),
            probe=not options.no_probe,
        )
    except RefusedError as refused:
        _print(refused.imported, options, written=False)
        raise
    _print(imported, options, written=True)
    return exit_code(imported.findings, strict=options.strict)


def _print(imported: "Imported", options: ImportOptions, *, written: bool) -> None:
    from mjrig.components.importers.policy_import import described

    print_report(described(imported, written), as_json=options.json, page=options.report)
    if written and not options.json:
        print(f"{imported.scene} and {imported.policy.name} written")


_POLICY = "assets/walk/policy.yaml --model assets/quadruped/quadruped.xml"
add = command(
    "import",
    ImportOptions,
    run,
    "import a policy of another stack as a scene",
    description="Write scene.yaml and policy.yaml for a policy of another stack, and list what "
    "does\nnot match the robot.",
    examples=(
        f"mjrig import {_POLICY} -o walk/scene.yaml",
        f"mjrig import {_POLICY} -o walk/scene.yaml --copy --overwrite --strict",
    ),
)
