"""Sound files: every format, and one sentence for what is none (P09, P57, S2)."""

import math
import pickle

import av
import numpy as np
import pytest
import soundfile
import torch
from mizuoto.mizuoto_runtime.errors import InvalidRequest, MizuotoError, ModelFileError
from mizuoto.mizuoto_runtime.media import read_audio

RATE = 24000
SECONDS = 0.5
# Container, codec, sample format, how far a sample may be off; formats that keep less than 16 bits are judged by ear.
FORMATS = {
    "a.wav": ("wav", "pcm_s16le", "s16", 2**-15),
    "8 bits.wav": ("wav", "pcm_u8", "u8", 2**-7),
    "24 bits.wav": ("wav", "pcm_s24le", "s32", 2**-15),
    "float.wav": ("wav", "pcm_f32le", "flt", 1e-6),
    "double.wav": ("wav", "pcm_f64le", "dbl", 1e-6),
    "a.flac": ("flac", "flac", "s16", 2**-15),
    "a.mp3": ("mp3", "libmp3lame", "fltp", None),
    "a.opus": ("ogg", "libopus", "flt", None),
    "a.m4a": ("ipod", "aac", "fltp", None),
    "video.m4a": ("mp4", "aac", "fltp", None),
    "matroska.ogg": ("matroska", "pcm_s16le", "s16", 2**-15),
}


def tone(rate=RATE, seconds=SECONDS, channels=1):
    times = np.arange(int(rate * seconds)) / rate
    return np.stack([0.5 * np.sin(2 * np.pi * 220 * (channel + 1) * times) for channel in range(channels)])


def write(path, samples, rate=RATE, container="wav", codec="pcm_s16le", sample_format="s16", video=False, sound=True):
    """`samples` [channels, T] float as a file of that kind."""
    layout = {1: "mono", 2: "stereo", 6: "5.1"}[len(samples)]
    with av.open(str(path), "w", format=container) as out:
        if video:
            picture = out.add_stream("mpeg4", rate=10)
            picture.width = picture.height = 64
            picture.pix_fmt = "yuv420p"
        if sound:
            track = out.add_stream(codec, rate=rate, layout=layout, format=sample_format)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples, dtype=np.float32), "fltp", layout)
            frame.sample_rate = rate
            converted = av.AudioResampler(format=sample_format, layout=layout, rate=rate).resample(frame)
            for packet in [packet for piece in converted for packet in track.encode(piece)] + track.encode(None):
                out.mux(packet)
        if video:
            black = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), dtype=np.uint8))
            for packet in [*picture.encode(black), *picture.encode(None)]:
                out.mux(packet)
    return path


@pytest.mark.parametrize(
    ("name", "channels"), [(name, count) for name in FORMATS for count in (1, 2, 6) if (name, count) != ("a.mp3", 6)]
)
def test_every_format_is_heard(tmp_path, name, channels):  # P57
    container, codec, sample_format, tolerance = FORMATS[name]
    rate = 48000 if codec == "libopus" else RATE
    samples = tone(rate, channels=channels)
    write(tmp_path / name, samples, rate, container, codec, sample_format, video=name.startswith("video"))
    audio = read_audio(tmp_path / name)
    assert audio.sample_rate == rate and audio.waveform.dtype == torch.float32
    assert audio.waveform.shape[0] == channels and abs(audio.seconds - SECONDS) < 0.1
    if tolerance is not None:
        assert np.abs(audio.waveform.numpy() - samples).max() <= tolerance
    elif channels < 6:  # surround codecs cut their bass channel off
        assert_tones(audio)


def assert_tones(audio):
    """The sound is `tone`, as far as a lossy codec keeps it."""
    tenth = audio.sample_rate // 10
    middle = audio.waveform.numpy()[:, tenth : 3 * tenth]
    peaks = np.abs(np.fft.rfft(middle)).argmax(1) * 5
    assert np.abs(peaks - 220 * np.arange(1, len(middle) + 1)).max() <= 5


def test_vorbis_is_heard(tmp_path):
    soundfile.write(tmp_path / "a.ogg", tone(channels=2).T, RATE, format="OGG", subtype="VORBIS")
    audio = read_audio(tmp_path / "a.ogg")
    assert (audio.sample_rate, audio.waveform.shape[0]) == (RATE, 2)
    assert_tones(audio)


