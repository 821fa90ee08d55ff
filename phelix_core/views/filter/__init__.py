r"""The filter language of the console and of `--where`: one grammar, parsed once, with a vocabulary for each list.

    query := or ;  or := and ("OR" and)* ;  and := term+ ;  term := ["-"] (field op value | "quoted" | /re/ | word)
    op    := = != ~ < <= > >= ; `:` after is, has and ref
    value := token | a,b,c | "quoted" | 15m | 2h | 30d | 2026-08-01

- Terms side by side must all hold, `-` excludes one, `OR` divides alternatives; there are no parentheses.
- Case never matters. A word or quoted text must occur in the session's id, title, app, step or the word of
  its state. `=` is the whole text, `~` a part of it, and of a list any may fit.
- A text that is missing counts as empty: `app!=billing` finds sessions without an app, `app=""` only those.
  A number or moment that is missing fits nothing, so `-rev<5` finds it and `rev<5` does not. A record that
  cannot be read has no status, and else what was last read well of it.
- `age` and `seen` are durations since the session was created and since its last event: `age>2h` is older than
  two hours. `created` and `updated` are moments: a
  day in UTC, all of it, or so long ago: `updated>2h` is later than two hours ago.
- `is:active` includes stale sessions, for stale is a finding and not a status.
- A /pattern/ is tried on each of the texts that a word is looked for in; `^` and `$` are a text's ends.
  It takes linear time and knows no look-around and no back-references.

This package speaks of sessions; `issues` of the queue's, in the same grammar, with other fields.

Whatever is typed gives a query or a `FilterError` with the offsets of the token and what would be right.
Messages echo parts of the text, safe for a terminal; a caller that stores or prints them redacts them.
"""

from phelix_core.views.filter.canonical import canonical
from phelix_core.views.filter.completion import Completion, completions, counted
from phelix_core.views.filter.errors import FilterError, FilterTooSlow
from phelix_core.views.filter.fields import FIELDS, Field
from phelix_core.views.filter.lookups import lookups
from phelix_core.views.filter.query import Query, parse
from phelix_core.views.filter.sql import COLUMNS, Where, columns_of
from phelix_core.views.filter.subject import Filterable, filterable
from phelix_core.views.filter.terms import Comparison

__all__ = [
    "COLUMNS",
    "FIELDS",
    "Comparison",
    "Completion",
    "Field",
    "FilterError",
    "FilterTooSlow",
    "Filterable",
    "Query",
    "Where",
    "canonical",
    "columns_of",
    "completions",
    "counted",
    "filterable",
    "lookups",
    "parse",
]
