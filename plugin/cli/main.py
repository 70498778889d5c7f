"""The command line: one program, one sub-command per job.

Exit codes: 0 fine, 1 the scene or input is wrong, 2 wrong usage.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, NoReturn

from mjrig.cli.options import (
    PICTURE,
    PLOT,
    add_debug,
    add_execution,
    add_output,
    add_recording,
    add_scene,
    add_scene_options,
    add_stream,
    add_trust,
    load_scene,
    number_from_zero,
    prepared,
    split,
)
from mjrig.cli.terminal import GroupedCommands, Program, examples, printing_safely
from mjrig.core.errors import MjrigError

COMMANDS = "mjrig.commands"
FIRST_STEPS = """Actors, components and live properties for MuJoCo.

To begin:
  mjrig edit              open the editor and drop a robot into it; in a browser: mjrig edit --web
  mjrig new robot.xml     write a first scene for a model
  mjrig check robot.yaml  show what drives what, and what is wrong
  mjrig run robot.yaml    run it without a window
  mjrig doctor            show what is installed and what is missing

mjrig --help lists all commands; mjrig COMMAND --help explains one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code. Without one it says how to begin."""
    given = sys.argv[1:] if arguments is None else arguments
    with printing_safely():
        if not given:
            print(FIRST_STEPS)
            return 0
        return _main(given)


def _main(arguments: Sequence[str]) -> int:
    options = program().parse_args(arguments)
    options.debug = getattr(options, "debug", False)  # commands of other packages may have none
    try:
        with prepared(options) as check_written:
            code = check_written(options.run(options))
        sys.stdout.flush()
        return code
    except MjrigError as error:
        if options.debug:
            raise
        print(f"mjrig: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `mjrig check … | head`
        _discard_output()
        return 0
    except OSError as error:  # a full disk, or one that fails
        if options.debug:
            raise
        if error.filename is None:  # `mjrig check … > F`: what was printed
            _discard_output()
        where = error.filename or "output"
        print(f"mjrig: {where}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:  # its text is what was kept
        print("; ".join(("mjrig: interrupted", *filter(None, stopped.args))), file=sys.stderr)
        return 130
    except Exception as error:
        from mjrig.core.properties.user_code import described, place_of

        if options.debug or place_of(error) is None:
            raise
        print(f"mjrig: {described(error)}; --debug shows the traceback", file=sys.stderr)
        return 1


def _discard_output() -> None:
    """Python flushes stdout once more at exit; that must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def program() -> argparse.ArgumentParser:
    """The parser of the whole command line, commands of other packages included."""
    parser = Program(
        prog="mjrig",
        description="Actors, components and live properties for MuJoCo.",
    )
    examples(
        parser,
        "mjrig check config/scenes/quadruped.yaml",
        "mjrig run config/scenes/quadruped.yaml --duration 2 --record run.h5",
    )
    parser.formatter_class = GroupedCommands
    parser.add_argument("--version", action="version", version=f"mjrig {version('mjrig')}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    _add_run(_command(commands, "run", _run, "run a scene without a window"))
    check = _command(commands, "check", _check, "show the binding table and pre-flight warnings")
    add_scene(check)
    check.add_argument("--json", action="store_true", help="print table and findings as JSON")
    check.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    check.add_argument(
        "--watch", action="store_true", help="check again whenever the scene or its files change"
    )
    check.add_argument(
        "--fix",
        nargs="*",
        metavar="CODE",
        help="write the first fix of findings with these codes into the scene, and check again; "
        "without a code of all errors and warnings",
    )
    add_scene_options(check)
    examples(
        check,
        "mjrig check config/scenes/quadruped.yaml --strict",
        "mjrig check config/scenes/arm.yaml --set arm.PDController.kp=40 --json",
    )
    _add_diff(_command(commands, "diff", _diff, "list the differences between two scenes"))
    listing = _command(
        commands, "components", _components, "list component, actuator, prop and policy term types"
    )
    listing.add_argument(
        "type",
        metavar="TYPE",
        nargs="?",
        help="show one type in full; my_module:MyController is in my_module.py in this folder",
    )
    listing.add_argument(
        "--trust", action="store_true", help="run the code of a type in this folder"
    )
    listing.add_argument(
        "--reference", action="store_true", help="print the reference page (Markdown)"
    )
    examples(listing, "mjrig components", "mjrig components PDController")
    schema = _command(commands, "schema", _schema, "print the JSON Schema of scene files")
    schema.add_argument("--policy", action="store_true", help="the schema of policy files instead")
    schema.add_argument("--motor", action="store_true", help="the schema of motor files instead")
    schema.add_argument("--log", action="store_true", help="the schema of log.yaml instead")
    examples(schema, "mjrig schema > scene.schema.json", "mjrig schema --policy")
    _add_export(_command(commands, "export", _export, "write a scene as a plain MuJoCo model"))
    for point in sorted(entry_points(group=COMMANDS), key=lambda p: p.name):
        point.load()(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], summary: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    add_debug(parser)
    parser.set_defaults(run=run)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    add_scene(parser)
    parser.add_argument(
        "--duration",
        type=number_from_zero,
        metavar="S",
        help="simulated seconds (5; with --watch or --stream: until interrupted)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="run at real time, and take up changed files with the state kept",
    )
    add_execution(parser)
    png = {"metavar": "F.png", "suffixes": (".png",)}
    add_output(parser, "--picture", help="image of the final state", needs=PICTURE, **png)
    add_output(parser, "--plot", help="plot of setpoints and efforts", needs=PLOT, **png)
    add_recording(parser)
    add_stream(parser)
    add_scene_options(parser)
    parser.add_argument(
        "--call",
        action="append",
        default=[],
        metavar="PATH[=ARGS]",
        help="call an action before the run: dog.hold=home, dog.PDController.set_gains=[40, 1, 30]",
    )
    examples(
        parser,
        "mjrig run config/scenes/quadruped.yaml --duration 2 --record run.h5",
        "mjrig run config/scenes/arm.yaml --set arm.PDController.kp=40 --plot arm.png",
    )


def _add_export(parser: argparse.ArgumentParser) -> None:
    add_scene(parser)
    add_output(
        parser,
        "-o",
        "--output",
        required=True,
        metavar="F.xml|F.mjb",
        help="file to write",
        suffixes=(".xml", ".mjb"),
    )
    parser.add_argument(
        "--partial", action="store_true", help="leave out what MuJoCo has no actuator for"
    )
    add_scene_options(parser)
    examples(
        parser,
        "mjrig export config/scenes/quadruped.yaml -o quadruped.xml",
        "mjrig export config/scenes/arm.yaml -o arm.mjb --set arm.PDController.kp=40",
    )


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", type=Path, help="first scene or model")
    parser.add_argument("after", metavar="B", type=Path, help="second scene or model")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if they differ")
    add_trust(parser)
    examples(
        parser,
        "mjrig diff config/scenes/quadruped.yaml config/scenes/quadruped_trot.yaml",
        "mjrig diff config/scenes/arm.yaml config/scenes/arm_pair.yaml --exit-code",
    )


def _run(options: argparse.Namespace) -> int:
    from mjrig.cli.run import print_run
    from mjrig.core.properties.actions import call_action
    from mjrig.core.scene.scene_paths import find
    from mjrig.core.sim.world import World

    outputs = {name: getattr(options, name) for name in ("picture", "plot", "record", "overwrite")}
    live = "--watch" if options.watch else "--stream" if options.stream else ""
    if live and (given := [name for name in outputs if outputs[name]]):
        raise MjrigError(f"--{given[0]} cannot be combined with {live}; leave one out")
    world = World(load_scene(options), options.execution)
    for text in options.call:
        path, arguments = split(text)
        target, name = find(world, path)
        call_action(target, name, arguments)
    if live:
        return _run_live(world, options)
    print_run(world, 5.0 if options.duration is None else options.duration, **outputs)
    return 0


def _run_live(world: Any, options: argparse.Namespace) -> int:
    """Run at real time until the end or Ctrl-C; take changed files up, send signals."""
    from contextlib import ExitStack

    from mjrig.cli.live_run import LiveRun
    from mjrig.core.sim.world import World

    def build() -> World:
        return World(load_scene(options), options.execution)

    with ExitStack() as stack:
        stream = None
        if options.stream is not None:
            from mjrig.data.streams.sinks import sink_named
            from mjrig.data.streams.stream import Stream

            stream = stack.enter_context(Stream(world, sink_named(options.stream)))
            print(f"stream: {stream.sink.address}", flush=True)
        say = partial(print, flush=True)
        live = LiveRun(world, build if options.watch else None, say, stream=stream)
        try:
            live.run(options.duration)
        except KeyboardInterrupt:
            print(f"stopped at t={live.world.time:.3f} s")
        if stream is not None:
            print(stream.summary())
    return 0


def _check(options: argparse.Namespace) -> int:
    # The matrices of a robot are too small for threads, which would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from mjrig.core.progress import Waiting
    from mjrig.core.sim.world import World
    from mjrig.lab.check.preflight import exit_code, findings, report, report_data

    if options.watch:
        _watch(options)
    scene = load_scene(options)
    if options.fix is not None:
        from mjrig.cli.check_fix import fix

        for line in fix(scene, options.fix, is_changed=bool(options.set or options.var)):
            print(line, file=sys.stderr)
    with Waiting("building the scene") as waiting:
        world = World(scene)
        found = findings(world, waiting.now)
    if options.json:
        print(json.dumps(report_data(world, found), indent=2, ensure_ascii=False))
    else:
        print(report(world, found))
    return exit_code(found, strict=options.strict)


def _watch(options: argparse.Namespace) -> NoReturn:
    """Check after every change of the files, until interrupted."""
    from mjrig.core.files.sandbox import Sandbox
    from mjrig.core.scene.editing.file_watch import files_of, watch
    from mjrig.core.sim.world import World
    from mjrig.lab.check.preflight import report

    scene = None
    sandbox = Sandbox.at(options.scene.parent) if options.sandbox else None

    def check() -> str:
        nonlocal scene
        scene = None
        scene = load_scene(options)
        return report(World(scene))

    watch(
        check,
        lambda: files_of(options.scene, scene, sandbox),
        lambda text: print(text, flush=True),
        title=str(options.scene),
        sleep=time.sleep,
    )


def _diff(options: argparse.Namespace) -> int:
    from mjrig.core.scene.editing.diff import differences
    from mjrig.core.scene.editing.scene import Scene

    scenes = (Scene.load(path, trust=options.trust) for path in (options.before, options.after))
    found = differences(*scenes)
    print("\n".join(map(str, found)) if found else "no differences")
    return 1 if found and options.exit_code else 0


def _export(options: argparse.Namespace) -> int:
    from mjrig.core.scene.editing.file_watch import files_of
    from mjrig.core.sim.mujoco_export import export

    scene = load_scene(options)
    if os.path.realpath(options.output) in map(os.path.realpath, files_of(options.scene, scene)):
        raise MjrigError(f"{options.output}: is a file of the scene itself; write another one")
    for note in export(scene, options.output, partial=options.partial):
        print(f"mjrig: {note}", file=sys.stderr)
    print(f"{options.output} and {options.output.with_suffix('.json').name} written")
    return 0


def _components(options: argparse.Namespace) -> int:
    from mjrig.cli.reference import describe, reference_page
    from mjrig.core.properties import registry
    from mjrig.core.properties.has_properties import HasProperties
    from mjrig.core.properties.user_code import is_module_type, type_in
    from mjrig.lab.report.output import format_table

    if options.reference:
        print(reference_page(), end="")
        return 0
    if options.type and is_module_type(options.type):
        here = Path(os.path.realpath("."))
        trusted = (here,) if options.trust else ()
        print("\n".join(describe(type_in(here, options.type, HasProperties, trusted))))
        return 0
    if options.type:
        print("\n".join(describe(registry.get(options.type, HasProperties))))
        return 0
    rows = []
    for name in registry.names():
        cls = registry.get(name, HasProperties)
        summary = (cls.__doc__ or "").strip().partition("\n")[0]
        rows.append((name, str(len(cls.properties())), registry.module_of(name), summary))
    print("\n".join(format_table(("type", "properties", "from", ""), rows)))
    return 0


def _schema(options: argparse.Namespace) -> int:
    from mjrig.cli.schema import file_schema, motor_schema, scene_schema
    from mjrig.data.robot_logs.log_map import map_schema

    if options.log:
        schema = map_schema()
    elif options.motor:
        schema = motor_schema()
    else:
        schema = file_schema("PolicyFile") if options.policy else scene_schema()
    print(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
