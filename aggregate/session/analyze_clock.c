/* Joins the clocks of files of other profilers; see analyze_clock.h. Called by analyze_merge.c. */
#include "aggregate/session/analyze_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/clock_text.h"
#include "aggregate/dataset/status.h"
#include "core/base/compare.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/base/wrap.h"
#include "core/call/mpi_call.h"
#include "core/clock/ends.h"

enum { HOPS_MOST = 16, SEPARATE_SHARE = 2 };

struct pp_analyze_clock { /* of one file, or of all files of a host */
	char host[sizeof(((struct pp_row_worker *)0)->host)];
	int32_t rank; /* its lowest */
	size_t ranks;
	int is_dated;
	int64_t resolution_ns; /* of its files, the largest */
	/* Collectives that two of its files have, those that contradict one clock, and by how much at most. */
	uint64_t shared, contradicted;
	int64_t contradiction_ns;
	struct pp_ends_clock found;
};

struct pp_analyze_place {
	int32_t rank;
	uint32_t clock;
};

struct call { /* a rank's in a collective */
	uint64_t communicator;
	uint32_t sequence;
	uint16_t operation;
	uint32_t part;
	int64_t arrival, end;
};

struct named { /* a part and its host */
	const char *host;
	size_t length; /* without a port */
	size_t part;
};

struct join {
	struct pp_dataset *part;
	const uint8_t *date;
	size_t parts;
	uint32_t *clock_of; /* [parts]; UINT32_MAX: it has job time, or no rank */
	struct call *call;
	size_t calls;
	struct pp_ends_row *row; /* [calls] */
	struct pp_analyze_clocks *to;
};

PP_COMPARE(compare_call, struct call, PP_UP(communicator) ?: PP_UP(operation) ?: PP_UP(sequence) ?: PP_UP(part))

PP_COMPARE(compare_row, struct pp_ends_row, PP_UP(operation) ?: PP_UP(clock))

PP_COMPARE_BY(compare_place, struct pp_analyze_place, rank)

static int compare_host(const struct named *x, const struct named *y)
{
	const int order = strncmp(x->host, y->host, x->length < y->length ? x->length : y->length);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

PP_COMPARE(compare_named, struct named, compare_host(x, y) ?: PP_UP(part))

/* A file of podprof has job time, and no clock to join. */
static int is_foreign(const struct pp_dataset *part)
{
	return part->workers && part->worker[0].joined_by == PP_JOINED_BY_NOTHING;
}

static int says_host(const struct pp_dataset *part)
{
	return part->trace_files && part->trace_file[0].says_host;
}

/* "vm" of "vm:6009": what serves a profiler has a port. */
static size_t host_length(const char *host)
{
	const char *at = strrchr(host, ':');

	return at && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1) ? (size_t)(at - host) : strlen(host);
}

static void add_clock(struct join *j, size_t part, size_t length)
{
	const struct pp_row_worker *w = &j->part[part].worker[0];
	struct pp_analyze_clock *c = &j->to->clock[j->to->clocks++];

	*c = (struct pp_analyze_clock){.rank = INT32_MAX, .is_dated = j->date[part]};
	snprintf(c->host, sizeof(c->host), "%.*s", (int)length, w->host);
}

static void add_part(struct join *j, size_t part)
{
	struct pp_analyze_clock *c = &j->to->clock[j->clock_of[part]];
	const struct pp_dataset *d = &j->part[part];

	for (size_t w = 0; w < d->workers; w++) {
		c->rank = d->worker[w].rank < c->rank ? d->worker[w].rank : c->rank;
		c->ranks++;
	}
	for (size_t t = 0; t < d->trace_files; t++)
		if (pp_is_known(d->trace_file[t].resolution_ns) && d->trace_file[t].resolution_ns > c->resolution_ns)
			c->resolution_ns = d->trace_file[t].resolution_ns;
}

/* Makes the clocks: one a host that files name with dates, unless is_separate[part], and one for each other file. */
static int make_clocks(struct join *j, const uint8_t *is_separate)
{
	struct named *named = calloc(j->parts + 1, sizeof(*named));
	size_t n = 0;

	if (!named)
		return -ENOMEM;
	j->to->clocks = 0;
	for (size_t p = 0; p < j->parts; p++) {
		j->clock_of[p] = UINT32_MAX;
		if (!is_foreign(&j->part[p]))
			continue;
		if (j->date[p] && says_host(&j->part[p]) && !is_separate[p]) {
			const char *host = j->part[p].worker[0].host;

			named[n++] = (struct named){host, host_length(host), p};
			continue;
		}
		j->clock_of[p] = (uint32_t)j->to->clocks;
		add_clock(j, p, strlen(j->part[p].worker[0].host));
	}
	qsort(named, n, sizeof(*named), compare_named);
	for (size_t i = 0; i < n; i++) {
		if (!i || compare_host(&named[i - 1], &named[i]))
			add_clock(j, named[i].part, named[i].length);
		j->clock_of[named[i].part] = (uint32_t)j->to->clocks - 1;
	}
	free(named);
	for (size_t p = 0; p < j->parts; p++)
		if (j->clock_of[p] != UINT32_MAX)
			add_part(j, p);
	return 0;
}

