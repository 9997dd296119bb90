/* Writes the numbers of a job's line as metrics; see metrics.h. Called by aggregate/session/site_log.c. */
#include "aggregate/fleet/metrics.h"

#include <inttypes.h>
#include <math.h>

#include "aggregate/fleet/job.h"

/* Value of a label: backslash, quote and newline are escaped, other control characters are not in it. */
static void label(FILE *to, const char *name, const char *text)
{
	fprintf(to, "%s=\"", name);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", to);
		else if (*text == '"' || *text == '\\')
			fprintf(to, "\\%c", *text);
		else
			fputc((unsigned char)*text < ' ' ? '?' : *text, to);
	}
	fputc('"', to);
}

static void head(FILE *to, const char *name, const char *unit, const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
	if (*unit)
		fprintf(to, "# UNIT %s %s\n", name, unit);
}

static void number(FILE *to, const char *name, const char *unit, const char *help, double value)
{
	head(to, name, unit, help);
	fprintf(to, "%s %.15g\n", name, value);
}

void pp_metrics_write(const struct pp_fleet_job *job, FILE *to)
{
	head(to, "podprof_session", "", "Newest session of a job whose rank 0 ran on this host.");
	fputs("podprof_session{", to);
	label(to, "job", job->job);
	fputc(',', to);
	label(to, "session", job->session);
	fputc(',', to);
	label(to, "verdict", job->verdict);
	fputs("} 1\n", to);
	number(to, "podprof_session_end_timestamp_seconds", "seconds", "End of the recorded steps, since 1970.",
	       (double)job->time_s);
	number(to, "podprof_session_ranks", "", "Ranks of the job.", (double)job->ranks);
	number(to, "podprof_session_ranks_delivered", "", "Ranks that delivered records.", (double)job->delivered);
	number(to, "podprof_session_hosts", "", "Hosts of these ranks.", (double)job->hosts);
	number(to, "podprof_session_steps", "", "Recorded steps.", (double)job->steps);
	number(to, "podprof_session_step_seconds", "seconds", "Median time of a step.", (double)job->step_ns / 1e9);
	if (isfinite(job->wait_share))
		number(to, "podprof_session_wait_ratio", "ratio",
		       "Share of the ranks' step time in which they waited for other ranks.", job->wait_share);
	if (job->straggler[0]) {
		head(to, "podprof_session_straggler_wait_seconds", "seconds",
		     "Waiting of all other ranks for the straggler, summed.");
		fputs("podprof_session_straggler_wait_seconds{", to);
		label(to, "host", job->straggler);
		fprintf(to, ",rank=\"%" PRId64 "\"} %.15g\n", job->straggler_rank, (double)job->lost_ns / 1e9);
	}
	fputs("# EOF\n", to);
}
