"""Machines that are not there: the driver double compiled, and fake system trees and programs."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")


def uuid(n: int) -> str:
    return f"GPU-{n:08x}-1111-2222-3333-{n:012x}"


def build(folder: Path, name: str = "libdouble.so", *flags: str) -> Path:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++") or "clang++"
    library = folder / name
    subprocess.run([compiler, "-std=c++20", "-O0", "-shared", "-fPIC", *flags, str(SOURCE), "-o", str(library)],
                   check=True, timeout=120)
    return library


class FakeMachine:
    """A folder with a driver scenario, a system root and a PATH of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.at = Path(self.folder.name)
        self.root = self.at / "root"
        self.bin = self.at / "bin"
        self.root.mkdir()
        self.bin.mkdir()
        self.scenario = self.at / "scenario"
        self.libraries = {}
        self.meminfo(64 << 20, 48 << 20)

    def close(self):
        self.folder.cleanup()

    def file(self, path: str, text: str) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")

    def meminfo(self, total_kb: int, available_kb: int) -> None:
        self.file("/proc/meminfo", f"MemTotal: {total_kb} kB\nMemFree: 1 kB\nMemAvailable:  {available_kb} kB")

    def driver(self, library: Path, *lines: str, cuda: bool = True) -> None:
        # In one step: a program may be reading the old one.
        fresh = self.scenario.with_suffix(".new")
        fresh.write_text("driver 570.86.15\ncuda 12080\n" + "\n".join(lines) + "\n")
        fresh.replace(self.scenario)
        self.libraries = {"VRAMWISE_NVML_LIBRARY": str(library), "DRIVER_DOUBLE": str(self.scenario)}
        self.libraries["VRAMWISE_CUDA_LIBRARY"] = str(library) if cuda else "/nonexistent"

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def environment(self, **more) -> dict:
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.at), "VRAMWISE_SYSTEM_ROOT": str(self.root),
                "VRAMWISE_NVML_LIBRARY": "/nonexistent", "VRAMWISE_CUDA_LIBRARY": "/nonexistent", "LC_ALL": "C.UTF-8",
                **self.libraries, **more}
