"""The English front end: text -> phonemes of Kokoro-82M's alphabet, without a phonemizer program or a parser.

    g2p = load()
    g2p("Dr. Smith paid $3.50 on May 5th.")     # the phonemes
    g2p.convert("Tokyo is 東京").dropped        # what has no sound here: ("東京",)

The behaviour follows misaki 0.9.4 and hibari 0.2.1, whose data is in `data/`, but for a few readings that were wrong
there.
"""

from .data import EnglishData
from .g2p import EnglishG2P, Phonemes, load

__all__ = ["EnglishData", "EnglishG2P", "Phonemes", "load"]
