/* Decides which clock the tick is; called once by the collector at its first use and by tools that read the clock. */
#include "core/base/tick.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/base/env.h"

int pp_tick_kind = PP_TICK_RAW;

#if defined(__x86_64__) || defined(__aarch64__)
/* The kernel keeps the counter as its clock source only while it is in step on all sockets. */
static int kernel_runs_on(const char *counter)
{
	char text[32] = "";
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
	size_t length = strlen(counter);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n >= (ssize_t)length && !strncmp(text, counter, length) && (text[length] == '\n' || text[length] == '\0');
}
#endif

#if defined(__x86_64__)
static int tsc_is_invariant(void)
{
	unsigned a = 0, b = 0, c = 0, d = 0;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* Hypervisors sometimes hide the invariant bit; the kernel's flags tell what it found out otherwise. */
static int cpuinfo_says_so(void)
{
	static char text[8192]; /* once per process, and the stack may be small */
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

static int counter_is_proven(void)
{
	return kernel_runs_on("tsc") && (tsc_is_invariant() || cpuinfo_says_so());
}
#elif defined(__aarch64__)
/* The architecture makes the counter constant, equal on all cores and readable here; where a processor's counter has an erratum
 * the kernel reads it for us. Left to prove: the kernel counts by it, and firmware has set a plausible rate. */
static int counter_is_proven(void)
{
	enum { LEAST_HZ = 1000000 };
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return kernel_runs_on("arch_sys_counter") && hz >= LEAST_HZ && hz <= UINT32_MAX;
}
#else
static int counter_is_proven(void)
{
	return 0;
}
#endif

void pp_tick_init(void)
{
	const char *forced = pp_env("PODPROF_TICK");
	int raw = forced && !strcmp(forced, "raw");

	pp_tick_kind = !raw && counter_is_proven() ? PP_TICK_COUNTER : PP_TICK_RAW;
}
