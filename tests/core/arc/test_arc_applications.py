"""Applications: what a file may say, and that each fault names its key and never its value."""

import tomllib
from typing import Any

import pytest

from phelix_core.arc.applications import (
    MAX_APPLICATION_BYTES,
    Application,
    DeclaredCommand,
    HealthCheck,
    decode_application,
    execution_of,
)
from phelix_core.errors import InvalidArgument, PlanCapabilityMissing

SECRET = "s3cr3t-value"
FULL = """
name = "billing"
language = "python"
version = "v2"
versions = ["v2", "v3"]

[deploy]
command = ["./deploy", "--to={version}", "{version}"]
time_limit_seconds = 30
environment = ["PATH", "HOME"]
folder = "release/scripts"

[rollback]
command = ["./rollback", "{version}"]

[health]
url = "https://billing.example:8443/health?deep=1"
expect_status = 204
"""


def read(text: str, name: str = "billing") -> Application:
    return decode_application(text.encode(), name)


def refusal(text: str | bytes, name: str = "billing") -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        decode_application(text if isinstance(text, bytes) else text.encode(), name)
    assert caught.value.details["file"] == f"apps/{name}/app.toml"
    assert SECRET not in caught.value.message
    return caught.value


def test_all_that_a_file_may_say_is_read() -> None:
    application = read(FULL)
    assert (application.name, application.language, application.version) == ("billing", "python", "v2")
    assert application.versions == ("v2", "v3")
    assert application.deploy == DeclaredCommand(
        command=("./deploy", "--to={version}", "{version}"),
        time_limit_seconds=30,
        environment=("PATH", "HOME"),
        folder="release/scripts",
    )
    assert application.rollback == DeclaredCommand(
        command=("./rollback", "{version}"), time_limit_seconds=600, environment=(), folder="."
    )
    assert application.health == HealthCheck(
        command=None,
        url="https://billing.example:8443/health?deep=1",
        time_limit_seconds=10,
        expect_status=204,
    )
    assert application.capabilities == {"deploy", "rollback"}


def test_a_name_is_all_that_a_file_must_say() -> None:
    application = read('name = "billing"')
    assert application.capabilities == frozenset()
    assert (application.version, application.versions, application.health) == (None, (), None)


def test_a_health_check_may_be_a_command_of_its_own() -> None:
    health = read(
        'name = "billing"\n[health]\ncommand = ["./ok"]\nenvironment = ["PATH"]\ntime_limit_seconds = 3'
    ).health
    assert health
    assert health.command == DeclaredCommand(command=("./ok",), time_limit_seconds=3, environment=("PATH",), folder=".")
    assert (health.url, health.expect_status, health.time_limit_seconds) == (None, None, 3)


