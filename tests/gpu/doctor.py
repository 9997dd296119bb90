#!/usr/bin/python3
"""podprof doctor's rows for GPUs: without any library, and with the stand-ins of libcuda, libcupti and libnccl, which fail as NVIDIA's
do. Run by ctest gpu_doctor."""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "guest"))
import jobs
from jobs import Skipped, check, run

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_devices.replay")
STAND_INS = {"cuda": "libcuda.so.1", "cupti": "libcupti.so.13", "nccl": "libnccl.so.2", "nvml": "nvml_all/libnvidia-ml.so.1"}


def without_pip(place):
    """A directory with a python3 that has no NVIDIA packages, whatever this machine has."""
    bin_dir = os.path.join(place.scratch, "bin")
    if not os.path.isdir(bin_dir):
        os.mkdir(bin_dir)
        os.symlink("/bin/false", os.path.join(bin_dir, "python3"))
    return bin_dir


def lines_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def rows(place, env=None, libraries=("cuda", "cupti", "nccl"), wrapper=(), files=None):
    """Doctor's rows by their names, each a state and a text with its fix. files: texts beside the libraries."""
    place.count += 1
    directory = os.path.join(place.scratch, f"lib{place.count}")
    os.mkdir(directory)
    for name in libraries:
        shutil.copy(place.program(STAND_INS[name]), directory)
    for name, text in (files or {}).items():
        with open(os.path.join(directory, name), "w", encoding="ascii") as f:
            f.write(text)
    env = {"LD_LIBRARY_PATH": directory, "REPLAY_FIXTURE": FIXTURE, "PATH": without_pip(place) + ":" + os.environ["PATH"], **(env or {})}
    got = run([*wrapper, place.podprof(), "doctor"], env, limit=120)
    check(got.code == 0, got.transcript())
    check(got.out.count(" limited ") == got.out.count(" fix: "), got.out)
    found, name = {}, ""
    for line in got.out.splitlines():
        if line.startswith("  ") and line[2:3] != " ":
            name, state, text = line[2:13].strip(), line[13:22].strip(), line[22:]
            found[name] = (state, text)
        elif "fix: " in line and name in found:
            found[name] = (found[name][0], found[name][1] + "\n" + line.strip())
    return found


def expect(found, name, state, *texts):
    check(name in found, f"no row {name}: {found}")
    check(found[name][0] == state and all(text in found[name][1] for text in texts), f"{name}: {found[name]}, expected {state}: {texts}")


def nothing(place, full):
    if os.path.exists("/dev/nvidiactl"):
        raise Skipped("this machine has an NVIDIA driver")
    found = rows(place, libraries=())
    expect(found, "GPU", "limited", "no NVIDIA driver", "fix: sudo apt-get install nvidia-driver; in a container: docker run --gpus all")
    check(found["CUPTI"][0] == "ok" and "not tried" in found["CUPTI"][1] or "no libcupti.so" in found["CUPTI"][1], found["CUPTI"])


def drivers(place, full):
    for env, texts in ((
            {"REPLAY_DEVICES": "0"}, ("there is no GPU", "docker run --gpus all", "CUDA_VISIBLE_DEVICES")), (
            {"REPLAY_FAIL": "cuInit=100"}, ("there is no GPU",)), (
            {"REPLAY_FAIL": "cuInit=34"}, ("file for linking", "LD_LIBRARY_PATH")), (
            {"REPLAY_FAIL": "cuInit=802"}, ("fabric", "nvidia-fabricmanager")), (
            {"REPLAY_FAIL": "cuInit=803"}, ("different versions", "reboot")), (
            {"REPLAY_FAIL": "cuInit=804"}, ("compat",)), (
            {"REPLAY_FAIL": "cuInit=999"}, ("does not answer", "modprobe nvidia")), (
            {"REPLAY_FAIL": "cuInit=7"}, ("cuInit() returns 7", "nvidia-smi"))):
        found = rows(place, {**env, "REPLAY_CRASH": "cupti=1;cuptiGetVersion=1;cuptiSubscribe_v2=1"})
        expect(found, "GPU", "limited", *texts)
        expect(found, "CUPTI", "ok", "not tried without a GPU")  # it would crash
    found = rows(place, {"REPLAY_DRIVER": "11080", "REPLAY_VERSION": "28"})
    expect(found, "GPU", "limited", "driver is of CUDA 11.8", "fix: install driver 525.60 or newer")
    found = rows(place)
    expect(found, "GPU", "ok", "2 devices, driver of CUDA 13.0: NVIDIA H100 80GB HBM3 (replay)")
    expect(found, "CUPTI", "ok", "version 130001", "libcupti.so.13", "stand-in that replays records: no device runs")
    slices = os.path.join(place.scratch, "mig.replay")
    with open(FIXTURE, encoding="ascii") as have, open(slices, "w", encoding="ascii") as want:
        want.write(have.read().replace("80GB HBM3 (replay)", "80GB HBM3 MIG 1g.10gb"))
    expect(rows(place, {"REPLAY_FIXTURE": slices}), "GPU", "ok", "MIG 1g.10gb", "sees a MIG slice")


