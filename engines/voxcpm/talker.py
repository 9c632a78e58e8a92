"""The talker: a language model over text and patches, one that refines it, and a diffusion that makes each patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn

from ...mizuoto_runtime import ops
from ...mizuoto_runtime.lm.cache import GrowingCache, KvCache, PaddedCache, WholeSequence
from ...mizuoto_runtime.lm.minicpm import MiniCpm, MiniCpmConfig
from ...mizuoto_runtime.nn.fsq import ScalarQuantizer
from ...mizuoto_runtime.nn.lora import AdaptableLinear
from .config import CheckpointConfig
from .diffusion import PatchDecoder, Step
from .prompt import Prompt

_EXACT_ROWS = 4  # so many patches are encoded alone with the bits that they have among the text's empty ones


class PatchEncoder(nn.Module):
    """A patch as one vector: what a transformer makes of a learnt token in front of its frames.

    Source: VoxCPMLocEnc, voxcpm 2.0.3.
    """

    def __init__(self, config: MiniCpmConfig, feat_dim: int) -> None:
        super().__init__()
        self.special_token = nn.Parameter(torch.empty(1, 1, 1, config.hidden_size))
        self.in_proj = ops.Linear(feat_dim, config.hidden_size)
        self.encoder = MiniCpm(config)

    def forward(self, patches: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """[N, patch_size, feat_dim] -> [1, N, hidden_size]; `cache` is a `WholeSequence`."""
        token = self.special_token[0].expand(len(patches), 1, -1)
        hidden = self.encoder(torch.cat((token, self.in_proj(patches)), dim=1), cache)
        return hidden[:, 0][None]


@dataclass(slots=True)
class State:
    """One take between two patches.

    Attributes:
        base, residual: What the language models have seen.
        semantic: [1, hidden_size], rounded output of the first.
        acoustic: [1, hidden_size], output of the second.
        last_patch: [1, patch_size, feat_dim].
    """

    base: GrowingCache
    residual: GrowingCache
    encoder: WholeSequence = field(default_factory=WholeSequence)
    dit: WholeSequence = field(default_factory=WholeSequence)
    semantic: torch.Tensor = field(init=False)
    acoustic: torch.Tensor = field(init=False)
    last_patch: torch.Tensor = field(init=False)

    @classmethod
    def on(cls, device: torch.device, positions: int) -> State:
        """An empty one with room for so many positions.

        On the CPU steps have the bits of the publisher's cache of fixed length; elsewhere kernels without a mask are
        faster.
        """
        kind = PaddedCache if device.type == "cpu" else GrowingCache
        return cls(kind(reserve=positions), kind(reserve=positions))


class Talker(nn.Module):
    """Prompt to state, state to patch and next state. Parts are named as in the official checkpoints.

    Args:
        config: Its shape.
        text_embedding: Text ids on the CPU to their embeddings there, in whatever dtype.

    Source: VoxCPMModel._inference and VoxCPM2Model._inference, voxcpm 2.0.3.
    """

    def __init__(self, config: CheckpointConfig, text_embedding: nn.Module) -> None:
        super().__init__()
        self.config = config
        hidden, local, made = config.base.hidden_size, config.encoder.hidden_size, config.dit.hidden_size
        self.feat_encoder = PatchEncoder(config.encoder, config.feat_dim)
        self.text_embedding = text_embedding
        self.base_lm = MiniCpm(config.base)
        self.residual_lm = MiniCpm(config.residual)
        self.feat_decoder = PatchDecoder(config)
        self.fsq_layer = ScalarQuantizer(hidden, config.quantizer_size, config.quantizer_scale)
        self.enc_to_lm_proj = AdaptableLinear(local, hidden)
        self.lm_to_dit_proj = AdaptableLinear(hidden, made)
        self.res_to_dit_proj = AdaptableLinear(hidden, made)
        self.fusion_concat_proj = AdaptableLinear(2 * hidden, hidden) if config.is_second else None
        self.stop_proj = ops.Linear(hidden, hidden)
        self.stop_head = ops.Linear(hidden, 2, bias=False)

    def memory_units(self) -> list[str]:
        """Names of the submodules whose weights may move one by one."""
        stacks = {
            "base_lm": self.base_lm,
            "residual_lm": self.residual_lm,
            "feat_encoder.encoder": self.feat_encoder.encoder,
            "feat_decoder.estimator.decoder": self.feat_decoder.estimator.decoder,
        }
        return [f"{name}.layers.{index}" for name, stack in stacks.items() for index in range(len(stack.layers))]

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in."""
        return self.stop_head.weight.dtype

    def read(self, prompt: Prompt, room: int, device: torch.device) -> State:
        """The state after everything that comes before the first patch.

        Args:
            prompt: On the CPU.
            room: How many patches may follow.
            device: Where the work happens.
        """
        state = State.on(device, prompt.num_positions + room)
        features = prompt.features.to(device, self.dtype)
        is_audio = prompt.is_audio.to(device)
        text = self.text_embedding(prompt.text_ids[None]).to(device, self.dtype) * self.config.text_scale
        if not prompt.has_audio:
            hidden = self.base_lm(text, state.base)
            refined = self._refined(hidden, torch.zeros_like(hidden))
        else:
            embedded = self._embedded(features, is_audio, state.encoder)
            hidden = self.base_lm(torch.where(is_audio[:, None], embedded, text), state.base)
            hidden = torch.where(is_audio[:, None], self.fsq_layer(hidden), hidden)
            refined = self._refined(hidden, embedded)
        acoustic = self.residual_lm(refined, state.residual)
        state.semantic, state.acoustic, state.last_patch = hidden[:, -1], acoustic[:, -1], features[None, -1]
        return state

    def next_patch(self, state: State, noise: torch.Tensor, steps: Sequence[Step], cfg: float) -> torch.Tensor:
        """The patch that follows `state`, [1, patch_size, feat_dim]; the rest as for `PatchDecoder`."""
        semantic, acoustic = self.lm_to_dit_proj(state.semantic), self.res_to_dit_proj(state.acoustic)
        mu = torch.cat((semantic, acoustic), dim=-1) if self.config.is_second else semantic + acoustic
        return self.feat_decoder(mu, state.last_patch, noise, steps, cfg, state.dit)

    def wants_to_stop(self, state: State) -> bool:
        """Whether the patch that follows `state` is the last; waits for the device."""
        scores = self.stop_head(F.silu(self.stop_proj(state.semantic)))
        return bool(scores.argmax(dim=-1)[0] == 1)

    def hear(self, state: State, patch: torch.Tensor) -> None:
        """Let `state` go on with a patch that was said, [1, patch_size, feat_dim]."""
        embedded = self.enc_to_lm_proj(self.feat_encoder(patch, state.encoder))
        state.semantic = self.fsq_layer(self.base_lm(embedded, state.base)[:, 0])
        refined = self._refined(state.semantic, embedded[:, 0])
        state.acoustic = self.residual_lm(refined[:, None], state.residual)[:, 0]
        state.last_patch = patch

    def _embedded(self, features: torch.Tensor, is_audio: torch.Tensor, cache: KvCache) -> torch.Tensor:
        """Patches as the language model sees them, zeros in the places of text; [1, L, hidden_size]."""
        if int(is_audio.sum()) < _EXACT_ROWS:
            every = self.enc_to_lm_proj(self.feat_encoder(features, cache))
            return torch.where(is_audio[:, None], every, torch.zeros_like(every))
        found = self.enc_to_lm_proj(self.feat_encoder(features[is_audio], cache))
        embedded = found.new_zeros(1, len(features), found.shape[-1])
        embedded[:, is_audio] = found
        return embedded

    def _refined(self, semantic: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """What the second language model reads."""
        if self.fusion_concat_proj is None:
            return semantic + embedded
        return self.fusion_concat_proj(torch.cat((semantic, embedded), dim=-1))
