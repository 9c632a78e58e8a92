"""The upstream packages as the judge: float32 on the CPU, quiet, chunks in order.

What upstream imports and the comparison does not use is stood in for while it is imported: training, plots, listening,
other vocoders and notations.
"""

import functools
import importlib.util
import sys
import types
import warnings
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
import torch
from mizuoto.tests.engines.f5_tts import tiny

pytest.importorskip("f5_tts")
UNUSED = {
    "torchcodec": {}, "encodec": {"EncodecModel": object}, "matplotlib": {"use": lambda _: None},
    "matplotlib.pylab": {}, "f5_tts.model.trainer": {"Trainer": None}, "transformers": {"pipeline": None},
    "einx": {}, "librosa": {}, "librosa.filters": {"mel": None},
}  # fmt: skip
V1 = {"text_mask_padding": True, "pe_attn_head": None}
V0 = {"text_mask_padding": False, "pe_attn_head": 1}
MELS = {
    **{"n_fft": 1024, "hop_length": 256, "win_length": 1024, "n_mel_channels": 100},
    **{"target_sample_rate": 24000, "mel_spec_type": "vocos"},
}


@contextmanager
def stand_ins():
    """Modules that are only imported; whatever was there before is there again afterwards."""
    modules = {name: types.ModuleType(name) for name in UNUSED}
    for name, content in UNUSED.items():
        vars(modules[name]).update(content)
    modules["matplotlib"].pylab = modules["matplotlib.pylab"]
    path = list(sys.path)
    with mock.patch.dict(sys.modules), mock.patch.dict("os.environ"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pydub, which misses ffmpeg
        sys.modules.update(modules)
        yield
        found = {name: module for name, module in sys.modules.items() if name not in UNUSED}
    sys.path[:] = path
    sys.modules.update(found)


with stand_ins():
    from f5_tts.infer import utils_infer
    from f5_tts.model import CFM, modules
    from f5_tts.model.backbones.dit import DiT
    from f5_tts.model.utils import convert_char_to_pinyin, get_epss_timesteps, get_tokenizer, list_str_to_idx
    from torchdiffeq import odeint
    from vocos.heads import ISTFTHead
    from vocos.models import VocosBackbone
    from vocos.modules import ConvNeXtBlock
    from x_transformers.x_transformers import RotaryEmbedding

__all__ = [
    "ConvNeXtBlock", "ISTFTHead", "RotaryEmbedding", "VocosBackbone", "convert_char_to_pinyin", "get_epss_timesteps",
    "list_str_to_idx", "modules", "odeint",
]  # fmt: skip
VOCABULARY = Path(importlib.util.find_spec("f5_tts").submodule_search_locations[0], "infer/examples/vocab.txt")


class InOrder:
    """Stands in for the pool of threads that race for the global generator."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, *args):
        """`function(*args)`, done."""
        found = function(*args)
        return types.SimpleNamespace(result=lambda: found)


utils_infer.ThreadPoolExecutor = InOrder


@functools.cache
def load(folder: Path, release: str = "v1", file: str = "model_1250000.safetensors", **architecture):
    """(model, vocoder) of the checkpoint in `folder`, by upstream's own loader."""
    symbols, num_symbols = get_tokenizer(str(folder / "vocab.txt"), "custom")
    sizes = {**tiny.SIZES, **(V1 if release == "v1" else V0), "qk_norm": None, **architecture}
    model = CFM(
        transformer=DiT(**sizes, attn_backend="torch", text_num_embeds=num_symbols, mel_dim=100),
        mel_spec_kwargs=MELS, odeint_kwargs={"method": "euler"}, vocab_char_map=symbols,
    )  # fmt: skip
    with mock.patch("builtins.print"):
        model = utils_infer.load_checkpoint(model, str(folder / file), "cpu", dtype=torch.float32)
        place = str(folder / "vocos-mel-24khz")
        vocoder = utils_infer.load_vocoder("vocos", is_local=True, local_path=place, device="cpu")
    return model.eval(), vocoder.eval()


@contextmanager
def seeded(seed):
    """Upstream draws from the global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251
        yield


def speak(model, vocoder, reference, words, texts, seed, **values):
    """Upstream's waveform [T] and mel [frames, 100] of chunks, joined without a cross-fade."""
    with seeded(seed):
        waveform, _, mel = next(
            utils_infer.infer_batch_process(
                (reference.waveform, reference.sample_rate), words, list(texts), model, vocoder, device="cpu",
                progress=None, cross_fade_duration=0.0, **values,
            )
        )  # fmt: skip
    return torch.from_numpy(waveform), torch.from_numpy(mel).T


def with_stop(words):
    """The words as upstream prepares them; its other preparations need files."""
    return words if words.endswith((". ", "。")) else words + (" " if words.endswith(".") else ". ")
