"""The facts of a run, on this host, on made-up /proc and /sys trees and with a made-up NVML."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from gpuopt import _core, doctor, host_memory
from gpuopt.lab.device import environment as env
from gpuopt.lab.device import source
from gpuopt.lab.rows import environments, schema

CPU = SimpleNamespace(
    name="A CPU", platform="PoCL", vendor="x", version="3.1", driver="3.1", type="cpu", extensions="b a"
)
GPU = SimpleNamespace(
    name="NVIDIA H200", platform="NVIDIA CUDA", vendor="NVIDIA Corporation", type="gpu", extensions=[]
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Writes files of a made-up machine, {"proc/meminfo": text}."""
    for module in (env, host_memory):
        monkeypatch.setattr(module, "_ROOT", tmp_path)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


@pytest.fixture
def nvml(monkeypatch):
    """A module `pynvml` for a machine with the GPUs in `module.names`."""

    class NVMLError(Exception):
        pass

    module = ModuleType("pynvml")
    module.names = ["NVIDIA H200"]
    module.NVMLError = NVMLError
    module.NVML_CLOCK_SM, module.NVML_CLOCK_MEM, module.NVML_TEMPERATURE_GPU = 1, 2, 0

    def unsupported(*_):
        raise NVMLError("not supported")

    answers = {
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: len(module.names),
        "nvmlDeviceGetHandleByIndex": lambda i: i,
        "nvmlDeviceGetHandleByPciBusId": lambda pci: int(pci[5:7], 16),
        "nvmlDeviceGetHandleByUUID": lambda uuid: int(uuid[-1]),
        "nvmlDeviceGetName": lambda h: module.names[h],
        "nvmlDeviceGetClockInfo": lambda h, clock: 1000 * clock + h,
        "nvmlDeviceGetTemperature": lambda h, sensor: 41,
        "nvmlDeviceGetPowerUsage": lambda h: 123_456,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda h: 0x4 | 0x40 | 0x1,
        "nvmlDeviceGetEccMode": lambda h: [1, 1],
        "nvmlDeviceGetMigMode": unsupported,
        "nvmlDeviceGetEnforcedPowerLimit": lambda h: 700_000,
        "nvmlDeviceGetVbiosVersion": lambda h: b"96.00",
    }
    for name, answer in answers.items():
        setattr(module, name, answer)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for cache in (env._nvml, env.NvmlGpu._find):
        cache.cache_clear()
    yield module
    for cache in (env._nvml, env.NvmlGpu._find):
        cache.cache_clear()


def test_this_host():
    facts = env.environment()
    json.dumps(facts, allow_nan=False)
    assert facts["cpu"]["threads"] == os.cpu_count()
    assert facts["memory"]["total_bytes"] > 2**28
    assert 0 < facts["state"]["available_bytes"] <= facts["memory"]["total_bytes"]
    assert facts["software"]["numpy"]
    assert facts["software"]["python"].endswith(platform.python_version())
    assert facts["device"] is None
    row = schema.new_row(kind="environment", status="ok", env_hash=facts["env_hash"], environment=facts)
    assert row["key"] == facts["env_hash"]


def test_hash_holds_facts_and_not_the_moment(monkeypatch):
    first = env.environment(CPU)
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0.0, 0.0))
    second = env.environment(CPU)
    assert second["state"]["load"] == 99.0
    assert second["env_hash"] == first["env_hash"]
    assert env.environment(SimpleNamespace(**vars(CPU) | {"driver": "3.2"}))["env_hash"] != first["env_hash"]
    assert env.environment(SimpleNamespace(**vars(CPU) | {"extensions": ["a", "b"]}))["env_hash"] == first["env_hash"]
    monkeypatch.setenv("POCL_MAX_PTHREAD_COUNT", "1")
    third = env.environment(CPU)
    assert third["variables"]["POCL_MAX_PTHREAD_COUNT"] == "1"
    assert third["env_hash"] != first["env_hash"]


def test_the_doctor_shows_what_is_recorded(monkeypatch):
    names = ("OPENCL_VENDOR_PATH", "CL_CONFIG_USE_VECTORIZER", "OMP_NUM_THREADS")
    for name in names:
        monkeypatch.setenv(name, "1")
    assert set(names) <= set(env.environment()["variables"]) <= set(doctor.gather()["environment"])