@pytest.mark.parametrize("rate", [8000, 44100, 96000])
def test_the_rate_is_that_of_the_file(tmp_path, rate):
    write(tmp_path / "a.wav", tone(rate), rate)
    audio = read_audio(tmp_path / "a.wav")
    assert (audio.sample_rate, audio.waveform.shape[1]) == (rate, rate // 2)


def test_samples_are_those_of_an_independent_reader(tmp_path):
    write(tmp_path / "a.wav", tone(channels=2))
    expected, _ = soundfile.read(tmp_path / "a.wav", dtype="float32")
    assert np.array_equal(read_audio(tmp_path / "a.wav").waveform.numpy(), expected.T)


@pytest.mark.parametrize("name", ["ё .wav", "a#1 100%d.wav", "🎙.wav", "http:x.wav", "-i.wav"])
def test_strange_names_and_folders_are_no_trouble(tmp_path, name):  # P80
    folder = tmp_path / "模型" / "Ünïcode dir"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(write(tmp_path / "a.wav", tone()).read_bytes())
    assert read_audio(folder / name).seconds == SECONDS


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


def damaged(samples_file):
    """Name -> content of files that are no recordings."""
    whole = samples_file.read_bytes()
    return {
        "empty": b"",
        "text": b"Hello, I am a text file. " * 100,
        "pickle": pickle.dumps(Bomb()),  # S2
        "header": whole[:20],
        "list of files": f"ffconcat version 1.0\nfile '{samples_file.name}'\n".encode(),
        "playlist": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{samples_file.name}\n#EXT-X-ENDLIST\n".encode(),
        "zeros": bytes(5000),
    }


@pytest.mark.parametrize("suffix", [".wav", ".mp3", ".flac", ".ogg", ".m4a", ".opus"])
def test_what_is_no_recording_says_so(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    for name, content in damaged(write(tmp_path / "whole.wav", tone())).items():
        file = tmp_path / f"{name}{suffix}"
        file.write_bytes(content)
        with pytest.raises(MizuotoError, match=f"{name}{suffix}") as caught:
            read_audio(file)
        assert str(tmp_path) not in str(caught.value)  # S4
        assert str(caught.value).count(". ") == 0
    assert not (tmp_path / "exploded").exists()


def test_a_folder_and_a_missing_file_say_so(tmp_path):
    for path in (tmp_path, tmp_path / "gone.wav"):
        with pytest.raises(ModelFileError, match="cannot be decoded"):
            read_audio(path)


def test_a_video_without_sound_says_so(tmp_path):
    write(tmp_path / "silent.m4a", tone(), container="mp4", video=True, sound=False)
    with pytest.raises(InvalidRequest, match=r'"silent\.m4a" has no sound in it'):
        read_audio(tmp_path / "silent.m4a")


def test_a_recording_of_no_samples_says_so(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(0), RATE)
    with pytest.raises(MizuotoError, match=r'"a\.wav"'):
        read_audio(tmp_path / "a.wav")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_samples_that_are_no_numbers_say_so(tmp_path, value):
    soundfile.write(tmp_path / "a.wav", np.array([0.0, value, 0.0]), RATE, subtype="FLOAT")
    with pytest.raises(InvalidRequest, match="samples that are no numbers"):
        read_audio(tmp_path / "a.wav")


def test_a_long_recording_is_refused_before_all_of_it_is_decoded(tmp_path, monkeypatch):  # P09
    soundfile.write(tmp_path / "a.wav", np.zeros(RATE * 120, dtype=np.int16), RATE)
    decoded = []
    from_numpy = torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda array: decoded.append(array.shape[1]) or from_numpy(array))
    assert read_audio(tmp_path / "a.wav").seconds == 120
    decoded.clear()
    with pytest.raises(InvalidRequest, match=r'"a\.wav" is longer than 3 s; cut out a clean passage'):
        read_audio(tmp_path / "a.wav", longest=3)
    assert 3 * RATE < sum(decoded) < 4 * RATE
