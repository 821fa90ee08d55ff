import os
from itertools import combinations
from math import dist
from pathlib import Path
from typing import Any

import pytest
from small_app import SmallApp
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from phelix_tui.app import ConsoleApp
from phelix_tui.theme_file import checked
from phelix_tui.theming import (
    DEFAULT_THEME,
    ROLES,
    STAND_INS,
    ThemeRefused,
    as_theme,
    default_variables,
    load_themes,
    role_colour,
    shipped_folder,
    stamp_of,
    theme_colour,
)
from tests.tui.stage import Stage, fleet_of, until
from tests.tui.walks import toasts

GROUNDS = ("background", "surface", "panel", "row-cursor", "row-cursor-blurred", "row-marked")


def shipped_text(name: str) -> str:
    return Path(shipped_folder(), f"{name}.toml").read_text(encoding="utf-8")


SHIPPED = [path.stem for path in Path(shipped_folder()).glob("*.toml")]


def luminance(colour: Color) -> float:
    """Relative luminance after WCAG 2.2."""
    parts = [part / 255 for part in colour.rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(fore: Color, back: Color) -> float:
    light, dark = sorted((luminance(fore), luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def all_variables(found: dict[str, Any]) -> dict[str, str]:
    theme = as_theme(found)
    return {**theme.to_color_system().generate(), **theme.variables}


def test_contrast_is_computed_as_the_standard_does() -> None:
    assert contrast(Color.parse("#000000"), Color.parse("#ffffff")) == pytest.approx(21)
    assert contrast(Color.parse("#767676"), Color.parse("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_role_is_readable_on_every_ground(name: str) -> None:
    variables = all_variables(checked(shipped_text(name)))
    least = 7.0 if name == "phelix-contrast" else 4.5
    low = {
        (role, ground): round(contrast(role_colour(variables, role), theme_colour(variables, ground)), 2)
        for role in ROLES
        for ground in GROUNDS
        if contrast(role_colour(variables, role), theme_colour(variables, ground)) < least
    }
    assert not low


IN_ORDER = ["phelix-dark", "phelix-contrast", "phelix-deuteranopia", "phelix-light", "phelix-tritanopia"]


def test_a_dark_a_light_a_contrast_and_two_colour_blind_themes_are_shipped_default_first() -> None:
    loaded = load_themes()
    assert [theme.name for theme in loaded.themes] == IN_ORDER
    assert loaded.themes[0].name == DEFAULT_THEME
    assert [theme.name for theme in loaded.themes if not theme.dark] == ["phelix-light"]
    assert not loaded.problems


# Colour blindness: Machado, Oliveira and Fernandes 2009, severity 1.0, in linear RGB

SEEN_WITHOUT: dict[str, tuple[tuple[float, float, float], ...]] = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
STATUSES = ("active", "stale", "completed", "failed", "cancelled", "unread")
LEAST_DIFFERENCE = 15.0
"""In CIE76; some 2.3 can just be told apart side by side."""


def linear(colour: Color) -> list[float]:
    parts = [part / 255 for part in colour.rgb]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def as_lab(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """CIE L*a*b* under D65, of linear sRGB."""

    def stretched(part: float) -> float:
        return part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116

    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = stretched(x), stretched(y), stretched(z)
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def too_alike(theme: str, sight: str) -> dict[tuple[str, str], float]:
    """Pairs of statuses that somebody with such a sight can hardly tell apart by colour, and how much they differ."""
    variables = all_variables(checked(shipped_text(theme)))
    seen: dict[str, tuple[float, float, float]] = {}
    for status in STATUSES:
        parts = linear(role_colour(variables, status))
        mixed = [sum(share * part for share, part in zip(row, parts, strict=True)) for row in SEEN_WITHOUT[sight]]
        seen[status] = as_lab(*(min(1.0, max(0.0, part)) for part in mixed))
    differences = {pair: dist(seen[pair[0]], seen[pair[1]]) for pair in combinations(STATUSES, 2)}
    return {pair: round(much, 1) for pair, much in differences.items() if much < LEAST_DIFFERENCE}


def test_lab_is_computed_as_the_standard_does() -> None:
    assert as_lab(*linear(Color.parse("#ffffff"))) == pytest.approx((100, 0, 0), abs=0.05)
    assert as_lab(*linear(Color.parse("#ff0000"))) == pytest.approx((53.24, 80.09, 67.20), abs=0.05)
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for rows in SEEN_WITHOUT.values() for row in rows), "grey is grey"


@pytest.mark.parametrize(
    ("theme", "sight"),
    [
        ("phelix-deuteranopia", "deuteranopia"),
        ("phelix-deuteranopia", "protanopia"),
        ("phelix-tritanopia", "tritanopia"),
    ],
)
def test_every_two_statuses_differ_for_whom_a_theme_is_made(theme: str, sight: str) -> None:
    assert too_alike(theme, sight) == {}


@pytest.mark.parametrize(
    ("theme", "sight"),
    [(DEFAULT_THEME, "deuteranopia"), (DEFAULT_THEME, "protanopia"), ("phelix-contrast", "tritanopia")],
)
def test_control_under_a_theme_that_is_not_made_for_it_some_statuses_look_alike(theme: str, sight: str) -> None:
    assert too_alike(theme, sight)


# A person's own folder, while the console runs


async def test_an_edited_theme_repaints_a_bad_one_is_named_once_and_what_is_removed_is_gone(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "data", theme="mine")
    stage.fill(5)
    folder = tmp_path / "data" / "themes"
    folder.mkdir()
    text = shipped_text("phelix-dark").replace('"phelix-dark"', '"mine"')
    (folder / "mine.toml").write_text(text)

    def colours(app: ConsoleApp) -> set[str]:
        strips = [fleet_of(app).render_line(y) for y in range(6)]
        return {
            f"{segment.style.color.name}"
            for strip in strips
            for segment in strip
            if segment.style and segment.style.color
        }

    async with stage.app(100, 30) as (app, pilot):
        assert app.theme == "mine"
        assert "#010203" not in colours(app)
        (folder / "mine.toml").write_text(text.replace('foreground = "#', 'foreground = "#010203" # "#'))
        await until(pilot, lambda: "#010203" in colours(app), "it is painted anew", 4)
        (folder / "bad.toml").write_text("name = [")
        await until(pilot, lambda: len(_skipped(app)) == 1, "the bad file is named", 4)
        (folder / "other.toml").write_text(text.replace('"mine"', '"other"'))
        await until(pilot, lambda: "other" in app.available_themes, "another one", 4)
        assert len(_skipped(app)) == 1, "named once"
        (folder / "mine.toml").unlink()
        await until(pilot, lambda: app.theme == DEFAULT_THEME, "its theme has gone", 4)
        assert "mine" not in app.available_themes
        assert app.theme_names()[0] == DEFAULT_THEME


def _skipped(app: ConsoleApp) -> list[str]:
    return [toast for toast in toasts(app) if "bad.toml" in toast]


def test_a_folder_is_looked_at_by_its_files_and_one_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    assert stamp_of(str(tmp_path / "none")) is None
    (tmp_path / "a.toml").write_text("x")
    os.symlink("nowhere", tmp_path / "b.toml")
    before = stamp_of(str(tmp_path))
    assert stamp_of(str(tmp_path)) == before
    (tmp_path / "notes.txt").write_text("x")
    assert stamp_of(str(tmp_path)) == before
    (tmp_path / "a.toml").write_text("xy")
    assert stamp_of(str(tmp_path)) != before


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_file_passes_the_check_and_sets_every_variable(name: str) -> None:
    found = checked(shipped_text(name))
    assert found["name"] == name
    assert set(STAND_INS) <= set(as_theme(found).variables)
    assert as_theme(found).variables == next(t for t in load_themes().themes if t.name == name).variables


def test_each_bad_file_is_named_once_and_the_good_ones_stay(tmp_path: Path) -> None:
    good = shipped_text("phelix-dark")
    bad = {
        "b_same_name": good,
        "c_not_toml": "name = [",
        "d_not_a_colour": good.replace('"#7db8f0"', '"blue; } Screen { display: none"'),
        "e_wrong_type": good.replace("dark = true", "dark = 1"),
        "f_unknown_field": good.replace("active =", "acttive ="),
        "g_no_base": 'name = "x"\ndark = true\n',
        "h_deep": "a = " + "[" * 50_000,
        "i_name": good.replace('"phelix-dark"', '"../x"'),
    }
    (tmp_path / "a_good.toml").write_text(good, encoding="utf-8")
    for stem, text in bad.items():
        (tmp_path / f"{stem}.toml").write_text(text, encoding="utf-8")
    (tmp_path / "j_bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "k_large.toml").write_text("#" * 70_000, encoding="utf-8")
    os.mkfifo(tmp_path / "l_fifo.toml")
    os.symlink("nowhere", tmp_path / "m_link.toml")
    (tmp_path / "readme.txt").write_text("not a theme", encoding="utf-8")
    loaded = load_themes(str(tmp_path))
    assert [theme.name for theme in loaded.themes] == IN_ORDER
    assert [Path(problem.path).stem for problem in loaded.problems] == [*bad, "j_bytes", "k_large", "l_fifo", "m_link"]
    assert all(problem.reason for problem in loaded.problems)


def test_a_reason_names_the_field_and_is_safe_to_show(tmp_path: Path) -> None:
    text = shipped_text("phelix-dark").replace("stale =", '"st\\u001b[31male" =')
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    (problem,) = load_themes(str(tmp_path)).problems
    assert problem.reason.startswith("status.st␛[31male")
    with pytest.raises(ThemeRefused, match=r"^base\.error: .*#7db8f0"):
        checked(shipped_text("phelix-dark").replace('error = "#f08c88"', 'error = "red"'))


def test_a_missing_folder_is_no_problem(tmp_path: Path) -> None:
    assert not load_themes(str(tmp_path / "none")).problems


def test_a_half_filled_theme_takes_the_rest_from_its_base(tmp_path: Path) -> None:
    text = shipped_text("phelix-light").replace('"phelix-light"', '"mine"').split("[row]", maxsplit=1)[0]
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    mine = load_themes(str(tmp_path)).themes[-1]
    assert mine.variables["st-failed"] == mine.error
    assert mine.variables["row-cursor"] == mine.panel


@pytest.mark.parametrize("name", sorted(BUILTIN_THEMES))
def test_every_textual_theme_colours_every_role(name: str) -> None:
    theme = BUILTIN_THEMES[name]
    variables = {**default_variables(theme), **theme.to_color_system().generate(), **theme.variables}
    assert all(isinstance(role_colour(variables, role), Color) for role in (*ROLES, "no such role"))
    assert set(default_variables(theme)) == set(STAND_INS)


async def test_all_themes_can_be_switched_to_while_the_list_is_shown() -> None:
    app = SmallApp()
    async with app.run_test(notifications=True, tooltips=True) as pilot:
        for theme in load_themes().themes:
            app.register_theme(theme)
        for name in (*SHIPPED, *BUILTIN_THEMES, *SHIPPED):
            app.theme = name
            await pilot.pause()
            assert app.theme_variables["foreground"]
