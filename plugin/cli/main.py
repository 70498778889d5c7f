"""The command line: one program, one sub-command per job.

Exit codes: 0 fine, 1 the scene or input is wrong, 2 wrong usage.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any, NoReturn

from mjrig.cli.command_options import (
    Flag,
    InputFile,
    OptionalFloatOption,
    Options,
    OutputFile,
    Texts,
    command,
    read_options,
)
from mjrig.cli.options import (
    PICTURE,
    PLOT,
    ExecutionOptions,
    PageOptions,
    RecordOptions,
    SceneOptions,
    StreamOptions,
    TrustOptions,
    load_scene,
    prepared,
    print_report,
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
    namespace = program().parse_args(arguments)
    debug = getattr(namespace, "debug", False)
    try:
        options = read_options(namespace)
        with prepared(options) as check_written:
            code = check_written(namespace.run(options))
        sys.stdout.flush()
        return code
    except MjrigError as error:
        if debug:
            raise
        print(f"mjrig: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `mjrig check … | head`
        _discard_output()
        return 0
    except OSError as error:  # a full disk, or one that fails
        if debug:
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
        from mjrig.core.properties.registry import described, place_of

        if debug or place_of(error) is None:
            raise
        print(f"mjrig: {described(error)}; --debug shows the traceback", file=sys.stderr)
        return 1


def _discard_output() -> None:
    """Python flushes stdout once more at exit; that must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def program() -> argparse.ArgumentParser:
    """The parser of the whole command line, commands of other packages included."""
    parser = Program(prog="mjrig", description="Actors, components and live properties for MuJoCo.")
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
    for add in (_run_command, _check_command, _diff_command):
        add(commands)
    for add in (_components_command, _schema_command, _export_command):
        add(commands)
    for point in sorted(entry_points(group=COMMANDS), key=lambda p: p.name):
        point.load()(commands)
    return parser


class RunOptions(ExecutionOptions, RecordOptions, StreamOptions, SceneOptions):
    """Options of `mjrig run`."""

    duration = OptionalFloatOption(
        None,
        "simulated seconds",
        "S",
        min=0.0,
        otherwise="5; with --watch or --stream: until interrupted",
    )
    watch_files = Flag(
        "run at real time, and take up changed files with the state kept", flag="--watch"
    )
    picture = OutputFile("image of the final state", "F.png", suffixes=(".png",), needs=PICTURE)
    plot = OutputFile("plot of setpoints and efforts", "F.png", suffixes=(".png",), needs=PLOT)
    call = Texts(
        "call an action before the run: dog.hold=home, dog.PDController.set_gains=[40, 1, 30]",
        "PATH[=ARGS]",
    )


def _run(options: RunOptions) -> int:
    from mjrig.cli.run import print_run
    from mjrig.core.properties.actions import call_action
    from mjrig.core.scene.scene_description import find
    from mjrig.core.sim.world import World

    outputs = {name: getattr(options, name) for name in ("picture", "plot", "record", "overwrite")}
    live = "--watch" if options.watch_files else "--stream" if options.stream else ""
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


def _run_live(world: Any, options: RunOptions) -> int:
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
        live = LiveRun(world, build if options.watch_files else None, say, stream=stream)
        try:
            live.run(options.duration)
        except KeyboardInterrupt:
            print(f"stopped at t={live.world.time:.3f} s")
        if stream is not None:
            print(stream.summary())
    return 0


_run_command = command(
    "run",
    RunOptions,
    _run,
    "run a scene without a window",
    examples=(
        "mjrig run config/scenes/quadruped.yaml --duration 2 --record run.h5",
        "mjrig run config/scenes/arm.yaml --set arm.PDController.kp=40 --plot arm.png",
    ),
)


class CheckOptions(PageOptions, SceneOptions):
    """Options of `mjrig check`."""

    json = Flag("print table and findings as JSON")
    strict = Flag("exit with 1 on warnings too")
    watch_files = Flag("check again whenever the scene or its files change", flag="--watch")
    fix = Texts(
        "write the first fix of findings with these codes into the scene, and check again; "
        "without a code of all errors and warnings",
        "CODE",
        default=None,
        many="*",
    )


def _check(options: CheckOptions) -> int:
    # The matrices of a robot are too small for threads, which would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from mjrig.core.progress import Waiting
    from mjrig.core.sim.world import World
    from mjrig.lab.check.preflight import described, exit_code, findings

    if options.watch_files:
        _watch(options)
    scene = load_scene(options)
    if options.fix is not None:
        from mjrig.cli.check_fix import fix

        for line in fix(scene, options.fix, is_changed=bool(options.set or options.var)):
            print(line, file=sys.stderr)
    with Waiting("building the scene") as waiting:
        world = World(scene)
        found = findings(world, waiting.now)
    print_report(described(world, found), as_json=options.json, page=options.report)
    return exit_code(found, strict=options.strict)


