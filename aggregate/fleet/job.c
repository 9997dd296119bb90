/* A job from its dataset, to a line, and back; see job.h. Called by aggregate/session/site_log.c and fleet.c. */
#include "aggregate/fleet/job.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/dataset/host_list.h"
#include "aggregate/dataset/status.h"
#include "aggregate/fleet/member.h"
#include "aggregate/tools/answer.h"
#include "aggregate/tools/finding_word.h"
#include "aggregate/tools/sums.h"
#include "aggregate/write/json.h"
#include "aggregate/write/json_object.h"
#include "core/base/known.h"
#include "core/base/utf8.h"

enum { VERSION = 2, VERSIONS = 999, SECOND = 1000000000, BESIDE_HOSTS = 2400 };

static void list_hosts(const struct pp_dataset *d, struct pp_fleet_job *job)
{
	char(*name)[PP_HOST_LIST_NAME] = calloc(d->workers + 1, sizeof(*name));
	size_t names = 0;

	job->hosts = (int64_t)pp_dataset_hosts(d);
	job->unlisted = job->hosts;
	if (!name)
		return;
	for (size_t w = 0; w < d->workers; w++)
		if (!pp_worker_is_missing(&d->worker[w]) && d->worker[w].host[0] &&
		    (!names || strcmp(name[names - 1], d->worker[w].host) != 0))
			snprintf(name[names++], sizeof(*name), "%s", d->worker[w].host);
	job->unlisted = (int64_t)pp_host_list_write(name, names, job->list, PP_FLEET_LINE - BESIDE_HOSTS);
	free(name);
}

/* As the host stands in the list. */
static void name_straggler(const struct pp_dataset *d, const struct pp_answer *a, struct pp_fleet_job *job)
{
	size_t who = a->straggler_rank >= 0 ? pp_dataset_worker(d, a->straggler_rank) : SIZE_MAX;
	char name[1][PP_HOST_LIST_NAME];

	job->straggler_rank = -1;
	if (who == SIZE_MAX || !d->worker[who].host[0])
		return;
	snprintf(name[0], sizeof(name[0]), "%s", d->worker[who].host);
	pp_host_list_write(name, 1, job->straggler, sizeof(job->straggler));
	job->straggler_rank = a->straggler_rank;
	job->lost_ns = a->straggler_ns;
}

/* A finding about ranks that are slow where others, with the same calls, are not: the host may be why. */
static int is_of_hosts(const struct pp_row_finding *f)
{
	return f->finding_hosts && f->kind != PP_FINDING_PHASE && (pp_finding_names_ranks(f) || f->kind == PP_FINDING_PERIODIC);
}

static void name_cause(const struct pp_dataset *d, struct pp_fleet_job *job)
{
	const struct pp_row_finding *f = NULL;

	job->cause_ns = PP_UNKNOWN;
	for (size_t i = 0; i < d->findings && !f; i++)
		f = is_of_hosts(&d->finding[i]) ? &d->finding[i] : NULL;
	if (!f)
		return;
	snprintf(job->cause, sizeof(job->cause), "%s", pp_finding_word(f->kind));
	snprintf(job->cause_list, sizeof(job->cause_list), "%s", f->finding_host_list);
	job->cause_unlisted = f->finding_host_list[0] ? 0 : f->finding_hosts;
	if (pp_is_known(f->finding_wait_ns))
		job->cause_ns = (int64_t)((double)f->finding_wait_ns * f->waiters * f->of_steps);
}