def test_nothing_private_is_recorded(monkeypatch):
    for name, value in {
        "POCL_CACHE_DIR": "/home/somebody/cache",
        "OCL_ICD_VENDORS": "/a/b:/c/d",
        "POCL_EXTRA_BUILD_FLAGS": "-cl-mad-enable -I/home/somebody -DX=1",
        "POCL_REMOTE0_PARAMETERS": "build-box:10998",
        "CL_CONFIG_LABEL": f"made by {getpass.getuser()} on {platform.node()}",
        "GPUOPT_TOKEN": "hush-hush",
        "GPUOPT_DEVICE": "cpu",
        "HOME_OF": "/x",
    }.items():
        monkeypatch.setenv(name, value)
    facts = env.environment()
    variables = facts["variables"]
    assert variables["POCL_CACHE_DIR"] == "<hidden>"
    assert variables["POCL_EXTRA_BUILD_FLAGS"] == "-cl-mad-enable <hidden> -DX=1"
    assert variables["GPUOPT_DEVICE"] == "cpu"
    assert "HOME_OF" not in variables
    text = json.dumps(facts)
    for secret in ("somebody", "/a/b", "build-box", "hush-hush", str(Path.home()), os.getcwd()):
        assert f'"{secret}' not in text
        assert secret not in json.dumps(variables)
    assert variables["CL_CONFIG_LABEL"] == "made by <hidden> on <hidden>"


def test_a_machine_with_everything(tree):
    caches = {"index0": (1, "Data", "48K"), "index1": (1, "Instruction", "32K"), "index3": (3, "Unified", "32M")}
    files = {
        "proc/cpuinfo": "model name\t: A CPU\ncpu MHz\t\t: 2000.0\ncache size\t: 99 KB\n",
        "proc/meminfo": "MemTotal:  1000 kB\nMemAvailable:   400 kB\n",
        "proc/self/cgroup": "0::/box/job\n",
        "sys/fs/cgroup/box/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/box/job/cpu.max": "max 100000\n",
        "sys/fs/cgroup/box/job/memory.max": "4096\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/class/hwmon/hwmon0/name": "nvme\n",
        "sys/class/hwmon/hwmon1/name": "k10temp\n",
        "sys/class/hwmon/hwmon1/temp1_input": "45500\n",
    }
    for cpu in range(4):
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"] = str(cpu // 2)
        files[f"sys/devices/system/cpu/cpu{cpu}/topology/core_id"] = "0"
        files[f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"] = "1500000\n"
        files[f"sys/devices/system/node/node{cpu}/cpulist"] = str(cpu)
        for name, (level, kind, size) in caches.items():
            at = f"sys/devices/system/cpu/cpu{cpu}/cache/{name}"
            shared = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}" if level == 3 else str(cpu)
            files |= {f"{at}/level": str(level), f"{at}/type": kind, f"{at}/size": size}
            files[f"{at}/shared_cpu_list"] = shared
    tree(files)
    facts = env.environment()
    cpu = facts["cpu"]
    assert (cpu["model"], cpu["sockets"], cpu["cores"], cpu["numa_nodes"]) == ("A CPU", 2, 2, 4)
    assert (cpu["quota_cpus"], cpu["governor"], cpu["max_mhz"]) == (1.5, "powersave", 3500.0)
    assert (cpu["llc_bytes"], cpu["huge_pages"]) == (64 << 20, "madvise")
    assert facts["memory"] == {"total_bytes": 1024_000, "limit_bytes": 4096}
    assert facts["state"]["available_bytes"] == 409_600
    assert (facts["state"]["core_mhz"], facts["state"]["temp_c"]) == (1500.0, 45.5)


