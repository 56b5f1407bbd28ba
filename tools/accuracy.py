#!/usr/bin/env python3
"""Estimates beside measured cases: `./dev accuracy [ARGS]`.

Without arguments the project's own measured set (tests/measured/*.jsonl) is scored. --help lists the
rest. The work is done in tools/accuracy/.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from accuracy.main import main  # noqa: E402  (a package beside this file; it wins over the module)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
