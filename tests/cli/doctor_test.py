#!/usr/bin/env python3
"""Detection: `vramwise doctor` and `--gpu local` on machines of every kind, played by doubles."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from driver_double import FakeMachine, build, uuid  # noqa: E402

VRAMWISE = os.environ.get("VRAMWISE", "build/release/bin/vramwise")
MIB = 1 << 20


def card(n=0, name="NVIDIA GeForce RTX 4090", total=24564, reserved=354, used=512, cuda=24210, mig=0, busy=3,
         handle=0, memory=0):
    return f"card {name};{uuid(n)};{total};{reserved};{used};{cuda};{mig};{busy};{handle};{memory}"


class MachineCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Compiled once for all classes.
        if not hasattr(MachineCase, "built"):
            MachineCase.built = tempfile.TemporaryDirectory()
            MachineCase.driver_file = build(Path(cls.built.name))
            MachineCase.old_library = build(Path(cls.built.name), "libold.so", "-DOLD_DRIVER")

    def setUp(self):
        self.machine = FakeMachine()
        self.addCleanup(self.machine.close)

    def run_it(self, *arguments, **env):
        return subprocess.run([VRAMWISE, *arguments], capture_output=True, text=True, timeout=60,
                              env=self.machine.environment(**env))

    def answer(self, *arguments, status=0, **env):
        done = self.run_it(*arguments, "--json", **env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def doctor(self, status=0, **env):
        return self.answer("doctor", status=status, **env)["doctor"]

    def finding(self, doctor, name):
        found = [f for f in doctor["findings"] if f["id"] == name]
        self.assertEqual(len(found), 1, doctor["findings"])
        return found[0]

    def local(self, *arguments, **env):
        done = self.run_it("plan", "llama-3.1-8b", "--gpu", "local", *arguments, "--print-request", **env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["hardware"]


class Nvml(MachineCase):
    def test_one_card_as_cuda_sees_it(self):
        self.machine.driver(self.driver_file, card(used=1024), "process 0;4711;900", "process 0;4712;-1")
        self.machine.file("/proc/4711/comm", "python3")
        doctor = self.doctor()
        self.assertEqual((doctor["source"], doctor["driver_version"], doctor["cuda_version"]),
                         ("nvml", "570.86.15", "12.8"))
        (found,) = doctor["cards"]
        self.assertEqual(found["gpu"], "rtx-4090")
        self.assertEqual(found["driver_total_bytes"], 24564 * MIB)
        self.assertEqual((found["total_bytes"], found["total_basis"]), (24210 * MIB, "cuda"))
        self.assertEqual(found["used_bytes"], 1024 * MIB)
        self.assertEqual(found["free_bytes"], (24210 - 1024) * MIB)
        self.assertEqual(found["busy_percent"], 3)
        self.assertEqual(found["processes"], [{"pid": 4711, "name": "python3", "used_bytes": 900 * MIB}, {"pid": 4712}])

    def test_without_cuda_the_drivers_share_is_taken_off(self):
        self.machine.driver(self.driver_file, card(reserved=400), cuda=False)
        (found,) = self.doctor()["cards"]
        self.assertEqual((found["total_bytes"], found["total_basis"]), ((24564 - 400) * MIB, "reserved"))

    def test_cuda_that_fails_changes_nothing(self):
        self.machine.driver(self.driver_file, "cuinit 999", card(reserved=400))
        (found,) = self.doctor()["cards"]
        self.assertEqual(found["total_basis"], "reserved")

    def test_old_driver_takes_the_catalogs_figure(self):
        self.machine.driver(self.old_library, card(), cuda=False)
        (found,) = self.doctor()["cards"]
        self.assertEqual((found["total_bytes"], found["total_basis"]), (24210 * MIB, "catalog"))
        self.assertEqual(found["processes"], [])
        # A card that nobody knows: 400 MiB and a fifth of a percent less.
        self.machine.driver(self.old_library, card(name="NVIDIA RTX 9990", total=50000, cuda=0), cuda=False)
        (found,) = self.doctor()["cards"]
        self.assertNotIn("gpu", found)
        self.assertEqual((found["total_bytes"], found["total_basis"]), (49500 * MIB, "rule"))

    def test_unequal_cards(self):
        self.machine.driver(self.driver_file, card(0), card(1, "NVIDIA GeForce RTX 3060", 12288, 250, 100, 12038))
        doctor = self.doctor()
        self.assertEqual([c["gpu"] for c in doctor["cards"]], ["rtx-4090", "rtx-3060-12"])
        hardware = self.local()
        self.assertEqual(hardware["devices"],
                         [{"gpu": "rtx-4090", "total_bytes": 24210 * MIB, "used_bytes": 512 * MIB},
                          {"gpu": "rtx-3060-12", "total_bytes": 12038 * MIB, "used_bytes": 100 * MIB}])
        self.assertEqual(hardware["ram_bytes"], 64 << 30)
        self.assertEqual([d["gpu"] for d in self.local("--gpu", "local:1")["devices"]], ["rtx-3060-12"])
        self.assertEqual([d["gpu"] for d in self.local("--gpu", "local:1,0")["devices"]], ["rtx-3060-12", "rtx-4090"])
        self.assertEqual([d["gpu"] for d in self.local("--count", "1")["devices"]], ["rtx-4090"])
        plan = self.answer("plan", "llama-3.1-8b", "-e", "llama.cpp", "--weights", "Q4_K_M", "--gpu", "local", "--ctx", "4k")
        self.assertEqual([d["total_bytes"] for d in plan["devices"]], [24210 * MIB, 12038 * MIB])
        self.assertEqual([d["used_bytes"] for d in plan["devices"]], [512 * MIB, 100 * MIB])

    def test_what_is_in_use_decides(self):
        free = ("plan", "llama-3.1-8b", "--gpu", "local", "--ctx", "8k")
        self.machine.driver(self.driver_file, card(used=0))
        self.assertEqual(self.answer(*free)["outcome"], "fits")
        self.machine.driver(self.driver_file, card(used=12000))
        self.assertNotEqual(self.answer(*free, status=1)["outcome"], "fits")
        # Given figures win over read ones.
        self.assertEqual(self.answer(*free, "--used", "0GiB")["outcome"], "fits")

    def test_visible_devices(self):
        self.machine.driver(self.driver_file, card(0), card(1, "NVIDIA GeForce RTX 3060", 12288, 250, 100, 12038))
        self.assertEqual([d["gpu"] for d in self.local(CUDA_VISIBLE_DEVICES="1")["devices"]], ["rtx-3060-12"])
        self.assertEqual([d["gpu"] for d in self.local(CUDA_VISIBLE_DEVICES=uuid(1)[:12])["devices"]], ["rtx-3060-12"])
        self.finding(self.doctor(CUDA_VISIBLE_DEVICES="1"), "visible_devices")
        done = self.run_it("plan", "llama-3.1-8b", "--gpu", "local", CUDA_VISIBLE_DEVICES="-1")
        self.assertEqual(done.returncode, 4)
        self.assertIn("CUDA_VISIBLE_DEVICES=-1 hides every GPU", done.stderr)

    def test_modded_card_keeps_its_own_size(self):
        self.machine.driver(self.driver_file, card(total=49140, cuda=49140 - 354))
        (device,) = self.local()["devices"]
        self.assertEqual(device, {"gpu": "rtx-4090", "total_bytes": 48786 * MIB, "used_bytes": 512 * MIB})

    def test_memory_decides_between_cards_of_one_name(self):
        for name, total, gpu in (("NVIDIA H20", 97871, "h20-96"), ("NVIDIA H20", 143771, "h20-141"),
                                 ("NVIDIA GeForce RTX 3080", 10240, "rtx-3080-10"),
                                 ("NVIDIA GeForce RTX 3080", 12288, "rtx-3080-12"),
                                 ("NVIDIA GeForce RTX 4060 Ti", 16380, "rtx-4060-ti-16"),
                                 ("NVIDIA GeForce RTX 4060 Ti", 8188, "rtx-4060-ti-8"),
                                 ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "rtx-4090-laptop"),
                                 ("NVIDIA A100-SXM4-80GB", 81920, "a100-sxm4-80"),
                                 ("NVIDIA A100-SXM4-40GB", 40960, "a100-sxm4-40"),
                                 ("NVIDIA H100 80GB HBM3", 81559, "h100-sxm"), ("NVIDIA H100 PCIe", 81559, "h100-pcie"),
                                 ("NVIDIA H200", 143771, "h200-sxm"), ("NVIDIA L40S", 46068, "l40s"),
                                 ("NVIDIA RTX 6000 Ada Generation", 49140, "rtx-6000-ada"), ("Tesla T4", 15360, "t4"),
                                 ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "rtx-pro-6000-server"),
                                 ("NVIDIA B200", 183359, "b200")):
            with self.subTest(name=name, total=total):
                self.machine.driver(self.driver_file, card(name=name, total=total, cuda=0))
                self.assertEqual(self.doctor()["cards"][0].get("gpu"), gpu)

    def test_slices(self):
        self.machine.driver(self.driver_file, card(name="NVIDIA H100 80GB HBM3", total=81559, reserved=469, used=0, cuda=9984,
                                               mig=1, busy=-1),
                            "slice 0;NVIDIA H100 80GB HBM3 MIG 1g.10gb;MIG-aaaa;9984;16;100",
                            "slice 0;NVIDIA H100 80GB HBM3 MIG 3g.40gb;MIG-bbbb;40448;16;12000",
                            card(1, "NVIDIA H100 80GB HBM3", 81559, 469, 10, 81090))
        doctor = self.doctor()
        self.assertEqual([(c["index"], c.get("slice"), c.get("divided", False)) for c in doctor["cards"]],
                         [(0, None, True), (0, "1g.10gb", False), (0, "3g.40gb", False), (1, None, False)])
        self.assertEqual(doctor["cards"][2]["total_bytes"], (40448 - 16) * MIB)
        self.assertEqual(doctor["cards"][2]["used_bytes"], 12000 * MIB)
        self.assertEqual(doctor["cards"][2]["gpu"], "h100-sxm:3g.40gb")
        # Alone: one slice, since a process cannot have two.
        self.assertEqual(self.local()["devices"],
                         [{"gpu": "h100-sxm:1g.10gb", "total_bytes": 9968 * MIB, "used_bytes": 100 * MIB}])
        self.assertEqual(self.local("--gpu", "local:2")["devices"][0]["total_bytes"], 81090 * MIB)
        text = self.run_it("doctor").stdout
        self.assertIn("MIG 3g.40gb", text)
        self.assertIn("local:2", text)

    def test_divided_without_slices(self):
        self.machine.driver(self.driver_file, card(mig=1))
        doctor = self.doctor(status=1)
        self.assertIn("nvidia-smi mig -cgi", self.finding(doctor, "mig_without_instances")["next"])
        self.assertEqual(self.run_it("plan", "llama-3.1-8b", "--gpu", "local").returncode, 4)

    def test_unified_memory(self):
        self.machine.meminfo(125829120, 100 << 20)
        self.machine.driver(self.driver_file, card(name="NVIDIA GB10", memory=3, cuda=0))
        (found,) = self.doctor()["cards"]
        self.assertTrue(found["unified_memory"])
        self.assertEqual(found["gpu"], "dgx-spark-gb10")
        self.assertLessEqual(found["free_bytes"], 100 << 30)
        self.assertGreater(found["total_bytes"], 110 << 30)


class Faults(MachineCase):
    def check(self, code, name, text):
        self.machine.driver(self.driver_file, f"init {code}", card())
        doctor = self.doctor(status=1)
        self.assertEqual(doctor["cards"], [])
        found = self.finding(doctor, name)
        self.assertEqual(found["weight"], "problem")
        self.assertIn(text, found["next"])
        done = self.run_it("plan", "llama-3.1-8b", "--gpu", "local")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertIn(text, done.stderr.replace("\n        ", " "))

    def test_driver_not_loaded(self):
        self.check(9, "driver_not_loaded", "modprobe nvidia")

    def test_permission(self):
        self.check(4, "driver_permission", "--gpus all")

    def test_version_mismatch(self):
        self.check(18, "driver_mismatch", "reboot")

    def test_one_lost_card_leaves_the_other(self):
        self.machine.driver(self.driver_file, card(0, handle=15), card(1))
        doctor = self.doctor(status=1)
        self.assertEqual([c["index"] for c in doctor["cards"]], [1])
        self.assertIn("dmesg", self.finding(doctor, "gpu_lost")["next"])
        self.assertEqual(len(self.local()["devices"]), 1)

    def test_one_card_that_may_not_be_opened(self):
        self.machine.driver(self.driver_file, card(0, memory=4), card(1))
        self.assertIn("/dev/nvidia0", self.finding(self.doctor(status=1), "gpu_permission")["next"])

    def test_a_library_that_is_none(self):
        rubbish = self.machine.at / "rubbish.so"
        rubbish.write_bytes(b"not a library")
        doctor = self.doctor(VRAMWISE_NVML_LIBRARY=str(rubbish))
        self.assertEqual(doctor["cards"], [])

    def test_card_on_the_bus_without_driver(self):
        self.machine.file("/sys/bus/pci/devices/0000:01:00.0/class", "0x030000")
        self.machine.file("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
        self.assertIn("install the NVIDIA driver", self.finding(self.doctor(status=1), "driver_not_loaded")["next"])

    def test_container_without_the_toolkit(self):
        self.machine.file("/sys/bus/pci/devices/0000:01:00.0/class", "0x030200")
        self.machine.file("/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
        self.machine.file("/proc/driver/nvidia/version", "NVRM version: …")
        self.assertIn("--gpus all", self.finding(self.doctor(status=1), "nvml_missing")["next"])

    def test_amd_card_without_driver(self):
        self.machine.file("/sys/bus/pci/devices/0000:03:00.0/class", "0x120000")
        self.machine.file("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002")
        self.assertIn("amdgpu", self.finding(self.doctor(status=1), "driver_not_loaded")["text"])

    def test_no_card_at_all(self):
        doctor = self.doctor()
        self.assertEqual((doctor["cards"], doctor["findings"]), ([], []))
        text = self.run_it("doctor").stdout
        self.assertTrue(text.startswith("no GPU found"), text)
        self.assertIn("--gpu none", text)

    def test_small_shared_memory(self):
        # The tree has no /dev/shm of its own size; what is looked at is the file system below it.
        self.machine.driver(self.driver_file, card(0), card(1))
        (self.machine.root / "dev/shm").mkdir(parents=True)
        self.assertIn("shared_memory_bytes", self.doctor()["host"])


SMI_GPUS = """0, {u0}, 24564, 512, 23698, 7, 550.54.14, [N/A], NVIDIA GeForce RTX 4090
1, {u1}, 12288, 100, 11938, [N/A], 550.54.14, Disabled, NVIDIA GeForce RTX 3060
""".format(u0=uuid(0), u1=uuid(1))


class NvidiaSmi(MachineCase):
    def play(self, gpus, processes="", status=0, sleep=0):
        (self.machine.at / "gpus").write_text(gpus)
        (self.machine.at / "processes").write_text(processes)
        self.machine.program("nvidia-smi", f"""