def test_an_older_container_and_a_bare_machine(tree):
    assert env.llc_bytes() is None
    bare = env.environment()
    assert bare["cpu"]["cores"] is None
    assert bare["cpu"]["quota_cpus"] is None
    assert env.device_state()["core_mhz"] is None
    tree(
        {
            "proc/cpuinfo": "cpu MHz\t: 2000.0\ncache size\t: 8192 KB\n\ncpu MHz\t: 3000.0\n",
            "proc/self/cgroup": "4:memory:/box\n2:cpu,cpuacct:/box\n1:name=systemd:/\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": "9223372036854771712\n",
        }
    )
    assert env.environment()["cpu"]["quota_cpus"] == 0.5
    assert env.environment()["memory"]["limit_bytes"] is None
    assert env.llc_bytes() == 8 << 20
    assert env.device_state(CPU)["core_mhz"] == 2500.0


def test_state_fills_its_group_of_the_row(nvml):
    for device in (None, CPU, GPU, SimpleNamespace(type="accelerator")):
        assert tuple(env.device_state(device)) == schema.GROUPS["device_state"]


def test_gpu_by_name(nvml):
    state = env.device_state(GPU)
    assert (state["core_mhz"], state["mem_mhz"], state["temp_c"], state["power_w"]) == (1000, 2000, 41, 123.456)
    assert state["throttle"] == "sw_power_cap+hw_thermal"
    gpu = env.environment(GPU)["gpu"]
    assert (gpu["ecc"], gpu["mig"], gpu["power_cap_w"], gpu["vbios"]) == (True, None, 700.0, "96.00")
    assert gpu["pcie_gen"] is None  # this NVML has no such function
    assert env.environment(CPU)["gpu"] is None


def test_one_of_several_equal_gpus(nvml, monkeypatch):
    nvml.names = ["NVIDIA H200", "NVIDIA H200", "Another"]
    assert env.device_state(GPU)["core_mhz"] is None
    assert env.device_state(SimpleNamespace(**vars(GPU) | {"pci": "0000:01:00.0"}))["core_mhz"] == 1001
    for visible, core_mhz in {"1": 1001, "GPU-1": 1001, "2": None, "0,1": None, "7": None}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert env.device_state(GPU)["core_mhz"] == core_mhz, visible


def test_a_machine_without_nvml(nvml, monkeypatch):
    def fail():
        raise nvml.NVMLError("driver not loaded")

    nvml.nvmlInit = fail
    assert set(env.device_state(GPU).values()) == {None}
    env._nvml.cache_clear()
    env.NvmlGpu._find.cache_clear()
    monkeypatch.setitem(sys.modules, "pynvml", None)  # as if not installed
    assert env.environment(GPU)["gpu"] is None


def test_throttling():
    assert env.throttle_words(0) == env.throttle_words(0x3) == "none"
    assert env.throttle_words(0x8) == "hw_slowdown"
    states = [{"throttle": None}, {"throttle": "none"}]
    assert not env.is_throttled(states)
    assert env.is_throttled([*states, {"throttle": "hw_slowdown"}])


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_commit_of_the_tree_that_the_package_runs_from(tmp_path, monkeypatch):
    package = tmp_path / "python" / "gpuopt"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(source, "PACKAGE", package)
    for variable in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(variable)

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    assert source.tree() is None
    git("init")
    assert source.tree() is None  # inside a working tree that does not track it
    (tmp_path / "rows.jsonl").write_text("")
    git("add", ".")
    git("commit", "-m", "first")
    commit, dirty = source.tree()
    assert len(commit) == 40
    assert dirty is False
    (tmp_path / "rows.jsonl").write_text("{}")
    assert source.tree() == (commit, False)  # what a study writes is no change of the source
    (package / "__init__.py").write_text("# edited\n")
    assert source.tree() == (commit, True)
    monkeypatch.setenv("PATH", "")
    assert source.tree() is None


@pytest.mark.parametrize(
    ("built", "told"), [("ab12", ("ab12", False)), ("ab12+dirty", ("ab12", True)), ("", (None, None))]
)
def test_without_a_tree_the_commit_is_the_one_that_was_built(monkeypatch, built, told):
    monkeypatch.setattr(source, "tree", lambda: None)
    monkeypatch.setattr(_core, "__commit__", built)
    facts = source.source()
    assert (facts["commit"], facts["dirty"], facts["built"]) == (*told, built or None)
    source.commit.cache_clear()
    assert source.commit() == (built or None)
    source.commit.cache_clear()
    assert schema.new_row(kind="summary", status="ok", **dict.fromkeys(schema.KEY_FIELDS))["commit"] == (built or None)


