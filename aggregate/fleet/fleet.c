/* Counts jobs by host, and tests the counts; see fleet.h. Called by launchers/cmd_fleet.c. */
#include "aggregate/fleet/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/dataset/host_list.h"
#include "aggregate/fleet/job.h"
#include "aggregate/fleet/tail.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/known.h"
#include "core/base/map.h"
#include "core/base/plain.h"
#include "core/base/wrap.h"

enum { NOBODY = -1, HOSTS_BITS = 17, MOST = (1 << HOSTS_BITS) - 1 }; /* of a number of hosts, PP_HOST_LIST_MOST at most */

struct map { /* a key that is not 0 to a number */
	struct slot {
		uint64_t key;
		int64_t value;
	} * slot;
	size_t used, room;
	struct pp_map map; /* of slots, by key */
};

struct row {                 /* a job: all of its sessions are one trial */
	size_t first, named; /* in `named`: the causes' hosts, of the session in which the others waited longest */
	int64_t lost_ns;
	int64_t seen; /* the straggler's host, of such a session without causes */
	int64_t seen_ns;
};

struct pp_fleet {
	struct map host_of, job_of, session_of, trial_of; /* trial_of: host + 1, named and all hosts of a job to trials */
	struct pp_fleet_host *host;
	size_t hosts, host_room;
	struct row *row;
	size_t rows, row_room;
	int64_t *named; /* of rows */
	size_t all_named, named_room;
	struct pp_fleet_total total;
	struct pp_fleet_job job; /* the line at hand */
	int is_first;
	size_t was_named, is_named; /* hosts that its job names: by the lines before, and with this one; 0: it is no trial */
};

static uint64_t hash_of(const void *row)
{
	return ((const struct slot *)row)->key * PP_MAP_MIX;
}

static int is_same(const void *row, const void *key)
{
	return ((const struct slot *)row)->key == ((const struct slot *)key)->key;
}

/* The value of a key, which is made where it is new. NULL: no memory. */
static int64_t *value_of(struct map *m, uint64_t key, int64_t fallback, int *ret_is_new)
{
	const struct slot one = {key ? key : 1, fallback};
	uint32_t *place = pp_map_place(&m->map, m->slot, m->used, sizeof(one), &one, hash_of, is_same);
	struct slot *more;

	if (!place)
		return NULL;
	*ret_is_new = !*place;
	if (*ret_is_new) {
		more = pp_grow(m->slot, m->used, &m->room, sizeof(*more));
		if (!more)
			return NULL;
		m->slot = more;
		more[m->used] = one;
		*place = (uint32_t)++m->used;
	}
	return &m->slot[*place - 1].value;
}

static void release(struct map *m)
{
	free(m->slot);
	free(m->map.place);
}

struct pp_fleet *pp_fleet_new(void)
{
	return calloc(1, sizeof(struct pp_fleet));
}

void pp_fleet_free(struct pp_fleet *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->hosts; i++)
		free(f->host[i].name);
	free(f->host);
	free(f->row);
	free(f->named);
	release(&f->host_of);
	release(&f->job_of);
	release(&f->session_of);
	release(&f->trial_of);
	free(f);
}

/* Index, or -ENOMEM. */
static int64_t find_host(struct pp_fleet *f, const char *name)
{
	int is_new;
	int64_t *value = value_of(&f->host_of, pp_hash_text(name), (int64_t)f->hosts, &is_new);
	struct pp_fleet_host *host;

	if (!value || !is_new)
		return value ? *value : -ENOMEM;
	host = pp_grow(f->host, f->hosts, &f->host_room, sizeof(*host));
	if (!host)
		return -ENOMEM;
	f->host = host;
	host[f->hosts] = (struct pp_fleet_host){.name = strdup(name)};
	return host[f->hosts].name ? (int64_t)f->hosts++ : -ENOMEM;
}

/* More trials, or fewer, of a host in jobs like the one at hand that name so many of them. */
static int add_trials(struct pp_fleet *f, int64_t host, size_t named, int more)
{
	const uint64_t key = (((uint64_t)host + 1) << HOSTS_BITS | named) << HOSTS_BITS | (uint64_t)f->job.hosts;
	int is_new;
	int64_t *value = named ? value_of(&f->trial_of, key, 0, &is_new) : NULL;

	if (!named)
		return 0;
	if (!value)
		return -ENOMEM;
	*value += more;
	f->host[host].trials += more;
	f->host[host].expected += more * (double)named / (double)f->job.hosts;
	return 0;
}

