"""The arc's files: what stands in their place, who may read them, and who wins where several write at once."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from phelix_core.arc.approvals import MAX_APPROVAL_BYTES, MAX_DECISIONS, Decision
from phelix_core.arc.authorization import authorize, decision_of
from phelix_core.arc.operations import CANCELLED, FAILED, begun, finished, with_child
from phelix_core.arc.policies import MAX_POLICY_BYTES
from phelix_core.arc.store import ArcStore
from phelix_core.checks import CheckFailed
from phelix_core.errors import (
    AlreadyExists,
    ApprovalInvalid,
    AuthzInvalid,
    AuthzUnavailable,
    DeployLocked,
    FilesystemError,
    InvalidArgument,
    NotFound,
    PhelixError,
)
from phelix_core.frozen import changed
from phelix_core.processes import ProcessIdentity, identity_of
from tests.core.arc.samples import (
    APPLIER,
    CHILD,
    CLI,
    DECISION_ID,
    OPERATION_ID,
    PLAN_ID,
    policy_text,
    rule,
    sample_approval,
    sample_operation,
    sample_plan,
)
from tests.rig import AS_A_PLAIN_USER, FixedClock, bytes_of

ROOT = Path(__file__).parents[3]
APP = 'name = "billing"\n[deploy]\ncommand = ["./deploy", "{version}"]\n'


@pytest.fixture
def arc(data_dir: Path, clock: FixedClock) -> ArcStore:
    return ArcStore(str(data_dir), clock)


def declare(data_dir: Path, text: str = APP, name: str = "billing") -> Path:
    folder = data_dir / "apps" / name
    folder.mkdir(parents=True)
    (folder / "app.toml").write_text(text)
    return folder


def decision(number: int = 0) -> Decision:
    ruling = authorize(None, CLI, sample_plan(), None)
    return decision_of(ruling, CLI, sample_plan(), decision_id=f"azd_{number:016x}", at_ms=number)


# What is written


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_all_that_is_written_is_private_whatever_the_umask(arc: ArcStore, data_dir: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        arc.add_plan(sample_plan())
        arc.add_operation(sample_operation())
        arc.update_operation(OPERATION_ID, lambda one: begun(one, 10))
        arc.add_approval(sample_approval())
        arc.add_decision(decision(1))
        arc.add_decision(decision(2))
        os.close(arc.application_lock("billing"))
    finally:
        os.umask(before)
    modes = {path.relative_to(data_dir): stat.S_IMODE(path.stat().st_mode) for path in data_dir.rglob("*")}
    assert {path.name for path in data_dir.rglob("*") if path.is_file()} >= {
        f"{PLAN_ID}.json", f"{OPERATION_ID}.json", "decisions.jsonl", "billing.lock",
    }  # fmt: skip
    assert {path: mode for path, mode in modes.items() if mode not in (0o600, 0o700)} == {}


def test_what_is_written_is_read_back_and_reading_changes_nothing(arc: ArcStore, data_dir: Path) -> None:
    declare(data_dir)
    (data_dir / "authz").mkdir(mode=0o700)
    (data_dir / "authz" / "policy.json").write_bytes(policy_text(rule()))
    arc.add_plan(sample_plan())
    arc.add_operation(sample_operation())
    arc.add_approval(sample_approval())
    arc.add_decision(decision())
    before = bytes_of(data_dir)
    policy = arc.policy()
    assert policy
    assert len(policy.rules) == 1
    assert arc.plan(PLAN_ID) == sample_plan()
    assert arc.plans() == ([sample_plan()], [])
    assert arc.operation(OPERATION_ID) == sample_operation()
    assert arc.operations() == ([sample_operation()], [])
    assert arc.approval(PLAN_ID) == sample_approval()
    assert arc.approvals() == ([sample_approval()], [])
    assert arc.decisions() == ([decision()], 0)
    assert arc.applications() == ([arc.application("billing")], [])
    assert arc.status_of(sample_operation()) in {"pending", "indeterminate"}
    assert bytes_of(data_dir) == before


def test_an_empty_data_directory_holds_nothing_and_stays_empty(arc: ArcStore, data_dir: Path) -> None:
    assert (arc.policy(), arc.approval(PLAN_ID), arc.decisions()) == (None, None, ([], 0))
    assert arc.plans() == arc.operations() == arc.approvals() == arc.applications() == ([], [])
    for missing in (arc.application, arc.plan, arc.operation):
        with pytest.raises((NotFound, CheckFailed)):
            missing("billing")
    with pytest.raises(NotFound):
        arc.remove_approval(PLAN_ID)
    with pytest.raises(NotFound):
        arc.update_operation(OPERATION_ID, lambda one: one)
    assert not data_dir.exists()


def test_no_record_is_made_twice_and_the_first_one_stays(arc: ArcStore, data_dir: Path) -> None:
    arc.add_plan(sample_plan())
    arc.add_operation(sample_operation())
    arc.add_approval(sample_approval())
    before = bytes_of(data_dir)
    with pytest.raises(AlreadyExists):
        arc.add_plan(sample_plan(inputs={"version": "v9"}))
    with pytest.raises(AlreadyExists):
        arc.add_operation(sample_operation(at_ms=99))
    with pytest.raises(AlreadyExists, match="approval already"):
        arc.add_approval(sample_approval())
    assert bytes_of(data_dir) == before


def test_a_change_that_is_refused_leaves_the_operation_as_it_was(arc: ArcStore, data_dir: Path) -> None:
    arc.add_operation(sample_operation())
    before = bytes_of(data_dir)
    with pytest.raises(InvalidArgument):
        arc.update_operation(OPERATION_ID, lambda one: finished(one, FAILED, 20))
    assert bytes_of(data_dir) == before
    after = arc.update_operation(OPERATION_ID, lambda one: with_child(begun(one, 10), CHILD, 11))
    assert arc.operation(OPERATION_ID) == after
    assert after.process
    assert after.process.child == CHILD


def test_a_revoked_approval_is_gone_and_may_be_given_anew(arc: ArcStore, data_dir: Path) -> None:
    arc.add_approval(sample_approval())
    arc.remove_approval(PLAN_ID)
    assert arc.approval(PLAN_ID) is None
    assert not list((data_dir / "authz" / "approvals").glob("pln_*"))
    arc.add_approval(sample_approval())
    (data_dir / "authz" / "approvals" / f"{PLAN_ID}.json").write_text("damaged")
    with pytest.raises(ApprovalInvalid):
        arc.approval(PLAN_ID)
    arc.remove_approval(PLAN_ID)
    assert arc.approval(PLAN_ID) is None


def test_listings_are_newest_first_and_tell_what_they_leave_out(arc: ArcStore, data_dir: Path) -> None:
    for number, at_ms in ((1, 5), (2, 9), (3, 9), (4, 1)):
        plan = sample_plan(f"pln_{number:016x}", at_ms=at_ms)
        arc.add_plan(plan)
        arc.add_operation(sample_operation(plan, at_ms))
        arc.add_approval(changed(sample_approval(plan), approved_at_ms=at_ms))
    for folder, kind in (("plans", "pln"), ("ops", "op"), ("authz/approvals", "pln")):
        (data_dir / folder / f"{kind}_{9:016x}.json").write_text("garbage")
        (data_dir / folder / "notes.json").write_text("garbage")
        (data_dir / folder / f"{kind}_{8:016x}.json.tmp-1").write_text("garbage")
    order = [3, 2, 1, 4]
    assert [plan.plan_id for plan in arc.plans()[0]] == [f"pln_{number:016x}" for number in order]
    assert [one.id for one in arc.operations()[0]] == [f"op_{number:016x}" for number in order]
    assert [one.plan_id for one in arc.approvals()[0]] == [f"pln_{number:016x}" for number in order]
    left_out = [(one.file, one.code) for listed in (arc.plans, arc.operations, arc.approvals) for one in listed()[1]]
    assert left_out == [
        (f"pln_{9:016x}.json", "PLAN_CORRUPT"),
        (f"op_{9:016x}.json", "OPERATION_CORRUPT"),
        (f"pln_{9:016x}.json", "APPROVAL_INVALID"),
    ]


# Who is still there


def identity_here(clock: FixedClock, pid: int) -> ProcessIdentity:
    found = identity_of(pid, clock.boot())
    assert found
    return found


def test_an_operation_is_indeterminate_once_neither_its_applier_nor_its_child_is_left(
    arc: ArcStore, clock: FixedClock
) -> None:
    us = identity_here(clock, os.getpid())
    held = arc.application_lock("billing")
    never = changed(us, started=us.started + 1)
    running = begun(sample_operation(), 10)
    assert running.process
    for applier, child, status in (
        (us, None, "running"),
        (us, never, "running"),
        (never, us, "running"),
        (never, None, "indeterminate"),
        (never, never, "indeterminate"),
        (changed(us, boot="another"), None, "indeterminate"),
    ):
        told = changed(running, process=changed(running.process, applier=applier, child=child))
        assert arc.status_of(told) == status
        assert arc.status_of(finished(told, FAILED, 20)) == "failed"
    clock.boot_id = ""
    assert arc.status_of(changed(running, process=changed(running.process, applier=APPLIER))) == "indeterminate"
    by_us = changed(running, process=changed(running.process, applier=us))
    assert arc.status_of(by_us) == "running", "cannot be told"
    clock.boot_id = "boot-1"
    assert arc.status_of(by_us) == "running"
    os.close(held)
    assert arc.status_of(by_us) == "indeterminate", "whoever applies keeps the lock open to the end"


def test_an_operation_that_never_began_is_indeterminate_once_its_applier_is_no_longer_at_it(
    arc: ArcStore, clock: FixedClock
) -> None:
    held = arc.application_lock("billing")
    assert sample_operation().process
    pending = changed(
        sample_operation(), process=changed(sample_operation().process, applier=identity_here(clock, os.getpid()))
    )
    assert arc.status_of(pending) == "pending"
    other = arc.application_lock("auth")
    os.close(held)
    assert arc.status_of(pending) == "indeterminate", "another application's lock is not this one's"
    os.close(other)


def test_a_number_alone_as_the_guides_tool_notes_it_is_not_told_as_gone_while_somebody_has_it(arc: ArcStore) -> None:
    running = changed(begun(sample_operation(), 10), process=None)
    assert arc.status_of(changed(running, pid=os.getpid())) == "running"
    assert arc.status_of(changed(running, pid=0)) == "indeterminate"
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
        assert arc.status_of(changed(running, pid=gone.pid)) == "indeterminate"


def test_what_is_told_of_an_operation_whose_processes_are_gone_is_what_is_on_record_by_then(arc: ArcStore) -> None:
    arc.add_operation(sample_operation())
    seen = arc.update_operation(OPERATION_ID, lambda one: begun(one, 10))
    assert arc.told(seen) == (seen, "indeterminate")
    ended = arc.update_operation(OPERATION_ID, lambda one: finished(one, FAILED, 20))
    assert arc.status_of(seen) == "indeterminate", "what a reader would tell that does not look again"
    assert arc.told(seen) == (ended, "failed")
    assert arc.told(ended) == (ended, "failed")


def test_only_an_operation_that_has_not_ended_can_be_withdrawn_and_nothing_of_it_stays(
    arc: ArcStore, data_dir: Path
) -> None:
    arc.add_operation(sample_operation())
    assert arc.withdraw_operation(OPERATION_ID) is None
    assert not list((data_dir / "ops").glob("op_*"))
    with pytest.raises(NotFound):
        arc.withdraw_operation(OPERATION_ID)
    with pytest.raises(NotFound):
        arc.told(sample_operation())
    arc.add_operation(sample_operation())
    cancelled = arc.update_operation(OPERATION_ID, lambda one: finished(one, CANCELLED, 20))
    assert arc.withdraw_operation(OPERATION_ID) == cancelled
    assert arc.operation(OPERATION_ID) == cancelled


# Hostile files

SPECIALS: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to("/dev/zero"),
    "link to nothing": lambda path: path.symlink_to("/nonexistent"),
    "FIFO": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "huge": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}


@pytest.mark.parametrize("special", SPECIALS.values(), ids=SPECIALS.keys())
def test_a_special_file_in_place_of_any_record_is_refused_by_its_own_code(
    arc: ArcStore, data_dir: Path, special: Callable[[Path], object]
) -> None:
    places: list[tuple[str, str, Callable[[], object]]] = [
        (f"plans/{PLAN_ID}.json", "PLAN_CORRUPT", lambda: arc.plan(PLAN_ID)),
        (f"ops/{OPERATION_ID}.json", "OPERATION_CORRUPT", lambda: arc.operation(OPERATION_ID)),
        (f"authz/approvals/{PLAN_ID}.json", "APPROVAL_INVALID", lambda: arc.approval(PLAN_ID)),
        ("authz/policy.json", "AUTHZ_INVALID", arc.policy),
        ("authz/decisions.jsonl", "AUTHZ_INVALID", arc.decisions),
        ("authz/decisions.jsonl", "AUTHZ_INVALID", lambda: arc.add_decision(decision())),
        ("apps/billing/app.toml", "INVALID_ARGUMENT", lambda: arc.application("billing")),
    ]
    for name, code, look in places:
        path = data_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(path):
            special(path)
        before = os.lstat(path)
        with pytest.raises(PhelixError) as caught:
            look()
        assert caught.value.code == code
        assert os.path.samestat(before, os.lstat(path))
    assert [len(listed()[1]) for listed in (arc.plans, arc.operations, arc.approvals, arc.applications)] == [1] * 4


@pytest.mark.parametrize(
    ("name", "cap"), [("policy.json", MAX_POLICY_BYTES), (f"approvals/{PLAN_ID}.json", MAX_APPROVAL_BYTES)]
)
def test_a_byte_over_its_cap_is_one_too_many(arc: ArcStore, data_dir: Path, name: str, cap: int) -> None:
    path = data_dir / "authz" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(policy_text(rule()) + b" " * (cap + 1 - len(policy_text(rule()))))
    with pytest.raises((AuthzInvalid, ApprovalInvalid), match="larger"):
        arc.policy() if name == "policy.json" else arc.approval(PLAN_ID)
    path.write_bytes(path.read_bytes()[:cap])
    if name == "policy.json":
        assert arc.policy()


def test_a_policy_that_cannot_be_reached_is_not_taken_for_absent(arc: ArcStore, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "authz").write_text("a file where the folder should be")
    with pytest.raises(AuthzUnavailable):
        arc.policy()
    with pytest.raises(FilesystemError):
        arc.add_decision(decision())


LOOKING = """
import sys
from phelix_core.arc.store import ArcStore
from phelix_core.clock import SystemClock
from phelix_core.errors import PhelixError
arc = ArcStore(sys.argv[1], SystemClock())
for look in (arc.policy, lambda: arc.approval(sys.argv[2]), lambda: arc.application("billing")):
    try:
        print(look())
    except PhelixError as error:
        print(error.code)
