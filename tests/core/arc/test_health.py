"""Health: healthy and unhealthy are said only of what answered; every other end of a check is unknown."""

import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from phelix_core.arc.applications import decode_application
from phelix_core.arc.health import Health, check_health
from phelix_core.clock import SystemClock
from tests.rig import bytes_of

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def looked(tmp_path: Path, health: str, **more: Any) -> Health:
    """Health of an application in `tmp_path` that declares `health`; nothing there may change."""
    application = decode_application(f'name = "shop"\n[health]\n{health}\n'.encode(), "shop")
    before = bytes_of(tmp_path)
    seen = check_health(application.health, folder=str(tmp_path), environ={}, clock=SystemClock(), **more)
    assert bytes_of(tmp_path) == before
    return seen


def command(script: str, seconds: int = 10) -> str:
    return f'command = ["sh", "-c", {json.dumps(script)}]\ntime_limit_seconds = {seconds}'


@pytest.mark.parametrize(
    ("script", "status", "detail"),
    [
        ("echo starting; echo '  all well  '; echo", "healthy", "all well"),
        ("true", "healthy", None),
        ("echo disk full >&2; exit 4", "unhealthy", "the check ended with exit status 4: disk full"),
        ("kill -9 $$", "unhealthy", "the check was ended by signal 9"),
        (f"echo {SECRET[::-1]} | rev; exit 1", "unhealthy", "REDACTED"),
        ("sleep 60 & echo left one behind", "healthy", "left one behind"),
    ],
    ids=["last line", "silent", "exit status", "signal", "secret", "child left behind"],
)
def test_a_command_tells_by_how_it_ends(tmp_path: Path, script: str, status: str, detail: str | None) -> None:
    seen = looked(tmp_path, command(script))
    assert (seen.status, seen.source) == (status, "command")
    if detail is None:
        assert seen.detail is None
    else:
        assert detail in (seen.detail or "")
    assert SECRET not in (seen.detail or "")


def test_a_command_that_hangs_or_prints_without_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path.name
    seen = looked(tmp_path, command(f"sh -c 'sleep 61 # {mark}' & yes", seconds=1))
    assert (seen.status, "longer than 1 s" in (seen.detail or "")) == ("unhealthy", True)
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.parent.name != str(os.getpid()) else b""
    except OSError:
        return b""


def test_a_check_that_could_not_be_made_says_nothing_about_the_application(tmp_path: Path) -> None:
    missing = looked(tmp_path, 'command = ["/no/such/program"]')
    assert (missing.status, "No such file" in (missing.detail or "")) == ("unknown", True)
    interrupted = looked(tmp_path, command("sleep 60"), cancelled=lambda: True)
    assert (interrupted.status, interrupted.detail) == ("unknown", "the check was interrupted")
    none = check_health(None, folder=str(tmp_path), environ={}, clock=SystemClock())
    assert (none.status, none.source) == ("unknown", "none")


class Page(BaseHTTPRequestHandler):
    """Answers by the path that is asked for."""

    def do_GET(self) -> None:
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "/200")
        else:
            self.send_response(int(self.path.removeprefix("/").partition("?")[0]))
        self.end_headers()

    def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - says nothing
        pass


@contextmanager
def pages() -> Generator[str]:
    server = HTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_page_tells_by_its_status_and_is_not_followed_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pages() as at:
        for path, expected, status, detail in (
            ("/200", 200, "healthy", "it answered 200"),
            ("/204?x=1", 204, "healthy", "it answered 204"),
            ("/503", 200, "unhealthy", "it answered 503, expected was 200"),
            ("/elsewhere", 200, "unhealthy", "it answered 302, expected was 200"),
        ):
            seen = looked(tmp_path, f'url = "{at}{path}"\nexpect_status = {expected}')
            assert (seen.status, seen.source, seen.detail) == (status, "http", detail)


def test_nobody_listening_is_unhealthy_and_a_name_that_nobody_has_is_unknown(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    refused = looked(tmp_path, f'url = "http://127.0.0.1:{port}/"')
    assert (refused.status, "refused" in (refused.detail or "")) == ("unhealthy", True)
    unknown = looked(tmp_path, 'url = "http://no-such-host.invalid/"\ntime_limit_seconds = 20')
    assert unknown.status == "unknown"


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nX: "], ids=["silent", "dripping"])
def test_a_page_that_talks_too_slowly_is_given_up_at_the_time_limit(tmp_path: Path, said: bytes) -> None:
    ended = threading.Event()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(said or b"")
                while said and not ended.wait(0.1):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return
                ended.wait(20)

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        seen = looked(tmp_path, f'url = "http://127.0.0.1:{server.getsockname()[1]}/"\ntime_limit_seconds = 1')
        ended.set()
        thread.join()
    assert (seen.status, seen.detail) == ("unhealthy", "it did not answer within 1 s")
    assert seen.duration_ms < 5_000


def test_what_is_no_protocol_is_no_verdict(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        def babble() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1_000)
                connection.sendall(b"\x00\x01SSH-2.0\r\n\r\n")

        thread = threading.Thread(target=babble, daemon=True)
        thread.start()
        seen = looked(tmp_path, f'url = "http://127.0.0.1:{server.getsockname()[1]}/"')
        thread.join()
    assert (seen.status, "could not be asked" in (seen.detail or "")) == ("unknown", True)
