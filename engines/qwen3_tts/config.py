"""What a checkpoint's JSON files say: its kind, its shape, the ids of its special tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import InvalidRequest, ModelFileError, did_you_mean
from ...mizuoto_runtime.lm.qwen import QwenConfig
from ...mizuoto_runtime.loading.fields import mapping, number, read_json, text
from .ending import MAX_FRAMES

MODEL_TYPE = "qwen3_tts"
TOKENIZER_TYPE = "qwen3_tts_tokenizer_12hz"
BASE, CUSTOM_VOICE, VOICE_DESIGN = KINDS = ("base", "custom_voice", "voice_design")
AUTO = "auto"

_DIALECT = "dialect"  # in the names of languages that only presets choose


@dataclass(frozen=True, slots=True)
class TextTokens:
    """Ids of the special tokens in the text vocabulary."""

    bos: int
    eos: int
    pad: int


@dataclass(frozen=True, slots=True)
class CodecTokens:
    """Ids of the special tokens in the talker's own vocabulary."""

    pad: int
    bos: int
    eos: int
    think: int
    nothink: int
    think_bos: int
    think_eos: int


@dataclass(frozen=True, slots=True)
class TalkerConfig:
    """Shape of the talker and of the code predictor inside it."""

    decoder: QwenConfig
    predictor: QwenConfig
    vocab_size: int
    text_vocab_size: int
    text_hidden_size: int
    num_codebooks: int
    codebook_size: int
    max_positions: int
    tokens: CodecTokens

    @property
    def has_predictor_projection(self) -> bool:
        """Whether the predictor is narrower or wider than the talker and has a layer between them."""
        return self.decoder.hidden_size != self.predictor.hidden_size


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """One checkpoint.

    Attributes:
        kind: Of `KINDS`.
        follows_instructions: Whether it was trained with style instructions.
        languages: Name -> id, dialects included.
        speakers: Preset voice -> id.
        dialects: Preset voice -> language that it speaks instead of Chinese.
        generation: The publisher's `generation_config.json`.
        max_frames: Its limit of a take, for users who set none.
    """

    kind: str
    follows_instructions: bool
    talker: TalkerConfig
    text_tokens: TextTokens
    languages: Mapping[str, int]
    speakers: Mapping[str, int]
    dialects: Mapping[str, str]
    speaker_encoder: Mapping[str, Any]
    generation: Mapping[str, Any]
    max_frames: int

    @classmethod
    def read(cls, folder: Path) -> CheckpointConfig:
        """The configuration in `folder`.

        Raises:
            ModelFileError: A file is missing or damaged, or it is of another model.
        """
        config = read_json(folder / "config.json")
        if config.get("model_type") != MODEL_TYPE:
            raise ModelFileError(
                f'"{folder.name}" is no Qwen3-TTS model: its config.json says "{config.get("model_type")}". '
                "Use the folder as its publisher offers it."
            )
        if config.get("tokenizer_type") != TOKENIZER_TYPE:
            raise ModelFileError(
                f'"{folder.name}" speaks through "{config.get("tokenizer_type")}", and only the 12 Hz tokenizer '
                f'("{TOKENIZER_TYPE}") can be decoded; use a 12Hz checkpoint.'
            )
        kind = text(config, "tts_model_type", KINDS)
        talker = mapping(config, "talker_config")
        languages = _ids(talker, "codec_language_id")
        generation = read_json(folder / "generation_config.json")
        return cls(
            kind=kind,
            follows_instructions=kind == VOICE_DESIGN or (kind == CUSTOM_VOICE and _is_large(config)),
            talker=_talker(talker),
            text_tokens=TextTokens(*(number(config, f"tts_{name}_token_id", int) for name in ("bos", "eos", "pad"))),
            languages=languages,
            speakers=_ids(talker, "spk_id") if kind == CUSTOM_VOICE else {},
            dialects=_dialects(talker, languages) if kind == CUSTOM_VOICE else {},
            speaker_encoder=mapping(config, "speaker_encoder_config") if kind == BASE else {},
            generation=generation,
            max_frames=max(1, number({"max_new_tokens": MAX_FRAMES + 1, **generation}, "max_new_tokens", int) - 1),
        )

    def language_id(self, language: str, speaker: str) -> int | None:
        """The id of a language, or of the dialect that a preset speaks in its place; None leaves it to the model.

        Raises:
            InvalidRequest: The checkpoint does not know the language.
        """
        name = language.casefold()
        if name in (AUTO, "chinese") and speaker in self.dialects:
            return self.languages[self.dialects[speaker]]
        if name == AUTO:
            return None
        known = [known for known in self.languages if _DIALECT not in known]
        if name not in known:
            raise InvalidRequest(
                f'This checkpoint does not speak "{language}"; it speaks {", ".join(sorted(known))}.'
                + did_you_mean(language, known)
            )
        return self.languages[name]


def _is_large(config: Mapping[str, Any]) -> bool:
    # Every part of "0b6" counts as the small model upstream.
    return str(config.get("tts_model_size", "")) not in "0b6"


def _talker(config: Mapping[str, Any]) -> TalkerConfig:
    predictor = mapping(config, "code_predictor_config")
    tokens = CodecTokens(
        eos=number(config, "codec_eos_token_id", int),
        **{
            name: number(config, f"codec_{name}_id", int)
            for name in ("pad", "bos", "think", "nothink", "think_bos", "think_eos")
        },
    )
    return TalkerConfig(
        decoder=QwenConfig.from_json(config, f"{MODEL_TYPE}:talker"),
        predictor=QwenConfig.from_json(predictor, f"{MODEL_TYPE}:predictor"),
        vocab_size=number(config, "vocab_size", int),
        text_vocab_size=number(config, "text_vocab_size", int),
        text_hidden_size=number(config, "text_hidden_size", int),
        num_codebooks=number(config, "num_code_groups", int),
        codebook_size=number(predictor, "vocab_size", int),
        max_positions=number(config, "max_position_embeddings", int),
        tokens=tokens,
    )


def _ids(config: Mapping[str, Any], key: str) -> dict[str, int]:
    """Name in lower case -> id."""
    table = mapping(config, key)
    return {name.casefold(): number(table, name, int) for name in table}


def _dialects(config: Mapping[str, Any], languages: Collection[str]) -> dict[str, str]:
    table = mapping(config, "spk_is_dialect")
    return {name.casefold(): text(table, name, languages) for name, language in table.items() if language}