DEPLOY = 'name = "billing"\n[deploy]\ncommand = ["./deploy"]\n'
HEALTH = 'name = "billing"\n[health]\n'


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "name"),
        ("name = 5", "name"),
        ('name = "auth"', "name"),
        ('name = "Billing"', "name"),
        (f'name = "billing"\npassword = "{SECRET}"', "password"),
        (f'name = "billing"\nlanguage = ["{SECRET}"]', "language"),
        ('name = "billing"\nlanguage = ""', "language"),
        (f'name = "billing"\nversion = "-{SECRET}"', "version"),
        ('name = "billing"\nversion = 3', "version"),
        (f'name = "billing"\nversions = ["../{SECRET}"]', "versions"),
        ('name = "billing"\nversions = ["v1", 2]', "versions"),
        ('name = "billing"\nversions = "v1"', "versions"),
        (f'name = "billing"\nversions = {["v1"] * 1_001}', "versions"),
        ('name = "billing"\ndeploy = "./deploy"', "deploy"),
        ('name = "billing"\n[deploy]', "deploy.command"),
        ('name = "billing"\n[deploy]\ncommand = []', "deploy.command"),
        ('name = "billing"\n[deploy]\ncommand = [" ", "x"]', "deploy.command"),
        (f'name = "billing"\n[deploy]\ncommand = "rm {SECRET}"', "deploy.command"),
        (f'name = "billing"\n[deploy]\ncommand = ["./deploy", "{SECRET}\\u0000"]', "deploy.command"),
        (f'name = "billing"\n[deploy]\ncommand = {["x"] * 65}', "deploy.command"),
        (f'name = "billing"\n[deploy]\ncommand = ["{"x" * 4_097}"]', "deploy.command"),
        (f'{DEPLOY}shell = "{SECRET}"', "deploy.shell"),
        (f"{DEPLOY}time_limit_seconds = 0", "deploy.time_limit_seconds"),
        (f"{DEPLOY}time_limit_seconds = 86_401", "deploy.time_limit_seconds"),
        (f"{DEPLOY}time_limit_seconds = true", "deploy.time_limit_seconds"),
        (f"{DEPLOY}time_limit_seconds = 1.5", "deploy.time_limit_seconds"),
        (f"{DEPLOY}time_limit_seconds = 2026-01-01", "deploy.time_limit_seconds"),
        (f'{DEPLOY}environment = ["TOKEN={SECRET}"]', "deploy.environment"),
        (f'{DEPLOY}environment = ["1X"]', "deploy.environment"),
        (f"{DEPLOY}environment = {['X'] * 65}", "deploy.environment"),
        (f'{DEPLOY}folder = "/etc/{SECRET}"', "deploy.folder"),
        (f'{DEPLOY}folder = "a/../../{SECRET}"', "deploy.folder"),
        (f'{DEPLOY}folder = ".."', "deploy.folder"),
        (f'{DEPLOY}folder = ""', "deploy.folder"),
        (HEALTH, "health.command"),
        (f'{HEALTH}command = ["x"]\nurl = "http://a/{SECRET}"', "health.command"),
        (f'{HEALTH}command = ["x"]\nexpect_status = 200', "health.expect_status"),
        (f'{HEALTH}url = "http://a"\nfolder = "{SECRET}"', "health.folder"),
        (f'{HEALTH}url = "http://a"\nexpect_status = 99', "health.expect_status"),
        (f'{HEALTH}url = "http://a"\nexpect_status = 600', "health.expect_status"),
        (f'{HEALTH}url = "ftp://a/{SECRET}"', "health.url"),
        (f'{HEALTH}url = "file:///{SECRET}"', "health.url"),
        (f'{HEALTH}url = "http:///{SECRET}"', "health.url"),
        (f'{HEALTH}url = "https://ann:{SECRET}@a"', "health.url"),
        (f'{HEALTH}url = "http://a:99999/{SECRET}"', "health.url"),
        (f'{HEALTH}url = "http://[::1/{SECRET}"', "health.url"),
        (f'{HEALTH}url = "http://a/ {SECRET}"', "health.url"),
        (f'{HEALTH}url = "http://a/{"x" * 2_048}"', "health.url"),
    ],
)  # fmt: skip
def test_each_fault_names_its_key_and_never_its_value(text: str, key: str) -> None:
    assert refusal(text).details["key"] == key


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe", FULL.encode("utf-16"), FULL.encode()[:-30], f'name = "billing"\nname = "{SECRET}"'.encode(),
        f'x = "{SECRET}'.encode(), b"x = " + b"[" * 5_000, b"x = " + b"[" * 500 + b"]" * 500,
        b"#" * (MAX_APPLICATION_BYTES + 1), b"\0", b"x" * 9_000,
    ],
)  # fmt: skip
def test_what_is_no_toml_of_a_bearable_size_says_so_without_quoting_it(data: bytes) -> None:
    refusal(data)


