"""The console's rooms and dialogs."""
