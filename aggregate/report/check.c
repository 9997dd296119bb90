/* Looks for values of a session that contradict each other; see check.h. A rule is a row of check.def and its function here, which
 * reads a dataset and nothing else. Sums of the same whole ns are compared exactly. */
#include "aggregate/report/check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/dataset/hdf5_layout.h"
#include "aggregate/dataset/table/functions.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/h5/forked_work.h"
#include "core/base/known.h"
#include "core/base/why.h"
#include "core/base/wrap.h"

static const double ROUNDING = 1e-6; /* of a sum of shares */

struct check {
	const struct pp_dataset *d;
	FILE *to;
	const char *what;             /* the rule; NULL: it is printed */
	int64_t wait_ns, transfer_ns; /* of all cells */
	long violations;
};

static __attribute__((format(printf, 2, 3))) void found(struct check *c, const char *fmt, ...)
{
	va_list arguments;

	if (c->what)
		fprintf(c->to, "%s:\n", c->what);
	c->what = NULL;
	c->violations++;
	fputs("  ", c->to);
	va_start(arguments, fmt);
	vfprintf(c->to, fmt, arguments);
	va_end(arguments);
	fputc('\n', c->to);
}

/* Sums that have to be equal. */
static void compare(struct check *c, const char *whose, int64_t sum, const char *other, int64_t want)
{
	if (sum != want)
		found(c, "%s sums to %" PRId64 ", %s to %" PRId64, whose, sum, other, want);
}

/* A part that is at most its whole, and neither below 0. */
static void is_part(struct check *c, const char *table, size_t row, const char *part, int64_t part_ns, const char *whole,
                    int64_t whole_ns)
{
	if (part_ns < 0 || part_ns > whole_ns)
		found(c, "/%s row %zu: %s %" PRId64 ", %s %" PRId64, table, row, part, part_ns, whole, whole_ns);
}

static int is_delivered(const struct pp_dataset *d, int32_t rank)
{
	const size_t w = pp_dataset_worker(d, rank);

	return w != SIZE_MAX && !pp_worker_is_missing(&d->worker[w]);
}

#define CELL "/breakdown step %" PRId64 ", rank %" PRId32 ": "
#define CELL_OF(d, i) (d)->step[(i) / (d)->workers].number, (d)->worker[(i) % (d)->workers].rank

static void check_cells(struct check *c)
{
	const struct pp_dataset *d = c->d;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *e = &d->cell[i];
		int64_t sum = 0, least = 0;

		for (int k = 1; k <= PP_CATEGORIES; k++) {
			pp_wrap_add(&sum, e->exclusive_ns[k]);
			least = e->exclusive_ns[k] < least ? e->exclusive_ns[k] : least;
		}
		if (sum != e->step_ns || least < 0)
			found(c, CELL "exclusive_ns sums to %" PRId64 ", least %" PRId64 ", step_ns %" PRId64, CELL_OF(d, i), sum,
			      least, e->step_ns);
		if (e->present ? e->step_ns < 0 || pp_wrap_minus(e->end_ns, e->begin_ns) != e->step_ns
		               : e->step_ns || pp_known_or(e->wait_ns, 0))
			found(c, CELL "present %d, begin_ns %" PRId64 ", end_ns %" PRId64 ", step_ns %" PRId64 ", wait_ns %" PRId64,
			      CELL_OF(d, i), e->present, e->begin_ns, e->end_ns, e->step_ns, e->wait_ns);
	}
}

static void check_communication(struct check *c)
{
	const struct pp_dataset *d = c->d;

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		const struct pp_row_cell *e = &d->cell[i];
		int64_t whole = e->exclusive_ns[PP_CATEGORY_DEVICE_COLLECTIVE] + e->exclusive_ns[PP_CATEGORY_HOST_COMMUNICATION];
		int64_t wait = pp_known_or(e->wait_ns, 0), transfer = pp_known_or(e->transfer_ns, 0);
		int64_t sum = pp_wrap_plus(pp_wrap_plus(wait, transfer), e->point_to_point_ns);

		if (wait < 0 || transfer < 0 || e->point_to_point_ns < 0 || sum > whole)
			found(c,
			      CELL "wait_ns %" PRId64 " + transfer_ns %" PRId64 " + point_to_point_ns %" PRId64
			           ", communication %" PRId64,
			      CELL_OF(d, i), e->wait_ns, e->transfer_ns, e->point_to_point_ns, whole);
	}
}

static void check_late(struct check *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->d->steps * c->d->workers; i++)
		pp_known_add(&sum, c->d->cell[i].late_ns);
	compare(c, "/breakdown late_ns", sum, "wait_ns", c->wait_ns);
}

