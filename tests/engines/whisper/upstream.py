"""openai-whisper's own networks behind `model.WhisperModel`: what differs from upstream then is the decoding alone."""

import copy
import functools
import hashlib
import types

import numba
import torch
import whisper
from torch import nn
from whisper.decoding import DecodingOptions, DecodingTask
from whisper.model import ModelDimensions, Whisper, disable_sdpa
from whisper.tokenizer import get_tokenizer

CPU = torch.device("cpu")

# Starting its threads, numba changes torch's number of them, and with it speed and bits.
numba.get_num_threads()
torch.set_num_threads(1)


class Remembering(nn.Module):
    """An encoder that hears equal windows once."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.known = encoder, {}

    def forward(self, mel):
        key = hashlib.sha256(mel.numpy().tobytes()).digest()
        if key not in self.known:
            with torch.inference_mode():
                self.known[key] = self.encoder(mel)
        return self.known[key].clone()


def remembering(model):
    """The model with an encoder that does not do its work twice."""
    model = copy.copy(model)
    model._modules = dict(model._modules)
    model.encoder = Remembering(model.encoder)
    return model


@functools.cache
def random_model(seed, is_multilingual=True, positions=64):
    """A tiny model without training that writes times, loops and ends in a colourful mixture."""
    vocab_size = 51864 + is_multilingual
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251 -- upstream draws from it
        model = Whisper(ModelDimensions(80, 1500, 32, 2, 1, vocab_size, positions, 32, 2, 2))
        nn.init.normal_(model.decoder.positional_embedding, std=2.0)
        tokenizer = get_tokenizer(is_multilingual)
        with torch.no_grad():
            for block in model.decoder.blocks:
                block.cross_attn.out.weight *= 6
            rows = model.decoder.token_embedding.weight
            rows[tokenizer.timestamp_begin :] *= 1.15
            rows[tokenizer.eot] *= 1.5
            rows[tokenizer.no_speech] *= 1.5
    return remembering(model.eval())


class Tokens:
    """`model.Tokens` over upstream's tokenizer."""

    def __init__(self, model):
        self.is_multilingual, self.num_languages = model.is_multilingual, model.num_languages
        tokenizer = self.tokenizer("en", "transcribe")
        for name in [
            "sot",
            "eot",
            "transcribe",
            "translate",
            "sot_lm",
            "sot_prev",
            "no_speech",
            "no_timestamps",
            "timestamp_begin",
        ]:
            setattr(self, name, getattr(tokenizer, name))
        self.non_speech = DecodingTask(model, DecodingOptions(fp16=False))._get_suppress_tokens()
        self.encode, self.decode = tokenizer.encode, tokenizer.decode

    def tokenizer(self, language, task):
        return get_tokenizer(self.is_multilingual, num_languages=self.num_languages, language=language, task=task)

    def start(self, language, task):
        return self.tokenizer(language, task).sot_sequence

    def split_words(self, ids, language):
        return self.tokenizer(language, "transcribe").split_to_word_tokens(list(ids))


class State:
    """`model.DecoderState` over upstream's decoder and its hooks."""

    def __init__(self, model, features):
        self.model, self.features = model, features
        self.cache, self.hooks = model.install_kv_cache_hooks()

    def logits(self, tokens):
        return self.model.decoder(tokens, self.features, kv_cache=self.cache)

    def reorder(self, rows):
        for block in self.model.decoder.blocks:
            for module in (block.attn.key, block.attn.value):
                self.cache[module] = self.cache[module][list(rows)]

    def close(self):
        for hook in self.hooks:
            hook.remove()


class Model:
    """`model.WhisperModel` over upstream's model."""

    def __init__(self, model, seed=0):
        self.model, self.device = model, CPU
        self.config = types.SimpleNamespace(max_positions=model.dims.n_text_ctx)
        self.tokens = Tokens(model)
        self.generator = torch.Generator().manual_seed(seed)
        self.heard, self.num_checks, self.is_decoding, self.state = [], 0, False, None

    def encode(self, mel):
        assert mel.shape == (1, 80, 3000)
        return self.model.encoder(mel)

    def decoding(self, work, rows=1):
        self.rows, self.is_decoding = rows, True
        try:
            with torch.inference_mode():
                return work()
        finally:
            self.is_decoding = False
            self._close()

    def start(self, features, rows=1):
        assert self.is_decoding
        assert rows <= self.rows
        self._close()
        self.state = State(self.model, features)
        return self.state

    def cross_attention(self, features, tokens):
        assert self.is_decoding
        scores = {}
        hooks = [
            block.cross_attn.register_forward_hook(lambda _, ins, outs, i=index: scores.__setitem__(i, outs[1][0]))
            for index, block in enumerate(self.model.decoder.blocks)
        ]
        with disable_sdpa():
            logits = self.model.decoder(tokens[None], features)[0]
        for hook in hooks:
            hook.remove()
        return torch.stack(
            [scores[layer][head] for layer, head in self.model.alignment_heads.indices().T.tolist()]
        ), logits

    def check_cancel(self):
        self.num_checks += 1

    def progress(self, seconds_heard):
        self.heard.append(seconds_heard)

    def _close(self):
        if self.state is not None:
            self.state.close()
            self.state = None


def options_of(settings):
    """The arguments of upstream's `transcribe` that stand for our settings."""
    return {
        "fp16": False,
        "language": settings.language,
        "task": settings.task,
        "temperature": settings.temperatures,
        "beam_size": settings.beam_size if settings.beam_size > 1 else None,
        "initial_prompt": settings.prompt or None,
        "word_timestamps": settings.word_timestamps,
        "condition_on_previous_text": settings.condition_on_previous_text,
        "no_speech_threshold": settings.no_speech_threshold,
        "logprob_threshold": settings.logprob_threshold,
        "compression_ratio_threshold": settings.compression_ratio_threshold,
        "hallucination_silence_threshold": settings.hallucination_silence_threshold,
    }


def transcribe(model, audio, settings, seed=0):
    """What upstream's `transcribe` gives, with its draws from `seed`; the state of torch stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251 -- upstream draws from it
        return whisper.transcribe(model, audio, **options_of(settings))
