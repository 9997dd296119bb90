/* Checks options of `podprof run` that exclude each other, or are no valid time; see run_checks.h. */
#include "launchers/run/run_checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aggregate/keeper/capture/timed.h"
#include "core/base/opt.h"
#include "core/base/parse.h"
#include "core/base/signal_name.h"
#include "launchers/cmd.h"

enum { SECOND = 1000000000, START_S = 5 }; /* ranks of one job may start so long after each other */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

/* Why this option cannot be followed; "": it can. */
static void find_fault(const struct pp_options *o, enum pp_opt_id id, char *why, size_t size)
{
	const char *value = o->value[id];
	struct pp_err err = {""};
	int64_t ns = 0;
	int number;

	why[0] = '\0';
	if (id == PP_OPT_ID_SIGNAL) {
		if (pp_signal_parse(value, &number, &err))
			snprintf(why, size, "%s", err.text);
		return;
	}
	if (*o->value[PP_OPT_ID_STEPS])
		snprintf(why, size, "--steps says already what is recorded. Give one of them");
	else if (id == PP_OPT_ID_AT && *o->value[PP_OPT_ID_DELAY])
		snprintf(why, size, "--delay says already when recording begins. Give one of them");
	else if (id == PP_OPT_ID_AT && pp_timed_parse_at(value, now_ns(), &ns, &err))
		snprintf(why, size, "%s", err.text);
	else if (id == PP_OPT_ID_AT && ns <= now_ns() - (int64_t)START_S * SECOND)
		snprintf(why, size, "'%s' is past. For another day give @SECONDS since 1970, as date +@%%s -d tomorrow prints them",
		         value);
	else if (id == PP_OPT_ID_DURATION && (pp_parse_time(value, &ns, NULL) || !ns))
		snprintf(why, size, "a window of no time holds nothing. As in 2s");
}

int pp_run_check_times(struct pp_options *options, int speaks)
{
	static const enum pp_opt_id ids[] = {PP_OPT_ID_DELAY, PP_OPT_ID_DURATION, PP_OPT_ID_AT, PP_OPT_ID_SIGNAL};
	char why[400];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const struct pp_opt *row = &pp_opt_table[ids[i]];

		if (!*options->value[ids[i]])
			continue;
		find_fault(options, ids[i], why, sizeof(why));
		if (!*why)
			continue;
		if (options->source[ids[i]] == PP_FROM_COMMAND_LINE) {
			if (speaks)
				pp_say("option --%s: %s. Nothing was started.", row->name, why);
			return PP_EXIT_USAGE;
		}
		if (speaks)
			pp_say("environment variable %s is ignored: %s.", row->env, why);
		options->value[ids[i]] = row->fallback;
		unsetenv(row->env); /* ranks read it too */
	}
	return -1;
}
