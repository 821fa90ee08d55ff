"""A data directory with one application, and the policies that tests put beside it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.core.arc.samples import rule

APPLICATION = """\
name = "shop"
language = "python"
version = "1.3.0"
versions = ["1.2.0", "1.3.0", "1.4.0"]

[deploy]
command = ["sh", "-c", {script}, "{{version}}"]
time_limit_seconds = 30

[rollback]
command = ["sh", "-c", {script}, "{{version}}"]
time_limit_seconds = 30
"""


def declare(data_dir: Path, script: str = "echo did $0", *, more: str = "") -> Path:
    """Declare the application `shop`, whose commands run `script` with the version as `$0`; answers its file."""
    file = data_dir / "apps" / "shop" / "app.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(APPLICATION.format(script=json.dumps(script)) + more)
    return file


def put_policy(data_dir: Path, *rules: Mapping[str, Any], text: str | None = None) -> Path:
    """Write a policy of `rules`, or just `text`; answers its file."""
    file = data_dir / "authz" / "policy.json"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_text(text if text is not None else json.dumps({"schema_version": "1", "rules": list(rules)}))
    return file


APPROVED_FIRST = rule(require_approval=True)
"""Anybody may do anything once a person has approved it."""
