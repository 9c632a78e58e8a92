"""The network of Silero VAD 6.2 for 16 kHz: how likely each 32 ms of a recording are speech."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from ..ops import Conv1d

SAMPLE_RATE = 16000
WINDOW = 512  # samples a probability stands for
_CONTEXT = 64  # samples before a window that it is heard with
_FFT, _HOP, _BINS = 256, 128, 129
_HIDDEN = 128
_ENCODER = ((_BINS, 128, 1), (128, 64, 2), (64, 64, 2), (64, _HIDDEN, 1))  # channels in and out, stride
_WEIGHTS = Path(__file__).parent / "data" / "silero_16k.safetensors"
_WINDOWS_A_CHECK = 64  # some 40 ms of work
SECONDS_A_CHECK = _WINDOWS_A_CHECK * WINDOW / SAMPLE_RATE  # of sound

State = tuple[Tensor, Tensor]


class LstmCell(nn.Module):
    """One step of an LSTM; `torch.nn` has no layer of it that is built without drawing."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(4 * hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(4 * hidden_size))

    def forward(self, hidden: Tensor, state: State) -> State:
        """`hidden` [B, input_size] and the state before -> the state after, both parts [B, hidden_size]."""
        hidden_state, cell = torch.lstm_cell(hidden, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return hidden_state, cell


class SileroVad(nn.Module):
    """Windows of sound -> probabilities of speech.

    Source: the TorchScript model of silero-vad 6.2.3, `_model` of silero_vad.jit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stft = Conv1d(1, 2 * _BINS, _FFT, stride=_HOP, bias=False)
        self.encoder = nn.ModuleList(
            Conv1d(before, after, 3, stride=stride, padding=1) for before, after, stride in _ENCODER
        )
        self.rnn = LstmCell(_HIDDEN, _HIDDEN)
        self.head = Conv1d(_HIDDEN, 1, 1)

    def forward(self, window: Tensor, state: State) -> tuple[Tensor, State]:
        """`window` [1, context + WINDOW + a quarter FFT reflected], and the state -> probability [1, 1, 1], state."""
        parts = self.stft(window[:, None])
        hidden = (parts[:, :_BINS].square() + parts[:, _BINS:].square()).sqrt()
        for layer in self.encoder:
            hidden = layer(hidden).relu()
        state = self.rnn(hidden[..., 0], state)
        return self.head(state[0].relu()[..., None]).sigmoid(), state

    @torch.inference_mode()
    def probabilities(self, waveform: Tensor, check: Callable[[], None]) -> Tensor:
        """How likely every `WINDOW` samples of `waveform` [T] are speech, [ceil(T / WINDOW)].

        Args:
            waveform: float32 on the CPU, 16 kHz.
            check: Called every two seconds of sound; may raise.
        """
        padded = F.pad(waveform, (_CONTEXT, -len(waveform) % WINDOW))
        if len(padded) < WINDOW:
            return waveform.new_empty(0)
        state = (torch.zeros(1, _HIDDEN), torch.zeros(1, _HIDDEN))
        found = []
        for windows in padded.unfold(0, WINDOW + _CONTEXT, WINDOW).split(_WINDOWS_A_CHECK):
            check()
            # One window at a time: the convolutions of many at once take a third of the time, and give other bits.
            for window in F.pad(windows, (0, _FFT // 4), "reflect").split(1):
                probability, state = self(window, state)
                found.append(probability)
        return torch.cat(found).flatten()


@cache
def network() -> SileroVad:
    """The network with its weights, read at the first call.

    It is no handle of the memory runtime: at 1.2 MB in fp32 on the CPU it is smaller than the audio it hears, and one
    window is too little work for an accelerator.
    """
    with torch.inference_mode(False):
        model = SileroVad()
        model.load_state_dict(load_file(_WEIGHTS))
    return model.eval().requires_grad_(False)
