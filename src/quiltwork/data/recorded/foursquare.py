"""Check-ins of Foursquare over the world, 2012 to 2014, with the labels and the split of seed 003.

The folder holds the two files of the "Global-scale Check-in Dataset" of Yang, Zhang and Qu (2015, 2016), as published:

    dataset_TIST2015_Checkins.txt   user, venue, "Tue Apr 03 18:00:06 +0000 2012", minutes from UTC, tabs between them
    dataset_TIST2015_POIs.txt       venue, latitude, longitude, category, country

Categories become the 78 labels of Appendix D.4 (77 and "other"); one that the listing does not have is "other".  Days
are counted from the first check-in; the first `days` are kept, the first `fit_days` of them are for the prior, as in
Appendix D and section 7.1.4: 500 and 400.  The paper does not say what a day is; here it is 24 hours of UTC.

Reference: seed 003 sections 7.1.1 and 7.1.4, Appendices D.1 and D.4.
"""

from __future__ import annotations

import unicodedata
from array import array
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.data.recorded.recorded import Recorded, folder_of
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath, PeopleFile

CHECKINS, POIS = "dataset_TIST2015_Checkins.txt", "dataset_TIST2015_POIs.txt"
OTHER = "other"
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_NAMES, 1)}
_EPOCH = date(1970, 1, 1).toordinal()
_DAY = 86_400
_VENUE = "tab-separated lines of venue, latitude, longitude, category and country"
_VISIT = "tab-separated lines of user, venue, UTC time and minutes from UTC"


@cache
def labels() -> dict[str, tuple[str, ...]]:
    """The 78 labels of Appendix D.4 and the categories that each stands for, in the printed order."""
    text = files("quiltwork.data.recorded").joinpath("foursquare_labels.txt").read_text(encoding="utf-8")
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines()[1:]:
        label, _, rest = line.partition(":")
        others = tuple(part.strip() for part in rest.split(";") if part.strip())
        found[label] = others if label == OTHER else (label, *others)
    return found


@cache
def _label_of() -> dict[str, str]:
    return {plain(category): label for label, categories in labels().items() for category in categories}


def plain(category: str) -> str:
    """Without accents and case: the files have "Café" where the listing has "Cafe"."""
    letters = unicodedata.normalize("NFKD", category)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).strip().casefold()


def merged(category: str) -> str:
    """The common label of a category.

    >>> merged("Cocktail Bar"), merged("Café"), merged("Moving Target"), merged("Quidditch Pitch")
    ('Bar', 'Cafe', 'other', 'other')
    """
    return _label_of().get(plain(category), OTHER)


def foursquare(folder: FilePath, *, days: int = 500, fit_days: int = 400) -> Recorded:
    """People's check-ins by country, under the 78 labels; the last days are for testing."""
    where = folder_of(folder, f"{CHECKINS} and {POIS}")
    most, first = checks.count("days", days, 1), checks.count("fit_days", fit_days, 1)
    if first > most:
        raise InvalidParameter("fit_days", first, f"at most {most}, all days that are kept")
    states = tuple(labels())
    countries: dict[str, int] = {}
    venues = _venues(where, {state: place for place, state in enumerate(states)}, countries)
    who, when, state, group = _visits(where, venues)
    if not when:
        raise InvalidParameter("folder", CHECKINS, _VISIT, "there is no check-in in it")
    moments = np.frombuffer(when, dtype=np.int64)
    day = moments // _DAY
    day = day - day.min()
    kept = day < most
    columns = (np.frombuffer(who, np.int64)[kept], moments[kept], np.frombuffer(state, np.int16)[kept])
    used, places = np.unique(np.frombuffer(group, np.int16)[kept], return_inverse=True)
    names = tuple(countries)
    shown = tuple(names[place] for place in used)
    return Recorded.sorted(states, shown, *columns, places, day[kept] < first, "Foursquare")


def _venues(where: Any, place_of: dict[str, int], countries: dict[str, int]) -> dict[str, tuple[int, int]]:
    """The label and the country of each venue."""
    found: dict[str, tuple[int, int]] = {}
    file = PeopleFile(where / POIS, "folder", _VENUE, POIS)
    for number, line in file:
        cells = line.split("\t")
        if len(cells) != 5:
            file.refuse(number, f"it has {len(cells)} values instead of 5")
        venue, _, _, category, country = cells
        if not venue or not country.strip():
            file.refuse(number, f"the {'country' if venue else 'venue'} is empty")
        if venue in found:
            file.refuse(number, "its venue was listed before")
        code = countries.setdefault(country.strip(), len(countries))
        if code > 2**15 - 1:
            file.refuse(number, "there are too many countries: is it the right column?")
        found[venue] = place_of[merged(category)], code
    return found


def _visits(where: Any, venues: dict[str, tuple[int, int]]) -> tuple[Any, Any, Any, Any]:
    who, when, state, group = array("q"), array("q"), array("h"), array("h")
    midnights: dict[tuple[str, str, str], int] = {}
    file = PeopleFile(where / CHECKINS, "folder", _VISIT, CHECKINS)
    for number, line in file:
        cells = line.split("\t")
        if len(cells) != 4:
            file.refuse(number, f"it has {len(cells)} values instead of 4")
        user, venue, moment, _ = cells
        if not (user.isascii() and user.isdigit() and len(user) < 19):
            file.refuse(number, "the user is no whole number")
        known = venues.get(venue)
        if known is None:
            file.refuse(number, f"its venue is not in {POIS}")
        seconds = _seconds(moment, midnights)
        if seconds is None:
            file.refuse(number, 'the time is none such as "Tue Apr 03 18:00:06 +0000 2012"')
        who.append(int(user))
        when.append(seconds)
        state.append(known[0])
        group.append(known[1])
    return who, when, state, group


def _seconds(moment: str, midnights: dict[tuple[str, str, str], int]) -> int | None:
    """Seconds from 1970, or None where this is no such time."""
    parts = moment.split(" ")
    if len(parts) != 6 or parts[4] != "+0000":
        return None
    _, month, day, clock, _, year = parts
    try:
        midnight = midnights.get((year, month, day))
        if midnight is None:
            midnight = (date(int(year), _MONTHS[month], int(day)).toordinal() - _EPOCH) * _DAY
            midnights[year, month, day] = midnight
        hours, minutes, seconds = (int(part) for part in clock.split(":"))
    except (KeyError, ValueError):
        return None
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds <= 60):
        return None
    return midnight + 3600 * hours + 60 * minutes + seconds
