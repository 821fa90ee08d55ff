import os
from pathlib import Path

import pytest

from phelix_core.errors import FilesystemError, InvalidArgument, PhelixError
from phelix_core.settings import MemorySettings, Settings, load_settings

MINUTE_MS = 60_000


def write_config(folder: Path, text: str | bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_bytes(text.encode() if isinstance(text, str) else text)


def load(folder: Path, environ: dict[str, str] | None = None) -> Settings:
    return load_settings(environ or {}, data_dir=str(folder))


def test_flag_wins_over_environment_and_environment_over_default(tmp_path: Path) -> None:
    environ = {"PHELIX_DATA_DIR": str(tmp_path / "b")}
    assert load_settings(environ, data_dir=str(tmp_path / "a")).data_dir == str(tmp_path / "a")
    assert load_settings(environ).data_dir == str(tmp_path / "b")
    assert load_settings({}).data_dir == os.path.expanduser("~/.phelix")


def test_environment_wins_over_file_and_file_over_default(tmp_path: Path) -> None:
    assert load(tmp_path).stale_after_ms == 60 * MINUTE_MS
    write_config(tmp_path, "stale_after_minutes = 5\ntheme = 'paper'\n")
    assert load(tmp_path).stale_after_ms == 5 * MINUTE_MS
    assert load(tmp_path).theme == "paper"
    told = load(tmp_path, {"PHELIX_STALE_AFTER_MINUTES": "7", "PHELIX_THEME": "night"})
    assert (told.stale_after_ms, told.theme) == (7 * MINUTE_MS, "night")


BAD_CONFIGS = {
    "not TOML": b"a =",
    "UTF-16": "theme = 'x'".encode("utf-16"),
    "unknown key": b"colour = 1",
    "a table": b"[theme]\nx = 1",
    "text for a number": b"stale_after_minutes = '5'",
    "true for a number": b"stale_after_minutes = true",
    "zero": b"stale_after_minutes = 0",
    "negative": b"stale_after_minutes = -1",
    "too large": b"stale_after_minutes = 99999999",
    "5,000 digits": b"stale_after_minutes = " + b"9" * 5_000,
    "NaN": b"stale_after_minutes = nan",
    "number for text": b"theme = 1",
    "duplicate key": b"theme = 'a'\ntheme = 'b'",
    "5,000 nested brackets": b"a = " + b"[" * 5_000,
    "larger than a settings file can be": b"#" * 70_000,
    "text for the memory": b"memory = 'mem0'",
    "a list for the memory": b"[[memory]]\nprovider = 'mem0'",
    "an unknown key of the memory": b"[memory]\napi_key = 'x'",
    "an unknown provider": b"[memory]\nprovider = 'redis'",
    "a provider that is a list": b"[memory]\nprovider = ['mem0']",
    "an unknown embedder": b"[memory]\nembedder = 'cloud'",
    "a configuration that is a number": b"[memory]\nconfig = 7",
    "a configuration without a name": b"[memory]\nconfig = ''",
    "a configuration with NUL": b'[memory]\nconfig = "a\\u0000b"',
    "an embedder of no configuration": b"[memory]\nprovider = 'mem0'\nembedder = 'config'",
    "a deadline of nothing": b"[memory]\ndeadline_seconds = 0",
    "a deadline too long": b"[memory]\ndeadline_seconds = 121",
    "a deadline in parts": b"[memory]\ndeadline_seconds = 1.5",
    "a deadline that is true": b"[memory]\ndeadline_seconds = true",
}


@pytest.mark.parametrize("text", BAD_CONFIGS.values(), ids=BAD_CONFIGS.keys())
def test_a_bad_settings_file_is_refused(tmp_path: Path, text: bytes) -> None:
    write_config(tmp_path, text)
    with pytest.raises(InvalidArgument):
        load(tmp_path)


def test_the_refusal_names_the_key_and_never_its_value(tmp_path: Path) -> None:
    write_config(tmp_path, "theme = 7\n")
    with pytest.raises(InvalidArgument, match="theme") as caught:
        load(tmp_path)
    assert "7" not in caught.value.message
    write_config(tmp_path, "password = 'hunter2hunter2'\n")
    with pytest.raises(InvalidArgument, match="password") as caught:
        load(tmp_path)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("text", ["", "[memory]", "[memory]\nprovider = 'none'\ndeadline_seconds = 5"])
def test_a_person_who_chose_no_memory_has_none(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)
    assert load(tmp_path).memory is None


def test_a_chosen_memory_is_local_and_has_ten_seconds_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    write_config(tmp_path, "[memory]\nprovider = 'mem0'\n")
    assert load(tmp_path).memory == MemorySettings(embedder="local", config=None, deadline_seconds=10)
    write_config(
        tmp_path, "[memory]\nprovider = 'mem0'\nembedder = 'config'\nconfig = 'mem0.json'\ndeadline_seconds = 120\n"
    )
    told = MemorySettings(embedder="config", config=str(tmp_path / "mem0.json"), deadline_seconds=120)
    assert load(tmp_path).memory == told


@pytest.mark.parametrize(("named", "meant"), [("/etc/mem0.json", "/etc/mem0.json"), ("~/mem0.json", "~/mem0.json")])
def test_a_memory_configuration_may_stand_outside_the_data_directory(tmp_path: Path, named: str, meant: str) -> None:
    write_config(tmp_path, f"[memory]\nprovider = 'mem0'\nconfig = '{named}'\n")
    memory = load(tmp_path).memory
    assert memory is not None
    assert memory.config == os.path.expanduser(meant)


@pytest.mark.parametrize("key", ["provider", "embedder", "config", "deadline_seconds", "api_key"])
def test_a_refusal_of_the_memory_table_names_the_key_and_never_its_value(tmp_path: Path, key: str) -> None:
    write_config(tmp_path, f"[memory]\n{key} = ['hunter2hunter2']\n")
    with pytest.raises(InvalidArgument, match=f"memory.{key}") as caught:
        load(tmp_path)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("minutes", ["0", "-1", "x", "1.5", "9" * 5_000, "²", " 5", "1e3"])
def test_a_bad_limit_in_the_environment_is_refused(tmp_path: Path, minutes: str) -> None:
    with pytest.raises(InvalidArgument, match="stale_after_minutes"):
        load(tmp_path, {"PHELIX_STALE_AFTER_MINUTES": minutes})


@pytest.mark.parametrize("special", ["fifo", "folder", "device"])
def test_a_settings_file_that_is_no_regular_file_is_refused_without_waiting(tmp_path: Path, special: str) -> None:
    path = tmp_path / "config.toml"
    {"fifo": lambda: os.mkfifo(path), "folder": path.mkdir, "device": lambda: path.symlink_to("/dev/zero")}[special]()
    with pytest.raises(FilesystemError):
        load(tmp_path)


def test_a_data_directory_that_is_a_file_has_no_settings_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load(tmp_path / "file").stale_after_ms == 60 * MINUTE_MS


@pytest.mark.parametrize("named", ["", "a\0b"])
def test_an_empty_or_impossible_data_directory_is_refused_rather_than_replaced(named: str) -> None:
    with pytest.raises(InvalidArgument):
        load_settings({"PHELIX_DATA_DIR": "/tmp/other"}, data_dir=named)


def test_a_name_too_long_for_the_file_system_is_a_coded_error() -> None:
    with pytest.raises(PhelixError):
        load_settings({}, data_dir="/tmp/" + "a" * 5_000)


def test_kinds_of_news_that_do_not_ring_are_a_short_list_of_texts(tmp_path: Path) -> None:
    assert load(tmp_path).quiet == ()
    write_config(tmp_path, "quiet = ['stale', 'failed']\n")
    assert load(tmp_path).quiet == ("stale", "failed")
    for wrong in ("'stale'", "[1]", "true", f"{['x'] * 33}"):
        write_config(tmp_path, f"quiet = {wrong}\n")
        with pytest.raises(InvalidArgument, match="must be a list"):
            load(tmp_path)
