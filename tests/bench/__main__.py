"""`python -m tests.bench [NAME…]`: print the rows and write them to `results.json` beside this file."""

import io
import json
import platform
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.bench import Row

NAMES = ("cli", "records", "listing", "redaction", "console", "queue", "queue_peers", "queue_scale")
RESULTS = Path(__file__).with_name("results.json")
_COLUMNS = "{:<58}{:>12}{:>12}  {:<5}{:>8}  {:<8}{}"


class _Both(io.StringIO):
    """Keeps what is printed and prints it."""

    def write(self, text: str, /) -> int:
        if sys.__stdout__:
            sys.__stdout__.write(text)
        return super().write(text)


def _print(rows: list[Row]) -> None:
    print(_COLUMNS.format("", "ours", "baseline", "", "ratio", "budget", ""))
    for row in rows:
        met = {True: "met", False: "NOT MET", None: ""}[row.met]
        values = (f"{row.ours:,.1f}", f"{row.baseline:,.1f}", row.unit, f"{row.ratio:.2f}")
        print(_COLUMNS.format(row.name, *values, row.budget, met))


def main(names: list[str]) -> int:
    """Measure what is named, else everything."""
    unknown = set(names) - set(NAMES)
    if unknown:
        print(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    results: dict[str, Any] = {"python": platform.python_version(), "system": platform.platform()}
    for name in names or NAMES:
        module: Any = import_module(f"tests.bench.{name}")
        print(f"\n{name}")
        if hasattr(module, "rows"):
            rows: list[Row] = module.rows()
            _print(rows)
            results[name] = [{**asdict(row), "met": row.met} for row in rows]
        else:
            with redirect_stdout(_Both()) as printed:
                module.main()
            results[name] = printed.getvalue().splitlines()
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, **results}, indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
