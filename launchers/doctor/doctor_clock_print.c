/* Prints the result of podprof doctor --clock: hosts, pairs and one line of judgement, as a table or JSON. Called by
 * doctor_clock.c and doctor_clock_lead.c. In: struct pp_doctor_table. Out: stdout. */
#include "launchers/doctor/doctor_clock_print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/keeper/cluster/pod_types.h"
#include "aggregate/write/json_object.h"
#include "core/base/plain.h"
#include "core/base/tick.h"
#include "launchers/cmd.h"

enum { COLUMNS = 11, CELL = 160 };

struct grid { /* cells as texts, to be aligned */
	char (*cell)[CELL];
	size_t rows;
	size_t columns;
	unsigned left; /* bit c: column c begins at its left */
};

static char *cell(struct grid *g, size_t row, size_t column)
{
	return g->cell[row * g->columns + column];
}

static int grid_init(struct grid *g, size_t rows, const char *const *head, size_t columns, unsigned left)
{
	*g = (struct grid){.cell = calloc(rows + 1, columns * CELL), .rows = rows + 1, .columns = columns, .left = left};
	for (size_t c = 0; g->cell && c < columns; c++)
		snprintf(cell(g, 0, c), CELL, "%s", head[c]);
	return g->cell ? 0 : -1;
}

static void grid_print(struct grid *g)
{
	int width[COLUMNS] = {0};

	for (size_t r = 0; r < g->rows; r++)
		for (size_t c = 0; c < g->columns; c++) {
			int n = (int)strlen(pp_plain(cell(g, r, c), ""));

			width[c] = n > width[c] ? n : width[c];
		}
	for (size_t r = 0; r < g->rows; r++) {
		for (size_t c = 0; c < g->columns; c++) {
			if (!(g->left >> c & 1))
				printf("  %*s", width[c], cell(g, r, c));
			else if (c + 1 < g->columns)
				printf("  %-*s", width[c], cell(g, r, c));
			else
				printf("  %s", cell(g, r, c));
		}
		putchar('\n');
	}
	free(g->cell);
}

/* Three digits and a unit. */
static void put_ns(char *text, size_t size, double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	double value = ns;
	size_t u = 0;

	while (u < 3 && fabs(value) >= 999.5) {
		value /= 1000;
		u++;
	}
	snprintf(text, size, "%.*f %s", u == 0 || fabs(value) >= 99.95 ? 0 : fabs(value) >= 9.995 ? 1 : 2, value, unit[u]);
}

/* The same with its sign and its error. */
static void put_error(char *text, size_t size, double ns, double error)
{
	char one[24], two[24];

	put_ns(one, sizeof(one), ns);
	put_ns(two, sizeof(two), error);
	snprintf(text, size, "%s%s, error %s", ns < 0 ? "" : "+", one, two);
}

/* To the ns, or to 100 ns where the bound is above 1 us. */
static void put_seconds(char *text, size_t size, int64_t ns, int coarse)
{
	uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, unit = coarse ? 100 : 1, part;

	magnitude = (magnitude + unit / 2) / unit * unit;
	part = magnitude % 1000000000;
	snprintf(text, size, "%c%llu.%0*llu s", ns < 0 ? '-' : '+', (unsigned long long)(magnitude / 1000000000), coarse ? 7 : 9,
	         (unsigned long long)(part / unit));
}

static const char *kind_of(uint32_t kind)
{
	return kind == PP_TICK_TSC ? "TSC" : kind == PP_TICK_CNTVCT ? "CNTVCT" : "RAW";
}

static void claim_text(const struct pp_wire_doctor_host *h, char *text, size_t size)
{
	char error[24], most[24];

	put_ns(error, sizeof(error), (double)h->error_ns);
	put_ns(most, sizeof(most), (double)h->error_most_ns);
	if (!h->claims)
		snprintf(text, size, "%s: nothing", h->by);
	else if (!h->synchronised)
		snprintf(text, size, "%s: not synchronised", h->by);
	else
		snprintf(text, size, "%s: error %s, at most %s", h->by, error, most);
}

