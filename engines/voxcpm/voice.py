"""Voices: what of a recording is kept, and how it is used with a text."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ...mizuoto_runtime.errors import InvalidRequest, Unsupported
from ...mizuoto_runtime.nn.audio_vae import AudioVaeEncoder
from ..artifacts import VoicePrompt
from .config import CheckpointConfig
from .manifest import AUTO, BOTH, CONTINUATION, REFERENCE
from .prompt import Voice

CODEC, TRANSCRIPT, DESCRIPTION = "codec", "transcript", "description"
INVENTED = "invented"  # there if the model made it up for the beginning of a text


def encode_voice(
    encoder: AudioVaeEncoder, waveform: torch.Tensor, has_words: bool, config: CheckpointConfig
) -> dict[str, torch.Tensor]:
    """Patches of a recording, [T, patch_size, feat_dim] float32 on the CPU, by how they are used.

    What the speech goes on from ends with the recording, so it is filled up to whole patches in front; a reference is
    filled up behind. Only the second version knows references; with words, both are made.

    Args:
        encoder: Ready on the device of `waveform`.
        waveform: [1, T] at the codec's input rate.
        has_words: Whether it is known what is said in it.
        config: Of the checkpoint.

    Source: VoxCPM2Model._encode_wav, voxcpm 2.0.3.
    """
    missing = -waveform.shape[-1] % (config.vae.encode_hop * config.patch_size)
    pads = {CONTINUATION: (missing, 0)} if has_words else {}
    if config.is_second:
        pads[REFERENCE] = (0, missing)
    found: dict[str, torch.Tensor] = {}
    for use, pad in pads.items():
        latent = encoder(F.pad(waveform, pad)[None])[0]
        found[use] = latent.view(config.feat_dim, -1, config.patch_size).permute(1, 2, 0).contiguous().cpu()
    return found


def voice_of(prompt: VoicePrompt | None, mode: str, has_style: bool, config: CheckpointConfig) -> Voice:
    """What a voice means to this checkpoint.

    Args:
        prompt: The voice; None or a description has no recording.
        mode: The option `voice_mode`.
        has_style: Whether the text begins with a style, which a continuation would read aloud.
        config: Of the checkpoint.

    Raises:
        InvalidRequest: It was made by another checkpoint, is damaged, or does not have what the mode needs.
    """
    if prompt is None or not prompt.tensors:
        if prompt is not None and DESCRIPTION in prompt.facts and not config.is_second:
            raise InvalidRequest(
                f'The voice "{prompt.name}" is a description, which only VoxCPM 2 follows; load that model, or '
                "connect a Voice Prompt node."
            )
        return Voice()
    _refuse_foreign(prompt, config)
    reference, continued = prompt.tensors.get(REFERENCE), prompt.tensors.get(CONTINUATION)
    transcript = prompt.facts.get(TRANSCRIPT, "")
    if mode == AUTO:
        mode = _usual_mode(reference, continued, has_style)
    if mode in (REFERENCE, BOTH) and reference is None:
        raise InvalidRequest(
            f'voice_mode is "{mode}" and this model knows no references of their own; set it to continuation, '
            "or load VoxCPM 2."
        )
    if mode in (CONTINUATION, BOTH) and (continued is None or not transcript):
        raise InvalidRequest(
            f'voice_mode is "{mode}" and the words of the recording of "{prompt.name}" are unknown; make the voice '
            "again with a transcript, or set voice_mode to reference."
        )
    if mode != REFERENCE and has_style:
        raise InvalidRequest(
            f'voice_mode is "{mode}" and a style would be read aloud there; empty the style, or set voice_mode to '
            "reference."
        )
    return Voice(
        reference if mode in (REFERENCE, BOTH) else None,
        continued if mode in (CONTINUATION, BOTH) else None,
        transcript if mode in (CONTINUATION, BOTH) else "",
    )


def spoken_text(text: str, description: str, style: str, config: CheckpointConfig) -> str:
    """`text` behind what is said about the way to say it, in brackets.

    Raises:
        Unsupported: There is something, and the checkpoint was not trained to follow it.
    """
    wishes = ", ".join(part.strip(" ()\uff08\uff09") for part in (description, style) if part.strip(" ()\uff08\uff09"))
    if not wishes:
        return text
    if not config.is_second:
        raise Unsupported("This VoxCPM model follows no style; empty that option, or load VoxCPM 2.")
    return f"({wishes}){text}"


def _usual_mode(reference: torch.Tensor | None, continued: torch.Tensor | None, has_style: bool) -> str:
    if reference is None:
        return CONTINUATION
    return REFERENCE if continued is None or has_style else BOTH


def _refuse_foreign(prompt: VoicePrompt, config: CheckpointConfig) -> None:
    """Tensors of a voice may come from anywhere: a card would not forgive a wrong shape."""
    if prompt.facts.get(CODEC) != config.codec_id:
        raise InvalidRequest(
            f'The voice "{prompt.name}" was made by another version of VoxCPM; make it again with this model.'
        )
    for name in (REFERENCE, CONTINUATION):
        patches = prompt.tensors.get(name)
        if patches is not None and not is_sound(patches, config):
            raise InvalidRequest(f'The voice "{prompt.name}" is damaged; make it again with a Voice Prompt node.')


def is_sound(patches: torch.Tensor, config: CheckpointConfig, fewest: int = 1) -> bool:
    """Whether tensors of a file are patches of this model, at least `fewest`, and safe to compute with."""
    shape = (config.patch_size, config.feat_dim)
    is_shaped = patches.dim() == 3 and tuple(patches.shape[1:]) == shape and len(patches) >= fewest
    return is_shaped and patches.dtype == torch.float32 and bool(patches.isfinite().all())
