"""Compares what says the version, and what else has to be said twice, with its home: fencelock.control for the version,
client/CMakeLists.txt for the number of the library's binary interface. META.json is also held against PGXN's
specification of it, 1.0.0 (https://pgxn.org/spec/).

usage: agreement.py DIRECTORY

DIRECTORY is a checkout. Prints "ok" or "not ok" for each place.
"""

import json
import os
import re
import sys

TOP = sys.argv[1]
NUMBER = r"(?:0|[1-9]\d*)"
SEMANTIC = rf"{NUMBER}\.{NUMBER}\.{NUMBER}(?:-[0-9A-Za-z.-]+)?"
REQUIRED = {"name": str, "version": str, "abstract": str, "maintainer": (str, list), "license": (str, list, dict),
            "provides": dict, "meta-spec": dict}
OPTIONAL = {"description": str, "prereqs": dict, "release_status": str, "resources": dict, "tags": list,
            "generated_by": str, "no_index": dict}


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as file:
        return file.read()


def first(pattern, *path):
    found = re.search(pattern, read(*path), flags=re.M)
    return found.group(1) if found else None


failed = False


def report(what, complaints):
    global failed
    print(f"{'not ok' if complaints else 'ok'} {what}")
    for complaint in complaints:
        print(f"    {complaint}")
    failed = failed or bool(complaints)


def same(what, found, expected):
    report(what, [] if found == expected else [f"it says {found!r}, and should say {expected!r}"])


def script_complaints(version):
    """CREATE EXTENSION comes to this version by a script for it, or by an update to it."""
    names = os.listdir(os.path.join(TOP, "extension"))
    ends = [name for name in names if re.fullmatch(rf"fencelock--(.+--)?{re.escape(version)}\.sql", name)]
    later = [name for name in names if re.fullmatch(rf"fencelock--{re.escape(version)}--.+\.sql", name)]
    return ([] if ends else [f"no script of extension/ leads to {version}"]) + [
        f"{name} leads away from {version}, which is the newest" for name in later]


def shape_complaints(meta):
    complaints = [f"{key} is missing" for key in REQUIRED if key not in meta]
    for key, value in meta.items():
        kind = {**REQUIRED, **OPTIONAL}.get(key)
        if kind is None and not key.lower().startswith("x_"):
            complaints.append(f"{key} is none of the keys of the specification")
        elif kind is not None and (not isinstance(value, kind) or not value):
            complaints.append(f"{key} has the wrong type, or is empty")
    return complaints


def value_complaints(meta):
    complaints = []
    if meta["meta-spec"].get("version") != "1.0.0":
        complaints.append("meta-spec is not 1.0.0")
    if meta["license"] != "postgresql" or not read("LICENSE").startswith("PostgreSQL License"):
        complaints.append("license is not that of LICENSE")
    if meta.get("release_status", "stable") not in ("stable", "testing", "unstable"):
        complaints.append("release_status is neither stable, testing nor unstable")
    if not re.fullmatch(r"[^\s/\\\x00-\x1f]{2,}", meta["name"]):
        complaints.append("name is no term")
    for phase, relations in meta.get("prereqs", {}).items():
        if phase not in ("configure", "build", "test", "runtime", "develop"):
            complaints.append(f"prereqs: no phase {phase}")
        for relation, names in relations.items():
            if relation not in ("requires", "recommends", "suggests", "conflicts"):
                complaints.append(f"prereqs: no relation {relation}")
            complaints += [f"prereqs: {name} {wanted!r} is no version" for name, wanted in names.items()
                           if wanted != 0 and not re.fullmatch(SEMANTIC, str(wanted))]
    return complaints


def provided_complaints(meta, version):
    complaints = [] if list(meta["provides"]) == ["fencelock"] else ["provides is not fencelock alone"]
    for name, extension in meta["provides"].items():
        if extension.get("version") != version:
            complaints.append(f"{name} is {extension.get('version')}, and should be {version}")
        for key in ("file", "docfile"):
            if key == "file" or key in extension:
                path = extension.get(key, "")
                if not os.path.isfile(os.path.join(TOP, path)):
                    complaints.append(f"{name}: {key} {path!r} does not exist")
    return complaints


def check_meta(version):
    meta = json.loads(read("META.json"))
    shape = shape_complaints(meta)
    report("META.json has the keys of PGXN's specification", shape)
    if not shape:
        report("META.json has the values of PGXN's specification", value_complaints(meta))
        same("META.json, version", meta["version"], version)
        report("META.json, provides", provided_complaints(meta, version))
        minimum = meta["prereqs"]["runtime"]["requires"]["PostgreSQL"].split(".")[0]
        same("debian/pgversions and META.json, the oldest PostgreSQL", first(r"^(\d+)\+$", "debian", "pgversions"),
             minimum)


def check_debian(version):
    same("debian/changelog", first(r"^fencelock \((.*)\)", "debian", "changelog"), version)
    abi = first(r"^set\(fencelock_abi (\d+)\)", "client", "CMakeLists.txt")
    for control in ("control", "control.in"):
        same(f"debian/{control}, the library's package", first(r"^Package: (libfencelock\d.*)", "debian", control),
             f"libfencelock{abi}")
    postgresql = first(r"^Package: postgresql-(\d+)-fencelock", "debian", "control")
    report("debian/control is what pg_buildext makes of debian/control.in",
           [] if read("debian", "control.in").replace("PGVERSION", str(postgresql)) == read("debian", "control")
           else ["`pg_buildext updatecontrol` on Debian 12 brings it up to date"])
    report("debian/libfencelock*.install is that package's",
           [] if os.path.isfile(os.path.join(TOP, "debian", f"libfencelock{abi}.install")) else ["it is missing"])


def main():
    version = first(r"^default_version = '(.*)'", "fencelock.control")
    report(f"fencelock.control has a semantic version: {version}",
           [] if version and re.fullmatch(SEMANTIC, version) else [f"{version} is none"])
    report("extension/ has a script for it", script_complaints(version))
    same("CHANGELOG.md", first(r"^## (\d\S*)", "CHANGELOG.md"), version)
    check_meta(version)
    check_debian(version)
    return 1 if failed else 0


sys.exit(main())
