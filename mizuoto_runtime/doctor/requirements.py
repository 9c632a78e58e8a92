"""What versions of drivers, cards and torch need of each other: the numbers to look after when torch is released.

Source: CUDA's release notes, the selector on pytorch.org.
"""

OLDEST_DRIVER = {13: 580, 12: 525}
"""Major version of CUDA -> the oldest driver branch, on Linux and Windows, that runs a torch built for it."""

CUDA_NEWEST, CUDA_BLACKWELL, CUDA_OLDEST = "CUDA 13.0", "CUDA 12.8", "CUDA 12.6"
"""The selector's names: for current cards, for Blackwell under an older driver, for everything older."""

VARIANTS = {"amd": "ROCm 7", "intel": "XPU", "apple": "Default"}
"""Vendor -> the selector's name; NVIDIA has several, everything else is "CPU"."""

TURING, BLACKWELL = 7.5, 10.0
"""Compute capabilities: the oldest that CUDA 13 knows, and the first that needs `BLACKWELL_TOOLKIT`."""

BLACKWELL_TOOLKIT = (12, 8)
