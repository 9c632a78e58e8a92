"""Programs that run in a second process, by path: they import nothing of the pack, and torch only when run."""
