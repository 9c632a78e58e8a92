"""Who may import whom, and what no part of the pack may do to the process: read from the source, not from a run."""

import ast
import sys
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import mizuoto
import pytest
import torch

ROOT = Path(mizuoto.__path__[0])
BELOW = {  # part -> the parts that it may know
    "nodes": {"engines", "mizuoto_runtime"},
    "cli": {"engines", "mizuoto_runtime"},
    "engines": {"mizuoto_runtime"},
    "mizuoto_runtime": set(),
}
PARTS = tuple(BELOW)
FILES = [
    *(path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))),
    *(path for name in ("__init__.py", "__main__.py") if (path := ROOT / name).is_file()),
]

# Third-party modules: where, and whether only inside a function.
EAGER = {"torch", "numpy", "safetensors"}
LAZY = {
    "tokenizers", "sentencepiece", "av", "huggingface_hub", "psutil", "pysubs2", "soxr", "wetext",
    "jieba", "misaki", "pyopenjtalk", "pypinyin", "rjieba",
}  # fmt: skip
COMFY = {"folder_paths", "server", "nodes", "execution", "node_helpers", "latent_preview", "cuda_malloc"}
COMFY_PREFIX = "comfy"

# What a part of the runtime may know of the others; parts that are not listed may know all.
RUNTIME = {
    **{part: {"nn", "text", "lm", "attention", "loading", "ops", "errors"} for part in ("nn", "text", "lm")},
    **{part: {"attention", "loading", "ops", "errors"} for part in ("attention", "loading")},
    "memory": {"memory", "device", "simulate", "settings", "errors"},
}

CALLS = {  # dotted names; a star stands for any ending
    "S049 seeding": {
        "torch.manual_seed", "torch.seed", "torch.random.manual_seed", "torch.random.seed", "torch.set_rng_state",
        *(f"torch.{kind}.{call}" for kind in ("cuda", "xpu", "mps") for call in ("manual_seed", "manual_seed_all")),
        "random.seed", "random.setstate", "numpy.random.seed", "numpy.random.set_state",
    },
    "S050 process": {
        "os.chdir", "os.putenv", "os.unsetenv",
        *(f"sys.path.{call}" for call in ("append", "insert", "extend", "remove", "clear", "pop")),
        *(f"os.environ.{call}" for call in ("update", "setdefault", "pop", "popitem", "clear")),
    },
    "S051 settings": {
        "logging.basicConfig", "torch.set_default_dtype", "torch.set_default_device", "torch.set_default_tensor_type",
        "torch.use_deterministic_algorithms", "torch.set_float32_matmul_precision", "torch.set_num_threads",
        "torch.set_num_interop_threads", "torch.backends.cuda.enable_*",
    },
    "S052 randomness": {"numpy.random.*", "torch.nn.init.*", "torch.rand*_like"},
    "unsafe": {
        "eval", "exec", "compile", "__import__", "subprocess.*", "os.system", "os.popen", "os.exec*", "os.spawn*",
        "pickle.*", "marshal.*", "shelve.*", "runpy.*", "os.posix_spawn*", "os.startfile",
        "asyncio.create_subprocess_*", "torch.hub.*", "torch.jit.load",
    },
}  # fmt: skip
# The doctor asks the drivers' own tools (S017): in this one file, with a time limit and a named environment, no shell.
PROBE = PurePosixPath("mizuoto_runtime/doctor/probe.py")
BUILTINS = {"eval", "exec", "compile", "__import__"}
CODE_SWITCHES = {"trust_remote_code", "allow_pickle"}
READS = {"random.getstate", "numpy.random.get_state"}
ASSIGNED = {
    "S050 process": ("os.environ", "sys.path"),
    "S051 settings": ("torch.backends.", "torch._inductor.config", "torch._dynamo.config"),
}
# Fine with the keyword, banned without it.
NEEDS_KEYWORD = {
    **dict.fromkeys(
        [f"torch.{call}" for call in ("rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli")],
        ("S052 randomness", "generator"),
    ),
    "torch.load": ("unsafe", "weights_only"),
}
DRAWING_METHODS = {f"{name}_" for name in ("normal", "uniform", "exponential", "bernoulli", "random")} | {"multinomial"}
LAYERS = {
    f"torch.nn.{name}"
    for name, kind in vars(torch.nn).items()
    if isinstance(kind, type) and (hasattr(kind, "reset_parameters") or hasattr(kind, "_reset_parameters"))
}


