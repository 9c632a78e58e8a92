"""Whisper: speech recognition in about a hundred languages, and translation into English."""
