/* Fills `coordinates` of /worker: a rank's number in each dimension that the job has named, by the process groups with this name.
 * In: communicators with their members. A dimension is known by the name of a DeviceMesh's ("mesh_dp"), by a row of
 * parallel_name.def, or by a description that several groups without a common rank have. Nothing is guessed of groups without a
 * name. Called by tools.c. */
#include "aggregate/tools/coordinates.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/tools/tools.h"

enum { DIMENSIONS = 12, NAME = 24 };

static const char MESH[] = "mesh_", UNNAMED[] = "dim_", PLAIN[] = "group ";

struct dimension {
	char name[NAME];
	uint32_t text; /* name of its communicators */
	int is_known, is_split;
	uint32_t size;   /* of its largest group */
	int32_t stride;  /* between the first two ranks of a group */
	size_t groups;   /* different ones */
	int32_t *number; /* [workers]; -1: in none */
	int32_t *group;  /* [workers] lowest rank of its group */
};

static int is_group(const struct pp_row_communicator *c)
{
	return c->kind == PP_COMM_MEMBERS && c->member && c->size > 1;
}

/* Its short name; 0: this description names no dimension. */
static int name_of(const char *text, struct dimension *to)
{
	static const struct {
		const char *text, *name;
	} known[] = {
#define PP_PARALLEL(text, name) {text, name},
#include "aggregate/tools/parallel_name.def"
#undef PP_PARALLEL
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(text, known[i].text) != 0)
			continue;
		to->is_known = 1;
		snprintf(to->name, sizeof(to->name), "%s", known[i].name);
		return 1;
	}
	if (!strncmp(text, PLAIN, strlen(PLAIN)))
		return 0;
	to->is_known = !strncmp(text, MESH, strlen(MESH));
	text += to->is_known ? strlen(MESH) : 0;
	if (to->is_known && (!strncmp(text, UNNAMED, strlen(UNNAMED)) || !strcmp(text, "default")))
		return 0;
	return *text && (size_t)snprintf(to->name, sizeof(to->name), "%s", text) < sizeof(to->name);
}

/* A group, of which an equal one may have come: a backend for each kind of device. 0: it shares a rank with another one. */
static int add_group(const struct pp_dataset *d, const struct pp_row_communicator *c, struct dimension *to)
{
	size_t had = 0, in = 0;

	for (uint32_t i = 0; i < c->size; i++) {
		const size_t w = pp_dataset_worker(d, c->member[i]);

		if (w == SIZE_MAX)
			continue;
		in++;
		had += to->number[w] == (int32_t)i && to->group[w] == c->member[0];
		if (to->number[w] >= 0 && (to->number[w] != (int32_t)i || to->group[w] != c->member[0]))
			return 0;
		to->number[w] = (int32_t)i;
		to->group[w] = c->member[0];
	}
	if (!had) {
		to->groups += in > 0;
		to->size = c->size > to->size ? c->size : to->size;
		to->stride = to->groups == 1 ? c->member[1] - c->member[0] : to->stride;
	}
	return !had || had == in;
}

/* Takes all groups of this name. 1: they are a dimension; -ENOMEM. */
static int read_dimension(const struct pp_dataset *d, uint32_t text, struct dimension *to)
{
	*to = (struct dimension){.text = text};
	if (!name_of(pp_intern_text(d->names, text, NULL), to))
		return 0;
	to->number = malloc(2 * d->workers * sizeof(*to->number));
	if (!to->number)
		return -ENOMEM;
	to->group = to->number + d->workers;
	for (size_t w = 0; w < 2 * d->workers; w++)
		to->number[w] = -1;
	for (size_t i = 0; i < d->communicators; i++) {
		const struct pp_row_communicator *c = &d->communicator[i];

		if (c->name == text && is_group(c) && !add_group(d, c, to))
			return 0;
	}
	return to->groups > !to->is_known;
}

/* Is each group of b a part of one of a? */
static int refines(const struct pp_dataset *d, const struct dimension *b, const struct dimension *a)
{
	for (size_t w = 0; w < d->workers; w++) {
		const size_t low = b->number[w] < 0 ? SIZE_MAX : pp_dataset_worker(d, b->group[w]);

		if (b->number[w] < 0 || a->number[w] < 0 || (low != SIZE_MAX && a->group[low] != a->group[w]))
			return 0;
	}
	return 1;
}