@pytest.mark.skipif(shutil.which("cmake") is None or shutil.which("git") is None, reason="needs cmake and git")
def test_the_build_knows_its_commit(root, tmp_path):
    """CMake's script, on an archive that git made, on files without either, and on a clone."""
    (tmp_path / "cmake").mkdir()
    named, output = tmp_path / "cmake" / "commit.txt", tmp_path / "commit.cpp"
    shutil.copy(root / "cmake" / "commit.txt", named)

    def written(**variables):
        script = ["-P", str(root / "cmake" / "write_commit.cmake")]
        command = [shutil.which("cmake"), f"-DROOT={tmp_path}", f"-DOUTPUT={output}", *script]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        subprocess.run(command, check=True, capture_output=True, env=clean | {"GPUOPT_COMMIT": ""} | variables)
        return re.search('"(.*)"', output.read_text())[1]

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)
        return done.stdout.decode().strip()

    assert written() == ""  # the placeholder is no commit
    assert written(GPUOPT_COMMIT="ab12") == "ab12"
    assert written(GPUOPT_COMMIT='";') == ""
    before = output.stat().st_mtime_ns
    assert written() == ""
    assert output.stat().st_mtime_ns == before  # nothing is compiled again
    git("init")
    shutil.copy(root / ".gitattributes", tmp_path)
    git("add", ".gitattributes", "cmake")
    git("commit", "-m", "first")
    commit = git("rev-parse", "HEAD")
    assert written() == commit
    archived = git("archive", "--format=tar", "HEAD", "cmake/commit.txt")
    assert commit in archived
    (tmp_path / "rows.jsonl").write_text("")
    assert written() == commit
    named.write_text("changed")
    assert written() == f"{commit}+dirty"
    shutil.rmtree(tmp_path / ".git")
    named.write_text(f"{commit}\n")
    assert written() == commit


def test_a_code_hash_tells_what_measures_from_what_shows(tmp_path, monkeypatch):
    for name in ("lab/timing/samplers.py", "lab/show/tables.py", "workloads/gem/pictures.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    seen = []
    for name in ("", "lab/show/tables.py", "workloads/gem/pictures.py", "lab/timing/samplers.py"):
        if name:
            (tmp_path / name).write_text("2")
        source.code.cache_clear()
        seen.append(source.code())
    source.code.cache_clear()
    assert seen[0] == seen[1] == seen[2] != seen[3]


def test_what_makes_another_environment():
    facts = env.environment(CPU)
    for name, aside in (("commit", True), ("dirty", True), ("built", True), ("code", False)):
        other = facts | {"source": facts["source"] | {name: "else"}}
        assert (environments.identity(other) == environments.identity(facts)) == aside, name
    for name, aside in (("GPUOPT_DEVICE", True), ("GPUOPT_HOST", True), ("POCL_AFFINITY", False)):
        other = facts | {"variables": facts["variables"] | {name: "1"}}
        assert (environments.identity(other) == environments.identity(facts)) == aside, name
    assert environments.differences(facts, facts | {"state": {"load": 99.0}}) == []
    moved = facts | {"unit": "else", "gpu": {"power_cap_w": 500.0}}
    assert environments.differences(facts, moved) == [
        f"unit {facts['unit']} -> else",
        "gpu.power_cap_w unknown -> 500",
    ]


def test_two_equal_devices_are_two_environments():
    one, other = (SimpleNamespace(**vars(GPU) | {"pci": f"0000:0{bus}:00.0", "key": "k"}) for bus in (1, 2))
    assert env.environment(one)["unit"] != env.environment(other)["unit"]
    assert env.environment(one)["env_hash"] != env.environment(other)["env_hash"]


def test_the_host_is_never_named(monkeypatch):
    monkeypatch.setenv("GPUOPT_HOST", "build-box")
    facts = env.environment(CPU)
    assert facts["variables"]["GPUOPT_HOST"] == "<hidden>"
    assert "build-box" not in json.dumps(facts)
