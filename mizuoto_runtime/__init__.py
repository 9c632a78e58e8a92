"""The model-memory runtime and the blocks that engines are built from. Knows torch; knows no ComfyUI and no engine."""
