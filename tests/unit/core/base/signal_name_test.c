/* Names of signals that --signal takes. */
#include "core/base/signal_name.h"

#include <signal.h>

#include "tests/test.h"

static int number_of(const char *text)
{
	struct pp_err err = {""};
	int number = -1;

	if (pp_signal_parse(text, &number, &err))
		CHECK(number == -1 && strstr(err.text, text));
	return number;
}

int main(void)
{
	static const char *const bad[] = {"",        "SIG",    "KILL",    "usr1",     "USR3",    "USR1 ",   "10",
	                                  "RTMIN-1", "RTMIN+", "RTMIN+x", "RTMIN+99", "RTMAX+1", "RTMAX-99"};

	CHECK_INT(number_of("USR1"), SIGUSR1);
	CHECK_INT(number_of("SIGUSR2"), SIGUSR2);
	CHECK_INT(number_of("RTMIN"), SIGRTMIN);
	CHECK_INT(number_of("SIGRTMIN+3"), SIGRTMIN + 3);
	CHECK_INT(number_of("RTMAX"), SIGRTMAX);
	CHECK_INT(number_of("RTMAX-1"), SIGRTMAX - 1);
	for (int i = -1; i < 70; i++) {
		const char *same = i > 0 ? sigabbrev_np(i) : NULL; /* may call sigabbrev_np: the oracle */

		CHECK_STR(pp_signal_name(i) ? pp_signal_name(i) : "", same ? same : "");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(number_of(bad[i]), -1);
	return test_end();
}
