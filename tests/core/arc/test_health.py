"""Health: healthy and unhealthy are said only of what answered; every other end of a check is unknown."""

import json
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from phelix_core.arc.applications import decode_application
from phelix_core.arc.health import Health, check_health
from phelix_core.clock import Clock, SystemClock
from tests.canaries import CANARIES, found_in
from tests.rig import FixedClock, bytes_of

SECRETS = [canary for canary in CANARIES if "\n" not in canary.text]


class Hurried(FixedClock):
    """A clock that runs while it is looked at."""

    def monotonic(self) -> float:
        self.elapsed += 0.5
        return self.elapsed


def looked(tmp_path: Path, health: str, clock: Clock | None = None, **more: Any) -> Health:
    """Health of an application in `tmp_path` that declares `health`; nothing there may change."""
    application = decode_application(f'name = "shop"\n[health]\n{health}\n'.encode(), "shop")
    before = bytes_of(tmp_path)
    seen = check_health(application.health, folder=str(tmp_path), environ={}, clock=clock or SystemClock(), **more)
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
        ("sleep 60 & echo left one behind", "healthy", "left one behind"),
    ],
    ids=["last line", "silent", "exit status", "signal", "child left behind"],
)
def test_a_command_tells_by_how_it_ends(tmp_path: Path, script: str, status: str, detail: str | None) -> None:
    seen = looked(tmp_path, command(script))
    assert (seen.status, seen.source) == (status, "command")
    if detail is None:
        assert seen.detail is None
    else:
        assert detail in (seen.detail or "")


@pytest.mark.parametrize("canary", SECRETS[:4], ids=lambda canary: canary.kind)
def test_a_command_that_prints_a_secret_last_does_not_get_it_told(tmp_path: Path, canary: Any) -> None:
    (tmp_path / "said").write_text(f"starting\nit is {canary.text}\n")
    seen = looked(tmp_path, command("cat said; exit 1"))
    assert seen.status == "unhealthy"
    assert "[REDACTED:" in (seen.detail or "")
    assert found_in(seen.detail or "") == []


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
    (tmp_path / "no-program").write_text("")
    assert looked(tmp_path, 'command = ["./no-program"]').status == "unknown"
    assert looked(tmp_path, 'command = ["true"]\nfolder = "gone"').status == "unknown"
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
        assert_nobody_listens_any_more()
        ended.set()
        thread.join()
    assert (seen.status, seen.detail) == ("unhealthy", "it did not answer within 1 s")
    assert seen.duration_ms < 5_000


def assert_nobody_listens_any_more() -> None:
    """Not even a thread that was given up, which in a console would hear out the other side for ever."""
    for thread in threading.enumerate():
        if thread.name == "health":
            thread.join(10)
            assert not thread.is_alive()


@contextmanager
def drip(head: bytes, again: bytes) -> Generator[str]:
    """A page that says `head`, then `again` until whoever asked hangs up."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        ended = threading.Event()

        def talk() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(head)
                while not ended.wait(0.02):
                    connection.sendall(again)

        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize("again", [b"X", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["one header", "only continue"])
def test_whoever_talks_without_end_is_hung_up_on(tmp_path: Path, again: bytes) -> None:
    with drip(b"HTTP/1.1 200 OK\r\nX: " if again == b"X" else b"", again) as at:
        seen = looked(tmp_path, f'url = "{at}"\ntime_limit_seconds = 4', Hurried())
        assert_nobody_listens_any_more()
    assert (seen.status, seen.detail) == ("unhealthy", "it did not answer within 4 s")


def test_where_each_read_alone_has_a_time_limit_the_call_has_none() -> None:
    with drip(b"HTTP/1.1 200 OK\r\nX: ", b"x") as at:
        connection = HTTPConnection(urlsplit(at).netloc, timeout=0.2)
        connection.request("GET", "/")

        def naive() -> None:
            with suppress(OSError, HTTPException):
                connection.getresponse()

        thread = threading.Thread(target=naive, daemon=True)
        thread.start()
        thread.join(0.8)
        assert thread.is_alive()
        connection.sock.shutdown(socket.SHUT_RDWR)
        thread.join()
        connection.close()


def test_a_body_without_end_is_not_read(tmp_path: Path) -> None:
    with drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n", b"x" * 4096) as at:
        assert looked(tmp_path, f'url = "{at}"').status == "healthy"
        assert_nobody_listens_any_more()


def test_a_look_at_a_page_can_be_interrupted(tmp_path: Path) -> None:
    with drip(b"", b"") as at:
        seen = looked(tmp_path, f'url = "{at}"', cancelled=lambda: True)
        assert_nobody_listens_any_more()
    assert (seen.status, seen.detail) == ("unknown", "the check was interrupted")


def test_a_name_that_nobody_resolves_in_time_says_nothing_about_the_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()

    def silent(*_: object, **__: object) -> list[object]:
        answered.wait(20)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    seen = looked(tmp_path, 'url = "http://shop.example/"\ntime_limit_seconds = 4', Hurried())
    answered.set()
    assert_nobody_listens_any_more()
    assert (seen.status, seen.detail) == ("unknown", "its host's name was not resolved within 4 s")


def test_a_page_that_speaks_no_tls_is_no_verdict(tmp_path: Path) -> None:
    with pages() as at:
        seen = looked(tmp_path, f'url = "{at.replace("http", "https")}/200"')
    assert (seen.status, "could not be asked" in (seen.detail or "")) == ("unknown", True)


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
