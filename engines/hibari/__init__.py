"""hibari: the built-in English voice, 6.2 million parameters, from phonemes to a 24 kHz waveform."""
