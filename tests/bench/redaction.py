"""The redactor beside detect-secrets, Betterleaks and Kingfisher, on one corpus: caught, false hits, time.

Each scanner's findings are cut from the text it was given, and one rule says whether the secret still shows.
`shown` are texts with the secret in plain sight, `hidden` those where it is wrapped or veiled. A peer that is not
installed is reported as such. Inline "ignore" comments are switched off where a peer has a switch for them.

    python -m tests.bench.redaction
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import import_module
from statistics import median
from tempfile import mkdtemp
from time import perf_counter
from typing import Any, NamedTuple

from phelix_core.redaction import redact
from tests.corpus.benign import benign
from tests.corpus.planted import HIDDEN, Planted, leaks, planted

Redactor = Callable[[str], str]
_CUT = "█"
_ROUNDS = 3


class Row(NamedTuple):
    """What one scanner did on the corpus."""

    name: str
    shown: int
    hidden: int
    missed: Counter[str]
    false_hits: int
    micros_benign: float
    micros_planted: float

    @property
    def caught(self) -> int:
        return self.shown + self.hidden

    @property
    def recall(self) -> float:
        return self.caught / (self.caught + self.missed.total())

    @property
    def precision(self) -> float:
        return self.caught / max(self.caught + self.false_hits, 1)

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def _cutting(find: Callable[[str], Iterable[str]]) -> Redactor:
    """A redactor out of a scanner: every string that it found is replaced, longest first."""

    def cut(text: str) -> str:
        for secret in sorted(set(find(text)), key=len, reverse=True):
            text = text.replace(secret, _CUT) if secret else text
        return text

    return cut


def _detect_secrets(*, entropy: bool) -> Redactor:
    settings: Any = import_module("detect_secrets.settings")
    scan: Any = import_module("detect_secrets.core.scan")
    plugins: Any = import_module("detect_secrets.core.plugins.util")
    config = {"plugins_used": [{"name": kind.__name__} for kind in _plugins(plugins, entropy=entropy)]}

    def find(text: str) -> Iterable[str]:
        with settings.transient_settings(config):
            return [found.secret_value for line in text.splitlines() for found in scan.scan_line(line)]

    return _cutting(find)


def _plugins(plugins: Any, *, entropy: bool) -> list[type]:
    kinds = plugins.get_mapping_from_secret_type_to_class().values()
    return [kind for kind in kinds if entropy or "Entropy" not in kind.__name__]


def _betterleaks() -> Redactor:
    scanner: Any = import_module("betterleaks")
    return _cutting(lambda text: [found.secret for found in scanner.scan_string(text)])


def _kingfisher() -> Redactor:
    sdk: Any = import_module("kingfisher_sdk")
    os.environ["XDG_CACHE_HOME"] = mkdtemp()  # its compiled rules belong to this run
    scanner = sdk.DetectionScanner(sdk.Rules(confidence="low"), inline_ignores=False)
    return _cutting(lambda text: [found.secret for found in scanner.scan(text) if found.visible])


def _scanners() -> dict[str, Redactor | None]:
    peers: dict[str, Callable[[], Redactor]] = {
        "detect-secrets, defaults": lambda: _detect_secrets(entropy=True),
        "detect-secrets, without entropy": lambda: _detect_secrets(entropy=False),
        "betterleaks": _betterleaks,
        "kingfisher, low": _kingfisher,
    }
    found: dict[str, Redactor | None] = {"phelix": redact}
    for name, make in peers.items():
        found[name] = None
        with contextlib.suppress(ImportError):
            found[name] = make()
    return found


def _timed(scan: Redactor, texts: list[str]) -> tuple[list[str], float]:
    start = perf_counter()
    outputs = [scan(text) for text in texts]
    return outputs, (perf_counter() - start) / len(texts) * 1e6


def _row(name: str, scan: Redactor, corpus: list[Planted], lines: list[str]) -> Row:
    outputs, micros_planted = _timed(scan, [item.text for item in corpus])
    leaked = [leaks(item.secret, output) for item, output in zip(corpus, outputs, strict=True)]
    caught = Counter(item.place in HIDDEN for item, leak in zip(corpus, leaked, strict=True) if not leak)
    missed = Counter(item.kind for item, leak in zip(corpus, leaked, strict=True) if leak)
    rounds = [_timed(scan, lines) for _ in range(_ROUNDS)]
    false_hits = sum(output != line for output, line in zip(rounds[0][0], lines, strict=True))
    return Row(name, caught[False], caught[True], missed, false_hits, median(r[1] for r in rounds), micros_planted)


def measure() -> dict[str, Row | None]:
    """One row for each scanner; None for those that are not installed."""
    corpus, lines = planted(), benign()
    return {name: scan and _row(name, scan, corpus, lines) for name, scan in _scanners().items()}


def main() -> None:
    """Print the table, and what the redactor misses by kind."""
    corpus, lines = planted(), benign()
    hidden = sum(item.place in HIDDEN for item in corpus)
    secrets, kinds = len({item.secret for item in corpus}), len({item.kind for item in corpus})
    print(f"{secrets} secrets of {kinds} kinds in {len(corpus)} texts ({hidden} hidden), {len(lines)} benign lines")
    columns = ("shown", "hidden", "false", "prec.", "recall", "F1", "µs/benign", "µs/planted")
    print(" " * 33 + "".join(f"{column:>11}" for column in columns))
    rows = measure()
    for name, row in rows.items():
        if row is None:
            print(f"{name:33}not installed")
            continue
        counts = (
            f"{row.shown:11}{row.hidden:11}{row.false_hits:11}{row.precision:11.4f}{row.recall:11.4f}{row.f1:11.4f}"
        )
        print(f"{name:33}{counts}{row.micros_benign:11.0f}{row.micros_planted:11.0f}")
    ours = rows["phelix"]
    print(f"missed by phelix: {dict(ours.missed) if ours else {}}")


if __name__ == "__main__":
    main()