static int count_host(const char *name, void *context)
{
	struct pp_fleet *f = context;
	int64_t host = find_host(f, name);

	if (host < 0)
		return (int)host;
	f->host[host].jobs += f->is_first;
	return add_trials(f, host, f->was_named, -1) ?: add_trials(f, host, f->is_named, 1);
}

struct check { /* of a line, before anything of it counts */
	struct map names;
	int64_t hosts, causes;
	const char *straggler;
	int is_there;
};

static int check_host(const char *name, void *context)
{
	struct check *c = context;
	int is_new;

	c->hosts++;
	c->is_there |= !strcmp(name, c->straggler);
	if (!value_of(&c->names, pp_hash_text(name), 0, &is_new))
		return -ENOMEM;
	return is_new ? 0 : -EINVAL;
}

/* 1: it is not in the job's list, or comes twice. */
static int check_cause(const char *name, void *context)
{
	struct check *c = context;
	int64_t *value;
	int is_new;

	value = value_of(&c->names, pp_hash_text(name), 0, &is_new);
	if (!value)
		return -ENOMEM;
	c->causes++;
	return is_new || (*value)++;
}

/* Names become plain first: they are printed, and anybody may have written the line. 1; 0; -ENOMEM. */
static int is_damaged(struct pp_fleet_job *job)
{
	struct check c = {.straggler = job->straggler, .is_there = !job->straggler[0] || job->unlisted};
	int rc;

	pp_plain(job->list, "");
	pp_plain(job->straggler, "");
	pp_plain(job->cause_list, "");
	rc = pp_host_list_read(job->list, check_host, &c);
	if (!rc && job->version > 1)
		rc = pp_host_list_read(job->cause_list, check_cause, &c);
	release(&c.names);
	if (rc == -ENOMEM)
		return rc;
	if (rc == 1 && job->unlisted) /* a cause that is not in the list */
		rc = 0;
	return rc || !c.is_there || c.hosts + job->unlisted != job->hosts || c.causes + job->cause_unlisted > job->hosts;
}

static int take_cause(const char *name, void *context)
{
	struct pp_fleet *f = context;
	const int64_t host = find_host(f, name);

	if (host < 0 || PP_GROW(f->named, f->all_named, f->named_room))
		return -ENOMEM;
	f->named[f->all_named++] = host;
	return 0;
}

/* Of a line that knows causes: their hosts are those of the job from now on, if the others waited longer for them. */
static int count_causes(struct pp_fleet *f, struct row *row)
{
	const int64_t lost = pp_known_or(f->job.cause_ns, 0);
	const size_t first = f->all_named;
	int rc = pp_host_list_read(f->job.cause_list, take_cause, f);
	size_t named = f->all_named - first;

	for (size_t i = first; i < f->all_named; i++)
		f->host[f->named[i]].lost_ns = pp_wrap_plus(f->host[f->named[i]].lost_ns, lost / (int64_t)named);
	if (rc || !named || named >= (size_t)f->job.hosts || f->job.unlisted || f->job.cause_unlisted ||
	    (row->named && lost <= row->lost_ns))
		return rc;
	f->was_named = row->named;
	f->is_named = named;
	f->total.trials += !row->named;
	row->first = first;
	row->named = named;
	row->lost_ns = lost;
	return 0;
}

static int count_seen(struct pp_fleet *f, struct row *row)
{
	const struct pp_fleet_job *job = &f->job;
	int64_t host = job->straggler[0] ? find_host(f, job->straggler) : NOBODY;

	if (host == NOBODY)
		return 0;
	if (host < 0)
		return (int)host;
	f->host[host].lost_ns = pp_wrap_plus(f->host[host].lost_ns, job->lost_ns);
	if (row->seen == NOBODY || job->lost_ns > row->seen_ns) {
		row->seen = host;
		row->seen_ns = job->lost_ns;
	}
	return 0;
}

