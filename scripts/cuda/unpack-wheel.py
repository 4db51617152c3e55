"""unpack-wheel.py WHEEL FOLDER [--headers]: NVIDIA's files of a wheel below FOLDER; with --headers no shared libraries, which only running needs."""

import os
import sys
import zipfile

wheel, folder, *flags = sys.argv[1:]


def wanted(name):
    library = ".so" in os.path.basename(name)
    return name.startswith(("nvidia/", "include/")) and not (library and "--headers" in flags)


with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        if member.is_dir() or not wanted(member.filename):
            continue
        path = archive.extract(member, folder)
        mode = member.external_attr >> 16 & 0o777
        if mode:
            os.chmod(path, mode | 0o600)
