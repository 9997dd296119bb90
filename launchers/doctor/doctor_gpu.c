/* Checks GPUs for podprof doctor: the driver, CUPTI, NCCL. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/host/gpu_state.h"
#include "core/base/now.h"
#include "core/source/cupti/cupti_abi.h"
#include "core/source/cupti/cupti_why.h"
#include "launchers/doctor/doctor_command.h"
#include "launchers/doctor/doctor_gpu_probe.h"
#include "launchers/doctor/doctor_row.h"

enum { NO_DEVICE = 100, CUDA_FIRST = 12000, CUPTI_NEXT = 140000, NCCL_FIRST = 22602, STATE_MS = 15000 };

/* ---- the driver ---- */

static const struct {
	int result; /* of cuInit */
	const char *why, *fix;
} init_row[] = {
        {NO_DEVICE, "the NVIDIA driver is installed, but there is no GPU",
         "nvidia-smi -L. A job or container must request a GPU (docker run --gpus all); unset an empty CUDA_VISIBLE_DEVICES"},
        {34, "libcuda.so.1 is the CUDA toolkit's file for linking, not the driver",
         "remove the directory 'stubs' from LD_LIBRARY_PATH"},
        {802, "the driver waits for the fabric of the GPUs", "sudo systemctl start nvidia-fabricmanager"},
        {803, "libcuda.so.1 and the driver in the kernel are of different versions", "sudo reboot"},
        {804, "this GPU cannot use a libcuda.so.1 that is newer than its driver",
         "remove CUDA's directory 'compat' from LD_LIBRARY_PATH"},
        {999, "the driver in the kernel does not answer", "sudo modprobe nvidia && sudo modprobe nvidia-uvm"},
};

static void judge_driver(enum pp_gpu_end end, const struct pp_gpu_seen *seen)
{
	if (end == PP_GPU_ENDED && !seen->has_driver) {
		pp_doctor_row("GPU", PP_DOCTOR_LIMITED, "sudo apt-get install nvidia-driver; in a container: docker run --gpus all",
		              "no NVIDIA driver (libcuda.so.1): needed only for jobs that use a GPU");
		return;
	}
	for (size_t i = 0; i < sizeof(init_row) / sizeof(init_row[0]); i++)
		if (seen->init == init_row[i].result) {
			pp_doctor_row("GPU", PP_DOCTOR_LIMITED, init_row[i].fix, "%s", init_row[i].why);
			return;
		}
	if (seen->init)
		pp_doctor_row("GPU", PP_DOCTOR_LIMITED, "nvidia-smi, and read its error", "the driver fails: cuInit() returns %d",
		              seen->init);
	else if (seen->devices && seen->driver < CUDA_FIRST)
		pp_doctor_row("GPU", PP_DOCTOR_LIMITED, "install driver 525.60 or newer",
		              "the driver is of CUDA %d.%d: GPUs are recorded from CUDA 12.0 on", seen->driver / 1000,
		              seen->driver % 1000 / 10);
	else if (seen->devices)
		pp_doctor_row("GPU", PP_DOCTOR_OK, "", "%d device%s, driver of CUDA %d.%d: %s%s", seen->devices,
		              seen->devices == 1 ? "" : "s", seen->driver / 1000, seen->driver % 1000 / 10,
		              *seen->device ? seen->device : "(no name)",
		              strstr(seen->device, " MIG ") ? ", of which this job sees a MIG slice" : "");
	else if (end == PP_GPU_ENDED)
		pp_doctor_row("GPU", PP_DOCTOR_LIMITED, init_row[0].fix, "%s", init_row[0].why);
}

/* ---- CUPTI ---- */

/* NVIDIA's driver says here whether it lets only root read counters. Tracing is not affected in current drivers. */
static int is_restricted(void)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	char line[256];
	int on = 0;

	while (f && fgets(line, sizeof(line), f))
		on |= !strncmp(line, "RmProfilingAdminOnly: 1", 23);
	if (f)
		fclose(f);
	return on;
}