@pytest.mark.parametrize(
    "argument",
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345",
     "https://ann:hunter2hunter2@registry.example", "AKIAIOSFODNN7EXAMPLE"],
)  # fmt: skip
@pytest.mark.parametrize("action", ["deploy", "rollback", "health"])
def test_an_argument_that_looks_like_a_secret_is_refused_and_not_told(action: str, argument: str) -> None:
    error = refusal(f'name = "billing"\n[{action}]\ncommand = ["./run", "{argument}"]')
    assert error.details["key"] == f"{action}.command"
    assert "looks like a secret" in error.message
    assert argument not in f"{error.message} {error.details} {error.hint}"


def test_a_key_that_looks_like_a_secret_is_not_told() -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    error = refusal(f'name = "billing"\n{secret} = 1')
    assert secret not in f"{error.message} {error.details}"


@pytest.mark.parametrize("name", ["", ".", "..", ".git", "-rf", "a/b", "Billing", "a b", "a\n", "x" * 65, "é"])
def test_a_name_that_could_be_a_path_or_an_option_is_none(name: str) -> None:
    with pytest.raises(InvalidArgument):
        decode_application(f"name = {tomllib_text(name)}".encode(), name)


def tomllib_text(text: str) -> str:
    """`text` as TOML writes it."""
    quoted = '"' + text.replace("\n", "\\n") + '"'
    assert tomllib.loads(f"x = {quoted}") == {"x": text}
    return quoted


def test_a_version_stands_where_the_command_says_so_and_nowhere_else() -> None:
    assert execution_of(read(FULL), "deploy", "v3") == {
        "argv": ["./deploy", "--to=v3", "v3"],
        "time_limit_seconds": 30,
        "environment": ["PATH", "HOME"],
        "folder": "release/scripts",
    }
    other = read(
        'name = "billing"\n[deploy]\ncommand = ["a", "{versions}", "$version", "{ version }", "{version}{version}"]'
    )
    assert execution_of(other, "deploy", "v1")["argv"] == ["a", "{versions}", "$version", "{ version }", "v1v1"]


@pytest.mark.parametrize("version", ["", "-f", "--force", "../v1", "a/b", "v 1", "v1\n", ".v1", "x" * 129, "{version}"])
def test_what_could_be_an_option_or_a_path_is_no_version(version: str) -> None:
    with pytest.raises(InvalidArgument):
        execution_of(read(FULL), "deploy", version)


@pytest.mark.parametrize("action", ["rebuild", "health", "", "DEPLOY"])
def test_an_action_without_a_declared_command_is_a_missing_capability(action: str) -> None:
    with pytest.raises(PlanCapabilityMissing):
        execution_of(read(FULL), action, "v3")
    with pytest.raises(PlanCapabilityMissing):
        execution_of(read('name = "billing"'), "deploy", "v3")


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('name = "billing"', '# told\nname = "billing"', True),
        ('versions = ["v2", "v3"]', 'versions = ["v2", "v3", "v4"]', True),
        ('version = "v2"', 'version = "v3"', True),
        ('"./deploy"', '"./deploy2"', False),
        ("time_limit_seconds = 30", "time_limit_seconds = 31", False),
        ('["PATH", "HOME"]', '["PATH"]', False),
        ('["./rollback", "{version}"]', '["./rollback"]', False),
        ("expect_status = 204", "expect_status = 200", False),
        ('language = "python"', 'language = "go"', False),
    ],
)
def test_the_fingerprint_is_of_what_would_run_and_not_of_how_it_is_written(old: str, new: str, same: bool) -> None:  # noqa: FBT001 - a table's column
    assert old in FULL
    before, after = read(FULL), read(FULL.replace(old, new, 1))
    assert (before.fingerprint == after.fingerprint) is same
    assert before.fingerprint.startswith("sha256:")


def test_an_applications_members_are_those_of_its_file() -> None:
    declared: dict[str, Any] = tomllib.loads(FULL)
    assert read(FULL).versions == tuple(declared["versions"])
