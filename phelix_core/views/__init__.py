"""What a person sees, as plain data: no disk, no clock, no terminal."""