/* A mesh has names for two of its dimensions together, too: these say nothing more. */
static int is_product(const struct pp_dataset *d, const struct dimension *all, size_t n, size_t at)
{
	const struct dimension *a = &all[at];

	for (size_t i = 0; i < n; i++) {
		if (i == at || all[i].is_split || all[i].is_known != a->is_known || !refines(d, &all[i], a))
			continue;
		if (all[i].size == a->size)
			return i < at; /* the same groups */
		for (size_t k = i + 1; k < n; k++)
			if (k != at && all[k].is_known == a->is_known && (uint64_t)all[i].size * all[k].size == a->size &&
			    refines(d, &all[k], a))
				return 1;
	}
	return 0;
}

/* Outermost first: those whose groups have ranks farthest from each other. */
static int by_stride(const void *x, const void *y)
{
	const struct dimension *a = x, *b = y;

	if (a->stride != b->stride)
		return a->stride > b->stride ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void write_coordinates(const struct pp_dataset *d, struct pp_row_worker *worker, const struct dimension *all, size_t n)
{
	int any_known = 0;

	for (size_t i = 0; i < n; i++)
		any_known |= all[i].is_known;
	for (size_t w = 0; w < d->workers; w++) {
		char *to = worker[w].coordinates;
		size_t at = 0;

		for (size_t i = 0; i < n && at < sizeof(worker->coordinates); i++)
			if (all[i].number[w] >= 0 && !all[i].is_split && all[i].is_known == any_known)
				at += (size_t)snprintf(to + at, sizeof(worker->coordinates) - at, "%s%s %" PRId32, at ? ", " : "",
				                       all[i].name, all[i].number[w]);
		if (at >= sizeof(worker->coordinates))
			to[0] = '\0'; /* half of them would mislead */
	}
}

/* Returns how many dimensions there are, or -ENOMEM. */
static int read_all(const struct pp_dataset *d, struct dimension *all)
{
	uint32_t most = 0;
	uint8_t *is_read;
	int rc = 0;
	size_t n = 0;

	for (size_t i = 0; i < d->communicators; i++)
		most = d->communicator[i].name > most ? d->communicator[i].name : most;
	is_read = calloc((size_t)most + 1, 1);
	if (!is_read)
		return -ENOMEM;
	for (size_t i = 0; i < d->communicators && n < DIMENSIONS && rc >= 0; i++) {
		const uint32_t text = d->communicator[i].name;

		if (!is_group(&d->communicator[i]) || is_read[text])
			continue;
		is_read[text] = 1;
		rc = read_dimension(d, text, &all[n]);
		if (rc > 0)
			n++;
		else
			free(all[n].number);
	}
	free(is_read);
	while (rc < 0 && n)
		free(all[--n].number);
	return rc < 0 ? rc : (int)n;
}

int pp_tool_coordinates(const struct pp_dataset *in, struct pp_table *tables, struct pp_err *err)
{
	struct dimension all[DIMENSIONS];
	const int found = read_all(in, all);
	size_t n = found > 0 ? (size_t)found : 0;

	if (found < 0)
		return pp_err_set(err, found, "no memory for the dimensions of the job");
	qsort(all, n, sizeof(all[0]), by_stride);
	for (size_t i = 0; i < n; i++)
		all[i].is_split = is_product(in, all, n, i);
	write_coordinates(in, tables[PP_TABLE_worker].row, all, n);
	while (n)
		free(all[--n].number);
	return 0;
}

void pp_coordinates_common(const struct pp_dataset *d, const uint8_t *chosen, char *text, size_t size)
{
	size_t first = 0, at = 0, length;

	text[0] = '\0';
	while (first < d->workers && !chosen[first])
		first++;
	if (first == d->workers)
		return;
	for (const char *item = d->worker[first].coordinates; *item; item += length + (item[length] ? strlen(", ") : 0)) {
		size_t w = first;

		length = strcspn(item, ",");
		for (; w < d->workers; w++) {
			const char *has = d->worker[w].coordinates;

			while (chosen[w] && has && (strncmp(has, item, length) != 0 || (has[length] && has[length] != ',')))
				has = (has = strchr(has, ',')) ? has + strlen(", ") : NULL;
			if (chosen[w] && !has)
				break;
		}
		if (w == d->workers && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s%.*s", at ? ", " : "", (int)length, item);
	}
}
