"""Cases with logs, robots and policies of other projects; expected results are figures alone."""

from collections import Counter
from typing import Any

import mjrig
from mjrig.core.findings import CONFIDENT
from tests.oracles.case import case
from tests.oracles.comparing import count_figures
from tests.oracles.workspace import Workspace
from tests.places import SHARED
from tests.test_real_transfer import FIXTURES

#: Contacts of a walking robot amplify rounding: other CPUs agree to this.
WALKING = 1e-6
#: A search ends where its steps are small: other CPUs agree to this.
SEARCH = 1e-5
ROBOTS, LOGS = SHARED / "robots", SHARED / "logs"
#: Imported, replayed and diagnosed in `make test`; the other robots are tried in `make campaign`.
SHORT = ("urlgym_g1", "booster_t1")
REPLAYED = ("verdict", "bit_exact", "fell", "fell_at", "duration", "max_abs_position_error")


def import_robot(work: Workspace, name: str, *options: str) -> Any:
    """Import a policy; its findings by level and code, and the policy's rate."""
    about = FIXTURES[name]
    paths = [ROBOTS / "configs" / config for config in about.configs]
    words = [*paths, ROBOTS / "policies" / f"{name}.onnx"]
    words += ["--model", ROBOTS / "models" / about.model / "scene.xml", "-o", f"{name}/scene.yaml"]
    result = work.run("import", *map(str, words), "--json", *options)
    output = result["output"]
    codes = Counter(f"{f['severity']} {f['kind']}" for f in output["findings"])
    return {"exit": result["exit"], "codes": dict(codes), "decimation": output["decimation"]}


def finding_figures(finding: Any) -> dict[str, Any]:
    """Kind, share of the error, single values and number of edits of a finding."""
    share = finding["evidence"].get("share")
    values = {"here": finding["here"], "recorded": finding["expected"]}
    return {
        "what": finding["kind"],
        "confident": share is not None and share >= CONFIDENT,
        "share": share,
        **{key: value for key, value in values.items() if not isinstance(value, dict)},
        "edits": len(finding["edits"][0]) if finding["edits"] else 0,
    }


def replay_robot(work: Workspace, name: str, *options: str) -> Any:
    """Replay a recording in the imported scene; figures of the comparison and the diagnosis."""
    recording = ROBOTS / "recordings" / f"{name}.npz"
    line = f"--scene {name}/scene.yaml --json --workers 1".split()
    result = work.run("replay", str(recording), *line, *options)
    output = result["output"]
    joints = list(output["joints"].values())
    diagnosis = [finding_figures(finding) for finding in output["diagnosis"]]
    columns = {key: [joint[key] for joint in joints] for key in (joints[0] if joints else ())}
    errors = {key: summarise(values) for key, values in columns.items()}
    figures = {key: output[key] for key in REPLAYED}
    return work.normal(
        {"exit": result["exit"], **figures, "errors": errors, "diagnosis": diagnosis}
    )


def summarise(values: list[float | None]) -> list[float | None]:
    """The largest and the mean."""
    numbers = [v for v in values if v is not None]
    return [max(numbers, default=None), sum(numbers) / max(len(numbers), 1)]


def with_gain(work: Workspace, name: str, value: float) -> Any:
    """A replay with another kv of all joints."""
    robot = mjrig.Scene.load(work.folder / name / "scene.yaml").actors[0].name
    setting = f"{robot}.PDController.kv={value}"
    return replay_robot(work, name, "--duration", "0.3", "--set", setting)


def fit_link(work: Workspace, name: str, parameters: str) -> Any:
    """Fit a log of the two-link arm; estimates with intervals, errors before and after."""
    folder = LOGS / "two_link"
    words = [str(folder / f"{name}.yaml"), str(folder / name), "--parameters", parameters]
    result = work.run("tune fit", *words, "--json")
    output = result["output"]
    keys = ("parameter", "value", "low", "high")
    return {
        "exit": result["exit"],
        "rejected": output["rejection"] is not None if "rejection" in output else None,
        "estimates": [{k: e[k] for k in keys if k in e} for e in output["estimates"]],
        **{k: list(output[k].values()) for k in ("rms_before", "rms_after")},
    }


@case(rel=WALKING, shared=True)
def shared_robots(work: Workspace) -> Any:
    return {
        name: {
            "import": import_robot(work, name, "--no-probe"),
            "replay": replay_robot(work, name, "--duration", "0.3"),
            "wrong_kv": with_gain(work, name, 1.3),
        }
        for name in SHORT
    }


@case(rel=WALKING, shared=True, long=True)
def shared_robots_long(work: Workspace) -> Any:
    return {
        name: {
            "import": import_robot(work, name),
            "replay": replay_robot(work, name, "--duration", "1"),
            "policy": replay_robot(
                work, name, "--mode", "policy", "--trials", "0", "--duration", "1"
            ),
        }
        for name in FIXTURES
    }


@case(rel=SEARCH, shared=True, long=True)
def shared_fits(work: Workspace) -> Any:
    return {
        "gains": fit_link(work, "P01", "kp,kv"),
        "delay": fit_link(work, "P03", "kp,kv,delay"),
        "joint": fit_link(work, "P06", "frictionloss,armature,damping"),
    }


@case(shared=True, long=True)
def shared_logs(work: Workspace) -> Any:
    names = sorted(p.name for p in LOGS.iterdir() if p.name.startswith("go2_"))
    results = {name: work.run("info", str(LOGS / name)) for name in names}
    return {
        name: {"exit": result["exit"], "figures": dict(count_figures(result["output"]))}
        for name, result in results.items()
    }
