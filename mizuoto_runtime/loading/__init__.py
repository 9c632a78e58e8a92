"""Checkpoints into modules: files, key maps, strictness."""