void pp_fleet_job_of(const struct pp_dataset *d, const struct pp_sums *s, const struct pp_answer *a, struct pp_fleet_job *ret_job)
{
	struct pp_fleet_job *job = ret_job;

	*job = (struct pp_fleet_job){.version = VERSION,
	                             .time_s = (d->epoch_realtime_ns + d->window_end_ns) / SECOND,
	                             .ranks = d->ranks_asked,
	                             .delivered = d->ranks_delivered,
	                             .steps = (int64_t)d->steps,
	                             .step_ns = a->usual_ns,
	                             .wait_share = pp_is_known(s->wait_ns) ? pp_sums_percent(s->wait_ns, s->all_ns) / 100 : NAN};
	snprintf(job->job, sizeof(job->job), "%s", d->job);
	snprintf(job->session, sizeof(job->session), "%s", d->session);
	snprintf(job->verdict, sizeof(job->verdict), "%s", a->finding ? pp_finding_word(a->finding->kind) : "none");
	snprintf(job->bottleneck, sizeof(job->bottleneck), "%s", a->bottleneck);
	list_hosts(d, job);
	name_straggler(d, a, job);
	name_cause(d, job);
}

/* A name that is cut within a character, or is no UTF-8, is longer in JSON: the reader would refuse what does not fit. */
static void add_text(struct pp_json *j, const char *name, const char *text, size_t size)
{
	char good[3 * PP_FLEET_TEXT + 1];

	pp_utf8_repair(good, text, strnlen(text, PP_FLEET_TEXT));
	good[pp_utf8_fit(good, (int)size - 1)] = '\0';
	pp_json_add_text(j, name, good);
}

static void put_straggler(struct pp_json *j, const struct pp_fleet_job *job)
{
	if (!job->straggler[0]) {
		pp_json_add_null(j, "straggler_host");
		pp_json_add_null(j, "straggler_rank");
		return;
	}
	add_text(j, "straggler_host", job->straggler, sizeof(job->straggler));
	pp_json_add_int(j, "straggler_rank", job->straggler_rank);
	pp_json_add_int(j, "straggler_wait_ns", job->lost_ns);
}

static void put_cause(struct pp_json *j, const struct pp_fleet_job *job)
{
	if (!job->cause[0]) {
		pp_json_add_null(j, "cause");
		pp_json_add_null(j, "cause_host_list");
		return;
	}
	add_text(j, "cause", job->cause, sizeof(job->cause));
	pp_json_add_text(j, "cause_host_list", job->cause_list);
	pp_json_add_int(j, "cause_hosts_not_listed", job->cause_unlisted);
	pp_json_add_int(j, "cause_wait_ns", job->cause_ns);
}

/* `with`: the sentence too. Length; 0: no memory. */
static size_t compose(const struct pp_fleet_job *job, int with, char *line)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	struct pp_json json = {.to = to}, *j = &json;

	if (!to)
		return 0;
	pp_json_open(j, NULL);
	pp_json_add_int(j, "podprof_fleet", job->version);
	pp_json_add_int(j, "time_s", job->time_s);
	add_text(j, "job", job->job, sizeof(job->job));
	add_text(j, "session", job->session, sizeof(job->session));
	pp_json_add_int(j, "ranks", job->ranks);
	pp_json_add_int(j, "ranks_delivered", job->delivered);
	pp_json_add_int(j, "hosts", job->hosts);
	pp_json_add_int(j, "steps", job->steps);
	pp_json_add_int(j, "median_step_ns", job->step_ns);
	pp_json_add_number(j, "wait_share", "%.6f", job->wait_share);
	add_text(j, "verdict", job->verdict, sizeof(job->verdict));
	if (with)
		add_text(j, "bottleneck", job->bottleneck, sizeof(job->bottleneck));
	put_straggler(j, job);
	put_cause(j, job);
	pp_json_add_text(j, "host_list", job->list);
	pp_json_add_int(j, "hosts_not_listed", job->unlisted);
	pp_json_close(j);
	fputc('\n', to);
	if (fclose(to))
		length = 0;
	if (length && length <= PP_FLEET_LINE) {
		memcpy(line, text, length);
		line[length] = '\0';
	}
	free(text);
	return length;
}

size_t pp_fleet_job_write(const struct pp_fleet_job *job, char line[PP_FLEET_LINE + 1])
{
	size_t length = compose(job, 1, line);

	if (length > PP_FLEET_LINE)
		length = compose(job, 0, line);
	return length > PP_FLEET_LINE ? 0 : length;
}

