"""The console's rows of the speed page, each on a real pty, from outside.

python -m tests.bench console        PHELIX_BENCH_SESSIONS and PHELIX_BENCH_ISSUES choose other numbers than 100,000
"""

from tests.bench import console_few, console_many
from tests.bench.console_rig import told


def main() -> None:
    """Print the figures beside their budgets, and what `DataTable` takes for the same."""
    print("32 sessions")
    told(console_few.figures())
    print(f"\n{console_many.SESSIONS:,} sessions, {console_many.ISSUES:,} issues")
    told(console_many.figures())


if __name__ == "__main__":
    main()
