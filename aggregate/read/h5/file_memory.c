/* Attributes, groups and columns of a pod.h5 in memory; see file_memory.h. Called by file.c and aggregate/write/h5. */
#include "aggregate/read/h5/file_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"

struct attribute {
	char name[PP_H5_FILE_NAME];
	char *text; /* NULL: a number */
	int is_real;
	int64_t number;
	double real;
};

struct columns {
	char name[PP_H5_FILE_NAME];
	struct pp_h5_memory_column *column;
	size_t columns, room;
};

struct pp_h5_memory {
	struct attribute *attribute;
	size_t attributes, attributes_room;
	struct columns *group;
	size_t groups, groups_room;
	void **owned;
	size_t owneds, owneds_room;
	const struct pp_dataset *dataset;
};

struct pp_h5_memory *pp_h5_memory_new(void)
{
	return calloc(1, sizeof(struct pp_h5_memory));
}

void pp_h5_memory_free(struct pp_h5_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->attributes; i++)
		free(m->attribute[i].text);
	for (size_t g = 0; g < m->groups; g++) {
		for (size_t i = 0; i < m->group[g].columns; i++)
			pp_h5_file_release(&m->group[g].column[i].column);
		free(m->group[g].column);
	}
	for (size_t i = 0; i < m->owneds; i++)
		free(m->owned[i]);
	/* NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): the pointers, not what they point to */
	free(m->owned);
	free(m->group);
	free(m->attribute);
	free(m);
}

int pp_h5_memory_own(struct pp_h5_memory *m, void *p)
{
	/* NOLINTNEXTLINE(bugprone-multi-level-implicit-pointer-conversion): the same */

	if (PP_GROW(m->owned, m->owneds, m->owneds_room)) {
		free(p);
		return -ENOMEM;
	}
	m->owned[m->owneds++] = p;
	return 0;
}

void pp_h5_memory_of(struct pp_h5_memory *m, const struct pp_dataset *dataset)
{
	m->dataset = dataset;
}

const struct pp_dataset *pp_h5_memory_dataset(const struct pp_h5_memory *m)
{
	return m->dataset;
}

static struct attribute *add_attribute(struct pp_h5_memory *m, const char *name)
{
	struct attribute *more;

	if (PP_GROW(m->attribute, m->attributes, m->attributes_room))
		return NULL;
	more = &m->attribute[m->attributes++];
	*more = (struct attribute){.text = NULL};
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

int pp_h5_memory_text(struct pp_h5_memory *m, const char *name, const char *text)
{
	struct attribute *a = add_attribute(m, name);

	if (a)
		a->text = strdup(text);
	return a && a->text ? 0 : -ENOMEM;
}

int pp_h5_memory_int(struct pp_h5_memory *m, const char *name, int64_t value)
{
	struct attribute *a = add_attribute(m, name);

	if (a)
		a->number = value;
	return a ? 0 : -ENOMEM;
}

int pp_h5_memory_real(struct pp_h5_memory *m, const char *name, double value)
{
	struct attribute *a = add_attribute(m, name);

	if (a) {
		a->is_real = 1;
		a->real = value;
	}
	return a ? 0 : -ENOMEM;
}

int pp_h5_memory_group(struct pp_h5_memory *m, const char *name)
{
	struct columns *more;

	if (PP_GROW(m->group, m->groups, m->groups_room))
		return -ENOMEM;
	more = &m->group[m->groups++];
	*more = (struct columns){.column = NULL};
	snprintf(more->name, sizeof(more->name), "%s", name);
	return 0;
}

int pp_h5_memory_column(struct pp_h5_memory *m, const struct pp_h5_memory_column *column)
{
	struct columns *g = &m->group[m->groups - 1];
	struct pp_h5_memory_column *more = pp_grow(g->column, g->columns, &g->room, sizeof(*more)), lost = *column;

	if (!more) {
		pp_h5_file_release(&lost.column);
		return -ENOMEM;
	}
	g->column = more;
	g->column[g->columns++] = *column;
	return 0;
}

static const struct columns *find_group(const struct pp_h5_memory *m, const char *name)
{
	for (size_t g = 0; g < m->groups; g++)
		if (!strcmp(m->group[g].name, name))
			return &m->group[g];
	return NULL;
}

int pp_h5_memory_has_group(const struct pp_h5_memory *m, const char *name)
{
	return find_group(m, name) != NULL;
}

static const struct attribute *find_attribute(const struct pp_h5_memory *m, const char *name)
{
	for (size_t i = 0; i < m->attributes; i++)
		if (!strcmp(m->attribute[i].name, name))
			return &m->attribute[i];
	return NULL;
}

const char *pp_h5_memory_get_text(const struct pp_h5_memory *m, const char *name)
{
	const struct attribute *a = find_attribute(m, name);

	return a ? a->text : NULL;
}

const int64_t *pp_h5_memory_get_int(const struct pp_h5_memory *m, const char *name)
{
	const struct attribute *a = find_attribute(m, name);

	return a && !a->text && !a->is_real ? &a->number : NULL;
}

const double *pp_h5_memory_get_real(const struct pp_h5_memory *m, const char *name)
{
	const struct attribute *a = find_attribute(m, name);

	return a && a->is_real ? &a->real : NULL;
}

const char *pp_h5_memory_name(const struct pp_h5_memory *m, const char *group, size_t i)
{
	const struct columns *g = group ? find_group(m, group) : NULL;

	if (!group)
		return i < m->groups ? m->group[i].name : NULL;
	return g && i < g->columns ? g->column[i].column.name : NULL;
}

const struct pp_h5_memory_column *pp_h5_memory_get(const struct pp_h5_memory *m, const char *group, const char *variable)
{
	const struct columns *g = find_group(m, group);

	for (size_t i = 0; g && i < g->columns; i++)
		if (!strcmp(g->column[i].column.name, variable))
			return &g->column[i];
	return NULL;
}
