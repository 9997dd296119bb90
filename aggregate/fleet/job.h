/* One job as a line of the site log: a JSON object of at most PP_FLEET_LINE bytes, newline included. In: dataset and its answer, or
 * a line. Out: a line, or a job. docs/diff.md has the members. Pure, any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_answer;
struct pp_dataset;
struct pp_sums;

enum { PP_FLEET_LINE = 4096, PP_FLEET_HOST = 72, PP_FLEET_TEXT = 400 };

struct pp_fleet_job {
	int64_t version; /* of the line: the first one has no cause */
	int64_t time_s;  /* end of the window, since 1970 */
	char job[128], session[64];
	int64_t ranks, delivered, hosts, steps;
	int64_t step_ns;   /* median of the steps' times, as in the summary */
	double wait_share; /* of the ranks' time in steps: waiting for other ranks, 0 to 1; NAN: unknown */
	char verdict[24];  /* kind of the verdict, as in podprof report --json */
	char bottleneck[PP_FLEET_TEXT];
	char straggler[PP_FLEET_HOST];  /* host; "": no straggler was named */
	int64_t straggler_rank;         /* -1 */
	int64_t lost_ns;                /* waiting of all other ranks for it, summed */
	char cause[24];                 /* kind of the first finding about ranks that are slow by themselves; "": there is none */
	char cause_list[PP_FLEET_TEXT]; /* their hosts, as in list; "": none, or they have no room */
	int64_t cause_unlisted;         /* hosts without room there */
	int64_t cause_ns;               /* waiting of the other ranks because of them, summed; PP_UNKNOWN */
	int64_t unlisted;               /* hosts that are not in list, for want of room */
	char list[PP_FLEET_LINE];       /* hosts as "gpu[001-004,7],login", sorted */
};

/* The numbers of a finished session. Keeps nothing of its arguments. */
void pp_fleet_job_of(const struct pp_dataset *d, const struct pp_sums *s, const struct pp_answer *a, struct pp_fleet_job *ret_job);
/* The line, with its newline. Where it would be too long the sentence is left out. Its length; 0: no memory. */
size_t pp_fleet_job_write(const struct pp_fleet_job *job, char line[PP_FLEET_LINE + 1]);
/* 0, or -EINVAL: it is no such line, or a damaged one; *ret_job is then undefined. Unknown members are skipped. */
int pp_fleet_job_read(const char *line, size_t length, struct pp_fleet_job *ret_job);
