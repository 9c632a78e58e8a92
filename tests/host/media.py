"""Recordings as users bring them: containers, codecs, sample formats and rates that Load Audio reads, and videos."""

import av
import numpy as np
import soundfile

# File name -> (container, codec, sample format, rate, layout)
KINDS = {
    "24 bit.wav": ("wav", "pcm_s24le", "s32", 48000, "stereo"),
    "float.wav": ("wav", "pcm_f32le", "flt", 44100, "5.1"),
    "96 kHz.flac": ("flac", "flac", "s16", 96000, "stereo"),
    "music.mp3": ("mp3", "libmp3lame", "fltp", 44100, "stereo"),
    "phone.m4a": ("mp4", "aac", "fltp", 44100, "mono"),
    "message.opus": ("ogg", "libopus", "flt", 48000, "mono"),
    "film.mp4": ("mp4", "aac", "fltp", 48000, "stereo"),
}
_SIZE, _FRAMES_A_SECOND = 64, 5


def write(path, clip, kind):
    """The recording `clip` as a file of that kind; a film gets a picture."""
    container, codec, sample_format, rate, layout = KINDS[kind]
    samples, clip_rate = soundfile.read(clip, dtype="float32")
    with av.open(str(path), "w", format=container) as out:
        sound = out.add_stream(codec, rate=rate, layout=layout)
        picture = out.add_stream("mpeg4", rate=_FRAMES_A_SECOND) if kind.startswith("film") else None
        if picture:
            picture.width = picture.height = _SIZE
            picture.pix_fmt = "yuv420p"
            for _ in range(int(len(samples) / clip_rate * _FRAMES_A_SECOND)):
                grey = av.VideoFrame.from_ndarray(np.full((_SIZE, _SIZE, 3), 99, np.uint8), format="rgb24")
                out.mux(picture.encode(grey))
            out.mux(picture.encode(None))
        fits = av.AudioResampler(format=sample_format, layout=layout, rate=rate, frame_size=sound.frame_size or 1024)
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate = clip_rate
        for part in [*fits.resample(frame), *fits.resample(None)]:
            out.mux(sound.encode(part))
        out.mux(sound.encode(None))


def write_silent_film(path):
    """A video without sound."""
    with av.open(str(path), "w", format="mp4") as out:
        picture = out.add_stream("mpeg4", rate=_FRAMES_A_SECOND)
        picture.width = picture.height = _SIZE
        picture.pix_fmt = "yuv420p"
        for _ in range(_FRAMES_A_SECOND):
            out.mux(picture.encode(av.VideoFrame.from_ndarray(np.zeros((_SIZE, _SIZE, 3), np.uint8), format="rgb24")))
        out.mux(picture.encode(None))
