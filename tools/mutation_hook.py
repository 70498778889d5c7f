"""Compile modules with one change, or with probes: for the processes of tests; see mutants.py.

`points` finds what can be changed in a module. `install` adds an import hook that follows the plan
in a file, named by the environment, so that children of the tests do the same.
"""

import ast
import builtins
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

#: Names a plan for the import hook, for the process of the tests and its children.
PLAN = "MUTANTS_PLAN"
PROBE = "__mutants_probe__"
#: Inside functions, numbers that count, index or halve; they are seldom tuned.
PLAIN = (0, 1, 2, -1, 0.5)

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


# What can be changed --------------------------------------------------------------------


@dataclass
class Point:
    """A place in a module that can be changed; `changes` edit its syntax tree in place."""

    key: str
    #: The constant that it belongs to, or the function that contains it.
    name: str
    text: str
    line: int
    #: Of a number or operator inside a function.
    is_inline: bool
    changes: dict[str, Callable[[], None]]


def points(tree: ast.Module, *, inline: bool = False, logic: bool = False) -> list[Point]:
    """Constants of the module and its classes, numbers in functions, or operators (`logic`)."""
    search = _Points(inline=inline, logic=logic)
    search.visit(tree)
    return search.points


class _Points(ast.NodeVisitor):
    def __init__(self, *, inline: bool, logic: bool) -> None:
        self.points: list[Point] = []
        self._inline, self._logic = inline, logic
        self._scopes: list[str] = []
        self._function_depth = 0
        self._keys: dict[str, int] = defaultdict(int)

    def _add(self, name: str, node: ast.AST, changes: dict[str, Callable[[], None]]) -> None:
        text = ast.unparse(node)
        base = name if not self._function_depth else f"{name}: {text}"
        self._keys[base] += 1
        key = base if self._keys[base] == 1 else f"{base} ({self._keys[base]})"
        line = getattr(node, "lineno", 0)
        self.points.append(Point(key, name, text, line, self._function_depth > 0, changes))

    # Scopes
    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scopes.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._scopes.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scopes.append(node.name)
        self._function_depth += 1
        for child in [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body]:
            self.visit(child)
        self._function_depth -= 1
        self._scopes.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    # Module and class level
    def visit_Assign(self, node: ast.Assign) -> None:
        if self._function_depth:
            self.generic_visit(node)
        elif isinstance(target := node.targets[0], ast.Name):
            self._assignment(target.id, node.value, partial(setattr, node, "value"))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = node.value.elts
            for index, name in enumerate(target.elts):
                if isinstance(name, ast.Name):
                    self._assignment(name.id, values[index], partial(values.__setitem__, index))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if self._function_depth and node.value is not None:
            self.visit(node.value)
        elif isinstance(node.target, ast.Name) and node.value is not None:
            self._assignment(node.target.id, node.value, partial(setattr, node, "value"))

    def _assignment(self, name: str, expression: ast.expr, put: Callable[[Any], None]) -> None:
        bare = name.strip("_")
        if self._logic or not (self._inline or (bare and bare == bare.upper())):
            return
        name = ".".join([*self._scopes, name])
        if (value := _number(expression)) is not None:
            self._add(name, expression, _scalings(put, value))
        elif _is_arithmetic(expression):
            two = ast.Constant(2)
            changes = {
                "×2": partial(put, ast.BinOp(expression, ast.Mult(), two)),
                "÷2": partial(put, ast.BinOp(expression, ast.Div(), two)),
            }
            self._add(name, expression, changes)
        else:
            for child in ast.walk(expression):
                if isinstance(child, ast.Constant) and (value := _number(child)):
                    replace = partial(_set_value, child)
                    self._add(f"{name}[{ast.unparse(child)}]", child, _scalings(replace, value))

    # Inside functions
    def visit_Constant(self, node: ast.Constant) -> None:
        if not self._function_depth or isinstance(node.value, bool):
            return
        if self._logic and isinstance(node.value, int):
            change = {"+1": partial(setattr, node, "value", node.value + 1)}
            self._add(".".join(self._scopes), node, change)
        elif self._inline and (value := _number(node)) is not None and value not in PLAIN:
            self._add(".".join(self._scopes), node, _scalings(partial(_set_value, node), value))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are for people; their numbers are widths and digits."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Neither are those of a message."""

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for index, operator in enumerate(node.ops):
            change = partial(node.ops.__setitem__, index)
            self._opposite(node, operator, change)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._opposite(node, node.op, partial(setattr, node, "op"))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = any(isinstance(s, (ast.JoinedStr, ast.List)) for s in (node.left, node.right))
        if not is_text:
            self._opposite(node, node.op, partial(setattr, node, "op"))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not) and self._logic and self._function_depth:
            double = ast.copy_location(ast.UnaryOp(ast.Not(), node.operand), node)
            changes = {"without not": partial(setattr, node, "operand", double)}
            self._add(".".join(self._scopes), node, changes)
        self.generic_visit(node)

    def _opposite(self, node: ast.AST, operator: ast.AST, put: Callable[[Any], None]) -> None:
        if self._logic and self._function_depth and (kind := OPPOSITES.get(type(operator))):
            name = type(operator).__name__
            self._add(
                ".".join(self._scopes), node, {f"{name} → {kind.__name__}": partial(put, kind())}
            )


