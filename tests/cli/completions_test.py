"""Completion scripts and manual pages: valid for their readers, and nothing of the help is missing in them."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

VRAMWISE = os.path.abspath(os.environ.get("VRAMWISE", "build/release/bin/vramwise"))


def run(*arguments):
    return subprocess.run([VRAMWISE, *arguments], capture_output=True, text=True, timeout=60)


def commands():
    """Names as the help lists them."""
    text = run("--help").stdout
    block = text[text.index("Subcommands:"):]
    return re.findall(r"^  ([a-z]+)  ", block.split("\n\n")[0], re.M)


def flags(command):
    # Only where an option is introduced: a line that begins with its spelling.
    lines = [line for line in run(command, "--help").stdout.splitlines() if re.match(r"^  -", line)]
    return {flag for line in lines for flag in re.findall(r"(?:^  |,)(--?[a-z][a-z-]*)", line.split("  ")[1] and line)}


class Completions(unittest.TestCase):
    def test_every_flag_is_in_every_script_and_page(self):
        self.assertIn("plan", commands())
        fish = run("completions", "fish").stdout
        for command in commands():
            found = flags(command)
            self.assertIn("--help", found, command)
            self.assertTrue(command != "plan" or {"--gpu", "-g", "--emit", "--save", "-v"} <= found, found)
            bash = re.search(rf"^    {command}\)\n      flags='([^']*)'", run("completions", "bash").stdout, re.M)
            zsh = re.search(rf"^        {command}\)\n(.*?) ;;$", run("completions", "zsh").stdout, re.M | re.S)
            page = run("man", command).stdout.replace("\\-", "-")
            for flag in found:
                with self.subTest(command=command, flag=flag):
                    self.assertIn(flag, bash[1].split())
                    self.assertRegex(zsh[1], rf"'\*{flag}\[")
                    self.assertIn(f"\\fB{flag}\\fR", page)
                    spelled = f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                    lines = [line for line in fish.splitlines() if f"from {command}'" in line]
                    self.assertTrue(any(spelled in line for line in lines))

    def test_shells_take_their_script(self):
        checked = 0
        for shell in ("bash", "zsh", "fish"):
            program = shutil.which(shell)
            if program is None:
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "script"
                path.write_text(run("completions", shell).stdout, encoding="utf-8")
                result = subprocess.run([program, "-n", path], capture_output=True, text=True, timeout=60)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)
                checked += 1
        self.assertGreaterEqual(checked, 1)

    def complete_in_bash(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "vramwise").symlink_to(VRAMWISE)
            script = ('source <(vramwise completions bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                      '_vramwise; printf "%s\\n" "${COMPREPLY[@]}"')
            env = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
            result = subprocess.run(["bash", "-c", script, "_", "vramwise", *words], capture_output=True, text=True,
                                    timeout=60, env=env, cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_completion_in_bash(self):
        self.assertEqual(self.complete_in_bash("pla"), ["plan"])
        self.assertIn("--gpu", self.complete_in_bash("plan", "--g"))
        self.assertNotIn("--max-count", self.complete_in_bash("plan", "--m"))
        self.assertIn("--max-count", self.complete_in_bash("gpus", "--m"))
        self.assertEqual(self.complete_in_bash("plan", "--gpu", "rtx-3090"), ["rtx-3090", "rtx-3090-ti"])
        self.assertIn("Qwen/Qwen3-8B", self.complete_in_bash("plan", "qwen/qwen3-8"))
        self.assertEqual(self.complete_in_bash("plan", "x", "--emit", ""), ["compose", "k8s", "llm-d"])
        # Behind -- and where a number is wanted there is nothing to offer.
        self.assertEqual(self.complete_in_bash("plan", "--", "vllm", "--g"), [])
        self.assertEqual(self.complete_in_bash("plan", "--ctx", ""), [])

    def test_manual_pages_are_clean_roff(self):
        groff = shutil.which("groff")
        if groff is None:
            self.skipTest("groff is not installed")
        for name in ["", *commands()]:
            page = run("man", *([name] if name else [])).stdout
            result = subprocess.run([groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z"], input=page, capture_output=True, text=True,
                                    timeout=60)
            self.assertEqual(result.stderr, "", name)
        self.assertEqual(run("man", "nothing").returncode, 4)

    def test_unknown_shell(self):
        self.assertEqual(run("completions", "tcsh").returncode, 2)
        self.assertEqual(run("__complete", "nothing", "x").stdout, "")


if __name__ == "__main__":
    unittest.main()
