"""VoxCPM: text and recordings to continuous latent frames, patch by patch, and those to a waveform."""
