/* /port: what the network ports of a host counted in the window, from the readings that its lowest rank has. Called by build.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/analyze/build.h"
#include "aggregate/analyze/growth.h"
#include "aggregate/analyze/join.h"
#include "core/capture/capture.h"
#include "core/capture/side.h"
#include "core/ring/intern.h"

static int by_name(const void *a, const void *b)
{
	const struct pp_port *x = *(const struct pp_port *const *)a, *y = *(const struct pp_port *const *)b;
	const int order = strncmp(x->name, y->name, sizeof(x->name));

	return order ? order : (x->time > y->time) - (x->time < y->time);
}

/* Readings of one port, in order of time. */
static int add_port(struct pp_table *t, struct pp_intern *names, int32_t worker, const struct pp_port *const *reading, size_t n)
{
	struct pp_growth sent = {0}, received = {0}, errors = {0}, dropped = {0}, lost = {0}, waited = {0};
	struct pp_row_port *row = pp_table_add(t);

	if (!row)
		return -ENOMEM;
	row->worker = worker;
	row->name = pp_intern_put(names, reading[0]->name, strnlen(reading[0]->name, sizeof(reading[0]->name)));
	row->link = (pp_c_CODE)reading[0]->link;
	row->samples = n;
	row->covered_ns = reading[n - 1]->time - reading[0]->time;
	if (reading[n - 1]->rate_mbit >= 0)
		row->rate_mbit = reading[n - 1]->rate_mbit;
	for (size_t i = 0; i < n; i++) {
		pp_growth_see(&sent, reading[i]->sent);
		pp_growth_see(&received, reading[i]->received);
		pp_growth_see(&errors, reading[i]->errors);
		pp_growth_see(&dropped, reading[i]->dropped);
		pp_growth_see(&lost, reading[i]->lost);
		pp_growth_see(&waited, reading[i]->waited);
	}
	row->sent = pp_growth_of(&sent);
	row->received = pp_growth_of(&received);
	row->errors = pp_growth_of(&errors);
	row->dropped = pp_growth_of(&dropped);
	row->lost = pp_growth_of(&lost);
	row->waited = pp_growth_of(&waited);
	return 0;
}

static int add_ports(struct pp_table *t, struct pp_intern *names, const struct pp_rank *rank)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are sorted */
	const struct pp_port **reading = calloc(rank->ports + 1, sizeof(*reading));
	int rc = reading ? 0 : -ENOMEM;

	for (size_t i = 0; i < rank->ports && !rc; i++)
		reading[i] = &rank->port[i];
	if (!rc)
		qsort(reading, rank->ports, sizeof(*reading), by_name); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (size_t i = 0, n; i < rank->ports && !rc; i += n) {
		for (n = 1; i + n < rank->ports && !strncmp(reading[i + n]->name, reading[i]->name, sizeof(reading[i]->name)); n++)
			;
		rc = add_port(t, names, rank->rank, reading + i, n);
	}
	free(reading);
	return rc;
}

int pp_join_port(struct pp_join *j)
{
	const struct pp_capture *capture = j->in->capture;
	struct pp_table t = {.desc = pp_table_desc(PP_TABLE_port)};
	int rc = 0;

	for (size_t r = 0; r < capture->ranks && !rc; r++)
		if (capture->rank[r].ports)
			rc = add_ports(&t, capture->names, &capture->rank[r]);
	j->d->port = t.row;
	j->d->ports = t.rows;
	return rc;
}