static void check_arrivals(struct check *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->d->arrivals; i++)
		pp_known_add(&sum, c->d->arrival[i].exposed_wait_ns);
	for (size_t i = 0; i < c->d->lone_calls; i++)
		pp_known_add(&sum, c->d->lone_call[i].wait_ns);
	compare(c, "/collective exposed_wait_ns and /lone_call wait_ns", sum, "/breakdown wait_ns", c->wait_ns);
}

static void check_self(struct check *c)
{
	for (size_t i = 0; i < c->d->arrivals; i++) {
		const struct pp_row_arrival *a = &c->d->arrival[i];

		if (a->exposed_wait_ns > 0 && (a->late_rank == a->worker || !is_delivered(c->d, a->late_rank)))
			found(c, "/collective row %zu: worker %" PRId32 ", late_rank %" PRId32 ", exposed_wait_ns %" PRId64, i,
			      a->worker, a->late_rank, a->exposed_wait_ns);
	}
}

static void check_collectives(struct check *c)
{
	for (size_t i = 0; i < c->d->collectives; i++) {
		const struct pp_row_collective *e = &c->d->collective[i];
		const int has_rows = e->row_count <= c->d->arrivals && e->row_first <= c->d->arrivals - e->row_count;
		int64_t waited = 0;

		for (uint64_t k = e->row_first; has_rows && k < e->row_first + e->row_count; k++)
			pp_wrap_add(&waited, c->d->arrival[k].waited_ns > 0 ? c->d->arrival[k].waited_ns : 0);
		if (!has_rows)
			found(c, "/collective event %zu: row_first %" PRIu64 ", row_count %" PRIu32 ", rows %zu", i, e->row_first,
			      e->row_count, c->d->arrivals);
		else if (waited != pp_known_or(e->wait_ns, 0))
			found(c, "/collective event %zu: wait_ns %" PRId64 ", waited_ns of its rows %" PRId64, i, e->wait_ns,
			      waited);
		if (pp_is_known(e->exposed_ns))
			is_part(c, "collective event", i, "exposed_ns", e->exposed_ns, "device_ns", pp_known_or(e->device_ns, 0));
	}
}

static void check_budget(struct check *c)
{
	int64_t wait = 0, transfer = 0;

	for (size_t i = 0; i < c->d->budgets; i++) {
		const struct pp_row_budget *b = &c->d->budget[i];
		const int64_t waits = pp_known_or(b->wait_ns, 0), transfers = pp_known_or(b->transfer_ns, 0);
		const int64_t exposed = pp_wrap_plus(pp_wrap_plus(waits, transfers), b->unsplit_ns);
		const int64_t blocking = pp_wrap_plus(pp_wrap_plus(b->blocking_ns, b->not_blocking_ns), b->blocking_unknown_ns);

		if (b->hidden_ns < 0 || waits < 0 || transfers < 0 || b->unsplit_ns < 0 ||
		    pp_wrap_plus(b->hidden_ns, exposed) != b->time_ns)
			found(c,
			      "/budget row %zu: hidden_ns %" PRId64 " + wait_ns %" PRId64 " + transfer_ns %" PRId64
			      " + unsplit_ns %" PRId64 ", time_ns %" PRId64,
			      i, b->hidden_ns, b->wait_ns, b->transfer_ns, b->unsplit_ns, b->time_ns);
		is_part(c, "budget", i, "blocking_ns + not_blocking_ns + blocking_unknown_ns", blocking, "exposed time", exposed);
		pp_wrap_add(&wait, waits);
		pp_wrap_add(&transfer, transfers);
	}
	compare(c, "/budget wait_ns", wait, "/breakdown wait_ns", c->wait_ns);
	compare(c, "/budget transfer_ns", transfer, "/breakdown transfer_ns", c->transfer_ns);
}

static void check_blame(struct check *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->d->blames; i++) {
		const struct pp_row_blame *b = &c->d->blame[i];

		if (!is_delivered(c->d, b->worker))
			found(c, "/blame row %zu: worker %" PRId32 " delivered nothing, blame_ns %" PRId64, i, b->worker,
			      b->blame_ns);
		is_part(c, "blame", i, "direct_ns", b->direct_ns, "blame_ns", b->blame_ns);
		pp_wrap_add(&sum, b->blame_ns);
	}
	compare(c, "/blame blame_ns", sum, "/breakdown wait_ns", c->wait_ns);
}

/* Is there waiting in operations that are in no step of the window? It has blame, but in no step. */
static int any_outside(const struct pp_dataset *d)
{
	for (size_t i = 0; i < d->collectives; i++) {
		const struct pp_row_collective *e = &d->collective[i];

		for (size_t k = e->row_first; k < e->row_first + e->row_count && k < d->arrivals; k++)
			if (d->arrival[k].exposed_wait_ns > 0 && pp_dataset_step(d, e->step) == SIZE_MAX)
				return 1;
	}
	return 0;
}