"""


def test_what_may_not_be_read_is_unavailable_and_never_absent(arc: ArcStore, data_dir: Path) -> None:
    arc.add_approval(sample_approval())
    (data_dir / "authz" / "policy.json").write_bytes(policy_text(rule()))
    declare(data_dir)
    for name in ("authz/policy.json", f"authz/approvals/{PLAN_ID}.json", "apps/billing/app.toml"):
        (data_dir / name).chmod(0)
    told = subprocess.run(
        [sys.executable, "-c", AS_A_PLAIN_USER, sys.executable, "-c", LOOKING, str(data_dir), PLAN_ID],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout.split() == ["AUTHZ_UNAVAILABLE", "AUTHZ_UNAVAILABLE", "FILESYSTEM_ERROR"]


# The log of decisions


def test_the_log_keeps_the_newest_decisions_and_tells_them_newest_first(arc: ArcStore) -> None:
    log = b"".join(b'{"old":%d}\n' % number for number in range(MAX_DECISIONS))
    arc.add_decision(decision(1))
    path = Path(arc.folder_of("billing")).parents[1] / "authz" / "decisions.jsonl"
    path.write_bytes(log + path.read_bytes())
    arc.add_decision(decision(2))
    arc.add_decision(decision(3))
    assert len(path.read_bytes().splitlines()) == MAX_DECISIONS
    found, others = arc.decisions()
    assert [one.decided_at_ms for one in found] == [3, 2, 1]
    assert others == MAX_DECISIONS - 3
    assert path.read_bytes().startswith(b'{"old":3}\n')


def test_a_line_that_a_killed_writer_tore_is_ended_and_costs_no_other(arc: ArcStore, data_dir: Path) -> None:
    arc.add_decision(decision(1))
    path = data_dir / "authz" / "decisions.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:-9])
    arc.add_decision(decision(2))
    assert path.read_bytes().endswith(b"\n")
    found, torn = arc.decisions()
    assert ([one.decided_at_ms for one in found], torn) == ([2, 1], 1)


# Care


def test_modes_that_are_open_and_what_killed_writers_left_are_told(
    arc: ArcStore, data_dir: Path, clock: FixedClock
) -> None:
    arc.add_plan(sample_plan())
    arc.add_decision(decision())
    assert (arc.lax_modes(), arc.leftovers()) == ([], [])
    (data_dir / "plans" / f"{PLAN_ID}.json").chmod(0o644)
    assert arc.lax_modes() == [str(data_dir / "plans" / f"{PLAN_ID}.json")]
    strays = [
        data_dir / "authz" / ".staging" / "decisions.jsonl.0123",
        data_dir / "plans" / f"{PLAN_ID}.json.tmp-77",
    ]
    for stray in strays:
        stray.touch()
        os.utime(stray, (0, clock.now_ms() / 1_000 - 3_601))
    assert sorted(arc.leftovers()) == sorted(map(str, strays))


# Applications


def test_applications_are_told_by_name_and_folders_that_declare_nothing_are_none(arc: ArcStore, data_dir: Path) -> None:
    declare(data_dir)
    declare(data_dir, 'name = "auth"', "auth")
    declare(data_dir, 'name = "auth"', "copied")
    (data_dir / "apps" / "Guides").mkdir()
    (data_dir / "apps" / "Guides" / "deploy.json").write_text("{}")
    (data_dir / "apps" / "note.txt").write_text("x")
    found, unreadable = arc.applications()
    assert [one.name for one in found] == ["auth", "billing"]
    assert [(one.file, one.code) for one in unreadable] == [("copied/app.toml", "INVALID_ARGUMENT")]
    for name in ("Guides", "../authz", "", "note.txt", "absent"):
        with pytest.raises(NotFound):
            arc.application(name)


def test_one_application_is_locked_by_one_apply_and_the_refused_is_told_which(arc: ArcStore, clock: FixedClock) -> None:
    held = arc.application_lock("billing")
    with pytest.raises(DeployLocked) as caught:
        arc.application_lock("billing")
    assert caught.value.details == {"application": "billing"}
    arc.require_unlocked("billing")
    operation = sample_operation()
    assert operation.process
    us = changed(operation.process, applier=identity_here(clock, os.getpid()))
    arc.add_operation(changed(operation, process=us))
    with pytest.raises(DeployLocked, match=OPERATION_ID):
        arc.require_unlocked("billing")
    arc.require_unlocked("auth")
    with pytest.raises(DeployLocked, match=OPERATION_ID) as caught:
        arc.application_lock("billing")
    assert caught.value.details == {"application": "billing", "operation_id": OPERATION_ID}
    other = arc.application_lock("auth")
    os.close(held)
    arc.require_unlocked("billing")
    os.close(arc.application_lock("billing"))
    os.close(other)
    with pytest.raises(CheckFailed):
        arc.application_lock("../billing")


def test_the_lock_lives_as_long_as_a_command_that_inherited_it(arc: ArcStore) -> None:
    held = arc.application_lock("billing")
    command = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=(held,)
    )
    os.close(held)
    with pytest.raises(DeployLocked):
        arc.application_lock("billing")
    command.communicate(timeout=60)
    os.close(arc.application_lock("billing"))


@pytest.mark.parametrize("special", ["link", "folder", "FIFO"])
def test_a_lock_that_is_no_file_of_its_own_locks_nothing(arc: ArcStore, data_dir: Path, special: str) -> None:
    locks = data_dir / "ops" / "locks"
    locks.mkdir(parents=True, mode=0o700)
    SPECIALS[special](locks / "billing.lock")
    with pytest.raises(FilesystemError):
        arc.application_lock("billing")


# Several at once

RACING = """
import sys
from phelix_core.arc.store import ArcStore
from phelix_core.clock import SystemClock
from phelix_core.errors import PhelixError
from tests.core.arc.samples import sample_approval, sample_operation, sample_plan
from tests.core.arc.test_arc_store import decision
arc, number = ArcStore(sys.argv[1], SystemClock()), int(sys.argv[3])
does = {
    "plan": lambda: arc.add_plan(sample_plan(inputs={"by": number})),
    "operation": lambda: arc.add_operation(sample_operation(at_ms=number)),
    "approval": lambda: arc.add_approval(sample_approval()),
    "lock": lambda: arc.application_lock("billing"),
    "decision": lambda: [arc.add_decision(decision(100 * number + turn)) for turn in range(10)],
}
print("ready", flush=True)
sys.stdin.readline()
try:
    does[sys.argv[2]]()
    print("won", flush=True)