def cupti(place, full):
    fail = "REPLAY_FAIL"
    for env, texts in ((
            {fail: "cuptiSubscribe_v2=35"}, ("not enough privileges", "NVreg_RestrictProfilingToAdminUsers=0", "--cap-add=SYS_ADMIN")), (
            {fail: "kind10=35"}, ("cuptiActivityEnable() returns 35",)), (
            {fail: "kind10=43"}, ("MIG slice", "nvidia-smi -mig 0")), (
            {fail: "cuptiSubscribe_v2=33"}, ("virtual GPU",)), (
            {fail: "cuptiSubscribe_v2=41"}, ("confidential computing", "devtools")), (
            {fail: "cuptiGetVersion=999"}, ("older than libcupti",)), (
            {fail: "cuptiActivityRegisterCallbacks=7"}, ("cuptiActivityRegisterCallbacks() returns 7",)), (
            {"REPLAY_OWNER": "Nsight Systems"}, ("another profiler uses it: Nsight Systems", "Run without that profiler")), (
            {"CUDA_INJECTION64_PATH": "/other/tool.so"}, ("set to '/other/tool.so'", "fix: unset CUDA_INJECTION64_PATH")), (
            {"REPLAY_VERSION": "17"}, ("version 17 is older than CUDA 12", "--cupti")), (
            {"REPLAY_VERSION": "140000"}, ("version 140000 is newer than podprof knows",)), (
            {"PODPROF_CUPTI": "off"}, ("PODPROF_CUPTI is off", "unset PODPROF_CUPTI")), (
            {"PODPROF_CUPTI": "/nowhere/libcupti.so"}, ("'/nowhere/libcupti.so' cannot be loaded",))):
        found = rows(place, env)
        expect(found, "GPU", "ok", "2 devices")
        expect(found, "CUPTI", "limited", *texts)