/* Nobody leaves such a collective before all have entered it, and all leave it together. */
static int is_common(const struct pp_row_collective *c)
{
	const struct pp_mpi_call *info = pp_mpi_call_info(c->operation);

	return !c->message && info->class == PP_MPI_ALL && pp_mpi_call_is_collective(c->operation) &&
	       !pp_mpi_call_is_exchange(c->operation) && c->mismatch != PP_MISMATCH_CALL && c->mismatch != PP_MISMATCH_TWICE;
}

/* Lists the calls of all parts, in time since 1970 where they have dates. */
static int list_calls(struct join *j)
{
	size_t room = 0;

	for (size_t p = 0; p < j->parts; p++)
		room += j->part[p].arrivals;
	j->call = calloc(room + 1, sizeof(*j->call));
	j->row = calloc(room + 1, sizeof(*j->row));
	if (!j->call || !j->row)
		return -ENOMEM;
	for (size_t p = 0; p < j->parts; p++) {
		const struct pp_dataset *d = &j->part[p];

		for (size_t i = 0; i < d->collectives && is_foreign(d); i++) {
			const struct pp_row_collective *c = &d->collective[i];

			for (size_t k = c->row_first; is_common(c) && k < c->row_first + c->row_count; k++) {
				const struct pp_row_arrival *a = &d->arrival[k];
				const int on_device = a->device_end_ns > a->device_begin_ns;

				if (!on_device && (a->exit_open || a->exit_ns <= a->arrival_ns))
					continue;
				j->call[j->calls++] = (struct call){
				        c->communicator,
				        c->sequence,
				        c->operation,
				        (uint32_t)p,
				        pp_wrap_plus(on_device ? a->device_begin_ns : a->arrival_ns, d->epoch_realtime_ns),
				        pp_wrap_plus(on_device ? a->device_end_ns : a->exit_ns, d->epoch_realtime_ns)};
			}
		}
	}
	if (j->calls)
		qsort(j->call, j->calls, sizeof(*j->call), compare_call);
	return 0;
}

static int is_same_operation(const struct call *x, const struct call *y)
{
	return x->communicator == y->communicator && x->operation == y->operation && x->sequence == y->sequence;
}

/* The calls by clocks. */
static void make_rows(struct join *j)
{
	uint64_t operation = 0;

	for (size_t i = 0; i < j->calls; i++) {
		const struct call *c = &j->call[i];

		operation += i && !is_same_operation(c, c - 1);
		j->row[i] = (struct pp_ends_row){operation, j->clock_of[c->part], c->arrival, c->end};
	}
	if (j->calls)
		qsort(j->row, j->calls, sizeof(*j->row), compare_row);
}

/* Does a rank leave a collective before another one of the same host has entered it? */
static void check_hosts(struct join *j)
{
	for (size_t i = 0, n; i < j->calls; i += n) {
		struct pp_analyze_clock *c = &j->to->clock[j->row[i].clock];
		int64_t last = INT64_MIN, first_end = INT64_MAX, by;

		for (n = 0; i + n < j->calls && !compare_row(&j->row[i], &j->row[i + n]); n++) {
			last = j->row[i + n].arrival > last ? j->row[i + n].arrival : last;
			first_end = j->row[i + n].end < first_end ? j->row[i + n].end : first_end;
		}
		if (n < 2)
			continue;
		by = pp_wrap_minus(last, first_end);
		c->shared++;
		c->contradicted += by > 0;
		c->contradiction_ns = by > c->contradiction_ns ? by : c->contradiction_ns;
	}
}

/* Files that name one host, and whose dates contradict each other in half of their collectives, are of several hosts of that name.
 * Returns how many there are. */
static size_t set_separate(struct join *j, uint8_t *is_separate)
{
	size_t separate = 0;

	for (size_t p = 0; p < j->parts; p++) {
		const struct pp_analyze_clock *c = j->clock_of[p] == UINT32_MAX ? NULL : &j->to->clock[j->clock_of[p]];

		is_separate[p] = c && c->ranks > 1 && c->contradicted * SEPARATE_SHARE > c->shared;
		separate += is_separate[p];
	}
	return separate;
}

