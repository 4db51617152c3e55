"""unpack-wheel.py WHEEL FOLDER [--headers]: a wheel's libraries, programs and headers below FOLDER: NVIDIA's folder, and the files that pip would
install beside Python (NAME-VERSION.data/data); with --headers no shared libraries, which only running needs."""

import os
import re
import sys
import zipfile

wheel, folder, *flags = sys.argv[1:]


def place_of(name):
    """The path below the folder, or None for what is of use to Python alone."""
    installed = re.match(r"[^/]+\.data/data/(.+)", name)
    if installed:
        return installed[1]
    return name if name.startswith(("nvidia/", "include/")) else None


def is_wanted(path):
    return not (".so" in os.path.basename(path) and "--headers" in flags)


with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        place = place_of(member.filename)
        if member.is_dir() or place is None or not is_wanted(place):
            continue
        member.filename = place
        path = archive.extract(member, folder)
        mode = member.external_attr >> 16 & 0o777
        if mode:
            os.chmod(path, mode | 0o600)
