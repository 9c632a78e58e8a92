"""F5-TTS: a diffusion transformer that clones a voice from seconds of it, fine-tunes of it, and the Vocos vocoder."""