/* The clock of the lowest rank, which is job time. */
static uint32_t home_of(const struct pp_analyze_clocks *c)
{
	uint32_t home = 0;

	for (uint32_t i = 1; i < c->clocks; i++)
		if (c->clock[i].rank < c->clock[home].rank)
			home = i;
	return home;
}

static int find_places(struct join *j, struct pp_err *err)
{
	struct pp_analyze_clocks *to = j->to;
	struct pp_ends_clock *found = calloc(to->clocks + 1, sizeof(*found));
	int rc = found ? pp_ends_place(j->row, j->calls, to->clocks, home_of(to), found, err)
	               : pp_err_set(err, -ENOMEM, "cannot join the clocks of %zu files: no memory", j->parts);

	for (size_t i = 0; i < to->clocks && !rc; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): rc says that it is there */
		to->clock[i].found = found[i];
		if (found[i].bound < 0 || found[i].bound > PP_TABLE_TIME_MAX)
			to->clock[i].found.how = PP_ENDS_SPREAD;
	}
	free(found);
	return rc;
}

/* Do the clocks of two files go alike, as those of one machine do? */
static int is_one_machine(const struct pp_ends_clock *a, const struct pp_ends_clock *b)
{
	int64_t distance = pp_wrap_minus(a->offset, b->offset);

	distance = distance < 0 ? -distance : distance;
	return a->how == PP_ENDS_PLACED && b->how == PP_ENDS_PLACED && distance <= pp_wrap_plus(a->bound, b->bound);
}

static void rename_host(struct join *j, size_t part, size_t number)
{
	struct pp_analyze_clock *c = &j->to->clock[j->clock_of[part]];
	char name[sizeof(c->host)];

	snprintf(name, sizeof(name), "%.*s (%zu)", (int)sizeof(name) - 24, c->host, number);
	memcpy(c->host, name, sizeof(c->host));
	for (size_t w = 0; w < j->part[part].workers; w++)
		snprintf(j->part[part].worker[w].host, sizeof(j->part[part].worker[w].host), "%s", name);
}

/* Separate files of one name are of as many machines as they have clocks: "node", "node (2)". Where a clock is not placed, its file
 * stays with the name. -ENOMEM. */
static int name_hosts(struct join *j, const uint8_t *is_separate)
{
	size_t *machine = calloc(j->parts + 1, sizeof(*machine)); /* of the name, from 1 */

	if (!machine)
		return -ENOMEM;
	for (size_t p = 0; p < j->parts; p++) {
		const struct pp_row_worker *w = is_separate[p] ? &j->part[p].worker[0] : NULL;
		const struct pp_ends_clock *clock = w ? &j->to->clock[j->clock_of[p]].found : NULL;
		size_t machines = 0;

		if (!w || clock->how != PP_ENDS_PLACED)
			continue;
		for (size_t q = 0; q < p && !machine[p]; q++) {
			const char *other = j->part[q].worker[0].host;
			const size_t length = host_length(w->host);

			if (!machine[q] || strncmp(other, w->host, length) != 0 || (other[length] && !strchr(": ", other[length])))
				continue;
			machines = machine[q] > machines ? machine[q] : machines;
			if (is_one_machine(clock, &j->to->clock[j->clock_of[q]].found))
				machine[p] = machine[q];
		}
		machine[p] = machine[p] ? machine[p] : machines + 1;
	}
	for (size_t p = 0; p < j->parts; p++)
		if (machine[p] > 1)
			rename_host(j, p, machine[p]);
	free(machine);
	return 0;
}

/* Moves the parts, and lists whose clock is which. */
static int take_places(struct join *j)
{
	struct pp_analyze_clocks *to = j->to;
	size_t room = 0;

	for (size_t p = 0; p < j->parts; p++)
		room += j->part[p].workers;
	to->place = calloc(room + 1, sizeof(*to->place));
	if (!to->place)
		return -ENOMEM;
	for (size_t p = 0; p < j->parts; p++) {
		struct pp_dataset *d = &j->part[p];
		const struct pp_analyze_clock *c = j->clock_of[p] == UINT32_MAX ? NULL : &to->clock[j->clock_of[p]];

		if (!c)
			continue;
		if (c->found.how == PP_ENDS_PLACED)
			d->epoch_realtime_ns = pp_wrap_plus(d->epoch_realtime_ns, c->found.offset);
		for (size_t w = 0; w < d->workers; w++)
			to->place[to->places++] = (struct pp_analyze_place){d->worker[w].rank, j->clock_of[p]};
	}
	qsort(to->place, to->places, sizeof(*to->place), compare_place);
	return 0;
}