def _watch(options: CheckOptions) -> NoReturn:
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


_check_command = command(
    "check",
    CheckOptions,
    _check,
    "show the binding table and pre-flight warnings",
    examples=(
        "mjrig check config/scenes/quadruped.yaml --strict",
        "mjrig check config/scenes/arm.yaml --set arm.PDController.kp=40 --json",
    ),
)


class DiffOptions(TrustOptions):
    """Options of `mjrig diff`."""

    before = InputFile("first scene or model", "A", positional=True)
    after = InputFile("second scene or model", "B", positional=True)
    exit_code = Flag("exit with 1 if they differ")


def _diff(options: DiffOptions) -> int:
    from mjrig.core.scene.editing.diff import differences
    from mjrig.core.scene.editing.scene import Scene

    scenes = (Scene.load(path, trust=options.trust) for path in (options.before, options.after))
    found = differences(*scenes)
    print("\n".join(map(str, found)) if found else "no differences")
    return 1 if found and options.exit_code else 0


_diff_command = command(
    "diff",
    DiffOptions,
    _diff,
    "list the differences between two scenes",
    examples=(
        "mjrig diff config/scenes/quadruped.yaml config/scenes/quadruped_trot.yaml",
        "mjrig diff config/scenes/arm.yaml config/scenes/arm_pair.yaml --exit-code",
    ),
)


class ExportOptions(SceneOptions):
    """Options of `mjrig export`."""

    output = OutputFile(
        "file to write", "F.xml|F.mjb", short="-o", required=True, suffixes=(".xml", ".mjb")
    )
    partial = Flag("leave out what MuJoCo has no actuator for")


def _export(options: ExportOptions) -> int:
    from mjrig.core.scene.editing.file_watch import files_of
    from mjrig.core.sim.mujoco_export import export

    scene = load_scene(options)
    if os.path.realpath(options.output) in map(os.path.realpath, files_of(options.scene, scene)):
        raise MjrigError(f"{options.output}: is a file of the scene itself; write another one")
    for note in export(scene, options.output, partial=options.partial):
        print(f"mjrig: {note}", file=sys.stderr)
    print(f"{options.output} and {options.output.with_suffix('.json').name} written")
    return 0


_export_command = command(
    "export",
    ExportOptions,
    _export,
    "write a scene as a plain MuJoCo model",
    examples=(
        "mjrig export config/scenes/quadruped.yaml -o quadruped.xml",
        "mjrig export config/scenes/arm.yaml -o arm.mjb --set arm.PDController.kp=40",
    ),
)


class ComponentsOptions(Options):
    """Options of `mjrig components`."""

    type_name = Texts(
        "show one type in full; my_module:MyController is in my_module.py in this folder",
        "TYPE",
        positional=True,
        many="?",
        default="",
    )
    trust = Flag("run the code of a type in this folder")
    reference = Flag("print the reference page (Markdown)")


def _components(options: ComponentsOptions) -> int:
    from mjrig.cli.reference import describe, reference_page
    from mjrig.core.properties import registry
    from mjrig.core.properties.has_properties import HasProperties
    from mjrig.core.properties.registry import is_module_type, type_in
    from mjrig.lab.report.output import format_table

    if options.reference:
        print(reference_page(), end="")
        return 0
    if options.type_name and is_module_type(options.type_name):
        here = Path(os.path.realpath("."))
        trusted = (here,) if options.trust else ()
        print("\n".join(describe(type_in(here, options.type_name, HasProperties, trusted))))
        return 0
    if options.type_name:
        print("\n".join(describe(registry.get(options.type_name, HasProperties))))
        return 0
    rows = []
    for name in registry.names():
        cls = registry.get(name, HasProperties)
        summary = (cls.__doc__ or "").strip().partition("\n")[0]
        rows.append((name, str(len(cls.properties())), registry.module_of(name), summary))
    print("\n".join(format_table(("type", "properties", "from", ""), rows)))
    return 0


_components_command = command(
    "components",
    ComponentsOptions,
    _components,
    "list component, actuator, prop and policy term types",
    examples=("mjrig components", "mjrig components PDController"),
)


class SchemaOptions(Options):
    """Options of `mjrig schema`."""

    policy = Flag("the schema of policy files instead")
    motor = Flag("the schema of motor files instead")
    log = Flag("the schema of log.yaml instead")


def _schema(options: SchemaOptions) -> int:
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


_schema_command = command(
    "schema",
    SchemaOptions,
    _schema,
    "print the JSON Schema of scene files",
    examples=("mjrig schema > scene.schema.json", "mjrig schema --policy"),
)
