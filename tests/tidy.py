#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over all C and C++ of the product: tests/tidy.py [PATTERN of paths]

Most of the time goes to the headers that every translation unit reads again, and checks walk through. So the units of the
unity build are read several at a time: one of each namespace, since names of different namespaces do not meet. Where they do,
each unit is read alone.

Precompiled headers and flags are GCC's; a compile database without them suits clang. The analyzer takes as long as all other
checks together; it is for editors and by hand.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/tidy"
MERGED = BUILD / "merged"
GENERATED = re.compile(r"^/usr/|/tidy/rtl/|precompiled\.cc|build_info|\.S$")
CHECKS = [
    "--quiet",
    r"--header-filter=/(base|bringup|cosim|driver|firmware|model|python|runtime|sdk|traces)/.*\.(h|cc|c)$",
    "--checks=-clang-analyzer-*,-bugprone-suspicious-include",  # a unity file includes .cc files
    "--extra-arg=-Wno-unknown-warning-option",
    "--extra-arg=-Wno-ignored-optimization-argument",
    "--extra-arg=-Wno-unused-command-line-argument",
]
NOISE = re.compile(r"^(\d+ warnings? generated|Suppressed|Use -header-filter|\s*$)")


def configure():
    """The compile database, and the sources that the build writes."""
    if not (BUILD / "build.ninja").exists():
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON",
             "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DSPYRE_BUILD_TESTS=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cmake", "--build", BUILD, "--target", "spyre_contract_generated", "spyre_parameters_generated", "spyre_rtl_generated",
         "spyre_module_interfaces", "traces/report_page.cc"], check=True, stdout=subprocess.DEVNULL)


def sources(path):
    """The files that a unity unit includes; the file itself, if it is none."""
    return re.findall(r'^#include "(/.*)"$', pathlib.Path(path).read_text(), re.M) if "/Unity/" in path else [path]


def units(pattern):
    """The entries of the database that have something new: some files are compiled twice, for two machines or libraries."""
    chosen, seen = [], set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        ours = {source for source in sources(entry["file"]) if not GENERATED.search(source)}
        if ours - seen and re.search(pattern, entry["file"]):
            chosen.append(entry)
            seen |= ours
    return chosen


def namespace(path):
    """The namespace below spyre of a C++ unit; nothing if the unit stays alone, as those of spyre itself do, whose names are
    seen in all others."""
    text = "".join(pathlib.Path(source).read_text() for source in sources(path) if source.endswith(".cc"))
    found = re.search(r"^namespace spyre::(\w+)[\w:]* \{$", text, re.M)
    alone = re.search(r"^namespace spyre \{$|^int (sc_)?main\(", text, re.M)
    return found[1] if found and not alone else None


def merge(entries):
    """Lists of entries that are read together: no two of one namespace."""
    by_namespace = {}
    for entry in entries:
        by_namespace.setdefault(namespace(entry["file"]), []).append(entry)
    groups = [[entry] for entry in by_namespace.pop(None, [])]
    for rank in range(max(map(len, by_namespace.values()), default=0)):
        groups.append([each[rank] for each in by_namespace.values() if rank < len(each)])
    return groups


def write_merged(groups):
    """Files that include what is read together, and their database; the names of the files."""
    MERGED.mkdir(exist_ok=True)
    database, names = [], []
    for number, group in enumerate(groups):
        entry = dict(group[0])
        if len(group) > 1:
            entry["file"] = str(MERGED / f"unit_{number}.cc")
            pathlib.Path(entry["file"]).write_text("".join(f'#include "{each["file"]}"\n' for each in group))
            words = group[0]["command"].replace(group[0]["file"], entry["file"]).split()
            for each in group[1:]:
                theirs = each["command"].split()
                for i, word in enumerate(theirs):
                    if word == "-isystem" and theirs[i + 1] not in words:
                        words += [word, theirs[i + 1]]
                    elif word.startswith(("-D", "-I")) and word not in words:
                        words.append(word)
            entry["command"] = " ".join(words)
        database.append(entry)
        names.append(entry["file"])
    (MERGED / "compile_commands.json").write_text(json.dumps(database, indent=1))
    return names


def tidy(database, path):
    done = subprocess.run(["clang-tidy-14", "-p", database, *CHECKS, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode == 0, done.stdout


def check(name, group):
    """Whether the units are clean, and what is said about them."""
    clean, text = tidy(MERGED, name)
    if clean or len(group) == 1:
        return clean, text
    results = [tidy(BUILD, entry["file"]) for entry in group]
    return all(clean for clean, _ in results), "".join(text for _, text in results)


def main():
    configure()
    groups = merge(units(sys.argv[1] if len(sys.argv) > 1 else "."))
    names = write_merged(groups)
    clean = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for fine, text in pool.map(check, names, groups):
            clean = clean and fine
            for line in text.splitlines():
                if not NOISE.match(line):
                    print(line, flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
