"""The upstream package as the judge, loaded once a folder: float32 on the CPU, quiet, in memory of its own.

Its audio encoder computes the ends of its windows of eight seconds and hands them to the attention function. Flash
attention keeps to them, as do vLLM and transformers 5; torch's attention overlooks them, so that recordings beyond one
window are encoded otherwise than in training. `WINDOWED` is the missing function: torch's attention, once a window.
The decoder uses "sdpa", and for recordings of one window both give the same bits.
"""

import functools
import itertools
import sys
import types
from pathlib import Path

import numpy as np
import torch
from mizuoto.tests.engines.qwen3_asr import tiny

WINDOWED = "windowed_sdpa"


def stand_in(name: str) -> None:
    """An empty module for a package that only the forced aligner needs, where it is missing."""
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)


stand_in("nagisa")
import qwen_asr  # noqa: E402
from qwen_asr.inference import utils  # noqa: E402
from transformers import logging as transformers_logging  # noqa: E402
from transformers.integrations.sdpa_attention import sdpa_attention_forward  # noqa: E402
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: E402

parse_asr_output = utils.parse_asr_output
detect_and_fix_repetitions = utils.detect_and_fix_repetitions
split_audio_into_chunks = utils.split_audio_into_chunks


def windowed(module, query, key, value, attention_mask, cu_seq_lens_q, **kwargs):
    """transformers' sdpa within each window, one after the other."""
    ends = cu_seq_lens_q.tolist()
    parts = [
        sdpa_attention_forward(
            module, *(part[:, :, start:end] for part in (query, key, value)), attention_mask, **kwargs
        )[0]
        for start, end in itertools.pairwise(ends)
    ]
    return torch.cat(parts, dim=1), None


ALL_ATTENTION_FUNCTIONS.register(WINDOWED, windowed)


@functools.cache
def load(folder: Path, audio_attention: str = WINDOWED):
    """`Qwen3ASRModel` of the checkpoint in `folder`, one recording at a time."""
    transformers_logging.set_verbosity_error()
    found = qwen_asr.Qwen3ASRModel.from_pretrained(
        str(folder), device_map="cpu", dtype=torch.float32, attn_implementation="sdpa", max_inference_batch_size=1
    )
    found.model.eval()
    thinker = found.model.thinker
    thinker.audio_tower.config._attn_implementation = audio_attention
    for tensor in (*found.model.parameters(), *found.model.buffers()):
        tensor.data = tensor.data.clone()  # out of the mapped file, whose places decide some last bits
    vocab = found.processor.tokenizer.get_vocab()
    # The ends are ids of the real vocabulary there, given as defaults.
    found.model.generate = functools.partial(found.model.generate, eos_token_id=list(tiny.eos_ids(vocab)))
    return found


def features(folder: Path, waveform: np.ndarray) -> torch.Tensor:
    """[num_mels, F]."""
    inputs = load(folder).processor(text="", audio=[waveform], return_tensors="pt")
    assert inputs["feature_attention_mask"].all()
    return inputs["input_features"][0]


def embedded(folder: Path, mel: torch.Tensor, audio_attention: str = WINDOWED) -> torch.Tensor:
    """The audio encoder's output, [T, hidden_size]."""
    tower = load(folder, audio_attention).model.thinker.audio_tower
    with torch.no_grad():
        return tower(mel, feature_lens=torch.tensor([mel.shape[1]])).last_hidden_state


def prompt_ids(folder: Path, waveform: np.ndarray, context: str, language: str | None) -> list[int]:
    """Of text and places for the sound."""
    model = load(folder)
    text = model._build_text_prompt(context=context, force_language=language)
    return model.processor(text=[text], audio=[waveform], return_tensors="pt")["input_ids"][0].tolist()


def speech(seconds: float, seed: int = 0) -> np.ndarray:
    """A recording of noise that comes and goes, float32 [T] at 16 kHz."""
    count = int(seconds * 16000)
    swell = 0.6 + 0.4 * np.sin(np.arange(count) / 3000)
    return (0.1 * swell * np.random.default_rng(seed).standard_normal(count)).astype(np.float32)