sleep {sleep}
case "$1" in
  --query-gpu=*) cat {self.machine.at}/gpus;;
  --query-compute-apps=*) cat {self.machine.at}/processes;;
  *) exit 9;;
esac
exit {status}
""")

    def test_fallback(self):
        self.play(SMI_GPUS, f"{uuid(0)}, 4711, /usr/bin/python3, 500\n{uuid(1)}, 9, [Not Found], [N/A]\n")
        doctor = self.doctor()
        self.assertEqual((doctor["source"], doctor["driver_version"]), ("nvidia-smi", "550.54.14"))
        first, second = doctor["cards"]
        self.assertEqual((first["gpu"], first["total_bytes"], first["used_bytes"], first["busy_percent"]),
                         ("rtx-4090", (512 + 23698) * MIB, 512 * MIB, 7))
        self.assertEqual(first["processes"], [{"pid": 4711, "name": "python3", "used_bytes": 500 * MIB}])
        self.assertEqual(second["gpu"], "rtx-3060-12")
        self.assertNotIn("busy_percent", second)
        self.assertEqual(second["processes"], [{"pid": 9, "name": "[Not Found]"}])

    def test_its_own_words_when_it_fails(self):
        self.play("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.90\n", status=18)
        self.assertIn("reboot", self.finding(self.doctor(status=1), "driver_mismatch")["next"])
        self.play("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", status=9)
        self.assertIn("modprobe", self.finding(self.doctor(status=1), "driver_not_loaded")["next"])

    def test_rubbish(self):
        for text in ("", "\n\n", "no,such,table", "x" * 100000, "1,2,3,4,5,6,7,8\n", "-1, u, 1, 1, 1, 1, d, m, n\n",
                     "0, u, 99999999999999999999, 1, 1, 1, d, m, n\n", "0, u, -5, -5, -5, 500, d, m, n\n"):
            self.play(text)
            done = self.run_it("doctor", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            for found in json.loads(done.stdout)["doctor"]["cards"]:
                self.assertGreaterEqual(found["free_bytes"], 0)

    def test_one_that_hangs(self):
        self.play("", sleep=60)
        doctor = self.doctor(status=1)
        self.assertIn("did not end within 10 s", doctor["findings"][0]["text"])


class Amd(MachineCase):
    def card(self, n, device, revision, total, used, slot, gtt=None):
        folder = f"/sys/class/drm/card{n}/device"
        self.machine.file(f"{folder}/vendor", "0x1002")
        self.machine.file(f"{folder}/device", device)
        self.machine.file(f"{folder}/revision", revision)
        self.machine.file(f"{folder}/mem_info_vram_total", str(total))
        self.machine.file(f"{folder}/mem_info_vram_used", str(used))
        self.machine.file(f"{folder}/gpu_busy_percent", "41")
        self.machine.file(f"{folder}/uevent", f"DRIVER=amdgpu\nPCI_SLOT_NAME={slot}")
        if gtt:
            self.machine.file(f"{folder}/mem_info_gtt_total", str(gtt))
            self.machine.file(f"{folder}/mem_info_gtt_used", "0")

    def test_cards(self):
        self.card(1, "0x74a1", "0x00", 206141652992, 300 << 20, "0000:c1:00.0")
        self.card(0, "0x744c", "0xc8", 25753026560, 1 << 30, "0000:03:00.0")
        self.machine.file("/sys/class/drm/card0-DP-1/status", "connected")
        self.machine.file("/sys/class/drm/card7/device/vendor", "0x1002")  # without figures
        self.machine.file("/sys/module/amdgpu/version", "6.12.12")
        doctor = self.doctor()
        self.assertEqual((doctor["source"], doctor["driver_version"]), ("amdgpu", "6.12.12"))
        self.assertEqual([(c["index"], c["gpu"], c["used_bytes"], c["busy_percent"]) for c in doctor["cards"]],
                         [(0, "rx-7900-xtx", 1 << 30, 41), (1, "mi300x", 300 << 20, 41)])
        self.assertEqual(self.local("--gpu", "local:1")["devices"][0]["gpu"], "mi300x")
        self.assertEqual(self.answer("plan", "llama-3.1-8b", "--gpu", "local:1", "--ctx", "8k")["outcome"], "fits")

    def test_names_from_the_drivers_table(self):
        self.card(0, "0x7777", "0xaa", 16 << 30, 0, "0000:03:00.0")
        self.machine.file("/usr/share/libdrm/amdgpu.ids", "# list\n1.0.0\n7777,\tAA,\tAMD Radeon RX 9999 XT\n")
        self.assertEqual(self.doctor()["cards"][0]["name"], "AMD Radeon RX 9999 XT")

    def test_apu_borrows_from_the_host(self):
        self.card(0, "0x1586", "0xc1", 512 << 20, 100 << 20, "0000:c5:00.0", gtt=96 << 30)
        (found,) = self.doctor()["cards"]
        self.assertTrue(found["unified_memory"])
        self.assertEqual(found["total_bytes"], (512 << 20) + (96 << 30))
        self.assertTrue(found["gpu"].startswith("strix-halo"), found)

    def test_processes(self):
        self.card(0, "0x740f", "0x02", 68702699520, 0, "0000:03:00.0")
        self.machine.program("rocm-smi", 'echo \'{"system": {"PID4711": "python3, 1, 17179869184, 0, 0"}}\'')
        self.assertEqual(self.doctor()["cards"][0]["processes"],
                         [{"pid": 4711, "name": "python3", "used_bytes": 16 << 30}])


class HostLimits(MachineCase):
    def host(self):
        return self.doctor()["host"]

    def test_none(self):
        host = self.host()
        self.assertEqual((host["total_bytes"], host["available_bytes"], host["usable_bytes"]),
                         (64 << 30, 48 << 30, 64 << 30))
        self.assertNotIn("limit_bytes", host)

    def test_version_2(self):
        self.machine.file("/proc/self/cgroup", "0::/user.slice/job")
        self.machine.file("/sys/fs/cgroup/user.slice/job/memory.max", "max")
        self.machine.file("/sys/fs/cgroup/user.slice/memory.max", str(8 << 30))
        self.machine.file("/sys/fs/cgroup/user.slice/memory.current", str(1 << 30))
        host = self.host()
        self.assertEqual((host["limit_bytes"], host["limit_used_bytes"], host["usable_bytes"]), (8 << 30, 1 << 30, 8 << 30))
        self.assertEqual(host["limit_source"], "/sys/fs/cgroup/user.slice/memory.max")

    def test_the_lowest_limit_holds(self):
        self.machine.file("/proc/self/cgroup", "0::/a/b")
        self.machine.file("/sys/fs/cgroup/a/memory.max", str(8 << 30))
        self.machine.file("/sys/fs/cgroup/a/b/memory.max", str(16 << 30))
        self.assertEqual(self.host()["limit_bytes"], 8 << 30)

    def test_container_of_version_2(self):
        self.machine.file("/proc/self/cgroup", "0::/")
        self.machine.file("/sys/fs/cgroup/memory.max", str(4 << 30))
        self.assertEqual(self.host()["limit_bytes"], 4 << 30)

    def test_version_1(self):
        self.machine.file("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/")
        self.machine.file("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", str(6 << 30))
        self.assertEqual(self.host()["limit_bytes"], 6 << 30)

    def test_version_1_in_a_container(self):
        # The path is the host's; inside, the mount itself is the group.
        self.machine.file("/proc/self/cgroup", "4:memory:/docker/abc")
        self.machine.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", str(6 << 30))
        self.assertEqual(self.host()["limit_bytes"], 6 << 30)
        self.machine.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")  # none
        self.assertNotIn("limit_bytes", self.host())

    def test_the_limit_reaches_the_plan(self):
        self.machine.file("/proc/self/cgroup", "0::/")
        self.machine.file("/sys/fs/cgroup/memory.max", str(4 << 30))
        self.machine.driver(self.driver_file, card())
        self.assertEqual(self.local()["ram_bytes"], 4 << 30)

    def test_rubbish(self):
        for text in ("", ":::::", "0:", "0::nothing", "0::/" + "a/" * 1000, "4:memory:"):
            self.machine.file("/proc/self/cgroup", text)
            self.machine.file("/sys/fs/cgroup/memory.max", "many")
            self.assertNotIn("limit_bytes", self.host())
        self.machine.file("/proc/meminfo", "MemTotal: lots\nMemAvailable")
        self.assertEqual(self.host()["total_bytes"], 0)


class Text(MachineCase):
    def test_report(self):
        self.machine.driver(self.driver_file, card(used=1024), card(1, "NVIDIA GeForce RTX 3060", 12288, 250, 100, 12038),
                            "process 0;4711;900")
        self.machine.file("/proc/4711/comm", "python3")
        done = self.run_it("doctor", "--width", "80")
        self.assertEqual(done.returncode, 0)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "2 GPUs, 34.30 GiB free of 35.40 GiB")
        self.assertEqual(lines[1], "read by nvml, driver 570.86.15, CUDA up to 12.8")
        self.assertIn("python3", done.stdout)
        self.assertIn("next: vramwise models --gpu local", done.stdout)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_narrow(self):
        self.machine.driver(self.driver_file, card(used=1024), card(1, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887,
                                                                  600, 5, 97250))
        for width in ("40", "60"):
            lines = self.run_it("doctor", "--width", width).stdout.splitlines()
            table = [line for line in lines if "GiB" in line]
            self.assertTrue(any("free" in line for line in lines))
            self.assertLessEqual(max(map(len, table)), max(int(width), 62))

    def test_names_cannot_speak_to_the_terminal(self):
        self.machine.driver(self.driver_file, card(name="evil\x1b[2Jcard"), "process 0;4711;900")
        self.machine.file("/proc/4711/comm", "a\x1b[31mb")
        self.assertNotIn("\x1b", self.run_it("doctor").stdout)

    def test_models_here(self):
        self.machine.driver(self.driver_file, card(used=0))
        models = self.answer("models", "--gpu", "local", "--ctx", "8k")
        self.assertNotIn("error", models)

    def test_local_in_a_batch(self):
        self.machine.driver(self.driver_file, card(used=0))
        line = json.dumps({"ask": "plan", "model": {"ref": "llama-3.1-8b"}, "hardware": {"gpu": "local"}})
        done = subprocess.run([VRAMWISE, "batch", "-"], input=line + "\n", capture_output=True, text=True, timeout=60,
                              env=self.machine.environment())
        self.assertEqual(json.loads(done.stdout)["devices"][0]["total_bytes"], 24210 * MIB)

    def test_more_than_there_is(self):
        self.machine.driver(self.driver_file, card())
        for arguments in (("--gpu", "local:1"), ("--gpu", "local:x"), ("--count", "4")):
            done = self.run_it("plan", "llama-3.1-8b", "--gpu", "local", *arguments)
            self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)


if __name__ == "__main__":
    unittest.main()