static void compare_blame(struct check *c, int64_t *blame, int64_t *by_step)
{
	const struct pp_dataset *d = c->d;
	const int may_differ = any_outside(d);
	size_t w;

	for (size_t i = 0; i < d->blames; i++)
		if ((w = pp_dataset_worker(d, d->blame[i].worker)) != SIZE_MAX)
			pp_wrap_add(&blame[w], d->blame[i].blame_ns);
	for (size_t i = 0; i < d->blame_steps; i++)
		if ((w = pp_dataset_worker(d, d->blame_step[i].worker)) != SIZE_MAX)
			pp_known_add(&by_step[w], d->blame_step[i].step_blame_ns);
	for (w = 0; w < d->workers; w++)
		if (by_step[w] > blame[w] || (by_step[w] < blame[w] && !may_differ))
			found(c, "/blame_step rank %" PRId32 ": step_blame_ns sums to %" PRId64 ", blame_ns of /blame to %" PRId64,
			      d->worker[w].rank, by_step[w], blame[w]);
}

static void check_blame_steps(struct check *c)
{
	int64_t *blame = calloc(c->d->workers + 1, sizeof(*blame)), *by_step = calloc(c->d->workers + 1, sizeof(*by_step));

	if (blame && by_step)
		compare_blame(c, blame, by_step);
	else
		found(c, "no memory for %zu ranks", c->d->workers);
	free(blame);
	free(by_step);
}

/* Mean time of a step, with the time between steps that follow each other, of the rank with most. Only ranks with all steps. */
static int64_t measured(const struct pp_dataset *d)
{
	int64_t most_steps = 0, most = 0;

	for (size_t w = 0; w < d->workers; w++) {
		int64_t steps = 0, sum = 0;

		for (size_t s = 0; s < d->steps; s++) {
			const struct pp_row_cell *e = &d->cell[s * d->workers + w], *before = s ? e - d->workers : e;

			if (!e->present)
				continue;
			steps++;
			pp_wrap_add(&sum, e->step_ns);
			if (s && before->present && d->step[s].number == d->step[s - 1].number + 1)
				pp_wrap_add(&sum, pp_wrap_minus(e->begin_ns, before->end_ns));
		}
		if (steps > most_steps)
			most = 0;
		if (steps && steps >= most_steps) {
			most_steps = steps;
			most = sum / steps > most ? sum / steps : most;
		}
	}
	return most;
}

static void check_what_if(struct check *c)
{
	const int64_t want = measured(c->d);

	for (size_t i = 0; i < c->d->what_ifs; i++) {
		const struct pp_row_what_if *r = &c->d->what_if[i];

		if (llabs(pp_wrap_minus(r->before_ns, want)) > want / 50)
			found(c, "/what_if row %zu: before_ns %" PRId64 ", measured %" PRId64, i, r->before_ns, want);
		if (!pp_is_known(r->gain_ns) && !pp_is_known(r->after_ns))
			continue;
		if (r->after_ns < 0 || r->gain_ns < 0 || pp_wrap_minus(r->before_ns, r->after_ns) != r->gain_ns)
			found(c, "/what_if row %zu: before_ns %" PRId64 ", after_ns %" PRId64 ", gain_ns %" PRId64, i, r->before_ns,
			      r->after_ns, r->gain_ns);
	}
}

/* Unknown ones are NAN. The whole is what its factors multiply to, and unknown where they are. */
static void check_product(struct check *c, size_t row, const char *name, double whole, double one, double other)
{
	if (isnan(one) && isnan(other))
		return;
	if (!(one > 0 && one <= 1 && other > 0 && other <= 1) || !(fabs(whole - one * other) <= ROUNDING))
		found(c, "/efficiency row %zu: %s %g, its factors %g and %g", row, name, whole, one, other);
}

static void check_efficiency(struct check *c)
{
	for (size_t i = 0; i < c->d->efficiencies; i++) {
		const struct pp_row_efficiency *e = &c->d->efficiency[i];

		check_product(c, i, "parallel", e->parallel, e->load_balance, e->communication);
		check_product(c, i, "communication", e->communication, e->serialisation, e->transfer);
	}
}

static void check_operators(struct check *c)
{
	for (size_t i = 0; i < c->d->ops; i++) {
		is_part(c, "op", i, "self_ns", c->d->op[i].self_ns, "total_ns", c->d->op[i].total_ns);
		is_part(c, "op", i, "max_ns", c->d->op[i].max_ns, "total_ns", c->d->op[i].total_ns);
	}
	for (size_t i = 0; i < c->d->op_idles; i++)
		is_part(c, "op_idle", i, "idle_ns", c->d->op_idle[i].idle_ns, "step_ns", c->d->op_idle[i].step_ns);
}

