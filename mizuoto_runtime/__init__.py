"""The model-memory runtime and the blocks that engines are built from. Knows torch; knows no ComfyUI and no engine."""

VERSION = "0.1.0"
