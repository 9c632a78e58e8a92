"""What a checkpoint's config.json says; what it leaves out is as the publisher's own code has it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...mizuoto_runtime.errors import ModelFileError
from ...mizuoto_runtime.lm.minicpm import LongRope, MiniCpmConfig
from ...mizuoto_runtime.loading.fields import mapping, positive, read_json, text
from ...mizuoto_runtime.nn.audio_vae import AudioVaeConfig
from .manifest import FIRST, SECOND

_LOCAL = {"hidden_dim": 1024, "ffn_dim": 4096, "num_heads": 16, "num_layers": 4}
_DEFAULTS: dict[str, dict[str, Any]] = {
    FIRST: {
        **{"patch_size": 2, "residual_lm_num_layers": 6, "scalar_quantization_latent_dim": 256, "max_length": 4096},
        **{"feat_dim": 64, "scalar_quantization_scale": 9},
    },
    SECOND: {
        **{"patch_size": 4, "residual_lm_num_layers": 8, "scalar_quantization_latent_dim": 512, "max_length": 8192},
        **{"feat_dim": 64, "scalar_quantization_scale": 9},
    },
}


@dataclass(frozen=True, slots=True)
class CheckpointConfig:
    """One checkpoint.

    Attributes:
        is_second: VoxCPM 2: references of their own, descriptions, another way from text to sound.
        base: The language model that reads text and patches.
        residual: The one that adds what the quantizer rounds away.
        encoder: Reads a patch.
        dit: Makes one.
        vocab_size: Text tokens.
        patch_size: Latent frames of a patch.
        feat_dim: Channels of a frame.
        quantizer_size, quantizer_scale: Shape of the rounding between the language models.
        text_scale: Factor on text embeddings.
        mean_mode: Whether the length of a diffusion step is told to the model.
        max_positions: Text, patches read and patches said together.
        vae: Shape of the codec.
    """

    is_second: bool
    base: MiniCpmConfig
    residual: MiniCpmConfig
    encoder: MiniCpmConfig
    dit: MiniCpmConfig
    vocab_size: int
    patch_size: int
    feat_dim: int
    quantizer_size: int
    quantizer_scale: int
    text_scale: float
    mean_mode: bool
    max_positions: int
    vae: AudioVaeConfig

    @classmethod
    def read(cls, folder: Path) -> CheckpointConfig:
        """The configuration in `folder`.

        Raises:
            ModelFileError: The file is missing or damaged, or it is of another model.

        Source: VoxCPMConfig and MiniCPM4Config, voxcpm 2.0.3.
        """
        raw = read_json(folder / "config.json")
        kind = text({"architecture": str(raw.get("architecture", FIRST)).lower()}, "architecture", (FIRST, SECOND))
        is_second = kind == SECOND
        raw = {**_DEFAULTS[kind], **raw}
        lm = {"use_mup": True, **mapping(raw, "lm_config")}
        local_encoder, local_dit = mapping(raw, "encoder_config"), mapping(raw, "dit_config")
        # A key that the publisher's code does not know, as the second version's own "mean_mode", changes nothing.
        mean_mode = (local_dit if is_second else raw).get("dit_mean_mode", False)
        found = cls(
            is_second=is_second,
            base=_language_model(lm, "base_lm", positive(lm, "num_hidden_layers", int), _has_rope(lm)),
            residual=_language_model(
                lm,
                "residual_lm",
                positive(raw, "residual_lm_num_layers", int),
                not raw.get("residual_lm_no_rope", False) if is_second else _has_rope(lm),
            ),
            encoder=_local(lm, local_encoder, "encoder"),
            dit=_local(lm, local_dit, "dit"),
            vocab_size=positive(lm, "vocab_size", int),
            patch_size=positive(raw, "patch_size", int),
            feat_dim=positive(raw, "feat_dim", int),
            quantizer_size=positive(raw, "scalar_quantization_latent_dim", int),
            quantizer_scale=positive(raw, "scalar_quantization_scale", int),
            text_scale=positive(lm, "scale_emb", float) if lm["use_mup"] else 1.0,
            mean_mode=bool(mean_mode),
            max_positions=positive(raw, "max_length", int),
            vae=AudioVaeConfig.from_json(raw.get("audio_vae_config") or {}, is_second),
        )
        if found.feat_dim != found.vae.latent_dim or found.dit.hidden_size % 2:
            raise ModelFileError(
                f'"{folder.name}" says one thing of its patches and another of its codec ({found.feat_dim} and '
                f"{found.vae.latent_dim} channels); download its config.json again."
            )
        return found

    @property
    def patches_per_second(self) -> float:
        """Patches in a second of speech."""
        return self.vae.sample_rate / (self.vae.encode_hop * self.patch_size)

    @property
    def patch_samples(self) -> int:
        """Samples out of a patch."""
        return self.vae.decode_hop * self.patch_size

    @property
    def codec_id(self) -> str:
        """Names the latent space that patches are of: those of one version mean nothing to another."""
        return f"{SECOND if self.is_second else FIRST}-{self.vae.sample_rate}-{self.patch_size}x{self.feat_dim}"


def _has_rope(lm: Mapping[str, Any]) -> bool:
    return not lm.get("no_rope", False)


def _language_model(lm: Mapping[str, Any], part: str, num_layers: int, has_rope: bool) -> MiniCpmConfig:
    sizes = positive(lm, "hidden_size", int), positive(lm, "intermediate_size", int)
    heads = positive(lm, "num_attention_heads", int)
    return _stack(lm, part, sizes, num_layers, heads, lm.get("kv_channels"), has_rope)


def _local(lm: Mapping[str, Any], section: Mapping[str, Any], part: str) -> MiniCpmConfig:
    """The local transformers take key heads, rotary table, epsilon and muP from the language model's section."""
    full = {**_LOCAL, **section}
    sizes = positive(full, "hidden_dim", int), positive(full, "ffn_dim", int)
    layers, heads = positive(full, "num_layers", int), positive(full, "num_heads", int)
    return _stack(lm, part, sizes, layers, heads, full.get("kv_channels"), _has_rope(lm))


def _stack(
    lm: Mapping[str, Any],
    part: str,
    sizes: tuple[int, int],
    num_layers: int,
    num_heads: int,
    kv_channels: int | None,
    has_rope: bool,
) -> MiniCpmConfig:
    hidden_size, intermediate_size = sizes
    head_dim = positive({"head_dim": kv_channels or hidden_size // num_heads}, "head_dim", int)
    return MiniCpmConfig(
        site=f"voxcpm:{part}",
        hidden_size=hidden_size,
        intermediate_size=intermediate_size,
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=positive(lm, "num_key_value_heads", int),
        head_dim=head_dim,
        norm_eps=positive(lm, "rms_norm_eps", float),
        rope=LongRope.from_json(lm, head_dim) if has_rope else None,
        branch_scale=positive(lm, "scale_depth", float) / math.sqrt(num_layers) if lm["use_mup"] else None,
    )
