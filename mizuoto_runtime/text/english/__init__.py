"""The English front end: text -> phonemes of Kokoro-82M's alphabet, without a phonemizer program or a parser.

    g2p = load()                                        # load("gb") for British English
    g2p("Dr. Smith paid $3.50 on May 5th.")     # the phonemes
    g2p.convert("Tokyo is 東京").dropped        # what has no sound here: ("東京",)

The behaviour follows misaki 0.9.4 and hibari 0.2.1, whose data is in `data/`, but for readings that were wrong there:

- Money: a sign counts for one amount, not for later numbers; it may follow its number ("5€"), stand on both ends of a
  range ("$5-$10") or after a country ("US$20"); a minus may precede it. A sign without a number is reported.
- Numbers: commas group thousands only where they do ("1,2,3" is a list); leading zeros are read, digit by digit ("PIN
  0042"); trailing zeros, "24/7", "2bn", ".75" and "1-800-555-0199".
- Whole hours ("9am", "9 am on Monday"), ranges of times ("10:30-11:45"), and abbreviated days
  where a day is meant ("Mon, 3 May"; "the Sun." is none).
- Letters that are not Latin, and given phonemes outside the alphabet, are reported as dropped instead of guessed.
- Typewritten dashes, points that end a sentence too, names of consonant letters, long unknown words.
"""

from .data import EnglishData
from .g2p import EnglishG2P, Phonemes, load

__all__ = ["EnglishData", "EnglishG2P", "Phonemes", "load"]