static void print_hosts(const struct pp_doctor_table *t)
{
	static const char *const head[] = {"host",    "rank",      "tick",       "why",
	                                   "boot id", "namespace", "timestamps", "NTP or PTP reports"};
	struct grid g;

	if (grid_init(&g, t->hosts, head, 8, 1 | 4 | 8 | 16 | 32 | 64 | 128))
		return;
	for (size_t i = 0; i < t->hosts; i++) {
		const struct pp_wire_doctor_host *h = &t->host[i];

		snprintf(cell(&g, i + 1, 0), CELL, "%s", h->name);
		if (h->rank >= 0)
			snprintf(cell(&g, i + 1, 1), CELL, "%d", h->rank);
		else
			snprintf(cell(&g, i + 1, 1), CELL, "-");
		snprintf(cell(&g, i + 1, 2), CELL, "%s", kind_of(h->tick_kind));
		snprintf(cell(&g, i + 1, 3), CELL, "%.90s", h->why);
		snprintf(cell(&g, i + 1, 4), CELL, "%.8s", h->boot_id[0] ? h->boot_id : "unknown");
		snprintf(cell(&g, i + 1, 5), CELL, "%.90s", h->timens[0] ? h->timens : "first");
		snprintf(cell(&g, i + 1, 6), CELL, "%s", h->stamps ? "kernel" : "own");
		claim_text(h, cell(&g, i + 1, 7), CELL);
	}
	grid_print(&g);
}

static const char *verdict_of(enum pp_doctor_verdict v)
{
	static const char *const word[] = {"two", "one", "two, one boot id", "not compared", "host lost"};

	return word[v];
}

static int is_known(const struct pp_doctor_pair *p)
{
	return p->verdict != PP_DOCTOR_UNREACHED && p->verdict != PP_DOCTOR_LOST;
}

/* All rows alike, so that their points stand below one another. */
static int is_coarse(const struct pp_doctor_table *t)
{
	for (size_t i = 0; i < t->pairs; i++)
		if (is_known(&t->pair[i]) && t->pair[i].bound_ns < 1000)
			return 0;
	return 1;
}

static void pair_cells(struct grid *g, size_t row, const struct pp_doctor_table *t, const struct pp_doctor_pair *p)
{
	snprintf(cell(g, row, 0), CELL, "%s", t->host[p->a].name);
	snprintf(cell(g, row, 1), CELL, "%s", t->host[p->b].name);
	snprintf(cell(g, row, 2), CELL, "%s", verdict_of(p->verdict));
	for (size_t c = 3; c < 8; c++)
		snprintf(cell(g, row, c), CELL, "-");
	if (is_known(p)) {
		put_seconds(cell(g, row, 3), CELL, p->offset_ns, is_coarse(t));
		put_ns(cell(g, row, 5), CELL, p->half_ns);
		put_ns(cell(g, row, 6), CELL, ceil(p->bound_ns));
	}
	if (p->has_drift)
		snprintf(cell(g, row, 4), CELL, "%+.3f ppm, error %.3f", p->drift_ppm, p->drift_error_ppm);
	if (p->has_date)
		put_error(cell(g, row, 7), CELL, p->date_ns, p->date_error_ns);
	snprintf(cell(g, row, 8), CELL, "%llu", (unsigned long long)p->trips);
	snprintf(cell(g, row, 9), CELL, "%llu", (unsigned long long)p->lost);
}

static void print_pairs(const struct pp_doctor_table *t)
{
	static const char *const head[] = {
	        "host A", "host B", "clocks", "B - A", "drift", "half trip", "clock error", "wall clocks, B - A", "trips", "lost"};
	struct grid g;

	if (!t->pairs || grid_init(&g, t->pairs, head, 10, 1 | 2 | 4))
		return;
	for (size_t i = 0; i < t->pairs; i++)
		pair_cells(&g, i + 1, t, &t->pair[i]);
	putchar('\n');
	grid_print(&g);
}

struct judged {
	const struct pp_doctor_pair *worst;
	size_t one, lies, unheard, lost;
};

