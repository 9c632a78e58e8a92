"""What ours and the upstream are both asked, in one list, so that the upstream is started once."""

from dataclasses import dataclass, field

import torch
from mizuoto.tests.engines.omnivoice.tiny import CODEBOOK_SIZE, NUM_CODEBOOKS

SAMPLE_RATE = 24000


def noise(seconds, seed=0, level=0.1, rate=SAMPLE_RATE):
    """A recording of noise whose loudness rises and falls, [T]."""
    samples = torch.randn(int(seconds * rate), generator=torch.Generator().manual_seed(seed))
    return level * samples * (0.6 + 0.4 * torch.sin(torch.arange(len(samples)) / rate * 9))


def with_pauses(seconds, seed=0, rate=SAMPLE_RATE):
    """Noise with half a second of silence in every two, and silence at both ends."""
    time = torch.arange(int(seconds * rate)) / rate
    is_loud = (time % 2 > 0.5) & (time > 0.7) & (time < seconds - 0.6)
    return noise(seconds, seed, 0.2, rate) * is_loud


def codes(frames, seed=0):
    """Random codes, [K, frames]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, CODEBOOK_SIZE, (NUM_CODEBOOKS, frames), generator=generator)


@dataclass(frozen=True)
class Loop:
    """One text of a fixed length; options by the upstream's names."""

    text: str = "Hello there you."
    frames: int = 20
    words: str | None = None
    reference_frames: int = 0
    language: str | None = None
    attributes: str | None = None
    seed: int = 0
    options: dict = field(default_factory=dict)

    @property
    def reference(self):
        return codes(self.reference_frames, 9) if self.reference_frames else None


CLONE = {"words": "a test  of it.", "reference_frames": 30, "language": "en"}
LOOPS = {
    "auto": Loop(seed=7),
    "clone": Loop("Hello [laughter] there（你 好）\n you.", 37, seed=1, **CLONE),
    "design": Loop("今天 天气 [sigh] very good.", 25, language="zh", attributes="女，低音调", seed=2),
    "class noise": Loop(options={"class_temperature": 1.0, "denoise": False}, **CLONE),
    "no guidance": Loop(options={"guidance_scale": 0.0}, **CLONE),
    "no position noise": Loop(options={"position_temperature": 0.0, "layer_penalty_factor": 2.0}, **CLONE),
    "one frame": Loop(frames=1, options={"num_step": 16, "guidance_scale": 3.5, "t_shift": 0.5}),
    "two frames": Loop(frames=2, words="hi.", reference_frames=1),
    "long": Loop("word " * 60, 400, options={"num_step": 3}),
}


@dataclass(frozen=True)
class Say:
    """A whole request; options by our names, where the upstream has them, too."""

    text: str = "Hello there, you two."
    recording: torch.Tensor | None = None
    rate: int = SAMPLE_RATE
    words: str | None = None
    seed: int = 0
    language: str | None = None
    attributes: str = ""
    speed: float = 1.0
    seconds: float = 0.0
    cut_silence: bool = True
    chunk_seconds: float = 15.0
    chunk_from_seconds: float = 30.0
    steps: int = 4


LONG = "The first sentence is here. Mr. Smith, who waits; he waits! 'Quite so.' Now a second one follows: it ends."
SAYS = {
    "auto": Say(seed=3),
    "auto, as it is": Say(cut_silence=False, seed=4, language="German"),
    "clone": Say(recording=noise(1.5, 1), words="a test", seed=5),
    "clone of a quiet recording at 44.1 kHz": Say(
        recording=noise(1.2, 2, 0.01, 44100), rate=44100, words="你好", text="你好，世界", language="zh", seed=1
    ),
    "clone with pauses, at 16 kHz": Say(recording=with_pauses(4, 3, 16000), rate=16000, words="hm!", speed=1.5),
    "clone without words": Say(recording=with_pauses(22, 4), seconds=0.7),
    "design": Say(attributes="female, young adult, british accent", seed=2, speed=0.8),
    "long": Say(LONG, chunk_seconds=1.0, chunk_from_seconds=3.0, seed=6),
    "long clone": Say(LONG, noise(1, 7), words="one", chunk_seconds=2.0, chunk_from_seconds=3.0, seconds=6.0),
}
LENGTHS = (960, 1920, 960 * 25, 30500)  # of what is encoded, in samples
FRAMES = (1, 2, 25, 101)  # of what is decoded

TEXTS = (
    *("a", "Hi!", "Hello there.", LONG, "Dr. No. vs. Mr. X, etc. Yes.", "[laughter] well[sigh]... [laugh]"),
    *(
        "今天天气很好，我们去公园吧。",
        "안녕하세요, 반갑습니다!",
        "こんにちは、カタカナ。",
        "नमस्ते दुनिया",
        "مرحـبا بالعالم، ١٢٣",
        "สวัสดี",
    ),
    *(
        "12:30 and 5,000 €",
        "… — “quoted” (text)",
        "ab. c. d, e",
        "x" * 60,
        "Привет 🌍! Ⅷ 𠀀",
        "  two\nlines\r\n\there  ",
    ),
)
REFERENCES = ((None, None, 1.0), ("", 40, 1.0), ("Nice.", 30, 1.3), ("你好。", 12, 0.5), ("\u0301", 25, 1.0))
DESCRIPTIONS = (
    *(
        "",
        " , ",
        "Male",
        "female, low pitch",
        "女，四川话",
        "男 , low pitch，whisper",
        "indian accent, elderly",
        "耳语",
    ),
    *("male, female", "male, 男", "四川话, indian accent", "very low", "low pitch, high pitch", "儿童，british accent"),
)
SIZES = (0, 1, 5, 20, 40, 1000)


def request():
    """(tensors, cases) for the upstream."""
    tensors, cases = {}, {}
    for length in LENGTHS:
        tensors[f"wave.{length}"] = noise(length / SAMPLE_RATE, length)[:length]
        cases[f"encode.{length}"] = ["encode", {"waveform": f"wave.{length}"}]
    for frames in FRAMES:
        tensors[f"codes.{frames}"] = codes(frames)
        cases[f"decode.{frames}"] = ["decode", {"codes": f"codes.{frames}"}]
    for name, case in LOOPS.items():
        if case.reference is not None:
            tensors[f"reference.{case.reference_frames}"] = case.reference
        cases[f"loop.{name}"] = [
            "loop",
            {
                **{"seed": case.seed, "text": case.text, "frames": case.frames, "words": case.words},
                "codes": f"reference.{case.reference_frames}" if case.reference_frames else None,
                **{"language": case.language, "attributes": case.attributes},
                "options": {"num_step": 6, **case.options},
            },
        ]
    for name, case in SAYS.items():
        if case.recording is not None:
            tensors[f"recording.{name}"] = case.recording[None].contiguous()
        cases[f"say.{name}"] = ["say", _say(name, case)]
    arguments = {"texts": TEXTS, "references": REFERENCES, "descriptions": DESCRIPTIONS, "sizes": SIZES}
    cases["rules"] = ["rules", arguments]
    return tensors, cases


def _say(name, case):
    return {
        **{"seed": case.seed, "text": case.text, "rate": case.rate, "words": case.words},
        "waveform": None if case.recording is None else f"recording.{name}",
        **{"language": case.language, "instruct": case.attributes or None, "num_step": case.steps},
        **{"speed": case.speed, "duration": case.seconds or None, "postprocess_output": case.cut_silence},
        **{"audio_chunk_duration": case.chunk_seconds, "audio_chunk_threshold": case.chunk_from_seconds},
    }
