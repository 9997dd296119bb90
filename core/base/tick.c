/* Which clock the tick is; called once by the guest at its first use and by tools that read the clock. */
#include "core/base/tick.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

int pp_tick_kind = PP_TICK_RAW;

#if defined(__x86_64__)
/* The kernel's own verdict: it keeps "tsc" only while its watchdog agrees, on all sockets. */
static int kernel_runs_on_tsc(void)
{
	char text[16] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n >= 3 && !strncmp(text, "tsc", 3) && (text[3] == '\n' || text[3] == '\0');
}

static int tsc_is_invariant(void)
{
	unsigned a = 0, b = 0, c = 0, d = 0;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Hypervisors hide the invariant bit at times; the kernel's flags say what it found out by other ways. */
static int cpuinfo_says_so(void)
{
	char text[8192];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n, used = 0;

	if (fd < 0)
		return 0;
	while (used < (ssize_t)sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - (size_t)used)) > 0)
		used += n;
	close(fd);
	text[used] = '\0';
	return strstr(text, " constant_tsc") && strstr(text, " nonstop_tsc");
}
#endif

void pp_tick_init(void)
{
#if defined(__x86_64__)
	const char *forced = getenv("PODPROF_TICK");

	if (forced && !strcmp(forced, "raw")) {
		pp_tick_kind = PP_TICK_RAW;
		return;
	}
	if (kernel_runs_on_tsc() && (tsc_is_invariant() || cpuinfo_says_so()))
		pp_tick_kind = PP_TICK_TSC;
#endif
}
