/* Checks this node for podprof doctor: clock, spool, limits, log directory. Called by cmd_doctor.c. */
#include "launchers/doctor/doctor_node.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aggregate/spool/layout.h"
#include "aggregate/spool/root.h"
#include "core/base/tick.h"
#include "launchers/doctor/doctor_row.h"

#if defined(__aarch64__)
#define PP_COUNTER "CNTVCT"
#else
#define PP_COUNTER "TSC"
#endif

static const double mib = 1024.0 * 1024.0;

static void check_clock(void)
{
	char source[64] = "unknown";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (f) {
		if (fgets(source, sizeof(source), f))
			source[strcspn(source, "\n")] = '\0';
		fclose(f);
	}
	pp_tick_init();
	if (pp_tick_kind != PP_TICK_RAW)
		pp_doctor_row("clock", PP_DOCTOR_OK, "", PP_COUNTER ", which the kernel uses too (clocksource %s)", source);
	else if (getenv("PODPROF_TICK"))
		pp_doctor_row("clock", PP_DOCTOR_LIMITED, "unset PODPROF_TICK",
		              "CLOCK_MONOTONIC_RAW, as PODPROF_TICK says: an event costs about twice as much");
	else
		pp_doctor_row("clock", PP_DOCTOR_LIMITED,
		              "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
		              "CLOCK_MONOTONIC_RAW, because the kernel uses clocksource %s instead of the TSC: an event costs "
		              "about twice "
		              "as much",
		              source);
}

static void check_room(const char *base, const char *path)
{
	struct statvfs fs;
	double size, room;

	if (statvfs(base, &fs) || access(base, W_OK)) {
		pp_doctor_row("spool", PP_DOCTOR_LIMITED,
		              strcmp(base, PP_SPOOL_ROOT_SHM) ? "sudo chmod 1777 " PP_SPOOL_ROOT_STAYS
		                                              : "sudo mount -t tmpfs -o mode=1777 tmpfs " PP_SPOOL_ROOT_SHM,
		              "no writable %s: rings are files in the node's tmp, on disk", base);
		return;
	}
	size = (double)fs.f_blocks * (double)fs.f_frsize / mib;
	room = (double)fs.f_bavail * (double)fs.f_frsize / mib;
	if (room < 64)
		pp_doctor_row("spool", PP_DOCTOR_LIMITED,
		              strcmp(base, PP_SPOOL_ROOT_SHM) ? "free space there"
		                                              : "sudo mount -o remount,size=1G " PP_SPOOL_ROOT_SHM,
		              "%s: %.0f of %.0f MiB free; rings take at most an eighth of that", base, room, size);
	else
		pp_doctor_row("spool", PP_DOCTOR_OK, "", "%s: %.0f of %.0f MiB free, spools in %s", base, room, size, path);
}

static int is_bridge(const char *name)
{
	char path[64 + IFNAMSIZ];

	snprintf(path, sizeof(path), "/sys/class/net/%.*s/bridge", IFNAMSIZ, name);
	return !access(path, F_OK);
}

/* A container engine's bridge, for example: its address looks to Open MPI like a way to all hosts that have such a bridge, too. */
static void check_networks(void)
{
	const char *bridge = NULL, *other = NULL;
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP) ||
		    (one->ifa_flags & IFF_LOOPBACK))
			continue;
		if (is_bridge(one->ifa_name))
			bridge = bridge ? bridge : one->ifa_name;
		else
			other = other ? other : one->ifa_name;
	}
	if (bridge && other) {
		char cure[64 + IFNAMSIZ];

		snprintf(cure, sizeof(cure), "export OMPI_MCA_btl_tcp_if_include=%.*s", IFNAMSIZ, other);
		pp_doctor_row(
		        "networks", PP_DOCTOR_LIMITED, cure,
		        "'%s' is a bridge: Open MPI may take it for a way to other hosts, so that jobs of several hosts hang or "
		        "crash, also without podprof",
		        bridge);
	}
	freeifaddrs(all);
}

static void check_spool(void)
{
	enum pp_spool_root_why why;
	const char *base = pp_spool_root_find(&why);
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/podprof-%u", base, (unsigned)geteuid());
	if (!lstat(path, &st) && st.st_uid != geteuid())
		pp_doctor_row("spool", strcmp(base, PP_SPOOL_ROOT_SHM) ? PP_DOCTOR_LIMITED : PP_DOCTOR_NO,
		              "podprof run --spool DIR, with a directory of your own", "'%s' belongs to user %u", path,
		              (unsigned)st.st_uid);
	else if (why == PP_SPOOL_ROOT_NONE)
		pp_doctor_row("spool", PP_DOCTOR_LIMITED, "podprof run --spool DIR, with a directory of the node that stays",
		              "Slurm gives this job a " PP_SPOOL_ROOT_SHM " and a " PP_SPOOL_ROOT_STAYS
		              " of its own: the epilog finds no spool");
	else
		check_room(base, path);
}

static void check_limits(void)
{
	struct rlimit files = {0}, file_size = {0};

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_FSIZE, &file_size);
	if (file_size.rlim_cur != RLIM_INFINITY && file_size.rlim_cur < 1024 * 1024 * 1024)
		pp_doctor_row("limits", PP_DOCTOR_LIMITED, "ulimit -f unlimited",
		              "a file may have at most %llu MiB: rings and pod.h5 may not fit",
		              (unsigned long long)file_size.rlim_cur >> 20);
	else if (files.rlim_cur < 256)
		pp_doctor_row("limits", PP_DOCTOR_LIMITED, "ulimit -n 1024",
		              "at most %llu open files: the keeper needs one per rank of the host",
		              (unsigned long long)files.rlim_cur);
	else
		pp_doctor_row("limits", PP_DOCTOR_OK, "", "at most %llu open files, file size %s",
		              (unsigned long long)files.rlim_cur,
		              file_size.rlim_cur == RLIM_INFINITY ? "unlimited" : "large enough");
}

/* Makes nothing: for a missing directory it checks the nearest existing one above. */
static void check_logdir(const char *given)
{
	char path[PP_SPOOL_PATH];
	struct statvfs fs;
	double room;

	if (snprintf(path, sizeof(path), "%s%s", *given == '/' ? "" : "./", given) >= (int)sizeof(path)) {
		pp_doctor_row("log dir", PP_DOCTOR_LIMITED, "podprof run -o DIR, with a shorter name",
		              "the name '%.64s...' is too long", given);
		return;
	}
	while (access(path, F_OK)) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path) {
			snprintf(path, sizeof(path), "/");
			break;
		}
		*slash = '\0';
	}
	if (access(path, W_OK | X_OK)) {
		pp_doctor_row("log dir", PP_DOCTOR_LIMITED, "podprof run -o DIR, with a directory of your own",
		              "'%s' cannot be created: no write permission in '%s'", given, path);
		return;
	}
	room = statvfs(path, &fs) ? 0 : (double)fs.f_bavail * (double)fs.f_frsize / mib;
	if (room < 64)
		pp_doctor_row("log dir", PP_DOCTOR_LIMITED, "podprof run -o DIR, on a disk with room",
		              "'%s': %.0f MiB free; a session of some thousand steps takes tens of MiB", given, room);
	else
		pp_doctor_row("log dir", PP_DOCTOR_OK, "", "'%s' is writable, %.0f MiB free", given, room);
}

void pp_doctor_node(const struct pp_options *options)
{
	check_clock();
	check_spool();
	check_limits();
	check_networks();
	if (options)
		check_logdir(options->text[PP_OPT_ID_OUTPUT]);
}