int pp_analyze_clocks_join(struct pp_dataset *part, const uint8_t *date, size_t parts, struct pp_analyze_clocks *ret_clocks,
                           struct pp_err *err)
{
	struct pp_analyze_clocks to = {.clock = calloc(parts + 1, sizeof(*to.clock))};
	struct join j = {.part = part, .date = date, .parts = parts, .to = &to};
	uint8_t *is_separate = calloc(parts + 1, 1);
	int rc;

	j.clock_of = calloc(parts + 1, sizeof(*j.clock_of));
	rc = to.clock && is_separate && j.clock_of ? 0 : -ENOMEM;
	if (!rc)
		rc = make_clocks(&j, is_separate);
	if (!rc)
		rc = list_calls(&j);
	if (!rc) {
		make_rows(&j);
		check_hosts(&j);
		to.separate = set_separate(&j, is_separate);
		if (to.separate) {
			rc = make_clocks(&j, is_separate);
			make_rows(&j);
			check_hosts(&j);
		}
	}
	if (!rc && to.clocks)
		rc = find_places(&j, err);
	if (!rc && to.separate)
		rc = name_hosts(&j, is_separate);
	if (!rc)
		rc = take_places(&j);
	free(is_separate);
	free(j.clock_of);
	free(j.call);
	free(j.row);
	if (rc) {
		pp_analyze_clocks_release(&to);
		return pp_err_set(err, rc, "cannot join the clocks of %zu files: no memory", parts);
	}
	*ret_clocks = to;
	return 0;
}

static size_t placed_clocks(const struct pp_analyze_clocks *c)
{
	size_t placed = 0;

	for (size_t i = 0; i < c->clocks; i++)
		placed += c->clock[i].found.how == PP_ENDS_PLACED;
	return placed;
}

static int is_home(const struct pp_analyze_clocks *c, uint32_t clock)
{
	return c->clock[clock].found.how == PP_ENDS_PLACED && c->clock[clock].found.parent == clock;
}

static enum pp_joined_by joined_by(const struct pp_analyze_clocks *c, uint32_t clock)
{
	const struct pp_analyze_clock *one = &c->clock[clock];

	if (one->found.how == PP_ENDS_PLACED && !is_home(c, clock))
		return PP_JOINED_BY_COLLECTIVES;
	if (one->is_dated && one->ranks > 1)
		return PP_JOINED_BY_WALL_CLOCK;
	return is_home(c, clock) && placed_clocks(c) > 1 ? PP_JOINED_BY_COLLECTIVES : PP_JOINED_BY_NOTHING;
}

static void set_worker(const struct pp_analyze_clocks *c, uint32_t clock, uint32_t row, struct pp_row_worker *w)
{
	const struct pp_analyze_clock *one = &c->clock[clock];

	w->joined_by = (pp_c_CODE)joined_by(c, clock);
	w->host_clock = row;
	w->own_bound_ns = one->resolution_ns + one->contradiction_ns;
	if (one->found.how == PP_ENDS_PLACED) {
		snprintf(w->clock, sizeof(w->clock), "time of the files of rank %d", (int)c->clock[home_of(c)].rank);
		w->offset_ns = one->found.offset;
		w->drift_ppb = one->found.drift_ppb;
	} else {
		snprintf(w->clock, sizeof(w->clock), "wall clock of %s, rank %d", one->host, (int)one->rank);
	}
}

static int add_row(const struct pp_analyze_clocks *c, uint32_t clock, struct pp_dataset *d)
{
	const struct pp_analyze_clock *one = &c->clock[clock], *parent = &c->clock[one->found.parent];
	const int64_t drift = one->found.drift_ppb;
	struct pp_row_host_clock row = {.host_bound_ns = one->found.bound,
	                                .host_drift_error_ppb = PP_BOUND_UNKNOWN,
	                                .host_drift_ppb = pp_known_or(drift, 0),
	                                .host_offset_ns = one->found.offset,
	                                .hops = one->found.hops < HOPS_MOST ? (int32_t)one->found.hops : HOPS_MOST,
	                                .host_joined_by = (pp_c_CODE)joined_by(c, clock),
	                                .host_collectives = one->found.operations};

	snprintf(row.name, sizeof(row.name), "%s", one->host);
	snprintf(row.own, sizeof(row.own), "%s of %s, rank %d", one->is_dated ? "wall clock" : "clock", one->host, (int)one->rank);
	if (parent != one)
		snprintf(row.parent, sizeof(row.parent), "%s", parent->host);
	return pp_dataset_add_clock(d, &row);
}