/* Sessions of one job, by its name and hosts, count as one. */
static int count_job(struct pp_fleet *f)
{
	const struct pp_fleet_job *job = &f->job;
	uint64_t key = pp_hash(pp_hash_text(job->list), job->job, strlen(job->job) + 1);
	int is_new, rc;
	int64_t *at = value_of(&f->session_of, pp_hash(key, job->session, strlen(job->session)), 0, &is_new);
	struct row *row;

	if (at && !is_new)
		f->total.repeated++;
	if (!at || !is_new)
		return at ? 0 : -ENOMEM;
	row = pp_grow(f->row, f->rows, &f->row_room, sizeof(*row));
	if (!row)
		return -ENOMEM;
	f->row = row;
	at = value_of(&f->job_of, key, (int64_t)f->rows, &f->is_first);
	if (!at)
		return -ENOMEM;
	if (f->is_first)
		row[f->rows++] = (struct row){.seen = NOBODY};
	row += *at;
	f->total.sessions++;
	f->total.jobs += (uint64_t)f->is_first;
	f->total.unlisted += f->is_first && (job->unlisted || job->cause_unlisted);
	f->was_named = f->is_named = 0;
	rc = job->version > 1 ? count_causes(f, row) : count_seen(f, row);
	return rc || !(f->is_first || f->is_named) ? rc : pp_host_list_read(job->list, count_host, f);
}

int pp_fleet_line(struct pp_fleet *f, const char *line, size_t length)
{
	int rc;

	if (!length)
		return 0;
	f->total.lines++;
	rc = length >= PP_FLEET_LINE || pp_fleet_job_read(line, length, &f->job) ? 1 : is_damaged(&f->job);
	f->total.damaged += rc == 1;
	if (rc)
		return rc == 1 ? 0 : rc;
	return count_job(f);
}

PP_COMPARE(by_rows, struct pp_fleet_host, PP_UP(adjusted) ?: PP_UP(p) ?: PP_DOWN(lost_ns) ?: strcmp(x->name, y->name))

PP_COMPARE_BY(by_key, struct slot, key)

/* Trials of each host, sorted by host and numbers of hosts: p of each. */
static int test(struct pp_fleet *f)
{
	struct map *m = &f->trial_of;
	struct pp_tail_group *group = malloc((m->used + 1) * sizeof(*group));
	size_t n = m->used, at = 0;
	int rc = 0;

	if (!group)
		return -ENOMEM;
	if (n) /* the map ends here: its rows change places */
		qsort(m->slot, n, sizeof(*m->slot), by_key);
	for (size_t h = 0; h < f->hosts; h++) {
		size_t groups = 0;

		for (; at < n && m->slot[at].key >> 2 * HOSTS_BITS == h + 1; at++)
			group[groups++] = (struct pp_tail_group){m->slot[at].value, (int64_t)(m->slot[at].key >> HOSTS_BITS & MOST),
			                                         (int64_t)(m->slot[at].key & MOST)};
		f->host[h].p = groups ? pp_tail(group, groups, f->host[h].cause) : 1;
		rc = f->host[h].p < 0 ? -ENOMEM : rc;
	}
	free(group);
	return rc;
}

/* Of the hosts that were in a trial; the others have no chance to correct. */
static int correct(struct pp_fleet *f)
{
	double *p = malloc((f->hosts + 1) * sizeof(*p)), *adjusted = malloc((f->hosts + 1) * sizeof(*p));
	size_t n = 0;
	int rc = p && adjusted ? 0 : -ENOMEM;

	for (size_t h = 0; !rc && h < f->hosts; h++)
		if (f->host[h].trials)
			p[n++] = f->host[h].p;
	if (!rc)
		rc = pp_holm(p, n, adjusted);
	f->total.tested = n;
	n = 0;
	for (size_t h = 0; !rc && h < f->hosts; h++)
		f->host[h].adjusted = f->host[h].trials ? adjusted[n++] : 1;
	free(p);
	free(adjusted);
	return rc;
}

int pp_fleet_finish(struct pp_fleet *f, const struct pp_fleet_host **ret_host, struct pp_fleet_total *ret_total)
{
	int rc;

	for (size_t i = 0; i < f->rows; i++) {
		const struct row *row = &f->row[i];

		for (size_t k = 0; k < row->named; k++)
			f->host[f->named[row->first + k]].cause++;
		if (row->seen == NOBODY || row->named)
			continue;
		f->host[row->seen].seen++;
		f->total.seen++;
	}
	rc = test(f);
	if (!rc)
		rc = correct(f);
	if (rc)
		return rc;
	if (f->hosts)
		qsort(f->host, f->hosts, sizeof(*f->host), by_rows);
	f->total.hosts = f->hosts;
	*ret_host = f->host;
	*ret_total = f->total;
	return 0;
}
