#!/usr/bin/env python3
"""Counts the cases in a JUnit report of ctest: prints "PASSED FAILED".

ctest knows programs; gtest, unittest and our Node scripts know cases. A program whose output says how
many cases ran counts as that many, any other as one.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

GTEST = re.compile(r"^\[\s*PASSED\s*\] (\d+) tests?\.", re.M)
GTEST_FAILED = re.compile(r"^\[\s*FAILED\s*\] (\d+) tests?, listed below", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.M)
UNITTEST_FAILED = re.compile(r"^FAILED \((.*)\)", re.M)
NODE = re.compile(r"^(?:#|\u2139) (pass|fail) (\d+)$", re.M)
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def cases(output: str, ok: bool) -> tuple[int, int]:
    passed, failed = 0, 0
    if match := GTEST.search(output):
        passed = int(match[1])
        if match := GTEST_FAILED.search(output):
            failed = int(match[1])
    elif match := UNITTEST.search(output):
        if bad := UNITTEST_FAILED.search(output):
            failed = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", bad[1]))
        passed = int(match[1]) - failed
    elif counts := dict(NODE.findall(output)):
        passed, failed = int(counts["pass"]), int(counts["fail"])
    elif match := PLAIN.search(output):
        passed, failed = int(match[1]), int(match[2])
    elif ok:
        passed = 1
    # A program that failed without naming a case (a crash, a time-out) is one failure.
    if not ok and failed == 0:
        failed = 1
    return passed, failed


def main() -> None:
    passed = failed = 0
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        if case.get("status") in ("disabled", "notrun") and case.find("skipped") is not None:
            continue
        ok = case.find("failure") is None and case.get("status") != "fail"
        p, f = cases(case.findtext("system-out") or "", ok)
        passed += p
        failed += f
    print(passed, failed)


if __name__ == "__main__":
    main()