def no_cupti(place, full):
    """Every libcupti of this machine is hidden behind an empty file, in a mount namespace of this test's."""
    paths = [line.split("=> ")[1] for line in lines_of(["/sbin/ldconfig", "-p"]) if "libcupti.so" in line]
    paths = {os.path.realpath(p) for p in [*paths, *glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*")]}
    wrapper = ["unshare", "-m", "sh", "-c", "".join(f"mount --bind /dev/null {p} && " for p in paths) + 'exec "$@"', "sh"]
    if not paths:
        wrapper = []
    elif subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("no mounts of our own here")
    fix = ("/usr/local/cuda/extras/CUPTI/lib64", "pip install nvidia-cuda-cupti")
    expect(rows(place, libraries=("cuda",), wrapper=wrapper), "CUPTI", "limited", "no libcupti.so of CUDA 12 or 13: GPUs cannot", *fix)
    expect(rows(place, {"REPLAY_DEVICES": "0"}, ("cuda",), wrapper), "CUPTI", "limited", "needed only to record GPUs", *fix)


def privileges(place, full):
    """The driver's own word for it, in a /proc of this test's."""
    wrapper = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia && "
               "echo 'RmProfilingAdminOnly: 1' >/proc/driver/nvidia/params && exec \"$@\"", "sh"]
    if not os.path.isdir("/proc/driver") or subprocess.run([*wrapper, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("no mounts of our own here")
    expect(rows(place, wrapper=wrapper), "CUPTI", "ok", "RmProfilingAdminOnly is 1")
    expect(rows(place, {"REPLAY_FAIL": "kind10=35"}, wrapper=wrapper), "CUPTI", "limited", "RmProfilingAdminOnly is 1")


def state(place, full):
    """NVML beside CUDA: without it, with it, and where it hangs."""
    expect(rows(place), "GPU state", "limited", "libnvidia-ml.so.1 cannot be loaded", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    for text, want, words in (("", "ok", "clocks, power, heat and errors of 1 GPU by NVML, driver 999.99"),
                              ("fail nvmlInitWithFlags 18\n", "limited", "library and driver are of different versions"),
                              ("hang nvmlDeviceGetClockInfo\n", "limited", "NVML does not answer (nvmlDeviceGetClockInfo")):
        found = rows(place, libraries=("cuda", "cupti", "nvml"), files={
            "nvml.state": "count 1\nuuid 0 GPU-00112233-4455-6677-8899-aabbccddeeff\n0 clock 1980\n" + text})
        expect(found, "GPU state", want, words)


def nccl(place, full):
    for version, state, text in ((22105, "limited", "2.21.5 has no profiler plug-in"), (22602, "ok", "2.26.2, plug-in version 3"),
                                 (22705, "ok", "plug-in version 4"), (22809, "ok", "2.28.9, plug-in version 5"),
                                 (22907, "ok", "plug-in version 6"), (23007, "ok", "2.30.7, plug-in version 6"), (23203, "ok", "plug-in version 7")):
        expect(rows(place, {"REPLAY_NCCL": version}, ("nccl",)), "NCCL", state, text)
    expect(rows(place, {"NCCL_PROFILER_PLUGIN": "none"}), "NCCL", "limited", "fix: unset NCCL_PROFILER_PLUGIN")
    expect(rows(place, {"NCCL_PROFILER_PLUGIN": "inspector"}), "NCCL", "ok", "then passed on to inspector")
    if not any("libnccl.so.2" in line for line in lines_of(["/sbin/ldconfig", "-p"])):
        expect(rows(place, libraries=()), "NCCL", "limited", "no libnccl.so.2", "fix: pip install nvidia-nccl-cu12")


def in_a_directory(place, full):
    """Python imports from the directory that doctor is called in, which need not be the user's: nothing there may run."""
    here = os.path.join(place.scratch, "here")
    os.makedirs(os.path.join(here, "nvidia"))
    with open(os.path.join(here, "nvidia", "__init__.py"), "w", encoding="ascii") as module:
        module.write("open('ran', 'w').close()\n")
    got = run([place.podprof(), "doctor"], limit=120, cwd=here)
    check(got.code == 0, got.transcript())
    check(os.listdir(here) == ["nvidia"] and os.listdir(os.path.join(here, "nvidia")) == ["__init__.py"], os.listdir(here))


def crashes(place, full):
    """What a library does in the probe does not reach doctor."""
    found = rows(place, {"REPLAY_CRASH": "cuInit=1;ncclGetVersion=1"})
    expect(found, "GPU", "limited", "cuInit crashed with signal 11")
    expect(found, "NCCL", "limited", "ncclGetVersion crashed with signal 11")
    found = rows(place, {"REPLAY_CRASH": "cuptiGetVersion=1"})
    expect(found, "GPU", "ok", "2 devices")
    expect(found, "CUPTI", "limited", "cuptiGetVersion crashed with signal 11", "or --cupti off")
    found = rows(place, {"REPLAY_SLOW": "cuptiActivityEnable=100000", "LD_PRELOAD": place.program("no_kill.so")})  # it cannot be killed
    expect(found, "CUPTI", "limited", "cuptiActivityEnable did not return within 30 s")


CASES = {"nothing": nothing, "drivers": drivers, "cupti": cupti, "no_cupti": no_cupti, "privileges": privileges, "state": state, "nccl": nccl, "in_a_directory": in_a_directory, "crashes": crashes}

if __name__ == "__main__":
    sys.exit(jobs.main(CASES, __doc__))
