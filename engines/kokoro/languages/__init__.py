"""Texts of nine languages to the phonemes that the voices were trained on; front ends load with the first text."""
