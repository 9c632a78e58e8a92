"""Text before it becomes tokens or phonemes: splitting for every engine, and front ends by language."""
