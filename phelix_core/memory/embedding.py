"""The local embedder: a text becomes a vector by hashing its words and their letters; no model, no network. Pure.

The same text is the same vector on every machine and in every version: `SPACE` names the rule, and changes with it.
Texts that share words are near; words that share letters are near by half.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b
from math import log2, sqrt
from typing import Final

DIMENSIONS: Final = 1024
SPACE: Final = f"local/1/{DIMENSIONS}"
_WORD: Final = re.compile(r"[^\W_]+")
_GRAM: Final = 3
_SHARE_OF_LETTERS: Final = 0.5


def embed(text: str) -> list[float]:
    """The vector of `text`, of length 1; a text without a word is all zeros."""
    vector = [0.0] * DIMENSIONS
    for feature, weight in _features(text):
        digest = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        vector[digest % DIMENSIONS] += weight if digest >> 63 else -weight
    length = sqrt(sum(part * part for part in vector))
    return [part / length for part in vector] if length else vector


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Each word, and each of its runs of letters; a longer word says more, one said again says little more."""
    said: dict[str, int] = {}
    for word in _WORD.findall(text.casefold()):
        said[word] = said.get(word, 0) + 1
    for word, times in said.items():
        weight = log2(1 + len(word)) * sqrt(times)
        yield f"={word}", weight
        framed = f"<{word}>"
        grams = [framed[at : at + _GRAM] for at in range(len(framed) - _GRAM + 1)]
        for gram in grams:
            yield gram, weight * _SHARE_OF_LETTERS / sqrt(len(grams))
