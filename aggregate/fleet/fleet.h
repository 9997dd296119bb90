/* Which hosts were the cause of many jobs' delays: lines of site logs, counted by host, and a test against chance. In: lines. Out:
 * rows of hosts. Pure but for memory. docs/diff.md has the method. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PP_FLEET_LEVEL 0.05

struct pp_fleet_host {
	char *name;
	int64_t jobs;       /* with this host */
	int64_t trials;     /* of these, jobs of several hosts that named some of them as a cause */
	int64_t cause;      /* of these, jobs that named this host */
	int64_t seen;       /* jobs that only named it as the straggler: lines of version 1, which knew no cause */
	double expected;    /* sum of named hosts / hosts of the job, over trials */
	double p, adjusted; /* chance of so many or more where every host of a job is as likely; Holm's correction for all hosts */
	int64_t lost_ns;    /* waiting because of it, of all sessions; that of several named together in equal parts */
};

struct pp_fleet_total {
	uint64_t lines, damaged, repeated; /* repeated: the same session again */
	uint64_t sessions, jobs, trials;
	uint64_t seen;     /* jobs with lines of version 1 that named a straggler: in no trial */
	uint64_t unlisted; /* jobs that do not list all of their hosts: in no trial */
	size_t hosts, tested;
};

struct pp_fleet;

/* NULL: no memory. */
struct pp_fleet *pp_fleet_new(void);
void pp_fleet_free(struct pp_fleet *f);
/* A line without its newline; an empty one is none. 0, also where it is damaged, which is counted; -ENOMEM. */
int pp_fleet_line(struct pp_fleet *f, const char *line, size_t length);
/* Once, behind the last line: the rows, those that are least likely by chance first; owned by f. 0, or -ENOMEM. */
int pp_fleet_finish(struct pp_fleet *f, const struct pp_fleet_host **ret_host, struct pp_fleet_total *ret_total);