def _set_value(node: ast.Constant, new: ast.Constant) -> None:
    node.value = new.value


def _scalings(put: Callable[[ast.Constant], None], value: float) -> dict[str, Callable[[], None]]:
    half = value // 2 if isinstance(value, int) else value / 2
    changes = {"×2": 2 * value, "÷2": half}
    if not value:  # twice nothing is nothing
        changes = {"1": 1}
    return {label: partial(put, ast.Constant(new)) for label, new in changes.items()}


def _number(node: ast.expr) -> float | int | None:
    """The value of an expression of nothing but numbers."""
    kinds = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(child, kinds) for child in ast.walk(node)):
        return None
    value: object = eval(ast.unparse(node), {"__builtins__": {}})
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _is_arithmetic(node: ast.expr) -> bool:
    """Whether it computes a number from numbers and names."""
    kinds = (
        ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
        ast.Name, ast.Attribute, ast.expr_context,
    )  # fmt: skip
    children = list(ast.walk(node))
    has_operator = any(isinstance(child, ast.BinOp) for child in children)
    numbers = [c.value for c in children if isinstance(c, ast.Constant)]
    are_numbers = numbers and all(isinstance(n, (int, float)) for n in numbers)
    return bool(has_operator and are_numbers and all(isinstance(c, kinds) for c in children))


# Import hook: in the process of the tests and in its children ------------------------------------


class Hook(MetaPathFinder):
    """Compiles modules with probes or with one change; see `install`."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self.modules: Mapping[str, Any] = plan["modules"]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (f.find_spec(fullname, path, target) for f in others)), None)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            change = self.modules[fullname]
            spec.loader = _Loader(spec.loader.name, str(spec.loader.path), change)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, change: dict[str, Any]) -> None:
        super().__init__(name, path)
        self._change = change

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(str(self.path)))
        if "probes" in self._change:
            places = {tuple(place) for place in self._change["probes"]}
            _insert_probes(tree, fullname, places)
        else:
            kinds = {"inline": self._change["inline"], "logic": self._change["logic"]}
            found = {point.key: point for point in points(tree, **kinds)}
            found[self._change["key"]].changes[self._change["label"]]()
        code: CodeType = compile(ast.fix_missing_locations(tree), self.path, "exec")
        return code


def _insert_probes(tree: ast.Module, module: str, places: set[tuple[int, int]]) -> None:
    for node in list(ast.walk(tree)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [s for old in block for s in _probed(old, module, places)])


def _probed(node: ast.AST, module: str, places: set[tuple[int, int]]) -> list[ast.AST]:
    place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    if place not in places or not isinstance(node, ast.stmt):
        return [node]
    argument = ast.Constant(f"{module}:{place[0]}:{place[1]}")
    call = ast.Call(ast.Name(PROBE, ast.Load()), [argument], [])
    return [ast.copy_location(ast.Expr(call), node), node]


class Tracker:
    """Writes which test executes which probe."""

    def __init__(self, path: str, test: str) -> None:
        self._path = path
        self.begin(test)

    def begin(self, test: str) -> None:
        """From now on, what runs belongs to this test."""
        self.test = test
        self._seen: set[str] = set()

    def __call__(self, probe: str) -> None:
        if probe not in self._seen:
            self._seen.add(probe)
            with open(self._path, "a") as file:
                file.write(f"{probe}\t{self.test}\n")


def install() -> Tracker | None:
    """Install the hook that the environment asks for; children do it when they start."""
    path = os.environ.get(PLAN)
    if not path or any(isinstance(finder, Hook) for finder in sys.meta_path):
        return None
    try:
        with open(path) as file:
            plan = json.load(file)
    except OSError:  # a child that outlives the run
        return None
    sys.meta_path.insert(0, Hook(plan))
    if "track" not in plan:
        return None
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    tracker = Tracker(plan["track"], test)
    setattr(builtins, PROBE, tracker)
    return tracker
