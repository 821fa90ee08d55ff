"""Which issues there are, how they stand now, and in which order: the queue's memory, without a screen.

A board is taken in whole or as what changed. From then on everything is derived here, without reading anything:
states, countdowns, gates, what blocks claims. Time alone changes rows; `tick` says which. The order by attention is
always kept; one that an operator chose stands beside it. Source: console page, sections 3, 5 and 9.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Final

from phelix_core.clock import Moment
from phelix_core.queue.board import Board, BoardIssue
from phelix_core.queue.gates import is_done
from phelix_core.queue.model import (
    ACTIVE,
    ARCHIVED,
    FAILED,
    IN_PROGRESS,
    NEEDS_RECOVERY,
    PENDING,
    READY,
    Lease,
    Milestone,
)
from phelix_core.text import SafeStr
from phelix_core.views.queue.attention import Cause, claims_cause, issue_cause, milestone_cause
from phelix_core.views.queue.explanation import Blocking, Explanation, explanation
from phelix_core.views.queue.milestones import MilestoneRow, milestone_rows
from phelix_core.views.queue.plans import gate_words
from phelix_core.views.queue.rows import (
    CLOCK,
    STALE,
    STATES,
    IssueRow,
    Key,
    blocks_claims,
    gate_of,
    issue_row,
    sort_key,
    state_of,
)
from phelix_core.views.rows import CLOCK as SESSION_CLOCK
from phelix_core.views.rows import STALE as SESSION_STALE
from phelix_core.views.shown import shown
from phelix_tui.sorting import AT_ONCE, OWN, Order, Places, Sorter, put_in_order
from phelix_tui.sorting import Key as AnyKey

_PRESSING: Final = STATES[FAILED].rank
MOST_CAUSES: Final = 2_000
"""Causes that are listed; whoever has more has one cause behind them all."""


class Backlog:
    """Every issue of the queue, sorted, attention first."""

    def __init__(self) -> None:
        self.projects: dict[str, str] | None = None
        """Names of the projects; None while there is no queue."""
        self.seq = 0
        self.issues: dict[str, BoardIssue] = {}
        self.leases: dict[str, Lease] = {}
        self.gone: frozenset[str] = frozenset()
        self.counts: Counter[str] = Counter()
        self.of_session: dict[str, str] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self._needed_by: dict[str, set[str]] = {}
        self._milestones: dict[str, Milestone] = {}
        self._milestone_needs: dict[str, list[str]] = {}
        self._by_milestone: dict[str, Counter[str]] = {}
        self._milestone_rows: list[MilestoneRow] | None = None
        self._archived: frozenset[str] = frozenset()
        self._states: dict[str, str] = {}
        self._keys: dict[str, Key] = {}
        self._sorted: list[Key] = []
        self._places: Places | None = None
        self._key_of: Callable[[str], AnyKey] | None = None
        self._since_asked: set[str] | None = None
        self._now = Moment(wall_ms=0, mono_ms=0, boot="")
        self._rows: dict[str, IssueRow] = {}
        self._words: tuple[str, ...] = ()
        self._said: dict[str, str] = {}
        self._ready: Counter[str] = Counter()
        self.wanted = ""
        self.moved = False
        """Whether an issue has another place than whoever draws the list has seen; they take it back."""

    def __len__(self) -> int:
        """How many issues are known."""
        return len(self.issues)

    # What comes in

    def take(self, board: Board, now: Moment) -> set[str]:
        """Take a board in; answers the issues that may look different now."""
        self._now, self.seq = now, board.seq
        if board.whole:
            self._clear(board)
        changed = {issue.id for issue in board.issues}
        gone = frozenset(board.gone)
        # A holder that goes, or is there after all, changes what is said of its lease and not the lease itself.
        touched = changed | {lease.issue_id for lease in self.leases.values() if lease.id in gone ^ self.gone}
        self.gone = gone
        for issue_id in touched:
            self._said.pop(issue_id, None)
        done_before = self._done_milestones()
        for issue_id in changed:
            if (lease := self.leases.pop(issue_id, None)) is not None and lease.session_id is not None:
                self.of_session.pop(lease.session_id, None)
        for lease in board.leases:
            self._stands(lease)
        for issue in board.issues:
            self._counted(self.issues.get(issue.id), issue)
            self.issues[issue.id] = issue
        self._take_needs(board)
        behind = {one for issue_id in touched for one in self._needed_by.get(issue_id, ())}
        for issue_id in touched:
            self._settle(issue_id, place=not board.whole)
        if board.whole:
            self._sorted = sorted(self._keys.values())
        if board.whole and self._places is not None:
            self.sort(self._places.order)
        else:
            self._replace_all(touched | behind, done_before)
        self.moved = self.moved or board.whole or bool(self._words)
        self._rows.clear()  # gates of any issue may have moved; lines are drawn again when they are looked at
        return touched | behind

    def _clear(self, board: Board) -> None:
        """Forget everything but the filter and the order."""
        if self._since_asked is not None:
            self._since_asked.update(self.issues)
        self.projects = {one.id: one.name for one in board.projects}
        self._ready, self._said = Counter(), {}
        self.issues, self.leases, self.of_session = {}, {}, {}
        self.counts, self._by_milestone = Counter(), {}
        self._needs, self._needed_by = {}, {}
        self._states, self._keys, self._sorted = {}, {}, []
        self._milestones = {one.id: one for one in board.milestones}
        self._milestone_rows = None
        self._milestone_needs = {}
        for milestone_id, needed in board.milestone_needs:
            self._milestone_needs.setdefault(milestone_id, []).append(needed)
        self._archived = frozenset(one.id for one in board.campaigns if one.status == ARCHIVED)

    def forget(self) -> None:
        """There is no queue any more."""
        nothing = Board(
            seq=0,
            whole=True,
            projects=(),
            campaigns=(),
            milestones=(),
            milestone_needs=(),
            issues=(),
            needs=(),
            leases=(),
            gone=(),
        )
        self.take(nothing, self._now)
        self.projects = None

    def _stands(self, lease: Lease) -> None:
        known = self.leases.get(lease.issue_id)
        if known is None or lease.status == ACTIVE or (known.status != ACTIVE and lease.epoch > known.epoch):
            self.leases[lease.issue_id] = lease
            if lease.session_id is not None:
                self.of_session[lease.session_id] = lease.issue_id

    def _take_needs(self, board: Board) -> None:
        needs: dict[str, list[str]] = {}
        for issue_id, needed in board.needs:
            needs.setdefault(issue_id, []).append(needed)
            self._needed_by.setdefault(needed, set()).add(issue_id)
        self._needs.update({issue_id: tuple(found) for issue_id, found in needs.items()})

    def _counted(self, before: BoardIssue | None, issue: BoardIssue) -> None:
        """Count an issue in its milestone, where that is not how it is counted already."""
        if before is not None and (before.milestone_id, before.status) == (issue.milestone_id, issue.status):
            return
        self._milestone_rows = None
        self._count(before, -1)
        self._count(issue, 1)

    def _count(self, issue: BoardIssue | None, step: int) -> None:
        if issue is None or issue.milestone_id is None:
            return
        counts = self._by_milestone.setdefault(issue.milestone_id, Counter())
        counts[issue.status] += step
        if not counts[issue.status]:
            del counts[issue.status]

    def _settle(self, issue_id: str, *, place: bool = True) -> bool:
        """Give an issue the state that it has now, and its place; answers whether either changed."""
        issue = self.issues.get(issue_id)
        if issue is None:
            return False
        lease = self.leases.get(issue_id)
        state = state_of(issue, lease, self._now, archived=issue.campaign_id in self._archived)
        before, old = self._states.get(issue_id), self._keys.get(issue_id)
        key = sort_key(state, issue, lease)
        if before is not None:
            self.counts[before] -= 1
            self._ready[issue.project_id] -= before == READY
        self.counts[state] += 1
        self._ready[issue.project_id] += state == READY
        self._states[issue_id], self._keys[issue_id] = state, key
        if place and old != key:
            put_in_order(self._sorted, old, key)
            self._replace(issue_id)
            self.moved = True
        return before != state or old != key

    # The order

    @property
    def order_by(self) -> Order:
        """The order in force."""
        return OWN if self._places is None else self._places.order

    @property
    def _listed(self) -> list[Key] | list[AnyKey]:
        """Everything in the order in force."""
        return self._sorted if self._places is None else self._places.sorted

    def sort(self, order: Order) -> None:
        """Put all in an order here and now."""
        self.take_places(None if order.is_own else self.sorter(order)())

    def sorter(self, order: Order) -> Sorter:
        """What makes the places of everything as it is now, in another thread; `take_places` brings them in."""
        self._since_asked = since = set[str]()
        seen = self.copy()

        def made() -> Places:
            key_of = seen.key_of(order)
            return Places(order, {one: key_of(one) for one in seen.issues}, since)

        return made

    def key_of(self, order: Order) -> Callable[[str], AnyKey]:
        """What makes the key of an issue in an order."""
        from phelix_core.views.ordering import order_issues_by  # noqa: PLC0415 - not before somebody sorts

        made = order_issues_by(order.column, reverse=order.reverse)

        def key(issue_id: str) -> AnyKey:
            issue = self.issues[issue_id]
            milestone = self._milestones.get(issue.milestone_id or "")
            waits = self.waits(issue) if order.column == "about" else ""
            return made(
                self._states[issue_id], issue, self.leases.get(issue_id), milestone.key if milestone else "", waits
            )

        return key

    def take_places(self, places: Places | None) -> bool:
        """Bring an order in, None for the list's own, and put what has changed since it was asked for in its place.

        Answers whether it was: one that was asked for before another is too old.
        """
        if places is not None and places.since is not self._since_asked:
            return False
        self._places, self._since_asked = places, None
        self._key_of = None if places is None else self.key_of(places.order)
        for issue_id in () if places is None else places.since:
            self._replace(issue_id)
        return True

    def _replace(self, issue_id: str) -> None:
        """Give an issue its place in the order that was chosen."""
        if self._since_asked is not None:
            self._since_asked.add(issue_id)
        if self._places is not None and self._key_of is not None:
            self._places.put(issue_id, self._key_of(issue_id) if issue_id in self.issues else None)

    def _done_milestones(self) -> frozenset[str]:
        """Milestones whose issues are all done: what waits for one is told by them."""
        if self.order_by.column != "about" and self._since_asked is None:
            return frozenset()
        return frozenset(one for one in self._milestones if is_done(self._by_milestone.get(one, {})))

    def _replace_all(self, ids: Iterable[str], done_before: frozenset[str]) -> None:
        """Give issues their places anew, also those that wait for a milestone which is done now, or not any more."""
        if self._places is None and self._since_asked is None:
            return
        turned = done_before ^ self._done_milestones()
        behind = {one for one, needed in self._milestone_needs.items() if not turned.isdisjoint(needed)}
        for issue_id in {*ids, *(one.id for one in self.issues.values() if behind and one.milestone_id in behind)}:
            self._replace(issue_id)

    # A copy that stands still

    def row_ids(self) -> Iterable[str]:
        """Ids of all that is known."""
        return self.issues

    def differs(self, other: "Backlog", row_id: str) -> bool:
        """Whether an issue is another here than there, or its lease, or its state by now."""
        return (
            self.issues.get(row_id) != other.issues.get(row_id)
            or self.leases.get(row_id) != other.leases.get(row_id)
            or self.state(row_id) != other.state(row_id)
        )

    def look_like(self, other: "Backlog") -> None:
        """Show what another shows: under its filter, in its order where that is quickly made."""
        self.filter(other.wanted)
        if self.order_by != other.order_by and (len(self) <= AT_ONCE or other.order_by.is_own):
            self.sort(other.order_by)

    def copy(self) -> "Backlog":
        """The same, to stand still while this one goes on."""
        other = copy(self)
        other.part()
        return other

    def part(self) -> None:
        """Share nothing with what this was copied from, but for who waits for whom, which only grows."""
        self.issues, self.leases, self.of_session = dict(self.issues), dict(self.leases), dict(self.of_session)
        self._needs, self._states, self._keys = dict(self._needs), dict(self._states), dict(self._keys)
        self._by_milestone = {one: Counter(counts) for one, counts in self._by_milestone.items()}
        self._sorted, self._rows, self._said = list(self._sorted), dict(self._rows), dict(self._said)
        self.counts, self._ready = Counter(self.counts), Counter(self._ready)
        if self._places is not None:
            self._places = self._places.copy()
            self._key_of = self.key_of(self._places.order)
        self._since_asked = None

    def tick(self, now: Moment, on_screen: Iterable[str]) -> set[str]:
        """Let time pass; answers the issues whose line looks different."""
        self._now = now
        turned = {issue_id for issue_id in tuple(self.leases) if self._settle(issue_id)}
        differing = set(turned)
        for issue_id in on_screen:
            before = self._rows.pop(issue_id, None)
            if before is not None and self.row(issue_id) != before:
                differing.add(issue_id)
        for issue_id in turned:
            self._rows.pop(issue_id, None)
        return differing

    # What is seen

    def row(self, issue_id: str) -> IssueRow | None:
        """An issue's line as of now."""
        row, issue = self._rows.get(issue_id), self.issues.get(issue_id)
        if row is None and issue is not None:
            lease = self.leases.get(issue_id)
            milestone = self._milestones.get(issue.milestone_id or "")
            row = self._rows[issue_id] = issue_row(
                issue,
                lease,
                self._now,
                milestone=milestone.key if milestone else "",
                gate=self.waits(issue),
                gone=lease is not None and lease.id in self.gone,
                archived=issue.campaign_id in self._archived,
            )
        return row

    @property
    def states(self) -> Mapping[str, str]:
        """The state of every issue, in no order."""
        return self._states

    def state(self, issue_id: str) -> str | None:
        """An issue's state as of now."""
        return self._states.get(issue_id)

    def order(self) -> list[str]:
        """Ids of the issues that match the filter, in the order in force."""
        if not self._words:
            return [key[-1] for key in self._listed]
        words, states, texts = self._words, self._states, self._said
        found: list[str] = []
        for key in self._listed:
            issue_id = key[-1]
            said = texts.get(issue_id) or self._say(issue_id)
            for word in words:
                if word not in said and word not in STATES[states[issue_id]].word and not self._held_by(issue_id, word):
                    break
            else:
                found.append(issue_id)
        return found

    def filter(self, text: str) -> None:
        """Show only issues in which every word of `text` is found."""
        self.wanted = text.strip()
        self._words = tuple(self.wanted.casefold().split())

    def _held_by(self, issue_id: str, word: str) -> bool:
        lease = self.leases.get(issue_id)
        return lease is not None and word in f"{lease.agent_id}\n{lease.host}".casefold()

    def _say(self, issue_id: str) -> str:
        said = self._said[issue_id] = self.text_of(self.issues[issue_id])
        return said

    def text_of(self, issue: BoardIssue) -> str:
        """What a filter looks at that changes only with the issue itself."""
        milestone = self._milestones.get(issue.milestone_id or "")
        texts = (issue.id, issue.task, issue.blocked_reason or "", milestone.key if milestone else "")
        return "\n".join(texts).casefold()

    def lend(self, texts: Mapping[str, str], known: Mapping[str, BoardIssue]) -> None:
        """Take texts that were made elsewhere of `known`, as far as nothing has changed since."""
        issues = self.issues
        self._said.update({one: text for one, text in texts.items() if issues.get(one) is known[one]})

    def waits(self, issue: BoardIssue) -> SafeStr:
        """What a pending issue waits for; nothing where every gate of it is open."""
        if issue.status != PENDING:
            return SafeStr("")
        needed = self._milestone_needs.get(issue.milestone_id or "", ())
        milestones = [(one, is_done(self._by_milestone.get(one, {}))) for one in needed]
        before = [
            (one, self.issues[one].status if one in self.issues else "?") for one in self._needs.get(issue.id, ())
        ]
        gate = gate_of(issue, milestones, before)
        if gate is None:
            return SafeStr("promotion: gates open")
        if gate.kind == "milestone":
            return shown(f"behind {self.milestone_names().get(gate.id, gate.id)}")
        return gate_words(gate.reason, self.tasks((gate.id,)), {})

    def milestone_names(self) -> dict[str, str]:
        """What milestones are called."""
        return {one.id: one.key for one in self._milestones.values()}

    def tasks(self, ids: Iterable[str]) -> dict[str, str]:
        """What issues are called."""
        return {one: self.issues[one].task for one in ids if one in self.issues}

    def milestones(self) -> list[MilestoneRow]:
        """Milestones with their derived status and gates; the same list until one of them may differ."""
        if self._milestone_rows is None:
            milestones = list(self._milestones.values())
            self._milestone_rows = milestone_rows(milestones, self._milestone_needs, self._by_milestone)
        return self._milestone_rows

    def blockers(self) -> list[str]:
        """Issues for which claims are refused, most pressing first."""
        pressing = self._pressing(STATES[STALE].rank)
        return [issue_id for issue_id in pressing if blocks_claims(self._states[issue_id], self.issues[issue_id])]

    def _pressing(self, rank: int) -> list[str]:
        """Ids of the issues up to a rank of the order."""
        end = bisect_left(self._sorted, (rank + 1,))  # pyright: ignore[reportArgumentType] - a prefix sorts before its keys
        return [key[-1] for key in self._sorted[:end]]

    def project_name(self, project_id: str) -> str:
        """What a project is called."""
        return (self.projects or {}).get(project_id, project_id)

    def explain(self, issue_id: str, now: Moment, last: str | None = None) -> Explanation | None:
        """Why an issue is stale, or how its lease stands."""
        issue = self.issues.get(issue_id)
        if issue is None or self._states.get(issue_id) == ARCHIVED:
            return None
        lease = self.leases.get(issue_id)
        blocking = Blocking(
            scope=self.project_name(issue.project_id),
            ready=self.ready_in(issue.project_id),
            dependents=[self.issues[one] for one in sorted(self._needed_by.get(issue_id, ())) if one in self.issues],
        )
        gone = lease is not None and lease.id in self.gone
        return explanation(issue, lease, now, gone=gone, last=last, blocking=blocking)

    def ready_in(self, project_id: str) -> int:
        """How many issues of a project are ready."""
        return self._ready[project_id]

    def causes(self, now: Moment) -> list[Cause]:
        """What in the queue needs a person, one a cause."""
        found: list[Cause] = []
        blocked: Counter[str] = Counter(self.issues[one].project_id for one in self.blockers())
        for project_id, number in blocked.items():
            found.append(claims_cause(project_id, self.project_name(project_id), number, self.ready_in(project_id)))
        held = [issue_id for issue_id, lease in self.leases.items() if lease.id in self.gone]
        for issue_id in dict.fromkeys([*self._pressing(_PRESSING)[:MOST_CAUSES], *held]):
            lease = self.leases.get(issue_id)
            gone = lease is not None and lease.id in self.gone
            cause = issue_cause(self.issues[issue_id], self._states[issue_id], lease, now, gone=gone)
            if cause is not None:
                found.append(cause)
        for milestone_id, counts in self._by_milestone.items():
            if counts.get(FAILED):
                found.append(self._milestone_cause(milestone_id, counts[FAILED]))
        return sorted(found, key=lambda cause: (cause.looks.rank, cause.since_ms, cause.about))

    def _milestone_cause(self, milestone_id: str, failed: int) -> Cause:
        opens = next(
            one
            for one in self._pressing(_PRESSING)
            if self.issues[one].milestone_id == milestone_id and self.issues[one].status == FAILED
        )
        return milestone_cause(milestone_id, self.milestone_names().get(milestone_id, milestone_id), failed, opens)

    # Sessions that are joined to a lease

    def session_states(self) -> Mapping[str, str]:
        """States of the sessions whose lease decides about them: stale, or that it cannot be told, or live."""
        told: dict[str, str] = {}
        for session_id, issue_id in self.of_session.items():
            state = self._states.get(issue_id)
            if state in (STALE, NEEDS_RECOVERY):
                told[session_id] = SESSION_STALE
            elif state == CLOCK:
                told[session_id] = SESSION_CLOCK
            elif self.leases[issue_id].status == ACTIVE and state in (IN_PROGRESS, "blocked"):
                told[session_id] = ACTIVE
        return told
