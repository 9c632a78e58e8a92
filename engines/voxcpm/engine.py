"""VoxCPM behind the engine contract: loading, and the three phases on the memory runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from ...mizuoto_runtime.audio import Audio
from ...mizuoto_runtime.context import MAX_SEED, RequestContext
from ...mizuoto_runtime.errors import EngineError, InvalidRequest, ModelFileError
from ...mizuoto_runtime.nn.audio_vae import AudioVaeDecoder, AudioVaeEncoder, Tails
from ...mizuoto_runtime.nn.lora import Adapter, adapted, check_adapters
from ...mizuoto_runtime.nn.resample import has_soxr, resample
from ...mizuoto_runtime.nn.sinc import sinc_resample
from ...mizuoto_runtime.runtime import Runtime
from ..artifacts import AudioChunk, Codes, Segment, VoicePrompt
from ..base import LoadSpec
from .checkpoint import Components, read_components
from .config import CheckpointConfig
from .generation import BUDGET, Choices, Take, generate, usual_patches
from .keys import CODEC, TALKER, VOICE
from .lora import find_lora, read_lora
from .manifest import CONTINUATION, FAIL, MANIFEST
from .options import choices_for, manifest_of
from .prompt import Prompt, build_prompt
from .talker import Talker
from .tokens import TextTokens, one_line
from .voice import CODEC as CODEC_FACT
from .voice import DESCRIPTION, INVENTED, TRANSCRIPT, encode_voice, is_sound, spoken_text, voice_of
from .workload import codec_bytes, talker_bytes, voice_bytes

PATCHES, CONTEXT, CHUNK = "patches", "context", "stream_patches"
SHORT_PATCHES = 16  # of a chunk where memory ran out and the user allows other bits


class VoxCpmEngine:
    """Loads VoxCPM 0.5B, 1.5 and 2, and fine-tunes of them."""

    manifest = MANIFEST

    def load(self, spec: LoadSpec, runtime: Runtime) -> LoadedVoxCpm:
        """Read the checkpoint in `spec.folder`; see `Engine.load`."""
        config = CheckpointConfig.read(spec.folder)
        tokens = TextTokens.from_folder(spec.folder)
        if tokens.size > config.vocab_size:
            raise ModelFileError(
                f'The tokenizer of "{spec.folder.name}" has {tokens.size} tokens and the model {config.vocab_size}; '
                "they belong to different downloads: copy the whole folder again."
            )
        return LoadedVoxCpm(config, tokens, read_components(spec.folder, config, spec.dtype), spec, runtime)


class LoadedVoxCpm:
    """One checkpoint in memory; implements `CanTalk`, `CanCloneVoice` and, the second version, `CanDesignVoice`."""

    def __init__(
        self, config: CheckpointConfig, tokens: TextTokens, components: Components, spec: LoadSpec, runtime: Runtime
    ) -> None:
        self.manifest = manifest_of(config)
        self._config = config
        self._tokens = tokens
        self._folder = spec.folder
        self._element_bytes = spec.dtype.itemsize
        talker = components.talker
        # The diffusion runs nine times as often as the rest.
        marks: dict[nn.Module, str] = {talker.feat_decoder: "hot"}
        self._talker = runtime.handle(f"{MANIFEST.id}:{TALKER}", talker, spec.device, kind="sequence", marks=marks)
        self._codec = runtime.handle(f"{MANIFEST.id}:{CODEC}", components.codec, spec.device)
        self._voice = runtime.handle(f"{MANIFEST.id}:{VOICE}", components.voice, spec.device)
        self.handles = (self._voice, self._talker, self._codec)
        self._lora: tuple[tuple[Path, int], dict[str, Adapter]] | None = None  # the one that was used last

    def voice_prompt(self, reference: Audio, transcript: str | None, ctx: RequestContext) -> VoicePrompt:
        """Patches of the recording; see `CanCloneVoice`.

        Raises:
            InvalidRequest: The first version needs to know what is said in it.
        """
        words = (transcript or "").strip()
        if not words and not self._config.is_second:
            raise InvalidRequest(
                "This VoxCPM model clones a voice by going on from its recording, so it needs the words in it: "
                'write them into "transcript", or load VoxCPM 2.'
            )
        waveform = self._at_input_rate(reference, ctx)
        handle, config = self._voice, self._config
        encoder = cast(AudioVaeEncoder, handle.module)

        def encoded() -> dict[str, torch.Tensor]:
            return encode_voice(encoder, waveform.to(handle.compute_device), bool(words), config)

        frames = waveform.shape[-1] // config.vae.encode_hop + config.patch_size
        tensors = ctx.run("voice prompt", [handle], encoded, voice_bytes(config.vae, frames))
        facts = {CODEC_FACT: config.codec_id} | ({TRANSCRIPT: words} if words else {})
        return VoicePrompt(MANIFEST.id, "clone", tensors, facts)

    def design_voice(self, description: str, ctx: RequestContext) -> VoicePrompt:
        """The description itself: the model reads it with every text; see `CanDesignVoice`."""
        return VoicePrompt(MANIFEST.id, description[:40], facts={DESCRIPTION: description})

    def voice_from(self, codes: Codes, voice: VoicePrompt | None, options: Mapping[str, Any]) -> VoicePrompt:
        """The patches of a segment and its words, to go on from; see `CanKeepVoice`.

        Source: VoxCPM2Model.merge_prompt_cache without a cache, voxcpm 2.0.3.
        """
        segment = codes.segments[0]
        words = self._target(self._tokens.without_controls(segment.text), voice, options)
        facts = {CODEC_FACT: self._config.codec_id, TRANSCRIPT: words, INVENTED: "yes"}
        return VoicePrompt(MANIFEST.id, "invented", {CONTINUATION: segment.tensors[PATCHES]}, facts)

    def talk(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Codes:
        """Patches of one segment; see `CanTalk.talk`.

        Raises:
            InvalidRequest: The voice is not for this checkpoint, or there is no such adapter.
            Unsupported: It follows no style.
            EngineError: The take did not end, and `at_limit` is "fail".
        """
        with ctx.report.timed("text"):
            prompt = self._prompt(text, voice, options, ctx)
            adapters = self._adapters(options["lora"])
        choices = choices_for(options, prompt, self._config)
        take, seed = self._best_take(text, prompt, choices, options["attempts"], adapters, ctx)
        if take.ending == BUDGET:
            self._tell_of_cut(text, take, options, ctx)
        tensors = {
            PATCHES: take.patches,
            CONTEXT: prompt.context.to(cast(Talker, self._talker.module).dtype).float(),  # as the talker read it
            CHUNK: torch.tensor(options["stream_patches"]),
        }
        return Codes(MANIFEST.id, self.manifest.sample_rate, (Segment(text, seed, tensors),))

    def decode(self, codes: Codes, ctx: RequestContext) -> Iterator[AudioChunk]:
        """One chunk a segment, or as many patches at a time as its talker was told; see `CanTalk.decode`.

        Raises:
            InvalidRequest: The codes are of another checkpoint, or damaged.
        """
        for segment in codes.segments:
            patches, context, size = self._checked(segment)
            yield from self._streamed(patches, context, size, ctx) if size else self._whole(patches, context, ctx)

    def _at_input_rate(self, reference: Audio, ctx: RequestContext) -> torch.Tensor:
        source, target = reference.sample_rate, self._config.vae.sample_rate
        if not self._config.is_second:
            return sinc_resample(reference.waveform, source, target)
        if source != target and not has_soxr():
            ctx.report.warn("resampled", "The reference was resampled without soxr: as good, but not the same bits.")
        return resample(reference.waveform, source, target)

    def _prompt(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any], ctx: RequestContext) -> Prompt:
        is_invented = voice is not None and INVENTED in voice.facts
        mode = CONTINUATION if is_invented else options["voice_mode"]
        speaker = voice_of(voice, mode, bool(options["style"].strip()) and not is_invented, self._config)
        bare = self._tokens.without_controls(text)
        if bare != text:
            ctx.report.warn_of("control_tokens", "Left out, as they would steer the model:", [text[:40]])
        # Style and description stand at the beginning of all that is said in an invented voice.
        target = one_line(bare) if is_invented else self._target(bare, voice, options)
        words = self._tokens.without_controls(speaker.transcript)
        spoken = self._tokens(words + target)
        if words and words.strip() == bare.strip() and not is_invented:
            ctx.report.warn("same_text", "The text is the transcript of the reference; is it in the right place?")
        return build_prompt(spoken, len(self._tokens(target)), speaker, self._config)

    def _target(self, text: str, voice: VoicePrompt | None, options: Mapping[str, Any]) -> str:
        """The text behind the description of the voice and the style."""
        description = voice.facts.get(DESCRIPTION, "") if voice else ""
        return one_line(spoken_text(text, description, options["style"], self._config))

    def _adapters(self, choice: str) -> dict[str, Adapter]:
        """The adapters that a request asks for, on the CPU; read again only when the file has changed."""
        path = find_lora(self._folder, choice)
        if path is None:
            return {}
        key = (path, path.stat().st_mtime_ns)
        if self._lora is None or self._lora[0] != key:
            found = read_lora(path)
            check_adapters(self._talker.module, found, path.name)
            self._lora = (key, found)
        return self._lora[1]

    def _best_take(
        self,
        text: str,
        prompt: Prompt,
        choices: Choices,
        attempts: int,
        adapters: Mapping[str, Adapter],
        ctx: RequestContext,
    ) -> tuple[Take, int]:
        """The first take that is not too long for its text, or the last one; and the seed that it is from."""
        # The first version counts what the decoder hears before the take, too.
        heard = 0 if self._config.is_second else len(prompt.context)
        for attempt in range(attempts):
            seed = (ctx.seed + attempt) % (MAX_SEED + 1)
            take = self._take(prompt, choices, adapters, ctx.seeded(seed) if attempt else ctx)
            if len(take.patches) + heard < choices.too_long or attempt + 1 == attempts:
                break
            told = f'"{text[:40]}" ({self._seconds(take):.1f} s from seed {seed})'
            ctx.report.warn_of("retried", "Too long for its text, so it was said again from the next seed:", [told])
        return take, seed

    def _take(self, prompt: Prompt, choices: Choices, adapters: Mapping[str, Adapter], ctx: RequestContext) -> Take:
        handle, config = self._talker, self._config
        generator = ctx.generator_for(handle.load_device)
        talker, device = cast(Talker, handle.module), handle.compute_device
        usual = usual_patches(prompt.num_tokens, choices.budget)

        def check(made: int) -> None:
            ctx.check_cancel()
            ctx.progress(min(1.0, made / usual), "talker")

        def take() -> Take:
            with adapted(talker, adapters, device, talker.dtype):
                return generate(talker, prompt, choices, generator, device, check)

        adapter_bytes = sum(each.down.numel() + each.up.numel() for each in adapters.values()) * self._element_bytes
        working_bytes = talker_bytes(config, prompt.num_positions, usual, self._element_bytes) + adapter_bytes
        return ctx.run("talker", [handle], take, working_bytes)

    def _tell_of_cut(self, text: str, take: Take, options: Mapping[str, Any], ctx: RequestContext) -> None:
        where = f'"{text[:40]}" ({self._seconds(take):.1f} s)'
        told = "Speech was cut because it did not come to an end"
        if options["at_limit"] == FAIL:
            raise EngineError(f"{told}: {where}. Try another seed, or set max_seconds.")
        ctx.report.warn_of("cut_off", f"{told}; try another seed, or set max_seconds:", [where])

    def _seconds(self, take: Take) -> float:
        return len(take.patches) / self._config.patches_per_second

    def _checked(self, segment: Segment) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Patches, context and how many patches to decode at a time."""
        patches, context, size = (segment.tensors.get(name) for name in (PATCHES, CONTEXT, CHUNK))
        if patches is not None and context is not None and size is not None and size.numel() == 1:
            is_count = not size.is_floating_point() and int(size) >= 0
            if is_count and is_sound(patches, self._config) and is_sound(context, self._config, fewest=0):
                return patches, context, int(size)
        raise InvalidRequest("The codes are of another VoxCPM model, or damaged; make them with this one.")

    def _whole(self, patches: torch.Tensor, context: torch.Tensor, ctx: RequestContext) -> Iterator[AudioChunk]:
        handle, config = self._codec, self._config
        latent = _latent(torch.cat((context, patches)))

        def decoded() -> torch.Tensor:
            waveform: torch.Tensor = handle.module(latent.to(handle.compute_device))
            return waveform[0].cpu()

        def in_chunks() -> torch.Tensor:
            tails, pieces = None, []
            for part in latent.split(SHORT_PATCHES * config.patch_size, dim=-1):
                tails = Tails(tails)
                pieces.append(handle.module(part.to(handle.compute_device), tails)[0].cpu())
            return torch.cat(pieces, dim=-1)

        fallback = (f"codec chunks of {SHORT_PATCHES} patches", in_chunks)
        working_bytes = codec_bytes(config.vae, latent.shape[-1])
        waveform = ctx.run("codec decoder", [handle], decoded, working_bytes, fallback=fallback)
        yield AudioChunk(waveform[:, len(context) * config.patch_samples :], self.manifest.sample_rate)

    def _streamed(
        self, patches: torch.Tensor, context: torch.Tensor, size: int, ctx: RequestContext
    ) -> Iterator[AudioChunk]:
        """Chunk by chunk, each going on from the layers' memory of the one before."""
        tails: Tails | None = None
        for start in range(0, len(patches), size):
            part = patches[start : start + size]
            heard = context if start == 0 else context[:0]
            waveform, tails = self._next_chunk(_latent(torch.cat((heard, part))), tails, ctx)
            yield AudioChunk(waveform[:, len(heard) * self._config.patch_samples :], self.manifest.sample_rate)
            ctx.progress(min(1.0, (start + size) / len(patches)), "codec decoder")

    def _next_chunk(
        self, latent: torch.Tensor, before: Tails | None, ctx: RequestContext
    ) -> tuple[torch.Tensor, Tails]:
        handle = self._codec
        decoder = cast(AudioVaeDecoder, handle.module)

        def decoded() -> tuple[torch.Tensor, Tails]:
            tails = Tails(before)
            return decoder(latent.to(handle.compute_device), tails)[0].cpu(), tails

        return ctx.run("codec decoder", [handle], decoded, codec_bytes(self._config.vae, latent.shape[-1]))


def _latent(patches: torch.Tensor) -> torch.Tensor:
    """[T, patch_size, feat_dim] -> [1, feat_dim, T * patch_size]."""
    return patches.flatten(0, 1).T[None].contiguous()


ENGINE = VoxCpmEngine()
