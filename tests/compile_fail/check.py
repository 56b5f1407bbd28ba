#!/usr/bin/env python3
"""check.py FILE -- COMPILER…: FILE must compile as it stands and must not with -DVRAMWISE_MISUSE."""

import subprocess
import sys

split = sys.argv.index("--")
(file,), compiler = sys.argv[1:split], sys.argv[split + 1 :]
sound = subprocess.run([*compiler, file], capture_output=True, text=True)
if sound.returncode != 0:
    sys.exit(f"{file} does not compile even without the misuse:\n{sound.stderr}")
misuse = subprocess.run([*compiler, "-DVRAMWISE_MISUSE", file], capture_output=True, text=True)
if misuse.returncode == 0:
    sys.exit(f"{file}: the misuse compiles")