static void judge_refusal(const struct pp_gpu_seen *seen)
{
	static const char allow[] = "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | "
	                            "sudo tee /etc/modprobe.d/nvidia-profiling.conf && sudo update-initramfs -u && sudo reboot; "
	                            "in a container: docker run --cap-add=SYS_ADMIN";
	const char *fix = seen->cupti == PP_CUPTI_PRIVILEGES ? allow : pp_cupti_fix(seen->cupti);
	char buffer[16];

	if (seen->cupti == PP_CUPTI_SUBSCRIBERS && *seen->owner)
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, fix, "another profiler uses it: %s", seen->owner);
	else
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, fix, "GPUs cannot be recorded: %s (%s() returns %d%s)",
		              pp_cupti_why(seen->cupti, buffer), seen->doing, seen->cupti,
		              seen->cupti == PP_CUPTI_PRIVILEGES && is_restricted() ? ", RmProfilingAdminOnly is 1" : "");
}

static void judge_cupti_version(const struct pp_gpu_seen *seen)
{
	const char *restricted =
	        is_restricted() ? ". Counters are for root only (RmProfilingAdminOnly is 1), which does not affect podprof" : "";

	if (seen->cupti_version < PP_CUPTI_API_FIRST)
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, "podprof run --cupti FILE, with a libcupti.so of CUDA 12 or 13",
		              "version %u is older than CUDA 12: %s", seen->cupti_version, seen->cupti_path);
	else if (seen->cupti_version >= CUPTI_NEXT)
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, "podprof run --cupti FILE, with a libcupti.so of CUDA 13",
		              "version %u is newer than podprof knows, so its records may be misread: %s", seen->cupti_version,
		              seen->cupti_path);
	else
		pp_doctor_row("CUPTI", PP_DOCTOR_OK, "", "version %u, %s%s%s", seen->cupti_version, seen->cupti_path, restricted,
		              seen->is_replay ? ". It is a stand-in that replays records: no device runs" : "");
}

static void judge_cupti(const char *asked, const struct pp_gpu_seen *seen)
{
	const char *tool = getenv("CUDA_INJECTION64_PATH");
	char fix[256];

	if (!strcmp(asked, "off")) {
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, "unset PODPROF_CUPTI", "switched off: PODPROF_CUPTI is off");
	} else if (!seen->has_cupti && *asked) {
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, "unset PODPROF_CUPTI, or name a libcupti.so of CUDA 12 or 13", "%s",
		              seen->cupti_missing);
	} else if (!seen->has_cupti) {
		snprintf(fix, sizeof(fix),
		         "export LD_LIBRARY_PATH=/usr/local/cuda/extras/CUPTI/lib64:$LD_LIBRARY_PATH; without CUDA's toolkit: "
		         "pip install nvidia-cuda-cupti%s",
		         seen->devices && seen->driver < 13000 ? "-cu12" : "");
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, fix, "no libcupti.so of CUDA 12 or 13: %s",
		              seen->devices ? "GPUs cannot be recorded, unless the job's own packages have one"
		                            : "needed only to record GPUs");
	} else if (!seen->devices) {
		pp_doctor_row("CUPTI", PP_DOCTOR_OK, "", "%s, not tried without a GPU", seen->cupti_path);
	} else if (seen->cupti) {
		judge_refusal(seen);
	} else if (tool && *tool && !strstr(tool, "libpodprof.so")) {
		pp_doctor_row("CUPTI", PP_DOCTOR_LIMITED, "unset CUDA_INJECTION64_PATH",
		              "CUDA_INJECTION64_PATH is set to '%s': CUDA loads that tool, and podprof may not see devices", tool);
	} else {
		judge_cupti_version(seen);
	}
}

/* ---- NVML ---- */

/* As a keeper asks: by a child, which may hang. */
static void judge_state(void)
{
	const int64_t until = pp_now_ms() + STATE_MS;
	struct pp_gpu_state s;

	pp_gpu_state_init(&s, PP_GPU_ALWAYS, "/proc/self/exe");
	while (!s.why[0] && !s.store[0].used && pp_now_ms() < until) {
		pp_gpu_state_run(&s, 1);
		pp_nap_ms(20);
	}
	if (s.store[0].used)
		pp_doctor_row("GPU state", PP_DOCTOR_OK, "", "clocks, power, heat and errors of %u GPU%s by NVML, driver %s",
		              atomic_load(&s.page->gpus), atomic_load(&s.page->gpus) == 1 ? "" : "s", s.page->driver);
	else
		pp_doctor_row("GPU state", PP_DOCTOR_LIMITED,
		              "nvidia-smi, and read its error; in a container: docker run --gpus all -e "
		              "NVIDIA_DRIVER_CAPABILITIES=compute,utility. Jobs are recorded without it",
		              "%s", s.why[0] ? s.why : "NVML gives no sample");
	pp_gpu_state_release(&s);
}

