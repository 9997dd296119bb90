/* Prints one table of a pod.h5 as CSV or JSON; see report.h. Called by `podprof report --table`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/read/h5/forked_work.h"
#include "aggregate/read/h5/table_read.h"
#include "aggregate/report/report.h"
#include "core/base/why.h"

struct work {
	const char *pod_path;
	const struct pp_table_desc *desc;
	int is_json, fd;
};

static const struct pp_table_desc *find(const char *name, struct pp_err *err)
{
	char known[512] = "";
	size_t at = 0;

	for (int id = 0; id <= PP_TABLES; id++) {
		const struct pp_table_desc *d = id < PP_TABLES ? pp_table_desc(id) : pp_job_desc(0);

		if (!strcmp(d->name, name))
			return d;
		if (at < sizeof(known))
			at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", d->name);
	}
	pp_err_set(err, -EINVAL, "unknown table: '%s'. Choose one of: %s", name, known);
	return NULL;
}

static int has_group(const struct pp_table_desc *desc, uint64_t missing)
{
	for (size_t i = 0; i < desc->columns; i++)
		if (desc->column[i].count && pp_column_shown(desc, &desc->column[i]) && !(missing >> i & 1))
			return 1;
	return 0;
}

/* Prints a line on what the file lacks, empty where it lacks nothing. */
static void print_missing(const struct pp_table_desc *desc, uint64_t missing, FILE *to)
{
	const char *comma = "";

	if (!has_group(desc, missing)) {
		fprintf(to, "has no table '%s': %s, or an older podprof wrote it\n", desc->name,
		        desc->absent[0] ? desc->absent : "no data was recorded for it");
		return;
	}
	for (size_t i = 0; i < desc->columns; i++) {
		if (missing >> i & 1) {
			fprintf(to, "%s%s",
			        *comma ? comma : "has no values for these columns, which are 0 here: ", desc->column[i].name);
			comma = ", ";
		}
	}
	fputc('\n', to);
}

static void print(const struct work *w, const struct pp_table *t, uint64_t missing, const struct pp_intern *names, FILE *to)
{
	print_missing(t->desc, missing, to);
	if (w->is_json)
		pp_table_json(t, names, to);
	else
		pp_table_csv(t, names, to);
}

static int read_and_print(const struct work *w, struct pp_intern *names, FILE *to, struct pp_err *err)
{
	struct pp_pod_file *pod;
	struct pp_table table;
	uint64_t missing;
	int rc = pp_pod_file_open(w->pod_path, &pod, err);

	if (rc)
		return rc;
	rc = pp_pod_file_table(pod, w->desc, names, &table, &missing, err);
	if (!rc) {
		print(w, &table, missing, names, to);
		pp_table_release(&table);
	}
	pp_pod_file_close(pod);
	return rc;
}

/* Runs in a child: HDF5 can crash or hang on a damaged file. */
static int work(void *context, struct pp_err *err)
{
	const struct work *w = context;
	struct pp_intern *names = pp_intern_new();
	FILE *to = fdopen(w->fd, "w");
	int rc = names && to ? read_and_print(w, names, to, err) : pp_err_set(err, -ENOMEM, "no memory for '%s'", w->pod_path);

	if (to && (fflush(to) || ferror(to)) && !rc)
		rc = pp_err_set(err, -EIO, "cannot print the table: no memory");
	pp_intern_free(names);
	return rc;
}

int pp_report_table(const char *pod_path, const char *table, int is_json, FILE *to, char *ret_missing, size_t size,
                    struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .desc = find(table, err), .is_json = is_json};
	char bytes[4096];
	FILE *from;
	size_t n;
	int rc;

	if (!w.desc)
		return -EINVAL;
	w.fd = memfd_create("podprof-table", MFD_CLOEXEC);
	from = w.fd < 0 ? NULL : fdopen(w.fd, "r");
	if (!from)
		return pp_err_set(err, -errno, "cannot print the table: %s", pp_why(errno));
	rc = pp_forked_read(pod_path, work, &w, err);
	rewind(from);
	if (!rc && fgets(ret_missing, (int)size, from)) {
		for (int c = strchr(ret_missing, '\n') ? '\n' : 0;
		     c != '\n' && c != EOF;) /* a longer line is cut, not printed as a row */
			c = fgetc(from);
		ret_missing[strcspn(ret_missing, "\n")] = '\0';
		while ((n = fread(bytes, 1, sizeof(bytes), from)) > 0)
			fwrite(bytes, 1, n, to);
	}
	fclose(from);
	return rc;
}
