"""Qwen3-TTS: five checkpoints that clone, preset and design voices in ten languages."""