static void check_slowest(struct check *c)
{
	for (size_t i = 0; i < c->d->slowests; i++) {
		const struct pp_row_slowest *r = &c->d->slowest[i];
		const size_t s = pp_dataset_step(c->d, r->step), w = pp_dataset_worker(c->d, r->worker);

		is_part(c, "slowest", i, "over_ns", r->over_ns, "step_ns",
		        s == SIZE_MAX || w == SIZE_MAX ? -1 : c->d->cell[s * c->d->workers + w].step_ns);
	}
}

/* The largest value of a column by its unit; 0: it is no share. */
static double most_of(const struct pp_column *column)
{
	if (column->type != PP_TYPE_F64 || !column->count)
		return 0;
	return !strcmp(column->unit, "percent") || !strcmp(column->unit, "%") ? 100 : !strcmp(column->unit, "1") ? 1 : 0;
}

static void check_shares(struct check *c)
{
	struct pp_table table[PP_TABLES];

	pp_dataset_tables(c->d, table);
	for (int id = 0; id < PP_TABLES; id++)
		for (size_t k = 0; k < table[id].desc->columns; k++) {
			const struct pp_column *column = &table[id].desc->column[k];
			const double most = most_of(column);

			for (size_t i = 0; most > 0 && i < table[id].rows; i++) {
				const double value = *(const double *)pp_column_at(column, &table[id], i);

				if (!(value <= most * (1 + ROUNDING)) && !(column->is_maybe && isnan(value)))
					found(c, "/%s row %zu: %s %g, at most %g", table[id].desc->name, i, column->name, value,
					      most);
			}
		}
}

static long check_all(const struct pp_dataset *d, FILE *to)
{
	static const struct {
		const char *what;
		void (*look)(struct check *c);
	} rule[] = {
#define PP_CHECK(name, what) {what, check_##name},
#include "aggregate/report/check.def"
#undef PP_CHECK
	};
	const size_t rules = sizeof(rule) / sizeof(rule[0]);
	struct check c = {.d = d, .to = to};

	for (size_t i = 0; i < d->steps * d->workers; i++) {
		pp_known_add(&c.wait_ns, d->cell[i].wait_ns);
		pp_known_add(&c.transfer_ns, d->cell[i].transfer_ns);
	}
	for (size_t i = 0; i < rules; i++) {
		c.what = rule[i].what;
		rule[i].look(&c);
	}
	if (!c.violations)
		fprintf(to, "all %zu rules hold\n", rules);
	return c.violations;
}

struct work {
	const char *pod_path;
	long *violations; /* shared with the child */
	int fd;
};

/* Runs in a child: HDF5 can crash or hang on a damaged file. */
static int work(void *context, struct pp_err *err)
{
	const struct work *w = context;
	struct pp_h5_file *h5;
	struct pp_dataset d = {.steps = 0};
	FILE *to;
	int rc = pp_h5_file_open(w->pod_path, &h5, err);

	if (rc)
		return rc;
	if (pp_h5_file_attribute_int(h5, "format_version", 0) < PP_H5_FORMAT_VERSION)
		rc = pp_err_set(
		        err, -ENOENT,
		        "cannot check '%s': an older podprof made it, without some of the columns that the rules compare. Record "
		        "the job again, or check it with that version",
		        w->pod_path);
	else
		rc = pp_h5_file_dataset(h5, UINT64_MAX, &d, err);
	if (!rc) {
		to = fdopen(w->fd, "w");
		*w->violations = to ? check_all(&d, to) : 0;
		if (!to || fclose(to))
			rc = pp_err_set(err, -EIO, "cannot print what was found: no memory");
		pp_dataset_release(&d);
	}
	pp_h5_file_close(h5);
	return rc;
}

int pp_check_print(const char *pod_path, FILE *to, long *ret_violations, struct pp_err *err)
{
	long *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct work w = {.pod_path = pod_path, .violations = shared, .fd = memfd_create("podprof-check", MFD_CLOEXEC)};
	int rc = -ENOMEM;

	if (shared == MAP_FAILED || w.fd < 0) {
		rc = pp_err_set(err, -ENOMEM, "no memory to check '%s'", pod_path);
		goto close_both;
	}
	rc = pp_forked_read(pod_path, work, &w, err);
	if (!rc) {
		pp_forked_print(w.fd, to);
		*ret_violations = *shared;
	}
close_both:
	if (w.fd >= 0)
		close(w.fd);
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*shared));
	return rc;
}
