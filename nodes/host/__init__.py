"""Everything that touches ComfyUI: its node API, its memory management, its folders, its server."""