struct text_field {
	const char *name;
	size_t offset, size;
};

#define TEXT(name, member)                                                                                                         \
	{                                                                                                                          \
		name, offsetof(struct pp_fleet_job, member), sizeof(((struct pp_fleet_job *)NULL)->member)                         \
	}

static const struct text_field text_field[] = {
        TEXT("job", job),
        TEXT("session", session),
        TEXT("verdict", verdict),
        TEXT("bottleneck", bottleneck),
        TEXT("straggler_host", straggler),
        TEXT("cause", cause),
        TEXT("cause_host_list", cause_list),
        TEXT("host_list", list),
};

static const struct int_field {
	const char *name;
	size_t offset;
} int_field[] = {
        {"podprof_fleet", offsetof(struct pp_fleet_job, version)},
        {"time_s", offsetof(struct pp_fleet_job, time_s)},
        {"ranks", offsetof(struct pp_fleet_job, ranks)},
        {"ranks_delivered", offsetof(struct pp_fleet_job, delivered)},
        {"hosts", offsetof(struct pp_fleet_job, hosts)},
        {"steps", offsetof(struct pp_fleet_job, steps)},
        {"median_step_ns", offsetof(struct pp_fleet_job, step_ns)},
        {"straggler_rank", offsetof(struct pp_fleet_job, straggler_rank)},
        {"straggler_wait_ns", offsetof(struct pp_fleet_job, lost_ns)},
        {"cause_hosts_not_listed", offsetof(struct pp_fleet_job, cause_unlisted)},
        {"cause_wait_ns", offsetof(struct pp_fleet_job, cause_ns)},
        {"hosts_not_listed", offsetof(struct pp_fleet_job, unlisted)},
};

/* -EINVAL: a known member has a value of another kind, or one that does not fit. */
static int take(const struct pp_members *m, struct pp_fleet_job *job)
{
	for (size_t i = 0; m->kind == PP_MEMBER_TEXT && i < sizeof(text_field) / sizeof(text_field[0]); i++)
		if (!strcmp(m->name, text_field[i].name)) {
			size_t length = strlen(m->text);

			if (length >= text_field[i].size)
				return -EINVAL;
			memcpy((char *)job + text_field[i].offset, m->text, length + 1);
			return 0;
		}
	if (m->kind != PP_MEMBER_NUMBER)
		return 0;
	if (!strcmp(m->name, "wait_share"))
		job->wait_share = m->number;
	for (size_t i = 0; i < sizeof(int_field) / sizeof(int_field[0]); i++)
		if (!strcmp(m->name, int_field[i].name)) {
			if (fabs(m->number) > (double)PP_JSON_EXACT)
				return -EINVAL;
			*(int64_t *)(void *)((char *)job + int_field[i].offset) = (int64_t)m->number;
		}
	return 0;
}

int pp_fleet_job_read(const char *line, size_t length, struct pp_fleet_job *ret_job)
{
	struct pp_fleet_job *job = ret_job;
	struct pp_members m;
	int rc;

	/* not the whole list: a log may have many lines */
	memset(job, 0, offsetof(struct pp_fleet_job, list) + 1);
	job->straggler_rank = -1;
	job->cause_ns = PP_UNKNOWN;
	job->wait_share = NAN;
	pp_members_begin(&m, line, length);
	while ((rc = pp_members_next(&m)) > 0)
		if (take(&m, job))
			return -EINVAL;
	if (rc || job->version < 1 || job->version > VERSIONS || job->hosts < 0 || job->unlisted < 0 || job->lost_ns < 0 ||
	    job->wait_share < 0 || job->wait_share > 1 || job->cause_unlisted < 0 ||
	    (pp_is_known(job->cause_ns) && job->cause_ns < 0))
		return -EINVAL;
	return 0;
}