static struct judged judge(const struct pp_doctor_table *t)
{
	struct judged j = {.worst = NULL};

	for (size_t i = 0; i < t->pairs; i++) {
		const struct pp_doctor_pair *p = &t->pair[i];

		j.one += p->verdict == PP_DOCTOR_ONE;
		j.lies += p->verdict == PP_DOCTOR_FALSE;
		j.unheard += p->verdict == PP_DOCTOR_UNREACHED;
		j.lost += p->verdict == PP_DOCTOR_LOST;
		if (is_known(p) && (!j.worst || p->bound_ns > j.worst->bound_ns))
			j.worst = p;
	}
	return j;
}

static const char *s_of(size_t count)
{
	return count == 1 ? "" : "s";
}

struct plain {
	char text[72];
};

static struct plain name_of(const struct pp_doctor_table *t, size_t host)
{
	struct plain p;

	snprintf(p.text, sizeof(p.text), "%s", t->host[host].name);
	pp_plain(p.text, "");
	return p;
}

static void print_counts(const struct pp_doctor_table *t, const struct judged *j)
{
	char bound[24];

	printf("%zu host%s, %zu pair%s", t->hosts, s_of(t->hosts), t->pairs, s_of(t->pairs));
	if (j->worst) {
		put_ns(bound, sizeof(bound), ceil(j->worst->bound_ns));
		printf(": largest clock error %s (%s, %s)", bound, name_of(t, j->worst->a).text, name_of(t, j->worst->b).text);
	}
	printf("; %zu with one clock", j->one);
	printf(". %d burst%s in %.1f s, %.1f s in all. Hosts found each other %s.\n", t->rounds, s_of((size_t)t->rounds), t->over_s,
	       t->took_s, t->transport);
}

static void print_judgement(const struct pp_doctor_table *t, const struct judged *j)
{
	putchar('\n');
	if (t->pairs)
		print_counts(t, j);
	if (t->hosts > PP_POD_ALL_PAIRS)
		printf("More than %d hosts: each host is compared with rank 0's host only.\n", PP_POD_ALL_PAIRS);
	if (t->beyond)
		printf("%zu more host%s %s not compared: at most %d hosts are.\n", t->beyond, s_of(t->beyond),
		       t->beyond == 1 ? "was" : "were", PP_DOCTOR_HOSTS);
	if (j->lies)
		printf("%zu pair%s with one boot id %s two clocks (a virtual machine and its clone?). podprof treats them as two "
		       "clocks.\n",
		       j->lies, s_of(j->lies), j->lies == 1 ? "has" : "have");
	if (j->unheard)
		printf("%zu pair%s: no UDP packet arrived. Waiting between such hosts is unknown. fix: allow UDP between the "
		       "hosts; if only some ports are open, name them by --port-range A:B.\n",
		       j->unheard, s_of(j->unheard));
	if (j->lost)
		printf("%zu pair%s: a host was lost before it sent its result.\n", j->lost, s_of(j->lost));
	if (*t->missing)
		printf("No connection within %g s from: %s. fix: let the host reach TCP port %u of '%s' (--port-range A:B chooses "
		       "the port).\n",
		       t->patience_s, t->missing, (unsigned)t->door, name_of(t, 0).text);
}

static void add_host(struct pp_json *j, const struct pp_wire_doctor_host *h)
{
	pp_json_line(j);
	pp_json_open(j, NULL);
	pp_json_add_text(j, "host", h->name);
	pp_json_add_text(j, "tick", kind_of(h->tick_kind));
	pp_json_add_text(j, "why", h->why);
	pp_json_add_text(j, "boot_id", h->boot_id);
	pp_json_add_text(j, "time_namespace", h->timens);
	pp_json_add_text(j, "claim_by", h->by);
	pp_json_add_int(j, "rank", h->rank);
	pp_json_add_bool(j, "kernel_stamps", h->stamps);
	pp_json_add_number(j, "resolution_ns", "%.1f", h->resolution_ns);
	pp_json_add_number(j, "cost_ns", "%.1f", h->cost_ns);
	if (h->claims) {
		pp_json_open(j, "claim");
		pp_json_add_bool(j, "synchronised", h->synchronised);
		pp_json_add_number(j, "error_ns", "%lld", (long long)h->error_ns);
		pp_json_add_number(j, "error_most_ns", "%lld", (long long)h->error_most_ns);
		pp_json_add_number(j, "frequency_ppb", "%lld", (long long)h->frequency_ppb);
		pp_json_close(j);
	} else {
		pp_json_add_null(j, "claim");
	}
	pp_json_close(j);
}

