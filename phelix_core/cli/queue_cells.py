"""What pages of the queue share: a status by glyph and word, named fields, gates in words, small charts.

A chart says the same without colour, and stands beside the numbers that it draws.
"""

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any, Final

from phelix_core.checks import Surface
from phelix_core.cli.options import Call
from phelix_core.cli.page import Cell, Page
from phelix_core.commands.registry import equivalent, validate
from phelix_core.queue.gates import gate_in
from phelix_core.redaction import redact
from phelix_core.text import SafeStr
from phelix_core.views.moments import long_span, span
from phelix_core.views.queue.glyphs import GLYPHS, UNKNOWN
from phelix_core.views.shown import shown

Answer = Mapping[str, Any]

FIELD: Final = 11
"""Cells before a field's value."""
_BAR: Final = 30
_STRIP: Final = 20
_LEFT: Final = 10
_STEPS: Final = "▁▂▃▄▅▆▇█"
_COLUMN: Final = 5


def status(word: str) -> Cell:
    """A status."""
    return (SafeStr(f"{GLYPHS.get(word, UNKNOWN)} {shown(word)}"), word)


def field(page: Page, name: str, *value: Cell | str) -> None:
    """A named value; what a terminal has no room for hangs below the value."""
    page.line((f"{name:<{FIELD}}", "bold"), *value, hang=FIELD)


def gate(reason: str) -> str:
    """What is waited for, in words."""
    found = gate_in(reason)
    return reason if found is None else f"{found.kind} {found.id}"


def many(number: int, word: str, *, capped: bool = False) -> str:
    """So many of a thing; `capped` where they were counted no further."""
    plural = "" if number == 1 else "s"
    told = f"{word[:-1]}ies" if plural and word.endswith("ry") else f"{word}{plural}"
    return f"{number:,}{'+' if capped else ''} {told}"


def joined(words: Sequence[str], most: int) -> str:
    """The first few of many."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


def again(call: Call, **more: str) -> SafeStr:
    """The call as it was typed, with something else in it."""
    return placed(equivalent(call.command, validate(call.command, call.raw, Surface.CLI), **more), call)


def placed(command: str, call: Call) -> SafeStr:
    """A command over the same queue as `call`, ready to copy."""
    for option, path in (("--data-dir", call.data_dir), ("--queue", call.queue)):
        command += f" {option} {quote(redact(path))}" if path else ""
    return shown(command)


def status_bars(page: Page, counts: Mapping[str, int]) -> None:
    """How many issues there are of each status, the most pressing first."""
    total = counts["total"]
    page.line((many(total, "issue"), "bold"))
    for word in _by_pressure(counts):
        bar = "█" * max(1, round(counts[word] / total * _BAR))
        page.line("  ", (f"{GLYPHS[word]} {word:<15}", word), f"{counts[word]:>9,}  ", (bar, word))


def _by_pressure(counts: Mapping[str, int]) -> list[str]:
    return [word for word in GLYPHS if counts.get(word, 0)]


def status_strip(counts: Mapping[str, int]) -> list[Cell]:
    """The same in one line: a strip of glyphs, each status at its share, then the numbers."""
    total, words = counts["total"], _by_pressure(counts)
    cells: list[Cell] = []
    if not words:
        return [(SafeStr("no issues"), "pending")]
    ends = [round(sum(counts[word] for word in words[: place + 1]) / total * _STRIP) for place in range(len(words))]
    for word, begin, end in zip(words, [0, *ends], ends, strict=False):
        cells.append((SafeStr(GLYPHS[word] * (end - begin)), word))
    for word in words:
        cells += [(SafeStr("  "), ""), (SafeStr(f"{word}={counts[word]:,}"), word)]
    return cells


def age_chart(page: Page, ages: Sequence[Answer]) -> None:
    """How many leases are how old: a block a step, its label and its number below."""
    counts = [int(one["count"]) for one in ages]
    most = max(counts, default=0)
    labels = [
        f"<{span(int(one['toSeconds']) * 1000)}" if "toSeconds" in one else f"≥{span(int(one['fromSeconds']) * 1000)}"
        for one in ages
    ]
    widths = [max(_COLUMN, len(label), len(f"{number:,}")) for label, number in zip(labels, counts, strict=True)]
    # Something is never drawn as low as nothing.
    heights = [_STEPS[max(1, round(number / most * (len(_STEPS) - 1)))] if number else _STEPS[0] for number in counts]
    blocks: list[Cell] = []
    for number, height, width in zip(counts, heights, widths, strict=True):
        blocks += [(SafeStr(height * width), "in_progress" if number else "pending"), (SafeStr(" "), "")]
    page.line("  age       ", *blocks[:-1])
    page.line(
        ("            " + " ".join(f"{label:<{width}}" for label, width in zip(labels, widths, strict=True))).rstrip()
    )
    numbers = " ".join(f"{number:<{width},}" for number, width in zip(counts, widths, strict=True))
    page.line(f"            {numbers}".rstrip())


def lease_lines(page: Page, leases: Sequence[Answer], reasons: Mapping[str, str]) -> None:
    """Active leases, each with what is left of its time, and why it is stale."""
    for lease in leases:
        left, standing = lease.get("leftMs"), str(lease.get("standing", ""))
        reason = reasons.get(str(lease["id"])) or (standing if standing != "live" else "")
        role = "stale" if reason else "unknown" if left is None else "in_progress"
        told = [reason] if reason else []
        told.append(f"{lease['agentId']} on {lease['host']}")
        if lease.get("checkpointStanding", "live") != "live":
            told.append(f"checkpoint was due {_when(lease.get('checkpointLeftMs'))}")
        bar = _time_left(left, int(lease["ttlSeconds"]) * 1000)
        page.line(
            *("  ", shown(str(lease["id"])), "  ", (SafeStr(bar), role)),
            ("  ", ""),
            (SafeStr(f"{_when(left):<11}  "), role),
            shown(f"{lease['issueId']}  {'; '.join(told)}"),
            hang=22,
        )


def _time_left(left: int | None, ttl: int) -> str:
    full = 0 if left is None else min(_LEFT, max(1 if left > 0 else 0, round(left / ttl * _LEFT)))
    return "█" * full + "░" * (_LEFT - full)


def _when(left: int | None) -> str:
    if left is None:
        return "cannot tell"
    return f"{long_span(left)} left" if left > 0 else f"{span(-left)} ago"
