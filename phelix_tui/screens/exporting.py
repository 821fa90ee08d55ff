"""The menu of the forms that a list can be exported in."""

from phelix_core.text import SafeStr
from phelix_tui.exports import FORMS_TOLD
from phelix_tui.screens.choosing import Menu
from phelix_tui.widgets.pages import cell
from phelix_tui.widgets.rowlist import Cell, Column, Row


class ExportMenu(Menu[str]):
    """Choose a form; answers how its files end, or None."""

    NAME = "exporting"
    COLUMNS = (
        Column("key", SafeStr("KEY"), 3),
        Column("form", SafeStr("FORM"), 10),
        Column("told", SafeStr("WHAT IT IS"), 20, flex=True),
    )

    def __init__(self, what: SafeStr) -> None:
        super().__init__(
            [cell(" Export ", "bold"), Cell(what)],
            cell(" into a new file, where the console was started"),
            [
                Row(form, (cell(key, "accent"), cell(name), cell(told, "muted")))
                for form, (key, name, told) in FORMS_TOLD.items()
            ],
            {form: form for form in FORMS_TOLD},
            {key: form for form, (key, _, _) in FORMS_TOLD.items()},
        )
