"""Hears a sound file: `python listen.py SOUND WAV TEXT` rewrites SOUND as 16-bit WAV and prints facts as JSON.

The facts: `seconds`, `sample_rate`, `peak` (0..1), `heard`, and `word_error_rate` against TEXT.
"""

import json
import sys
import wave

import av
import numpy as np
from judges import transcribe, word_error_rate


def decode(path):
    """Samples [C, T] int16 and the sample rate of a sound file."""
    with av.open(path) as container:
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="s16p", rate=stream.rate)
        frames = [part for frame in container.decode(stream) for part in resampler.resample(frame)]
        return np.concatenate([frame.to_ndarray() for frame in frames], axis=1), stream.rate


def main(sound, target, text):
    samples, sample_rate = decode(sound)
    with wave.open(target, "wb") as file:
        file.setnchannels(samples.shape[0])
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.T.astype("<i2").tobytes())
    waveform = samples / 32768.0
    heard = transcribe(waveform, sample_rate)
    facts = {
        "seconds": round(samples.shape[1] / sample_rate, 3),
        "sample_rate": sample_rate,
        "peak": round(float(np.abs(waveform).max()), 4),
        "heard": heard,
        "word_error_rate": round(word_error_rate(text, heard), 4),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
