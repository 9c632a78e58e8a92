"""Qwen3-ASR: two checkpoints that hear thirty languages and take a text that helps them spell."""
