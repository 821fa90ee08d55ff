"""What a rule of the redactor is made of.

A pattern holds no look-behind and no unbounded or nested repetition: what stands beside a hit, and how far a token
goes on, is the scanner's to decide. The secret is the last group where there is one, else the whole hit.
Literals are lower case and are looked up in lower-cased text.
"""

from enum import Enum, auto
from typing import NamedTuple


class Edge(Enum):
    """What must stand beside a token for a hit to count."""

    FREE = auto()  # the prefix is unmistakable: it counts inside a word too, and swallows the token's rest
    LEFT = auto()  # nothing alphanumeric before it; swallows the token's rest
    BOTH = auto()  # nothing of a token before or after it: length is part of the shape
    NONE = auto()  # a place in a text, not a token: stands in one line and ends where the pattern ends


class Judge(Enum):
    """What the secret itself must look like for a hit to count."""

    ANY = auto()
    DIGIT = auto()  # letters and digits
    MIXED = auto()  # upper case, lower case and digits
    RANDOM = auto()  # long and unlike words, names, paths, hashes of known kinds
    BASIC = auto()  # base64 of "user:password"
    COOKIE = auto()  # at least one value that is no word
    HEADER = auto()  # credentials of a scheme
    QUOTED = auto()  # a value by syntax: anything but a placeholder or a reference
    VALUE = auto()  # the value of a name that tells of secrets
    PROSE = auto()  # a value that no sentence would hold in its place
    BESIDE = auto()  # as PROSE, with nothing but a space between the noun and the value
    USERINFO = auto()  # a password inside a URL
    OPTION = auto()  # an argument after a space


class Rule(NamedTuple):
    """One kind of secret and how to find it."""

    kind: str
    literals: tuple[str, ...]
    pattern: str
    edge: Edge = Edge.LEFT
    judge: Judge = Judge.ANY
    also: tuple[str, ...] = ()  # a second list of literals, one of which must be there too
    run: int = 0  # least length of the longest stretch without white space
