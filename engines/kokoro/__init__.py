"""Kokoro-82M: 54 voices in nine languages, from phonemes to a 24 kHz waveform, each phase one pass without sampling."""
