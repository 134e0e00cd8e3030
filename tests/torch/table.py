# SPDX-License-Identifier: Apache-2.0
"""table.py DIR: the results of run.sh (JUnit files) as a table of files, and the failures by their cause."""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def cause(text: str) -> str:
    """The line that says why: what the compiler or the card said, or else the last error."""
    for pattern in (r"dxp_standalone: .*", r"\w*Error: stream \d+: .*", r"AssertionError: Tensor-likes are not close.*"):
        found = re.search(pattern, text)
        if found:
            line = found.group(0)
            break
    else:
        lines = [line for line in text.splitlines() if re.match(r"E?\s*[\w.]*(Error|Exception)\b", line)]
        line = lines[-1] if lines else text.strip().splitlines()[-1] if text.strip() else "?"
    line = re.sub(r"[\w./-]*sdsc_[\w.]+", "BUNDLE", line)
    return re.sub(r"\d+", "N", line)[:160]


def main() -> None:
    counts = collections.defaultdict(collections.Counter)
    causes = collections.defaultdict(list)
    lost = []
    for ids in sorted(pathlib.Path(sys.argv[1]).glob("*.ids")):
        xml = ids.with_suffix(".xml")
        if not xml.exists():
            lost.append(f"{ids.stem}: no result; see {ids.with_suffix('.log')}")
            continue
        for case in ElementTree.parse(xml).iter("testcase"):
            kind = "passed"
            for element in case:
                if element.tag == "skipped":
                    kind = "expected failure" if "xfail" in (element.get("type") or "") else "skipped"
                elif element.tag in ("failure", "error"):
                    kind = "failed"
                    causes[cause(element.text or "")].append(f"{ids.stem}::{case.get('name')}")
            counts[ids.stem][kind] += 1
    kinds = ["passed", "failed", "expected failure", "skipped"]
    print("| file | " + " | ".join(kinds) + " |\n|---|" + "--:|" * len(kinds))
    for file, of in sorted(counts.items()):
        print(f"| {file} | " + " | ".join(str(of[kind]) for kind in kinds) + " |")
    total = sum(counts.values(), collections.Counter())
    print("| **all** | " + " | ".join(str(total[kind]) for kind in kinds) + " |")
    if causes:
        print("\n| failures | cause | one of them |\n|--:|---|---|")
    for text, tests in sorted(causes.items(), key=lambda item: -len(item[1])):
        print(f"| {len(tests)} | {text.replace('|', '/')} | {tests[0]} |")
    for line in lost:
        print("\n" + line)


if __name__ == "__main__":
    main()