/* Ranks that are alone with their clock stay as they are. */
int pp_analyze_clocks_set(const struct pp_analyze_clocks *c, struct pp_dataset *d, struct pp_err *err)
{
	uint32_t *row = calloc(c->clocks + 1, sizeof(*row));
	int rc = row ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < c->clocks && !rc; i++) {
		if (c->clock[i].found.how != PP_ENDS_PLACED || joined_by(c, i) == PP_JOINED_BY_NOTHING)
			continue;
		rc = add_row(c, i, d);
		row[i] = (uint32_t)d->host_clocks;
	}
	for (size_t w = 0; w < d->workers && !rc; w++) {
		const struct pp_analyze_place key = {.rank = d->worker[w].rank};
		const struct pp_analyze_place *place =
		        c->places ? bsearch(&key, c->place, c->places, sizeof(key), compare_place) : NULL;

		if (place && !pp_worker_is_missing(&d->worker[w]) && joined_by(c, place->clock) != PP_JOINED_BY_NOTHING)
			set_worker(c, place->clock, row[place->clock], &d->worker[w]);
	}
	free(row);
	if (!rc)
		rc = pp_dataset_clocks(d);
	return rc ? pp_err_set(err, rc, "cannot join the clocks of %zu files: no memory", c->clocks) : 0;
}

static void warn_alone(const struct pp_analyze_clocks *c, struct pp_dataset *d)
{
	size_t alone = 0, spread = 0, ranks = 0;

	for (size_t i = 0; i < c->clocks; i++) {
		ranks += c->clock[i].ranks;
		if (c->clock[i].found.how == PP_ENDS_PLACED)
			continue;
		alone += c->clock[i].ranks;
		spread += c->clock[i].found.how == PP_ENDS_SPREAD ? c->clock[i].ranks : 0;
	}
	if (alone && placed_clocks(c) == 1 && c->clocks == ranks)
		pp_dataset_warn(
		        d, "trace files of other profilers have no common clock: only lengths of kernels of collectives tell who "
		           "waits");
	else if (alone)
		pp_dataset_warn(
		        d,
		        "%zu of %zu ranks have no clock in common with rank %d, neither by their host nor by collectives: only "
		        "lengths of kernels of collectives tell whether they wait",
		        alone, ranks, (int)c->clock[home_of(c)].rank);
	if (spread)
		pp_dataset_warn(d,
		                PP_CLOCK_WARNING
		                "the ends of the collectives of %zu rank%s are too far from each other to align clocks: "
		                "by more than the collectives last",
		                spread, spread == 1 ? "" : "s");
}

void pp_analyze_clocks_warn(const struct pp_analyze_clocks *c, struct pp_dataset *d)
{
	char text[PP_TEXT_UNIT];
	size_t aligned = 0;

	if (!c->clocks)
		return;
	warn_alone(c, d);
	if (c->separate)
		pp_dataset_warn(d,
		                PP_CLOCK_WARNING
		                "%zu files name a host whose other files have dates that contradict theirs: each is taken as "
		                "one of another clock",
		                c->separate);
	for (uint32_t i = 0; i < c->clocks; i++) {
		const struct pp_analyze_clock *one = &c->clock[i];

		if (one->contradicted)
			pp_dataset_warn(d,
			                PP_CLOCK_WARNING
			                "the dates of the files of host %.72s contradict each other in %llu of %llu "
			                "collectives, by up to %s: their clock error is that much larger",
			                one->host, (unsigned long long)one->contradicted, (unsigned long long)one->shared,
			                pp_text_time(text, one->contradiction_ns));
		if (joined_by(c, i) != PP_JOINED_BY_COLLECTIVES || is_home(c, i))
			continue;
		aligned++;
	}
	if (aligned)
		pp_dataset_warn(d,
		                PP_CLOCK_WARNING
		                "%zu clock%s aligned by collectives: their ends are taken as one moment, with an error "
		                "of up to %s between two ranks by their spread. What all ends of a rank are late by alike is "
		                "not in it",
		                aligned, aligned == 1 ? " is" : "s are", pp_text_time(text, d->pair_bound_ns));
}

void pp_analyze_clocks_release(struct pp_analyze_clocks *c)
{
	free(c->clock);
	free(c->place);
	*c = (struct pp_analyze_clocks){.clock = NULL};
}
