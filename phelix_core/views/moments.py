"""Times as people read them: ages in two letters, moments in UTC. Pure arithmetic, no clock is read."""

from phelix_core.text import SafeStr

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def span(ms: int) -> SafeStr:
    """A duration in at most five characters: `8s`, `94m`, `5h`, `12d`; a negative one reads `0s`."""
    ms = max(0, ms)
    if ms < _MINUTE:
        return SafeStr(f"{ms // _SECOND}s")
    if ms < 2 * _HOUR:
        return SafeStr(f"{ms // _MINUTE}m")
    if ms < 2 * _DAY:
        return SafeStr(f"{ms // _HOUR}h")
    return SafeStr(f"{min(ms // _DAY, 9999)}d")


def long_span(ms: int) -> SafeStr:
    """A duration in its two largest units: `14m 02s`, `3h 05m`, `2d 11h`."""
    ms = max(0, ms)
    if ms < _MINUTE:
        return SafeStr(f"{ms // _SECOND}s")
    if ms < _HOUR:
        return SafeStr(f"{ms // _MINUTE}m {ms % _MINUTE // _SECOND:02}s")
    if ms < _DAY:
        return SafeStr(f"{ms // _HOUR}h {ms % _HOUR // _MINUTE:02}m")
    return SafeStr(f"{ms // _DAY}d {ms % _DAY // _HOUR:02}h")


def moment(ms: int) -> SafeStr:
    """A moment in UTC to the second, `2026-08-01 11:42:10Z`; ones beyond the year 9999 read as milliseconds."""
    days, rest = divmod(ms, _DAY)
    year, month, day = _civil(days)
    if year > 9999:  # noqa: PLR2004 - four digits are what a column holds
        return SafeStr(f"{ms} ms")
    return SafeStr(f"{year:04}-{month:02}-{day:02} {time_of_day(rest)}")


def to_the_minute(ms: int) -> SafeStr:
    """A moment in UTC to the minute, for what is drawn again as time passes: `2026-08-01 11:42Z`."""
    return SafeStr(f"{moment(ms)[:-4]}Z") if moment(ms).endswith("Z") else moment(ms)


def time_of_day(ms: int) -> SafeStr:
    """The time of day in UTC, `11:42:10Z`."""
    rest = ms % _DAY
    return SafeStr(f"{rest // _HOUR:02}:{rest % _HOUR // _MINUTE:02}:{rest % _MINUTE // _SECOND:02}Z")


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of the proleptic Gregorian calendar for days since 1970-01-01."""
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9  # noqa: PLR2004 - the year starts in March here
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1  # noqa: PLR2004