static void add_pair(struct pp_json *j, const struct pp_doctor_table *t, const struct pp_doctor_pair *p)
{
	pp_json_line(j);
	pp_json_open(j, NULL);
	pp_json_add_text(j, "a", t->host[p->a].name);
	pp_json_add_text(j, "b", t->host[p->b].name);
	pp_json_add_text(j, "clocks", verdict_of(p->verdict));
	if (is_known(p)) {
		pp_json_add_number(j, "offset_ns", "%lld", (long long)p->offset_ns);
		pp_json_add_number(j, "half_trip_ns", "%.0f", p->half_ns);
		pp_json_add_number(j, "bound_ns", "%.0f", ceil(p->bound_ns));
	}
	if (p->has_drift) {
		pp_json_add_number(j, "drift_ppm", "%.6f", p->drift_ppm);
		pp_json_add_number(j, "drift_error_ppm", "%.6f", p->drift_error_ppm);
	}
	if (p->has_date) {
		pp_json_add_number(j, "date_ns", "%.0f", p->date_ns);
		pp_json_add_number(j, "date_error_ns", "%.0f", ceil(p->date_error_ns));
	}
	pp_json_add_number(j, "trips", "%llu", (unsigned long long)p->trips);
	pp_json_add_number(j, "lost", "%llu", (unsigned long long)p->lost);
	pp_json_close(j);
}

static void print_json(const struct pp_doctor_table *t, const struct judged *judged)
{
	struct pp_json json = {.to = stdout}, *j = &json;

	pp_json_open(j, NULL);
	pp_json_add_text(j, "podprof", PODPROF_VERSION);
	pp_json_open_list(j, "hosts");
	for (size_t i = 0; i < t->hosts; i++)
		add_host(j, &t->host[i]);
	pp_json_close(j);
	pp_json_open_list(j, "pairs");
	for (size_t i = 0; i < t->pairs; i++)
		add_pair(j, t, &t->pair[i]);
	pp_json_close(j);
	pp_json_line(j);
	pp_json_add_int(j, "bursts", t->rounds);
	pp_json_add_number(j, "over_s", "%.3f", t->over_s);
	pp_json_add_number(j, "took_s", "%.3f", t->took_s);
	pp_json_add_int(j, "beyond", (int64_t)t->beyond);
	pp_json_add_text(j, "met", t->transport);
	pp_json_add_text(j, "missing", t->missing);
	pp_json_add_bool(j, "green", !judged->unheard && !judged->lost && !*t->missing);
	pp_json_close(j);
	putchar('\n');
}

int pp_doctor_clock_print(const struct pp_doctor_table *t)
{
	struct judged j = judge(t);

	if (t->json) {
		print_json(t, &j);
	} else {
		print_hosts(t);
		print_pairs(t);
		print_judgement(t, &j);
	}
	fflush(stdout);
	return j.unheard || j.lost || *t->missing ? PP_EXIT_FAILED : PP_EXIT_OK;
}

int pp_doctor_clock_print_alone(const struct pp_wire_doctor_host *host, const char *why_alone, int json)
{
	struct pp_doctor_table t = {.host = host, .hosts = 1, .missing = "", .transport = "nobody", .json = json};
	struct judged j = {.worst = NULL};

	if (json) {
		print_json(&t, &j);
		return PP_EXIT_OK;
	}
	print_hosts(&t);
	printf("\nResolution of the tick: %.1f ns. Cost of a reading: %.1f ns.\n", host->resolution_ns, host->cost_ns);
	printf("One host only: %s.\n", why_alone);
	return PP_EXIT_OK;
}
