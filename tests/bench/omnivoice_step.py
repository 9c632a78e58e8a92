"""Times a diffusion step of OmniVoice on both sides in one process; `bench_omnivoice` runs it beside transformers 5.

Arguments and answer as `oracles5` says: `checkpoints`, name -> folder; the answer has, under the name, the seconds of a
step of ours and of theirs.
"""

import json
import runpy
import sys
import warnings
from pathlib import Path

import torch

runpy.run_path(str(Path(__file__).resolve().parents[1] / "conftest.py"))
warnings.simplefilter("ignore")

from mizuoto.engines.base import LoadSpec  # noqa: E402
from mizuoto.engines.omnivoice.engine import ENGINE  # noqa: E402
from mizuoto.engines.omnivoice.generation import Choices, generate  # noqa: E402
from mizuoto.engines.omnivoice.prompt import Style  # noqa: E402
from mizuoto.engines.omnivoice.voice import Reference  # noqa: E402
from mizuoto.mizuoto_runtime.device import CPU  # noqa: E402
from mizuoto.mizuoto_runtime.runtime import Runtime  # noqa: E402
from mizuoto.tests.bench.body import best_s  # noqa: E402
from mizuoto.tests.engines.omnivoice import cases, upstream  # noqa: E402
from safetensors.torch import save_file  # noqa: E402

TEXT, WORDS, FRAMES, REFERENCE_FRAMES = "A sentence of the usual length, as people say it.", "so it is.", 75, 50
STEPS, ROUNDS = 4, 4


def step_s(folder):
    """Seconds of a step, ours and theirs, whose codes must agree."""
    codes = cases.codes(REFERENCE_FRAMES)
    with torch.inference_mode(False):
        engine = ENGINE.load(LoadSpec(folder.name, folder, CPU, torch.float32), Runtime())
        model = upstream.load(str(folder))
    talker = next(handle.module for handle in engine.handles if handle.name.endswith(":talker"))
    choices = Choices(STEPS, 2.0, 0.1, 5.0, 5.0, 0.0)
    task = upstream.GenerationTask(1, [TEXT], [FRAMES], ["en"], [None], [WORDS], [codes], [None])
    settings = upstream.OmniVoiceGenerationConfig(num_step=STEPS)

    def ours():
        prompt = engine._prompt(TEXT, Reference(codes, WORDS, 0.1), Style("en"), FRAMES)
        return generate(talker, prompt, choices, torch.Generator().manual_seed(3), CPU, lambda step: None)

    def theirs():
        torch.manual_seed(3)  # noqa: TID251 - the upstream draws from the global generator
        return model._generate_iterative(task, settings)[0]

    if not torch.equal(ours(), theirs()):
        raise AssertionError(f"other codes than the upstream's with the checkpoint {folder.name}")
    best = best_s({"ours": ours, "theirs": theirs}, ROUNDS)
    return torch.tensor([best["ours"] / STEPS, best["theirs"] / STEPS], dtype=torch.float64)


@torch.inference_mode()
def main(folder):
    torch.set_num_threads(1)
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    answer = {name: step_s(Path(checkpoint)) for name, checkpoint in request["checkpoints"].items()}
    save_file(answer, folder / "answer.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
