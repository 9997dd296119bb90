/* The age of a process: not less than it is, whoever asks. */
#include "core/base/proc.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/now.h"
#include "tests/test.h"

enum { JIFFY_NS = 10000000 };

int main(void)
{
	const int64_t before = pp_clock_ns(CLOCK_BOOTTIME), age = pp_proc_age_ns();
	int64_t later;
	int status = 0;
	pid_t child;

	CHECK(age > 0 && age <= pp_clock_ns(CLOCK_BOOTTIME));
	pp_nap_ms(30);
	later = pp_proc_age_ns();
	CHECK(later >= age + 30 * 1000000 - JIFFY_NS);
	CHECK(pp_proc_memory_free() > 0);
	child = fork();
	if (!child) /* it begins again */
		_exit(pp_proc_age_ns() < pp_clock_ns(CLOCK_BOOTTIME) - before + 2 * JIFFY_NS ? 0 : 1);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
	return test_end();
}