except PhelixError as error:
    print(error.code, flush=True)
sys.stdin.read()
"""
RACERS = 6


def raced(data_dir: Path, what: str) -> list[str]:
    """What each of several processes says that did `what` at once; all live until all have said it."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACING, str(data_dir), what, str(number)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(1, RACERS + 1)
    ]
    ends = [(racer.stdin, racer.stdout) for racer in racers]
    said: list[str] = []
    for _, out in ends:
        assert out
        assert out.readline() == "ready\n"
    for into, _ in ends:
        assert into
        into.write("go\n")
        into.flush()
    for _, out in ends:
        assert out
        said.append(out.readline().strip())
    for racer in racers:
        racer.communicate(timeout=60)
    return said


@pytest.mark.parametrize(
    ("what", "refusal"),
    [
        ("plan", "ALREADY_EXISTS"),
        ("operation", "ALREADY_EXISTS"),
        ("approval", "ALREADY_EXISTS"),
        ("lock", "DEPLOY_LOCKED"),
    ],
)
def test_of_several_processes_at_once_one_wins_and_the_others_are_told(data_dir: Path, what: str, refusal: str) -> None:
    assert sorted(raced(data_dir, what)) == sorted(["won", *[refusal] * (RACERS - 1)])


def test_no_decision_of_several_processes_at_once_is_lost(arc: ArcStore, data_dir: Path) -> None:
    assert raced(data_dir, "decision") == ["won"] * RACERS
    found, torn = arc.decisions()
    assert torn == 0
    assert sorted(one.decided_at_ms for one in found) == sorted(
        100 * number + turn for number in range(1, RACERS + 1) for turn in range(10)
    )
    assert DECISION_ID not in {one.decision_id for one in found}
