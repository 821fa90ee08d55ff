"""Policies, approvals and rulings: who may execute what, told by tables."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phelix_core.arc.approvals import (
    MAX_APPROVAL_BYTES,
    Decision,
    appended,
    decode_approval,
    decode_decision,
    encode_approval,
    encode_decision,
    new_approval,
)
from phelix_core.arc.authorization import ALLOWED, NO_RULE, authorize, decision_of, require_allowed
from phelix_core.arc.model import Actor
from phelix_core.arc.policies import ACTOR_TYPES, MAX_RULES, Policy, decode_policy
from phelix_core.checks import CheckFailed
from phelix_core.errors import (
    ApprovalInvalid,
    ApprovalRequired,
    ApprovalStale,
    AuthzDenied,
    AuthzInvalid,
    AuthzUnavailable,
    InvalidArgument,
    PhelixError,
)
from phelix_core.frozen import changed
from phelix_core.strictjson import dumps, plain
from tests.core.arc.samples import (
    APPROVAL_ID,
    CLI,
    DECISION_ID,
    MCP,
    PLAN_ID,
    policy_text,
    rule,
    sample_approval,
    sample_plan,
)

OTHER_PLAN = "pln_00000000000000ff"


def policy(*rules: object) -> Policy:
    return decode_policy(policy_text(*rules))


def who(kind: str = "mcp", name: str | None = None, *, authenticated: bool = False) -> Actor:
    return Actor(type=kind, id=name, authenticated=authenticated)


# Without a policy


@pytest.mark.parametrize("given_policy", [None, decode_policy(policy_text(rule(), mode="legacy_local"))])
@pytest.mark.parametrize("kind", [*ACTOR_TYPES, "tui", "", "*"])
def test_without_a_policy_the_command_line_executes_and_nobody_else(kind: str, given_policy: Policy | None) -> None:
    ruling = authorize(given_policy, who(kind), sample_plan(), None)
    assert ruling.allowed is (kind == "cli")
    assert (ruling.mode, ruling.rule_index, ruling.approval_id) == ("legacy_local", NO_RULE, None)
    assert ruling.code == (ALLOWED if kind == "cli" else "AUTHZ_DENIED")


# Rules


def actor_of(**changed_members: object) -> dict[str, object]:
    return {"type": "mcp", "authenticated": False} | changed_members


@pytest.mark.parametrize(
    ("said", "actor", "matches"),
    [
        (rule(), who(), True),
        (rule(), who("service"), True),
        (rule(), who(authenticated=True), False),
        (rule(actor=actor_of()), who(), True),
        (rule(actor=actor_of()), who("cli"), False),
        (rule(actor=actor_of(authenticated=True)), who(), False),
        (rule(actor=actor_of(authenticated=True)), who(authenticated=True), True),
        (rule(actor=actor_of(authenticated=True, id="ann")), who(name="ann", authenticated=True), True),
        (rule(actor=actor_of(authenticated=True, id="ann")), who(name="bob", authenticated=True), False),
        (rule(actor=actor_of(authenticated=True, id="ann")), who(authenticated=True), False),
        (rule(actor=actor_of(authenticated=True, id="ann")), who(name="ann"), False),
        (rule(actor=actor_of(authenticated=True, id="*")), who(name="bob", authenticated=True), True),
        (rule(action="deploy"), who(), True),
        (rule(action="rollback"), who(), False),
        (rule(action="rebuild"), who(), False),
        (rule(target="billing"), who(), True),
        (rule(target="bill"), who(), False),
        (rule(target="billing2"), who(), False),
        (rule(target="Billing"), who(), False),
    ],
)
def test_a_rule_matches_whole_names_or_a_bare_star(said: object, actor: Actor, matches: bool) -> None:  # noqa: FBT001 - a table's column
    assert authorize(policy(said), actor, sample_plan(), None).allowed is matches


ALLOW = rule()
DENY = rule(effect="deny")
ASK = rule(require_approval=True)
FOREIGN = rule(target="auth")
FOREIGN_DENY = rule(target="auth", effect="deny")


@pytest.mark.parametrize(
    ("rules", "code", "index"),
    [
        ([], "AUTHZ_DENIED", -1),
        ([ALLOW], ALLOWED, 0),
        ([FOREIGN, ALLOW], ALLOWED, 1),
        ([FOREIGN], "AUTHZ_DENIED", -1),
        ([DENY], "AUTHZ_DENIED", 0),
        ([ALLOW, DENY], "AUTHZ_DENIED", 1),
        ([ASK, DENY], "AUTHZ_DENIED", 1),
        ([ALLOW, ALLOW, DENY, DENY], "AUTHZ_DENIED", 2),
        ([FOREIGN_DENY, ALLOW], ALLOWED, 1),
        ([ASK], "APPROVAL_REQUIRED", 0),
        ([ASK, ALLOW], "APPROVAL_REQUIRED", 0),
        ([ALLOW, ASK], ALLOWED, 0),
        ([FOREIGN, ASK], "APPROVAL_REQUIRED", 1),
    ],
)
def test_deny_wins_then_the_first_allow_decides_and_else_nobody_executes(
    rules: list[object], code: str, index: int
) -> None:
    ruling = authorize(policy(*rules), who(), sample_plan(), None)
    assert (ruling.code, ruling.rule_index, ruling.allowed) == (code, index, code == ALLOWED)
    assert ruling.mode == "enforced"


def oracle(rules: list[dict[str, Any]], actor: Actor) -> bool:
    """The rules once more, by hand: may `actor` deploy billing without any approval?"""
    matching = [
        one["effect"]
        for one in rules
        if one["actor"]["authenticated"] == actor.authenticated
        and one["actor"]["type"] in {"*", actor.type}
        and one["action"] in {"*", "deploy"}
        and one["target"] in {"*", "billing"}
    ]
    return "deny" not in matching and "allow" in matching


SAID = [
    rule(actor={"type": kind, "authenticated": proven}, action=action, target=target, effect=effect)
    for kind, proven, action, target, effect in product(
        ("*", "cli", "mcp"), (True, False), ("*", "deploy", "rollback"), ("*", "billing", "auth"), ("allow", "deny")
    )
]


@given(st.lists(st.sampled_from(SAID), max_size=5), st.sampled_from(["cli", "mcp", "api"]), st.booleans())
def test_any_rules_decide_as_they_do_by_hand(rules: list[dict[str, Any]], kind: str, proven: bool) -> None:  # noqa: FBT001 - drawn
    actor = who(kind, authenticated=proven)
    assert authorize(policy(*rules), actor, sample_plan(), None).allowed is oracle(rules, actor)


# Approvals


def test_an_approval_of_this_very_plan_lets_it_be_executed() -> None:
    ruling = authorize(policy(ASK), who(), sample_plan(), sample_approval())
    assert (ruling.allowed, ruling.code, ruling.approval_id) == (True, ALLOWED, APPROVAL_ID)


@pytest.mark.parametrize(
    "other",
    [
        sample_plan(OTHER_PLAN),
        sample_plan(inputs={"version": "v9"}),
        sample_plan(application="auth"),
        sample_plan(action="rollback"),
    ],
    ids=["another plan of the same content", "other content", "another application", "another action"],
)
def test_an_approval_of_anything_else_is_stale(other: Any) -> None:
    ruling = authorize(policy(ASK), who(), sample_plan(), sample_approval(other))
    assert (ruling.allowed, ruling.code, ruling.approval_id) == (False, "APPROVAL_STALE", APPROVAL_ID)


@pytest.mark.parametrize("name", ["plan_id", "plan_hash", "action", "target"])
def test_each_of_the_four_things_that_an_approval_binds_counts(name: str) -> None:
    approval = changed(sample_approval(), **{name: "another"})
    assert authorize(policy(ASK), who(), sample_plan(), approval).code == "APPROVAL_STALE"


@pytest.mark.parametrize("error", [ApprovalInvalid("it was changed"), AuthzUnavailable("it is not there now")])
def test_an_approval_that_cannot_be_had_counts_only_where_one_is_wanted(
    error: ApprovalInvalid | AuthzUnavailable,
) -> None:
    ruling = authorize(policy(ASK), who(), sample_plan(), error)
    assert (ruling.allowed, ruling.code, ruling.reason) == (False, error.code, error.message)
    assert authorize(policy(ALLOW), who(), sample_plan(), error).allowed
    assert authorize(policy(DENY), who(), sample_plan(), error).code == "AUTHZ_DENIED"


@pytest.mark.parametrize("rules", [[DENY], []])
def test_an_approval_helps_nobody_whom_no_rule_allows(rules: list[object]) -> None:
    assert authorize(policy(*rules), who(), sample_plan(), sample_approval()).code == "AUTHZ_DENIED"


def test_an_approval_helps_nobody_past_an_absent_policy() -> None:
    assert authorize(None, MCP, sample_plan(), sample_approval()).code == "AUTHZ_DENIED"


def test_an_approval_is_written_and_read_back() -> None:
    approval = sample_approval()
    assert decode_approval(encode_approval(approval), PLAN_ID) == approval
    assert list(plain(approval)) == [
        "schema_version", "approval_id", "approval_hash", "plan_id", "plan_hash", "action", "target", "decision",
        "approver_type", "approver_authenticated", "approver_source", "approver_provenance", "approved_at_ms",
    ]  # fmt: skip


def test_an_approvals_hash_is_over_what_binds_it() -> None:
    from hashlib import sha256  # noqa: PLC0415 - written out by hand beside the form it checks

    image = (
        f'{{"SchemaVersion":"1","PlanID":"{PLAN_ID}","PlanHash":"{sample_plan().plan_hash}","Action":"deploy",'
        '"Target":"billing","Decision":"approved","ApproverType":"cli","ApproverID":"",'
        '"ApproverAuthenticated":false,"ApproverSource":"local_host"}'
    )
    assert sample_approval().approval_hash == f"sha256:{sha256(image.encode()).hexdigest()}"


@pytest.mark.parametrize(
    "change",
    [
        {"plan_id": OTHER_PLAN}, {"plan_hash": "sha256:00"}, {"action": "rollback"}, {"target": "auth"},
        {"decision": "denied"}, {"schema_version": "2"}, {"approver_type": "mcp"}, {"approver_id": "ann"},
        {"approver_authenticated": True}, {"approver_source": "sso"}, {"approval_hash": "sha256:00"},
        {"approval_id": "apr_1"}, {"approval_id": None}, {"approved_at_ms": "7"}, {"expires_at_ms": 5},
        {"approver_authenticated": 0}, {"approver_provenance": 5},
    ],
)  # fmt: skip
def test_an_approval_that_was_edited_is_invalid(change: dict[str, object]) -> None:
    edited = dumps(plain(sample_approval()) | change).encode()
    with pytest.raises(ApprovalInvalid):
        decode_approval(edited, PLAN_ID)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", encode_approval(sample_approval())[:-9],
        encode_approval(sample_approval()).decode().encode("utf-16"),
        encode_approval(sample_approval()).replace(b"{", b'{"action": "deploy",', 1), b"[" * 100_000,
    ],
    ids=["empty", "null", "list", "truncated", "UTF-16", "a key twice", "deep"],
)  # fmt: skip
def test_what_is_no_approval_is_invalid(data: bytes) -> None:
    with pytest.raises(ApprovalInvalid):
        decode_approval(data, PLAN_ID)


def test_an_approval_that_was_filed_under_another_plan_is_invalid() -> None:
    with pytest.raises(ApprovalInvalid, match="another one"):
        decode_approval(encode_approval(sample_approval()), OTHER_PLAN)


def test_an_approval_over_its_cap_is_not_written() -> None:
    large = new_approval(sample_plan(), CLI, approval_id=APPROVAL_ID, at_ms=1, provenance="x" * MAX_APPROVAL_BYTES)
    with pytest.raises(InvalidArgument):
        encode_approval(large)
    with pytest.raises(CheckFailed):
        new_approval(sample_plan(), CLI, approval_id="apr_1", at_ms=1)


# The policy's file


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"{}", b"\xff\xfe{}", policy_text(rule())[:-3], policy_text().decode().encode("utf-16"),
        b'{"schema_version": "1", "schema_version": "1"}', b"[" * 100_000, b'{"rules": ' * 40 + b"1" + b"}" * 40,
        policy_text(schema_version="2"), policy_text(schema_version=1), policy_text(mode="off"), policy_text(mode=None),
        policy_text(rule=[rule()]), policy_text(rules={}), policy_text(rules=[1]),
        policy_text(*[rule()] * (MAX_RULES + 1)),
        policy_text(rule(effects="allow")), policy_text(rule(effect=None)), policy_text(rule(effect="Allow")),
        policy_text(rule(effect="approval_required")), policy_text(rule(action=None)), policy_text(rule(action="dep*")),
        policy_text(rule(action="build")), policy_text(rule(target=None)), policy_text(rule(target="")),
        policy_text(rule(target="bill*")), policy_text(rule(target="**")), policy_text(rule(actor=None)),
        policy_text(rule(actor="mcp")), policy_text(rule(actor={"type": "mcp"})),
        policy_text(rule(actor=actor_of(type="root"))), policy_text(rule(actor=actor_of(authenticated="false"))),
        policy_text(rule(actor=actor_of(id="ann"))), policy_text(rule(actor=actor_of(id="*"), x=1)),
        policy_text(rule(actor=actor_of(authenticated=True, id="a*"))), policy_text(rule(actor=actor_of(role="admin"))),
        policy_text(rule(effect="deny", require_approval=True)), policy_text(rule(require_approval="yes")),
        policy_text(rule(require_approval=1)), policy_text(rule(description=5)),
    ],
)  # fmt: skip
def test_what_is_not_understood_to_the_last_member_is_no_policy(data: bytes) -> None:
    with pytest.raises(AuthzInvalid):
        decode_policy(data)


def test_as_many_rules_as_there_may_be_are_read_with_what_people_note_on_them() -> None:
    read = decode_policy(policy_text(*[rule(description="who and why", require_approval=False)] * MAX_RULES))
    assert len(read.rules) == MAX_RULES
    assert not read.rules[0].require_approval
    assert decode_policy(b'{"schema_version": "1"}') == Policy(mode="enforced", rules=())


# Refusals and the log


@pytest.mark.parametrize(
    ("decide", "kind", "effect"),
    [
        (lambda: authorize(None, MCP, sample_plan(), None), AuthzDenied, "deny"),
        (lambda: authorize(policy(ASK), MCP, sample_plan(), None), ApprovalRequired, "approval_required"),
        (lambda: authorize(policy(ASK), MCP, sample_plan(), sample_approval(sample_plan(OTHER_PLAN))), ApprovalStale,
         "deny"),
        (lambda: authorize(policy(ASK), MCP, sample_plan(), ApprovalInvalid()), ApprovalInvalid, "deny"),
        (lambda: authorize(policy(ASK), MCP, sample_plan(), AuthzUnavailable()), AuthzUnavailable, "deny"),
    ],
)  # fmt: skip
def test_a_ruling_refuses_with_its_own_code_and_the_log_says_the_same(
    decide: Callable[[], Any], kind: type[PhelixError], effect: str
) -> None:
    ruling = decide()
    with pytest.raises(kind) as caught:
        require_allowed(ruling, sample_plan())
    assert caught.value.details == {"plan_id": PLAN_ID, "mode": ruling.mode, "rule_index": ruling.rule_index}
    told = decision_of(ruling, MCP, sample_plan(), decision_id=DECISION_ID, at_ms=3, provenance="ann")
    assert (told.decision, told.code) == (effect, kind.code)
    assert caught.value.message in (told.reason, f"{told.reason} Nothing was executed.")


def decision(**chosen: Any) -> Decision:
    ruling = authorize(None, CLI, sample_plan(), None)
    return changed(decision_of(ruling, CLI, sample_plan(), decision_id=DECISION_ID, at_ms=3), **chosen)


def test_a_decision_is_one_compact_line_that_reads_back() -> None:
    require_allowed(authorize(None, CLI, sample_plan(), None), sample_plan())
    one = decision(extra={"new": [1]}, actor_provenance="line\nbreak")
    line = encode_decision(one)
    assert line.count(b"\n") == 1
    assert b'": ' not in line
    assert decode_decision(line) == one
    assert json.loads(line)["decision"] == "allow"
    with pytest.raises(InvalidArgument):
        encode_decision(decision(reason="x" * 9_000))


@pytest.mark.parametrize("line", [b"", b"{", b"null", b"{}", b"garbage", encode_decision(decision())[:-9]])
def test_what_is_no_decision_is_told_apart(line: bytes) -> None:
    assert decode_decision(line) is None


@pytest.mark.parametrize("held", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("torn", [b"", b'{"torn'])
def test_the_log_keeps_its_newest_lines_and_ends_a_torn_one(held: int, torn: bytes) -> None:
    log = b"".join(b"%d\n" % number for number in range(held)) + torn
    lines = [b"%d" % number for number in range(held)] + [torn] * bool(torn) + [b"new"]
    assert appended(log, b"new\n", keep=4).splitlines() == lines[-4:]


def test_a_log_of_one_line_keeps_the_new_one() -> None:
    assert appended(b"a\nb\n", b"new\n", keep=1) == b"new\n"
