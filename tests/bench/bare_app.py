"""The least that a Textual program can be: what the console's start is measured beside."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class BareApp(App[None]):
    """One word on the screen."""

    def compose(self) -> ComposeResult:
        yield Static("ready")


if __name__ == "__main__":
    BareApp().run()
