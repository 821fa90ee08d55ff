import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from phelix_core.checks import MAX_INTEGER, NATURAL, POSITIVE, Check, CheckFailed, at_least, capped, full_match, one_of
from phelix_core.sessions.model import DEPLOYMENT_ID, OPERATION_ID, PLAN_ID, SESSION_ID

HEX = "0123456789abcdef"
FORMS = {
    "session": (SESSION_ID, f"ses_{HEX}"),
    "plan": (PLAN_ID, f"pln_{HEX}"),
    "operation": (OPERATION_ID, f"op_{HEX}"),
    "deployment": (DEPLOYMENT_ID, f"dep-{HEX}"),
}


def is_refused(check: Check, value: object) -> bool:
    try:
        check.apply(value)
    except CheckFailed:
        return True
    return False


@pytest.mark.parametrize(("form", "good"), FORMS.values(), ids=FORMS.keys())
def test_an_id_matches_from_end_to_end_or_not_at_all(form: Check, good: str) -> None:
    assert form.apply(good) == good
    prefix = good[:4] if good[2] != "_" else good[:3]
    wrong = [
        f"{good}\n", f"\n{good}", f" {good}", f"{good} ", good.upper(), good.capitalize(), f"{good}\0", f"../{good}",
        f"{good}/../x", prefix, "", "-", ".", "..", "/", good * 20, f"{prefix}{HEX[:-1]}g", f"x{good}",
        good.replace("0", "\u0660"), good.replace("a", "\u0430"),
    ]  # fmt: skip
    assert [text for text in wrong if not is_refused(form, text)] == []


@pytest.mark.parametrize("digits", [15, 17])
@pytest.mark.parametrize("prefix", ["ses_", "pln_", "op_"])
def test_sixteen_digits_and_no_other_number(prefix: str, digits: int) -> None:
    check = {"ses_": SESSION_ID, "pln_": PLAN_ID, "op_": OPERATION_ID}[prefix]
    assert is_refused(check, prefix + "a" * digits)


@pytest.mark.parametrize(("digits", "refused"), [(0, True), (1, False), (64, False), (65, True)])
def test_a_deployment_id_has_1_to_64_digits(digits: int, refused: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_refused(DEPLOYMENT_ID, "dep-" + "a" * digits) is refused


@pytest.mark.parametrize("check", [full_match("a+", "as"), one_of("a", "aa"), capped(2)], ids=["match", "one", "cap"])
@pytest.mark.parametrize("text", ["a", "aa", "b", "", "a\n", "éé", "aaa"])
def test_pydantic_finds_the_same_check(check: Check, text: str) -> None:
    from typing import Annotated  # noqa: PLC0415 - the annotation is made of a parameter

    adapter = TypeAdapter[str](Annotated[str, check])
    try:
        adapter.validate_python(text)
    except ValidationError:
        assert is_refused(check, text)
    else:
        assert not is_refused(check, text)
    assert check.schema.items() <= adapter.json_schema().items()


@pytest.mark.parametrize(("check", "least"), [(NATURAL, 0), (POSITIVE, 1), (at_least(7), 7)])
def test_integers_run_from_the_least_to_2_to_the_53(check: Check, least: int) -> None:
    assert check.apply(least) == least
    assert check.apply(MAX_INTEGER) == 2**53
    for value in (least - 1, MAX_INTEGER + 1, -1, 2**63, 10**5_000):
        assert is_refused(check, value)


def test_an_upper_bound_is_a_refusal_that_names_it_and_never_a_cut() -> None:
    with pytest.raises(CheckFailed, match="at least 1 and at most 9"):
        at_least(1, 9).apply(10)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.integers(0, 40))
def test_a_cap_counts_bytes_and_answers_the_text_unchanged(text: str, cap: int) -> None:
    size = len(text.encode())
    if size > cap:
        with pytest.raises(CheckFailed, match=f"{size} bytes of UTF-8 are over the cap of {cap}"):
            capped(cap).apply(text)
    else:
        assert capped(cap).apply(text) == text


@pytest.mark.parametrize("text", ["\0", "\ud800", "a\udcffb"])
def test_no_cap_lets_nul_or_a_lone_surrogate_through(text: str) -> None:
    assert is_refused(capped(100), text)


def test_a_choice_names_what_it_would_take() -> None:
    with pytest.raises(CheckFailed, match="one of active, failed"):
        one_of("active", "failed").apply("Active")