/* ---- NCCL ---- */

/* The first NCCL that has each version of the plug-in's interface. */
static int plugin_version(int nccl)
{
	static const int first[] = {22602, 22703, 22803, 22902, 23102};
	int version = 2;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		version += nccl >= first[i];
	return version;
}

static void judge_nccl(const struct pp_gpu_seen *seen)
{
	const char *plugin = getenv("NCCL_PROFILER_PLUGIN");
	int v = seen->nccl_version, is_chained = plugin && *plugin && !strstr(plugin, "libpodprof.so");
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	if (!seen->has_nccl)
		pp_doctor_row("NCCL", PP_DOCTOR_LIMITED,
		              "pip install nvidia-nccl-cu12, or export LD_LIBRARY_PATH=DIR, where libnccl.so.2 is",
		              "no libnccl.so.2: needed only for jobs that use NCCL, whose framework may have its own");
	else if (v < NCCL_FIRST)
		pp_doctor_row("NCCL", PP_DOCTOR_LIMITED, "use NCCL 2.26.2 or newer",
		              "%s has no profiler plug-in of version 3 to 7, so its NVTX ranges are recorded instead: %s", version,
		              seen->nccl_path);
	else if (is_chained && !strcmp(plugin, "none"))
		pp_doctor_row("NCCL", PP_DOCTOR_LIMITED, "unset NCCL_PROFILER_PLUGIN",
		              "%s: NCCL_PROFILER_PLUGIN=none, so its NVTX ranges are recorded instead", version);
	else
		pp_doctor_row("NCCL", PP_DOCTOR_OK, "", "%s, plug-in version %d, %s%s%s", version, plugin_version(v),
		              seen->nccl_path, is_chained ? ". Its events are then passed on to " : "", is_chained ? plugin : "");
}

/* ---- all of it ---- */

/* 0: the row of a probe that did not end well was printed. */
static int ended(const char *thing, enum pp_gpu_end end, const struct pp_gpu_seen *seen)
{
	static const char gpu[] = "nvidia-smi, and read its error",
	                  cupti[] = "podprof run --cupti FILE, with a libcupti.so of another release, or --cupti off",
	                  nccl[] = "use another release of NCCL, or unset LD_LIBRARY_PATH";
	const char *repair = *thing == 'G' ? gpu : *thing == 'C' ? cupti : nccl;

	if (end == PP_GPU_CRASHED)
		pp_doctor_row(thing, PP_DOCTOR_LIMITED, repair, "%s crashed with signal %d: a job that uses it may crash too",
		              seen->doing, seen->signal);
	else if (end == PP_GPU_HUNG)
		pp_doctor_row(thing, PP_DOCTOR_LIMITED, repair, "%s did not return within %d s", seen->doing, PP_GPU_SECONDS);
	else if (end == PP_GPU_NOT_TRIED)
		pp_doctor_row(thing, PP_DOCTOR_LIMITED, "podprof doctor, once there is memory",
		              "not tested: no memory for a process");
	return end == PP_GPU_ENDED;
}

/* Where pip puts NVIDIA's libraries, which the job's Python loads from there. Python would import from this directory too. */
static void find_packages(struct pp_gpu_seen *seen)
{
	const char *command = "timeout 20 python3 -c 'import sys; sys.path = [p for p in sys.path if p]; "
	                      "import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null";

	if (pp_doctor_line(command, seen->packages, sizeof(seen->packages)))
		*seen->packages = '\0';
}

void pp_doctor_gpu(const struct pp_options *options)
{
	const char *asked = options ? options->verb.cupti : "";
	struct pp_gpu_seen *seen = pp_gpu_seen_new();
	enum pp_gpu_end end;

	if (!seen) {
		pp_doctor_row("GPU", PP_DOCTOR_LIMITED, "podprof doctor, once there is memory", "not tested: no memory");
		return;
	}
	if (options)
		find_packages(seen);
	end = pp_gpu_probe_cuda(strcmp(asked, "off") != 0 ? asked : "", seen);
	if (end == PP_GPU_ENDED || seen->devices)
		judge_driver(end, seen);
	if (ended(strstr(seen->doing, "cupti") ? "CUPTI" : "GPU", end, seen))
		judge_cupti(asked, seen);
	if (seen->devices)
		judge_state();
	end = pp_gpu_probe_nccl(seen);
	if (ended("NCCL", end, seen))
		judge_nccl(seen);
	pp_gpu_seen_free(seen);
}
