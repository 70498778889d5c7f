"""What `mjrig import` does: import, print the pre-flight, say what was written."""

import argparse
import json

from mjrig.check.check import exit_code
from mjrig.components.importers.importing import Imported, RefusedError, import_policy
from mjrig.components.importers.report import report, report_data


def run(options: argparse.Namespace) -> int:
    """Import; returns the exit code.

    Raises:
        MjrigError: it cannot be imported; nothing was written.
    """
    try:
        imported = import_policy(
            options.files,
            None,
            options.model,
            options.output,
            stack=options.stack,
            copy=options.copy,
            overwrite=options.overwrite,
            height=options.height,
            probe=not options.no_probe,
        )
    except RefusedError as refused:
        _print(refused.imported, options, written=False)
        raise
    _print(imported, options, written=True)
    return exit_code(imported.findings, strict=options.strict)


def _print(imported: Imported, options: argparse.Namespace, *, written: bool) -> None:
    if options.json:
        data = {**report_data(imported), "written": written}
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return
    print(report(imported))
    if written:
        print(f"{imported.scene} and {imported.policy.name} written")
