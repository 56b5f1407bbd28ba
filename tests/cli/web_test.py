"""`vramwise web`: finds the page beside the program, hands it to the desktop's opener, never needs one."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
LINUX = sys.platform.startswith("linux")


class Web(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(os.path.realpath(folder.name))
        (self.root / "usr/bin").mkdir(parents=True)
        self.program = self.root / "usr/bin/vramwise"
        shutil.copy(VRAMWISE, self.program)
        self.page = self.root / "usr/share/vramwise/vramwise.html"

    def install_page(self):
        self.page.parent.mkdir(parents=True)
        self.page.write_text("<!doctype html>")

    def run_web(self, *arguments, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return subprocess.run([self.program, "web", *arguments], capture_output=True, text=True, timeout=60,
                              env=clean | environment, stdin=subprocess.DEVNULL)

    def opener(self, script):
        folder = self.root / "tools"
        folder.mkdir()
        for name in ("xdg-open", "open"):
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":77"}

    def test_not_installed(self):
        result = self.run_web()
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stdout, "")
        self.assertIn("share/vramwise/vramwise.html", result.stderr)
        self.assertIn("./dev web --build", result.stderr)

    def test_path(self):
        self.install_page()
        result = self.run_web("--path", **self.opener("touch opened; exit 0"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{self.page}\n", ""))
        self.assertFalse(pathlib.Path("opened").exists())

    def test_opens(self):
        self.install_page()
        told = self.root / "told"
        result = self.run_web(**self.opener(f'printf %s "$1" > "{told}"'))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(told.read_text(), str(self.page))

    def test_a_browser_that_stays_is_not_waited_for(self):
        self.install_page()
        begin = time.monotonic()
        result = self.run_web(**self.opener("exec sleep 20"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertLess(time.monotonic() - begin, 15)

    def test_opener_fails(self):
        self.install_page()
        result = self.run_web(**self.opener("exit 3"))
        self.assertEqual((result.returncode, result.stdout), (0, f"{self.page}\n"))
        self.assertIn("could not open", result.stderr)

    @unittest.skipUnless(LINUX, "elsewhere a desktop is always there")
    def test_no_desktop(self):
        self.install_page()
        result = self.run_web()
        self.assertEqual((result.returncode, result.stdout), (0, f"{self.page}\n"))
        self.assertIn("no desktop", result.stderr)


if __name__ == "__main__":
    unittest.main()
