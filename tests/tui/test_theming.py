import os
from pathlib import Path

import pytest
from small_app import SmallApp
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from phelix_tui.theming import (
    DEFAULT_THEME,
    ROLES,
    STAND_INS,
    ThemeFile,
    ThemeRefused,
    as_theme,
    checked,
    default_variables,
    load_themes,
    role_colour,
    shipped_folder,
    theme_colour,
)

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


def all_variables(found: ThemeFile) -> dict[str, str]:
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


def test_a_dark_a_light_and_a_contrast_theme_are_shipped_default_first() -> None:
    loaded = load_themes()
    assert [theme.name for theme in loaded.themes] == ["phelix-dark", "phelix-contrast", "phelix-light"]
    assert loaded.themes[0].name == DEFAULT_THEME
    assert [theme.dark for theme in loaded.themes] == [True, True, False]
    assert not loaded.problems


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_file_passes_the_check_and_sets_every_variable(name: str) -> None:
    found = checked(shipped_text(name))
    assert found.name == name
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
    assert [theme.name for theme in loaded.themes] == ["phelix-dark", "phelix-contrast", "phelix-light"]
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
