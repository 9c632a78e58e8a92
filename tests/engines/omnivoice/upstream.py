"""What omnivoice 0.2.1 makes of a list of cases; runs in the environment of `oracles5` and imports nothing of ours.

Arguments: `checkpoint`, a folder, and `cases`: name -> [what to do, its arguments]. A case's tensors, which it names,
are in the request under their names; its answers are there as "case/what".
"""

import contextlib
import json
import logging
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

from omnivoice import OmniVoice  # noqa: E402
from omnivoice.models import omnivoice as module  # noqa: E402
from omnivoice.models.omnivoice import GenerationTask, OmniVoiceGenerationConfig  # noqa: E402
from omnivoice.utils.duration import RuleDurationEstimator  # noqa: E402
from omnivoice.utils.lang_map import LANG_NAME_TO_ID  # noqa: E402
from omnivoice.utils.text import add_punctuation, chunk_text_punctuation  # noqa: E402


def load(folder):
    """The model with weights in memory of its own: where a file puts a tensor decides some last bits."""
    model = OmniVoice.from_pretrained(folder, device_map="cpu", dtype=torch.float32).eval()
    for tensor in [*model.parameters(), *model.buffers()]:
        tensor.data = tensor.data.clone()
    return model


@contextlib.contextmanager
def noted(**modules):
    """{name: [outputs]} of modules while the block runs."""
    found = {name: [] for name in modules}
    hooks = [
        part.register_forward_hook(lambda m, a, out, name=name: found[name].append(out))
        for name, part in modules.items()
    ]
    yield found
    for hook in hooks:
        hook.remove()


def encode(model, waveform):
    """Every stage of the codec's encoder on [T] at 24 kHz."""
    codec = model.audio_tokenizer
    stages = {"semantic": codec.encoder_semantic, "acoustic": codec.acoustic_encoder, "joined": codec.fc}
    with noted(speech=codec.semantic_model, **stages) as found:
        codes = codec.encode(waveform[None, None]).audio_codes
    states = dict(enumerate(found["speech"][0].hidden_states))
    return {
        **{f"state.{n}": state for n, state in states.items()},
        **{name: found[name][0] for name in stages},
        "codes": codes[0],
    }


def decode(model, codes):
    """Sound of [K, T] codes."""
    return {"waveform": model.audio_tokenizer.decode(codes[None]).audio_values[0, 0]}


def loop(model, seed, text, frames, words, codes, language, attributes, options):
    """Scores in every step, and the codes they lead to."""
    steps, forward = [], model.forward

    def recording(**kwargs):
        out = forward(**kwargs)
        steps.append(out.logits.clone())
        return out

    task = GenerationTask(1, [text], [frames], [language], [attributes], [words], [codes], [None])
    model.forward = recording
    torch.manual_seed(seed)  # noqa: TID251 - the upstream draws from the global generator
    try:
        (made,) = model._generate_iterative(task, OmniVoiceGenerationConfig(**options))
    finally:
        model.forward = forward
    return {
        **{f"cond.{n}": logits[0, :, -frames:] for n, logits in enumerate(steps)},
        **{f"blank.{n}": logits[1, :, :frames] for n, logits in enumerate(steps)},
        "codes": made,
    }


def say(model, seed, text, waveform, rate, words, **options):
    """A whole request: the voice, the codes of every chunk, the sound."""
    model.transcribe = lambda audio: ""  # nobody listens: the words of a reference stay unknown
    model._asr_pipe = object()
    chunks, iterate, prompt = [], model._generate_iterative, None

    def recording(*args):
        out = iterate(*args)
        chunks.extend(out)
        return out

    if waveform is not None:
        prompt = model.create_voice_clone_prompt((waveform, rate), words)
    model._generate_iterative = recording
    torch.manual_seed(seed)  # noqa: TID251 - the upstream draws from the global generator
    try:
        (sound,) = model.generate(text=text, voice_clone_prompt=prompt, **options)
    finally:
        model._generate_iterative = iterate
    found = {f"chunk.{n}": codes for n, codes in enumerate(chunks)}
    if prompt:
        found |= {"voice": prompt.ref_audio_tokens, "level": torch.tensor([prompt.ref_rms], dtype=torch.float64)}
    return {**found, "waveform": torch.from_numpy(sound)}


def rules(model, texts, references, descriptions, sizes):
    """Everything that is decided about texts alone, as JSON."""
    weigh = RuleDurationEstimator().calculate_total_weight

    def attributes(description, is_chinese):
        try:
            return module._resolve_instruct(description, use_zh=is_chinese)
        except ValueError:
            return "refused"

    answer = {
        "weights": [weigh(text) for text in texts],
        "frames": [
            [model._estimate_target_tokens(text, words, count, speed) for text in texts]
            for words, count, speed in references
        ],
        "chunks": [[chunk_text_punctuation(text, size, 3) for text in texts] for size in sizes],
        "stops": [add_punctuation(text) for text in texts],
        "joined": [module._combine_text(text, words) for text in texts for words, _, _ in references],
        "ids": [module._tokenize_with_nonverbal_tags(text, model.text_tokenizer)[0].tolist() for text in texts],
        "attributes": [[attributes(text, is_chinese) for is_chinese in (False, True)] for text in descriptions],
        "languages": LANG_NAME_TO_ID,
        "categories": sorted(module._INSTRUCT_ALL_VALID),
    }
    return {"json": torch.frombuffer(bytearray(json.dumps(answer).encode()), dtype=torch.uint8)}


WORK = {"encode": encode, "decode": decode, "loop": loop, "say": say, "rules": rules}


def main(folder):
    torch.set_num_threads(1)
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    tensors = load_file(folder / "request.safetensors")
    model = load(request["checkpoint"])
    answer = {}
    for name, (what, arguments) in request["cases"].items():
        for key in ("waveform", "codes"):
            if isinstance(arguments.get(key), str):
                arguments[key] = tensors[arguments[key]].clone()
        with torch.inference_mode():
            found = WORK[what](model, **arguments)
        answer |= {f"{name}/{key}": tensor.clone().contiguous() for key, tensor in found.items()}
    save_file(answer, folder / "answer.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
