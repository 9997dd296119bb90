/* Writes rules for names of which nothing is known; see unknown.h. */
#include "aggregate/report/unknown.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aggregate/dataset/dataset.h"
#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/h5/forked_work.h"
#include "core/base/compare.h"
#include "core/base/why.h"
#include "core/base/wrap.h"
#include "core/capture/span.h"
#include "core/ring/intern.h"
#include "core/step/category.h"
#include "core/step/classify.h"
#include "core/step/name_match.h"

struct work {
	const char *pod_path;
	int fd;
};

struct kernel { /* of all ranks */
	uint32_t name;
	uint64_t occurrences;
	int64_t ns;
};

PP_COMPARE(by_time, struct kernel, PP_DOWN(ns) ?: PP_UP(name))

static void write_head(FILE *to, const char *pod_path)
{
	fprintf(to,
	        "# What nothing is known of in %s, the longest first.\n"
	        "# Write a category behind '=' and remove the '#' before the line. Then give the file with --rules\n"
	        "# to 'podprof run' or 'podprof analyze'. A range is one of:",
	        pod_path);
	for (int id = PP_CATEGORY_HOST_COMPUTE; id <= PP_CATEGORIES; id++)
		fprintf(to, "%s %s", id > PP_CATEGORY_HOST_COMPUTE ? "," : "", pp_category_name(id));
	fputs(".\n# A kernel is one of:", to);
	for (int id = PP_CATEGORY_DEVICE_COMPUTE; id < PP_CATEGORY_HOST_COMPUTE; id++)
		fprintf(to, "%s %s", id > PP_CATEGORY_DEVICE_COMPUTE ? "," : "", pp_category_name(id));
	fputs(".\n", to);
}

/* One line, whatever the name holds. */
static void write_name(const char *name, size_t length, FILE *to)
{
	for (size_t i = 0; i < length; i++)
		fputc((unsigned char)name[i] < ' ' || name[i] == 0x7f ? ' ' : name[i], to);
}

static void write_ranges(const struct pp_dataset *d, FILE *to)
{
	for (size_t i = 0; i < d->unclassifieds; i++) {
		const struct pp_row_unclassified *u = &d->unclassified[i];
		char words[PP_NAME_WORDS];
		size_t length;
		const char *name = pp_intern_text(d->names, u->unclassified, &length);

		pp_name_words(name, length < PP_NAME_BYTES ? length : PP_NAME_BYTES, 0, words);
		fprintf(to, "\n# %.3f ms in steps, %" PRIu64 " occurrences: ", (double)u->unclassified_ns / 1e6,
		        u->unclassified_calls);
		write_name(name, length, to);
		if (words[1])
			fprintf(to, "\n#%.*s = \n", (int)strlen(words) - 1, words);
		else
			fputs("\n# (no rule can name it: it has no word)\n", to);
	}
}

/* How many names of kernels; `kernel` has room for all rows. */
static size_t list_kernels(const struct pp_dataset *d, struct kernel *kernel)
{
	size_t n = 0;

	for (size_t i = 0; i < d->kernels; i++) {
		const struct pp_row_kernel *k = &d->kernel[i];
		size_t at = 0;

		if (k->activity != PP_DEVICE_UNSURE)
			continue;
		while (at < n && kernel[at].name != k->name)
			at++;
		if (at == n)
			kernel[n++] = (struct kernel){.name = k->name};
		kernel[at].occurrences += k->occurrences;
		kernel[at].ns = pp_wrap_plus(kernel[at].ns, k->total_ns);
	}
	qsort(kernel, n, sizeof(*kernel), by_time);
	return n;
}

/* Up to its template arguments and parameters, behind which '*' stands. */
static void write_kernels(const struct pp_dataset *d, const struct kernel *kernel, size_t kernels, FILE *to)
{
	for (size_t i = 0; i < kernels; i++) {
		size_t length, shown;
		const char *name = pp_intern_text(d->names, kernel[i].name, &length);

		shown = strcspn(name, "<(#=");
		fprintf(to, "\n# %.3f ms on devices, %" PRIu64 " occurrences: ", (double)kernel[i].ns / 1e6, kernel[i].occurrences);
		write_name(name, length, to);
		fputs("\n# kernel:", to);
		write_name(name, shown ? shown : length, to);
		fputs(shown && shown < length ? "* = \n" : " = \n", to);
	}
}

static int write_all(const struct pp_dataset *d, const char *pod_path, FILE *to)
{
	struct kernel *kernel = calloc(d->kernels + 1, sizeof(*kernel));
	const size_t kernels = kernel ? list_kernels(d, kernel) : 0;

	if (!kernel)
		return -ENOMEM;
	if (!kernels && !d->unclassifieds) {
		fprintf(to, "# The categories of all ranges and kernels in %s are known.\n", pod_path);
	} else {
		write_head(to, pod_path);
		write_ranges(d, to);
		write_kernels(d, kernel, kernels, to);
	}
	free(kernel);
	return 0;
}

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
	rc = pp_h5_file_dataset(h5, UINT64_C(1) << PP_TABLE_kernel, &d, err);
	if (!rc) {
		to = fdopen(w->fd, "w");
		rc = to ? write_all(&d, w->pod_path, to) : -ENOMEM;
		if (!to || fclose(to) || rc)
			rc = pp_err_set(err, -EIO, "cannot print what is unknown: no memory");
		pp_dataset_release(&d);
	}
	pp_h5_file_close(h5);
	return rc;
}

int pp_unknown_print(const char *pod_path, FILE *to, struct pp_err *err)
{
	struct work w = {.pod_path = pod_path, .fd = memfd_create("podprof-unknown", MFD_CLOEXEC)};
	int rc;

	if (w.fd < 0)
		return pp_err_set(err, -errno, "cannot print what is unknown: %s", pp_why(errno));
	rc = pp_forked_read(pod_path, work, &w, err);
	if (!rc)
		pp_forked_print(w.fd, to);
	close(w.fd);
	return rc;
}
