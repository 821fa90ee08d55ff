"""What a confirmation says, in the order it says it: the exact write, ready to draw.

What a field was before may be another tool's text: it passes `shown` like the rest.
"""

from collections.abc import Mapping
from typing import cast

from phelix_core.frozen import frozen_in_order
from phelix_core.text import SafeStr
from phelix_core.views.moments import moment
from phelix_core.views.shown import shown


@frozen_in_order
class ShownChange:
    """One member before and after, as text; an absent value is None."""

    field: SafeStr
    before: SafeStr | None
    after: SafeStr | None


@frozen_in_order
class Confirmation:
    """A write plan as text: target, changes, event, side effects, command."""

    action: str
    target: SafeStr
    data_dir: SafeStr
    changes: tuple[ShownChange, ...]
    event: SafeStr | None
    side_effects: tuple[SafeStr, ...]
    command: SafeStr


def confirmation(plan: Mapping[str, object]) -> Confirmation:
    """Draw up the confirmation of a write plan in plain form."""
    target = cast("Mapping[str, object]", plan["target"])
    event = cast("Mapping[str, object] | None", plan.get("event"))
    changes = cast("list[Mapping[str, object]]", plan["changes"])
    named = [f"{name} {value}" for name, value in target.items() if name not in {"data_dir", "session_id"}]
    return Confirmation(
        action=str(plan["action"]),
        target=shown(" ".join([str(target.get("session_id", "")), *named]).strip()),
        data_dir=shown(str(target.get("data_dir", ""))),
        changes=tuple(
            ShownChange(shown(name), _value(name, change["before"]), _value(name, change["after"]))
            for change in changes
            for name in [str(change["field"])]
        ),
        event=shown(", ".join(f"{name} {_text(value)}" for name, value in event.items())) if event else None,
        side_effects=tuple(shown(str(effect)) for effect in cast("list[object]", plan["side_effects"])),
        command=shown(str(plan["command"])),
    )


def _value(name: str, value: object) -> SafeStr | None:
    if value is None:
        return None
    if name.endswith("_at_ms") and isinstance(value, int):
        return moment(value)
    return shown(_text(value))


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return ", ".join(f"{key} {member}" for key, member in members.items())
    return str(value)
