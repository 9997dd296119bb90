/* Prints tables of a pod.h5 as CSV or JSON; see report.h. Called by `podprof report --table` and `podprof export`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/dataset/describe_job.h"
#include "aggregate/dataset/table/table_text.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/read/h5/table_read.h"
#include "aggregate/report/report.h"
#include "core/base/why.h"

enum { TABLES_MOST = 16 };

struct work {
	const char *pod_path, *set; /* set: name of the tool, or of the group of pod.h5; NULL for one table */
	int is_group;
	const struct pp_table_desc *desc[TABLES_MOST];
	size_t descs;
	enum pp_report_form form;
	int fd, missing_fd;
};

static const struct {
	const char *tool;
	int table; /* PP_TABLE_NAME */
} tool_table[] = {
#define PP_TOOL_TABLE(tool, table) {#tool, PP_TABLE_##table},
#include "aggregate/report/tool_tables.def"
#undef PP_TOOL_TABLE
};

static const struct pp_table_desc *desc_of(int id)
{
	return id < PP_TABLES ? pp_table_desc(id) : pp_job_desc(0);
}

static const struct pp_table_desc *find(const char *name)
{
	for (int id = 0; id <= PP_TABLES; id++)
		if (!strcmp(desc_of(id)->name, name))
			return desc_of(id);
	return NULL;
}