class Checker(ast.NodeVisitor):
    """Collects what is wrong with one file."""

    def __init__(self, path):
        self.path, self.problems, self.names, self.depth = path, [], {}, 0
        self.package = path.parts[:-1]
        self.in_host = path.is_relative_to("nodes/host")

    def problem(self, node, what):
        self.problems.append(f"{self.path}:{node.lineno}: {what}")

    def dotted(self, node):
        """`np.random.seed` as "numpy.random.seed", or None where the beginning is no imported module or builtin."""
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return base and f"{base}.{node.attr}"
        if isinstance(node, ast.Name):
            return self.names.get(node.id) or (node.id if node.id in BUILTINS else None)
        return None

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Import(self, node):
        for alias in node.names:
            self.names[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
            self.third_party(node, alias.name)

    def visit_ImportFrom(self, node):
        for alias in node.names:
            if not node.level:
                self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            else:
                base = self.package[: len(self.package) - node.level + 1]
                self.inside(node, (*base, *(node.module or "").split("."), alias.name))
        if not node.level:
            self.third_party(node, node.module)

    def third_party(self, node, module):
        top = module.partition(".")[0]
        if top in ("mizuoto", *PARTS) and not (top == "nodes" and self.in_host):
            self.problem(node, f"imports: {module} must be relative")
        elif top in COMFY or top.startswith(COMFY_PREFIX) or top == "aiohttp":
            if not self.in_host:
                self.problem(node, f"imports: {module} outside nodes/host")
        elif top in LAZY:
            if not self.depth:
                self.problem(node, f"imports: {module} must be imported inside a function")
        elif top not in EAGER and top not in sys.stdlib_module_names:
            self.problem(node, f"imports: {module} is no dependency")

    def inside(self, node, target):
        target = [part for part in target if part]
        where, there = (*self.path.with_suffix("").parts, ""), (*target, "", "")
        top, other = where[0], there[0]
        if top in PARTS and other in PARTS and other not in {top, *BELOW[top]}:
            self.problem(node, f"layers: {top} must not know {other}")
        is_engine = other == "engines" and (ROOT / "engines" / there[1] / "manifest.py").is_file()
        if is_engine and where[:2] != there[:2]:
            self.problem(node, f"layers: engine {there[1]} is its own affair")
        if top == other == "mizuoto_runtime":
            known = RUNTIME.get(where[1])
            if known is not None and there[1] not in known:
                self.problem(node, f"layers: {where[1]} must not know {there[1]}")

    def visit_Assign(self, node):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        for target in targets:
            name = self.dotted(target.value if isinstance(target, ast.Subscript) else target)
            for rule, banned in ASSIGNED.items():
                if name and any(name == prefix or name.startswith(prefix) for prefix in banned):
                    self.problem(node, f"{rule}: {name} is assigned")
        self.generic_visit(node)

    visit_AugAssign = visit_AnnAssign = visit_Delete = visit_Assign  # noqa: N815

    def visit_Call(self, node):
        name, keywords = self.dotted(node.func), {keyword.arg: keyword.value for keyword in node.keywords}
        for switch in keywords.keys() & CODE_SWITCHES:
            if getattr(keywords[switch], "value", True) is not False:
                self.problem(node, f"unsafe: {switch}")
        if name:
            for rule, banned in CALLS.items():
                is_fine = name in READS or self.is_probe(name, keywords)
                if not is_fine and any(fnmatchcase(name, each) for each in banned):
                    self.problem(node, f"{rule}: {name}")
            if name.startswith("random.") and name not in {"random.Random", *READS}:
                self.problem(node, f"S052 randomness: {name}")
            rule, keyword = NEEDS_KEYWORD.get(name, (None, None))
            if rule and (keyword not in keywords or getattr(keywords[keyword], "value", True) in (None, False)):
                self.problem(node, f"{rule}: {name} without {keyword}")
            if name in LAYERS and self.path != PurePosixPath("mizuoto_runtime/ops.py"):
                self.problem(node, f"S027 layers: {name} is taken from ops")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in DRAWING_METHODS and "generator" not in keywords:
            self.problem(node, f"S052 randomness: .{node.func.attr} without generator")
        self.generic_visit(node)

    def is_probe(self, name, keywords):
        named = {"timeout", "env"} <= keywords.keys() and keywords.keys().isdisjoint({"shell", None})
        return self.path == PROBE and name == "subprocess.run" and named

    def visit_ClassDef(self, node):
        for base in node.bases:
            if self.dotted(base) in LAYERS and self.path != PurePosixPath("mizuoto_runtime/ops.py"):
                self.problem(node, f"S027 layers: {node.name} builds on torch's layer instead of ops'")
        self.generic_visit(node)

    def visit_Attribute(self, node):
        if "scaled_dot_product_attention" in node.attr and not self.path.is_relative_to("mizuoto_runtime/attention"):
            self.problem(node, f"S031 attention: {node.attr} outside attention/")
        self.generic_visit(node)


def check(path, source):
    checker = Checker(PurePosixPath(path))
    # Names first: a function may use what is imported below it.
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            checker.visit(node)
    checker.problems.clear()
    checker.visit(tree)
    return checker.problems


@pytest.mark.parametrize("path", [path.relative_to(ROOT).as_posix() for path in FILES])
def test_rules(path):
    assert check(path, (ROOT / path).read_text(encoding="utf-8")) == []


BAD = [
    ("layers", "engines/x/engine.py", "from ...nodes import speak"),
    ("layers", "engines/x/engine.py", "from ... import nodes"),
    ("layers", "engines/x/engine.py", "from ..hibari.config import CodecConfig"),
    ("layers", "engines/x/engine.py", "from .. import hibari"),
    ("layers", "engines/speech.py", "from .hibari import talker"),
    ("layers", "nodes/speak.py", "from ..engines.hibari.engine import ENGINE"),
    ("layers", "mizuoto_runtime/context.py", "from ..engines import base"),
    ("layers", "cli/speak.py", "from ..nodes import speak"),
    ("layers", "cli/speak.py", "from ..engines.hibari.engine import ENGINE"),
    *[("layers", f"{part}/x.py", "from .. import cli") for part in ("nodes", "engines", "mizuoto_runtime")],
    ("layers", "mizuoto_runtime/nn/x.py", "from ... import nodes"),
    ("layers", "mizuoto_runtime/memory/x.py", "from ..lm import cache"),
    ("layers", "mizuoto_runtime/lm/x.py", "from ..memory.handle import ModelHandle"),
    *[("layers", f"mizuoto_runtime/{part}/x.py", "from .. import memory") for part in ("nn", "text", "attention")],
    ("layers", "mizuoto_runtime/text/english/x.py", "def f():\n    from ...context import RequestContext"),
    ("layers", "mizuoto_runtime/loading/x.py", "from ..memory import units"),
    ("imports", "engines/x/engine.py", "import mizuoto.engines"),
    ("imports", "engines/x/engine.py", "from mizuoto_runtime import ops"),
    ("imports", "nodes/speak.py", "import nodes"),
    ("imports", "nodes/speak.py", "from comfy_api.latest import io"),
    ("imports", "mizuoto_runtime/device.py", "def f():\n    import comfy.model_management as mm"),
    ("imports", "nodes/load.py", "import folder_paths"),
    ("imports", "engines/speech.py", "from aiohttp import web"),
    ("imports", "nodes/host/x.py", "import requests"),
    ("imports", "engines/x/engine.py", "def f():\n    import transformers"),
    ("imports", "mizuoto_runtime/device.py", "import psutil"),
    ("imports", "engines/x/engine.py", "from tokenizers import Tokenizer"),
    ("S049", "engines/x/engine.py", "import torch\ntorch.manual_seed(0)"),
    ("S049", "engines/x/engine.py", "from torch import manual_seed as m\nm(0)"),
    ("S049", "nodes/speak.py", "import torch.cuda as c\nc.manual_seed_all(0)"),
    ("S049", "__init__.py", "import random\nrandom.seed(0)"),
    ("S049", "__main__.py", "import numpy as np\nnp.random.seed(0)"),
    ("S050", "__init__.py", "import sys\nsys.path.insert(0, 'x')"),
    ("S050", "nodes/x.py", "import sys\nsys.path += ['x']"),
    ("S050", "nodes/x.py", "import os\nos.environ['X'] = '1'"),
    ("S050", "nodes/x.py", "from os import environ\nenviron.setdefault('X', '1')"),
    ("S050", "nodes/x.py", "import os\ndel os.environ['X']"),
    ("S050", "nodes/x.py", "def f():\n    os.chdir('/')\nimport os"),
    ("S051", "nodes/x.py", "import logging\nlogging.basicConfig()"),
    ("S051", "engines/x/engine.py", "import torch\ntorch.set_default_dtype(torch.half)"),
    ("S051", "engines/x/engine.py", "import torch\ntorch.backends.cudnn.benchmark = True"),
    ("S051", "engines/x/engine.py", "from torch.backends import cudnn\ncudnn.deterministic = True"),
    ("S051", "engines/x/engine.py", "import torch._inductor.config as c\nc.triton = 1"),
    ("S051", "engines/x/engine.py", "import torch\ntorch.backends.cuda.enable_flash_sdp(False)"),
    ("S051", "mizuoto_runtime/x.py", "import torch\ntorch.set_num_threads(1)"),
    ("S052", "engines/x/talker.py", "import torch\ntorch.randn(3)"),
    ("S052", "engines/x/talker.py", "import torch\ntorch.randn(3, generator=None)"),
    ("S052", "engines/x/talker.py", "import torch\nx = torch.empty(3)\nx.normal_()"),
    ("S052", "engines/x/talker.py", "import torch\ntorch.randn_like(torch.zeros(1))"),
    ("S052", "engines/x/talker.py", "import random\nrandom.choice([1])"),
    ("S052", "engines/x/talker.py", "import numpy as np\nnp.random.rand()"),
    ("S052", "engines/x/talker.py", "from torch import nn\nnn.init.normal_(x)"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "import pickle\npickle.load(f)"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "from pickle import Unpickler\nUnpickler(f).load()"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "import marshal\nmarshal.loads(b)"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "import numpy as np\nnp.load('x', allow_pickle=True)"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "import torch\ntorch.jit.load('x')"),
    ("unsafe", "engines/x/engine.py", "def f(load):\n    load('x', trust_remote_code=True)"),
    *[("imports", "engines/x/engine.py", f"def f():\n    import {name}") for name in ("yaml", "hydra", "joblib")],
    ("unsafe", "mizuoto_runtime/loading/x.py", "import torch\ntorch.load('x')"),
    ("unsafe", "mizuoto_runtime/loading/x.py", "import torch\ntorch.load('x', weights_only=False)"),
    ("unsafe", "nodes/x.py", "eval('1')"),
    ("unsafe", "nodes/x.py", "compile('1', 'x', 'eval')"),
    ("unsafe", "nodes/x.py", "import asyncio\nasyncio.create_subprocess_shell('ls')"),
    ("unsafe", "nodes/x.py", "def f():\n    exec('1')"),
    ("unsafe", "nodes/x.py", "from subprocess import run\nrun(['ls'])"),
    ("unsafe", "mizuoto_runtime/doctor/x.py", "import subprocess\nsubprocess.run(c, timeout=1, env={})"),
    ("unsafe", "mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.run(c, env={})"),
    ("unsafe", "mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.run(c, timeout=1)"),
    ("unsafe", "mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.run(c, timeout=1, env={}, shell=x)"),
    ("unsafe", "mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.run(c, timeout=1, env={}, **x)"),
    ("unsafe", "mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.Popen(c, timeout=1, env={})"),
    *[("unsafe", "nodes/x.py", f"import os\nos.{name}('ls')") for name in ("system", "popen", "execv", "spawnl")],
    ("S031", "engines/x/talker.py", "import torch.nn.functional as F\nF.scaled_dot_product_attention(q, k, v)"),
    ("S027", "engines/x/talker.py", "from torch import nn\nnn.Linear(1, 1)"),
    ("S027", "mizuoto_runtime/nn/x.py", "import torch\ntorch.nn.Sequential(torch.nn.Conv1d(1, 1, 1))"),
    ("S027", "engines/x/talker.py", "from torch.nn import LSTM\nclass Mine(LSTM):\n    pass"),
    *[
        ("S027", "engines/x/talker.py", f"from torch import nn\nnn.{name}(1)")
        for name in ("Conv2d", "ConvTranspose1d", "LayerNorm", "Embedding", "GroupNorm", "BatchNorm1d", "GRU")
    ],
    ("S027", "engines/x/talker.py", "from torch import nn\nnn.MultiheadAttention(8, 2)"),
]


@pytest.mark.parametrize(("rule", "path", "source"), BAD)
def test_every_rule_fires(rule, path, source):
    assert any(f": {rule}" in problem for problem in check(path, source))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("nodes/speak.py", "from .. import engines\nfrom ..engines import speech\nfrom ..mizuoto_runtime import ops"),
        ("cli/x.py", "from .common import writable\ndef f():\n    from .. import engines\n    import av"),
        ("nodes/host/x.py", "import nodes\nfrom aiohttp import web\nimport comfy.utils\nfrom ...engines import base"),
        ("engines/hibari/x.py", "from . import config\nfrom .config import MAX_SPEED\nfrom ..base import Option"),
        ("mizuoto_runtime/nn/x.py", "from ..attention import attend\nfrom .. import ops\nfrom .conv import Conv"),
        ("mizuoto_runtime/device.py", "def f():\n    import psutil"),
        ("engines/x/y.py", "import torch\ntorch.randn(2, generator=g)\nx.normal_(generator=g)\nmodel.eval()"),
        ("engines/x/y.py", "import random\nr = random.Random(3)\nr.choice([1])\nimport os\nos.environ.get('X')"),
        ("engines/x/y.py", "from torch import nn\nisinstance(x, nn.Linear)\nnn.ModuleList([nn.GELU()])\nnn.Module()"),
        ("mizuoto_runtime/loading/x.py", "import torch\ntorch.load('x', weights_only=True)"),
        (
            "mizuoto_runtime/loading/x.py",
            "import numpy as np\nimport re\nnp.load('x', allow_pickle=False)\nre.compile('')",
        ),
        ("mizuoto_runtime/attention/x.py", "import torch.nn.functional as F\nF.scaled_dot_product_attention(q, k, v)"),
        ("mizuoto_runtime/doctor/probe.py", "import subprocess\nsubprocess.run(['x'], timeout=1, env={})"),
        ("mizuoto_runtime/ops.py", "from torch import nn\nclass Linear(nn.Linear):\n    pass"),
    ],
)
def test_what_is_allowed(path, source):
    assert check(path, source) == []


def test_there_is_something_to_check():
    assert {path.relative_to(ROOT).parts[0] for path in FILES} >= {*PARTS, "__init__.py"}
    assert len(LAYERS) > 20
