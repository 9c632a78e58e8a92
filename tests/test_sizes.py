"""Small files, small functions, every public name documented and annotated, and an import that costs little."""

import ast
import subprocess
import sys
from pathlib import Path

import mizuoto
import pytest

ROOT = Path(mizuoto.__path__[0])
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_IMPORT_CPU_S = 0.004  # a module, about twice what one takes: machines differ
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DATA = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Constant)
PARTS = ("mizuoto_runtime", "engines", "nodes", "cli", "devtools")
FILES = [path.relative_to(ROOT).as_posix() for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
FILES += [name for name in ("__init__.py", "__main__.py", "dev.py") if (ROOT / name).is_file()]

# Runs before each program below: the checkout as package `mizuoto`, as tests/conftest.py makes it.
PROLOGUE = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("mizuoto", {str(ROOT / "__init__.py")!r},
                                              submodule_search_locations=[{str(ROOT)!r}])
sys.modules["mizuoto"] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
"""


def length(node):
    return node.end_lineno - node.lineno + 1


def too_long(source):
    tree = ast.parse(source)
    # Tables count once, however many rows they have.
    tables = [
        node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, DATA)
    ]
    lines = len(source.splitlines()) - sum(length(node) - 1 for node in tables)
    problems = [f"{lines} lines"] if lines > MAX_FILE_LINES else []
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and length(node) > MAX_FUNCTION_LINES:
            problems.append(f"{node.name} has {length(node)} lines")
    return problems


def public(tree, prefix=""):
    """Every public class and function, methods with their class; `__init__`, too, which has annotations."""
    for node in tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and (not node.name.startswith("_") or node.name == "__init__"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{node.name}.")


def undocumented(source):
    tree = ast.parse(source)
    problems = [] if ast.get_docstring(tree) else ["the module has no docstring"]
    for name, node in public(tree):
        if not name.endswith("__init__") and not ast.get_docstring(node):
            problems.append(f"{name} has no docstring")
        if isinstance(node, ast.ClassDef):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        is_method = "." in name and not any(ast.unparse(d) == "staticmethod" for d in node.decorator_list)
        for argument in filter(None, arguments[is_method:]):
            if argument.annotation is None:
                problems.append(f"{name}: {argument.arg} has no annotation")
        if node.returns is None and not name.endswith("__init__"):
            problems.append(f"{name} does not say what it returns")
    return problems


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES)
def test_sizes(path):
    assert too_long(read(path)) == []


@pytest.mark.parametrize("path", [path for path in FILES if path.split("/")[0] in PARTS[:4]])
def test_public_names(path):
    assert undocumented(read(path)) == []


def test_long_things_are_seen():
    body = "    x = 1\n"
    assert too_long("def f():\n" + body * 59) == []
    assert too_long("def f():\n" + body * 60) == ["f has 61 lines"]
    assert too_long("class A:\n    def f(self):\n" + f"    {body}" * 60) == ["f has 61 lines"]
    assert too_long("x = 1\n" * 400) == []
    assert too_long("x = 1\n" * 401) == ["401 lines"]
    assert too_long("TABLE = {\n" + "    1: 2,\n" * 900 + "}\n") == []
    assert too_long("TABLE = {\n" + "    1: 2,\n" * 900 + "}\n" + "x = 1\n" * 400) == ["401 lines"]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("x = 1", "the module has no docstring"),
        ('"""."""\ndef f() -> None:\n    pass', "f has no docstring"),
        ('"""."""\nclass A:\n    """."""\n    def f(self) -> None:\n        pass', "A.f has no docstring"),
        ('"""."""\nclass A:\n    pass', "A has no docstring"),
        ('"""."""\ndef f(x) -> None:\n    """."""', "f: x has no annotation"),
        ('"""."""\ndef f(*, x) -> None:\n    """."""', "f: x has no annotation"),
        ('"""."""\ndef f(**x) -> None:\n    """."""', "f: x has no annotation"),
        ('"""."""\nasync def f():\n    """."""', "f does not say what it returns"),
        ('"""."""\nclass A:\n    """."""\n    def __init__(self, x) -> None:\n        pass', "A.__init__: x has no"),
        ('"""."""\nclass A:\n    """."""\n    @staticmethod\n    def f(x) -> None:\n        """."""', "A.f: x has no"),
    ],
)
def test_undocumented_names_are_seen(source, problem):
    assert any(problem in found for found in undocumented(source))


def test_private_and_local_names_are_free():
    assert undocumented('"""."""\ndef _f(x):\n    pass\nclass _A:\n    def f(self):\n        pass') == []
    assert (
        undocumented('"""."""\ndef f(x: int) -> int:\n    """."""\n    def g(y):\n        return y\n    return g(x)')
        == []
    )


def run(program, *flags):
    command = [sys.executable, *flags, "-c", PROLOGUE + program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_and_the_manifests_need_no_torch():
    program = """
assert not hasattr(package, "comfy_entrypoint")
assert package.WEB_DIRECTORY == "./web"
from mizuoto import engines
assert engines.manifests()
from mizuoto.mizuoto_runtime import errors
print(sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)))
"""
    # -I: neither the working directory nor PYTHONPATH adds modules, ComfyUI's above all. -S would hide site-packages.
    loaded = ast.literal_eval(run(program, "-I"))
    assert {"torch", "numpy", "safetensors"}.isdisjoint(loaded)
    assert "mizuoto" in loaded


def test_importing_everything_adds_nothing_heavy():
    modules = [
        "mizuoto." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in FILES
        if path.split("/")[0] in ("mizuoto_runtime", "engines")
    ]
    program = f"""
import importlib, time
import numpy, torch, safetensors.torch
before = {{name.partition(".")[0] for name in sys.modules}}
start = time.process_time()
for name in {modules!r}:
    importlib.import_module(name)
spent = time.process_time() - start
added = {{name.partition(".")[0] for name in sys.modules}} - before - set(sys.stdlib_module_names)
print([sorted(added), spent])
"""
    added, spent = ast.literal_eval(run(program, "-I"))
    assert added == []
    assert spent < MAX_IMPORT_CPU_S * len(modules)