/* By the table's name, else all tables of the group of pod.h5 with that name. */
static int find_table(struct work *w, const char *name, struct pp_err *err)
{
	char known[900] = "";
	size_t at = 0;

	w->desc[0] = find(name);
	w->descs = w->desc[0] != NULL;
	for (int id = 0; id <= PP_TABLES && !w->desc[0]; id++)
		w->is_group |= pp_table_is_in(desc_of(id), name);
	for (int id = 0; id <= PP_TABLES && w->is_group && w->descs < TABLES_MOST; id++)
		if (pp_table_is_in(desc_of(id), name))
			w->desc[w->descs++] = desc_of(id);
	w->set = w->descs > 1 ? name : NULL;
	for (int id = 0; id <= PP_TABLES && at < sizeof(known); id++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", desc_of(id)->name);
	return w->descs ? 0 : pp_err_set(err, -ENOENT, "unknown table: '%s'. Choose one of: %s", name, known);
}

static int find_tool(struct work *w, const char *name, struct pp_err *err)
{
	char known[256] = "";
	size_t at = 0;

	w->set = name;
	for (size_t i = 0; i < sizeof(tool_table) / sizeof(tool_table[0]); i++) {
		if ((!i || strcmp(tool_table[i - 1].tool, tool_table[i].tool)) && at < sizeof(known))
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", tool_table[i].tool);
		if (!strcmp(tool_table[i].tool, name) && w->descs < TABLES_MOST)
			w->desc[w->descs++] = pp_table_desc(tool_table[i].table);
	}
	return w->descs ? 0 : pp_err_set(err, -ENOENT, "unknown tool: '%s'. Choose one of: %s", name, known);
}

static int has_group(const struct pp_table_desc *desc, uint64_t missing)
{
	for (size_t i = 0; i < desc->columns; i++)
		if (desc->column[i].count && pp_column_shown(desc, &desc->column[i]) && !(missing >> i & 1))
			return 1;
	return 0;
}

/* Prints a line on what the file lacks, nothing where it has all. */
static void print_missing(const struct pp_table_desc *desc, uint64_t missing, FILE *to)
{
	const char *before = "columns, which are unknown or 0 here: ";

	if (!has_group(desc, missing)) {
		fprintf(to, "has no table '%s': %s, or an older podprof wrote it\n", desc->name,
		        desc->absent[0] ? desc->absent : "no data was recorded for it");
		return;
	}
	for (size_t i = 0; i < desc->columns; i++) {
		if (missing >> i & 1) {
			fprintf(to, "%s%s%s", before[0] == ',' ? "" : "has no values for these ", before, desc->column[i].name);
			before = ", ";
		}
	}
	if (before[0] == ',')
		fputc('\n', to);
}

static void print(const struct work *w, size_t i, const struct pp_table *t, const struct pp_intern *names, FILE *to)
{
	if (w->set && w->form == PP_REPORT_JSON)
		fputs(i ? "," : "", to);
	else if (w->descs > 1)
		fprintf(to, "%s# %s\n", i ? "\n" : "", t->desc->name);
	if (w->form == PP_REPORT_JSON)
		pp_table_json(t, names, to);
	else if (w->form == PP_REPORT_SHEET)
		pp_table_sheet(t, names, to);
	else
		pp_table_csv(t, names, to);
}

static int read_and_print(const struct work *w, struct pp_intern *names, FILE *to, FILE *missing_to, struct pp_err *err)
{
	struct pp_h5_file *h5;
	struct pp_table table;
	uint64_t missing;
	int rc = pp_h5_file_open(w->pod_path, &h5, err);

	if (rc)
		return rc;
	if (w->set && w->form == PP_REPORT_JSON)
		fprintf(to, "{\"%s\":\"%s\",\"tables\":[", w->is_group ? "group" : "tool", w->set);
	for (size_t i = 0; i < w->descs && !rc; i++) {
		rc = pp_h5_file_table(h5, w->desc[i], names, &table, &missing, err);
		if (rc)
			break;
		print_missing(w->desc[i], missing, missing_to);
		print(w, i, &table, names, to);
		pp_table_release(&table);
	}
	if (w->set && w->form == PP_REPORT_JSON)
		fputs("]}\n", to);
	pp_h5_file_close(h5);
	return rc;
}

/* Runs in a child: HDF5 can crash or hang on a damaged file. */
static int work(void *context, struct pp_err *err)
{
	const struct work *w = context;
	struct pp_intern *names = pp_intern_new();
	FILE *to = fdopen(w->fd, "w"), *missing_to = fdopen(w->missing_fd, "w");
	int rc = names && to && missing_to ? read_and_print(w, names, to, missing_to, err)
	                                   : pp_err_set(err, -ENOMEM, "no memory for '%s'", w->pod_path);

	if (to && missing_to && (fflush(to) || ferror(to) || fflush(missing_to) || ferror(missing_to)) && !rc)
		rc = pp_err_set(err, -EIO, "cannot print the table: no memory");
	pp_intern_free(names);
	return rc;
}

/* What the child wrote, less its last line's end. */
static void take_missing(int fd, char *to, size_t size)
{
	ssize_t n = pread(fd, to, size - 1, 0);

	to[n > 0 ? n : 0] = '\0';
	while (*to && to[strlen(to) - 1] == '\n')
		to[strlen(to) - 1] = '\0';
}

static int print_work(struct work *w, FILE *to, char *ret_missing, size_t size, struct pp_err *err)
{
	char bytes[4096];
	ssize_t n;
	int rc;

	w->fd = memfd_create("podprof-table", MFD_CLOEXEC);
	w->missing_fd = memfd_create("podprof-missing", MFD_CLOEXEC);
	if (w->fd < 0 || w->missing_fd < 0) {
		rc = pp_err_set(err, -errno, "cannot print the table: %s", pp_why(errno));
		goto close_both;
	}
	rc = pp_forked_read(w->pod_path, work, w, err);
	take_missing(w->missing_fd, ret_missing, size);
	for (off_t at = 0; !rc && (n = pread(w->fd, bytes, sizeof(bytes), at)) > 0; at += n)
		fwrite(bytes, 1, (size_t)n, to);
close_both:
	if (w->fd >= 0)
		close(w->fd);
	if (w->missing_fd >= 0)
		close(w->missing_fd);
	return rc;
}

int pp_report_table(const char *pod_path, const char *table, enum pp_report_form form, FILE *to, char *ret_missing, size_t size,
                    struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .form = form};
	int rc = find_table(&w, table, err);

	return rc ? rc : print_work(&w, to, ret_missing, size, err);
}

int pp_report_tool(const char *pod_path, const char *tool, enum pp_report_form form, FILE *to, char *ret_missing, size_t size,
                   struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .form = form};
	int rc = find_tool(&w, tool, err);

	return rc ? rc : print_work(&w, to, ret_missing, size, err);
}
