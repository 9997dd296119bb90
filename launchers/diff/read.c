/* Reads and compares sessions in a child, because HDF5 can crash or hang on a damaged file; see diff.h. */
#include "launchers/diff/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_dataset.h"
#include "aggregate/read/h5/forked_work.h"
#include "aggregate/read/h5/table_read.h"
#include "core/base/why.h"
#include "launchers/diff/json.h"
#include "launchers/diff/page.h"
#include "launchers/diff/text.h"

static const uint64_t tables = UINT64_C(1) << PP_TABLE_collective | UINT64_C(1) << PP_TABLE_communicator |
                               UINT64_C(1) << PP_TABLE_op | UINT64_C(1) << PP_TABLE_all_reduce | UINT64_C(1) << PP_TABLE_role |
                               UINT64_C(1) << PP_TABLE_process_sample | UINT64_C(1) << PP_TABLE_blame;

/* Without --fail-above: a difference of so much of the step must be seen, else the answer is undecided. */
enum { MATTERS_PERCENT = 10 };

struct shared {    /* with the child */
	size_t at; /* the session that it reads */
	struct pp_diff_check check;
};

struct work {
	const struct pp_diff_given *given;
	struct shared *shared;
	int file[PP_DIFF_FILES]; /* by enum pp_diff_file */
	struct pp_h5_file *h5[PP_DIFF_RUNS_MOST];
	struct pp_diff_run run[PP_DIFF_RUNS_MOST];
	size_t runs; /* that are filled */
};

/* Ranks and roles only: which ranks all sessions have. */
static int read_ranks(struct pp_h5_file *h5, struct pp_dataset *ret_dataset, struct pp_err *err)
{
	struct pp_dataset d = {.names = pp_h5_file_names(h5)};
	struct pp_table table[PP_TABLES];
	uint64_t missing;
	int rc = d.names ? 0 : pp_err_set(err, -ENOMEM, "no memory for the names of '%s'", pp_h5_file_path(h5));

	pp_dataset_tables(&d, table);
	if (!rc)
		rc = pp_h5_file_table(h5, pp_table_desc(PP_TABLE_worker), pp_h5_file_names(h5), &table[PP_TABLE_worker], &missing,
		                      err);
	if (!rc)
		rc = pp_h5_file_table(h5, pp_table_desc(PP_TABLE_role), pp_h5_file_names(h5), &table[PP_TABLE_role], &missing, err);
	pp_dataset_take_tables(&d, table);
	if (rc)
		pp_dataset_release(&d);
	else
		*ret_dataset = d;
	return rc;
}

static int share(struct work *w, struct pp_diff_shared *ret_shared, struct pp_err *err)
{
	struct pp_dataset d[PP_DIFF_RUNS_MOST];
	const struct pp_dataset *each[PP_DIFF_RUNS_MOST] = {NULL};
	size_t read = 0;
	int rc = 0;

	for (; read < w->given->runs; read++) {
		w->shared->at = read;
		rc = pp_h5_file_open(w->given->path[read], &w->h5[read], err);
		if (!rc)
			rc = read_ranks(w->h5[read], &d[read], err);
		if (rc)
			break;
		each[read] = &d[read];
	}
	if (!rc && pp_diff_share(each, read, &w->given->map, ret_shared))
		rc = pp_err_set(err, -ENOMEM, "cannot compare the sessions: no memory");
	for (size_t r = 0; r < read; r++)
		pp_dataset_release(&d[r]);
	return rc;
}

static int read_run(struct work *w, size_t r, const struct pp_diff_shared *shared, struct pp_err *err)
{
	struct pp_dataset d;
	int rc;

	w->shared->at = r;
	rc = pp_h5_file_dataset(w->h5[r], tables, &d, err);
	if (rc)
		return rc;
	if (pp_diff_run_init(&w->run[r], w->given->word[r], &d, shared, !r))
		return pp_err_set(err, -ENOMEM, "cannot compare '%s': no memory", w->given->word[r]);
	w->runs++;
	if (!w->run[r].steps)
		return pp_err_set(
		        err, -ENOENT,
		        "cannot compare '%s': it has no steps. Mark them with podprof_step_begin(), or see 'Steps' in its "
		        "summary for the reason",
		        w->given->word[r]);
	return 0;
}

/* The check fails only on a difference that is larger than the limit and than the noise. It passes only if one of the limit would
 * have been seen among the usual steps. */
static void check(const struct pp_diff *d, struct pp_diff_check *c)
{
	static const enum pp_diff_why why[] = {[PP_NOISE_FEW] = PP_DIFF_WHY_STEPS,
	                                       [PP_NOISE_UNKNOWN] = PP_DIFF_WHY_STEPS,
	                                       [PP_NOISE_WEAK] = PP_DIFF_WHY_NOISE,
	                                       [PP_NOISE_ENDING] = PP_DIFF_WHY_END,
	                                       [PP_NOISE_CORES] = PP_DIFF_WHY_CORES};
	const struct pp_diff_pair *p = pp_diff_last(d);
	const struct pp_noise *n = &p->step;
	const double percent = n->a > 0 ? 100 / n->a : 0;
	const int is_known = n->word >= PP_NOISE_CORES && p->usual.power * percent <= c->limit_percent;

	c->percent = (n->b - n->a) * percent;
	c->why = n->word < PP_NOISE_SAME && (n->word != PP_NOISE_CORES || c->percent > c->limit_percent) ? why[n->word]
	                                                                                                 : PP_DIFF_WHY_NOISE;
	if (c->limit_percent < 0)
		c->word = PP_DIFF_CHECK_NONE;
	else if (n->word == PP_NOISE_LONGER && c->percent > c->limit_percent)
		c->word = PP_DIFF_CHECK_FAILED;
	else if ((n->word == PP_NOISE_SHORTER && !p->is_short) || (is_known && c->percent <= c->limit_percent))
		c->word = PP_DIFF_CHECK_PASSED;
	else
		c->word = PP_DIFF_CHECK_UNDECIDED;
}

static int write_to(int fd, const struct pp_diff *d, const struct pp_diff_check *c,
                    void (*put)(const struct pp_diff *d, const struct pp_diff_check *c, FILE *to), struct pp_err *err)
{
	int copy = dup(fd);
	FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

	if (!to) {
		if (copy >= 0)
			close(copy);
		return pp_err_set(err, -ENOMEM, "cannot print the comparison: no memory");
	}
	put(d, c, to);
	return fclose(to) ? pp_err_set(err, -EIO, "cannot print the comparison: %s", pp_why(errno)) : 0;
}

static int write_all(struct work *w, const struct pp_diff *d, struct pp_err *err)
{
	static void (*const put[])(const struct pp_diff *d, const struct pp_diff_check *c, FILE *to) = {
	        [PP_DIFF_TEXT] = pp_diff_text, [PP_DIFF_JSON] = pp_diff_json, [PP_DIFF_PAGE] = pp_diff_page};
	int rc = 0;

	for (int i = 0; i < PP_DIFF_FILES && !rc; i++)
		if (i != PP_DIFF_PAGE || w->given->is_page)
			rc = write_to(w->file[i], d, &w->shared->check, put[i], err);
	return rc;
}

static int work(void *context, struct pp_err *err)
{
	struct work *w = context;
	struct pp_diff_shared shared;
	struct pp_diff diff;
	int rc = share(w, &shared, err);

	if (rc)
		return rc; /* this process ends: files are closed */
	for (size_t r = 0; r < w->given->runs && !rc; r++)
		rc = read_run(w, r, &shared, err);
	if (!rc && pp_diff_compare(w->run, w->runs, &shared,
	                           w->shared->check.limit_percent < 0 ? MATTERS_PERCENT : w->shared->check.limit_percent, &diff))
		rc = pp_err_set(err, -ENOMEM, "cannot compare the sessions: no memory");
	if (!rc) {
		check(&diff, &w->shared->check);
		rc = write_all(w, &diff, err);
		pp_diff_release(&diff);
	}
	for (size_t r = 0; r < w->runs; r++)
		pp_diff_run_release(&w->run[r]);
	for (size_t r = 0; r < w->given->runs; r++)
		pp_h5_file_close(w->h5[r]);
	pp_diff_shared_release(&shared);
	return rc;
}

/* Opens the session that ended the child alone, so that the error names its file. */
static int open_only(void *context, struct pp_err *err)
{
	const char *path = context;
	struct pp_h5_file *h5;
	struct pp_dataset d;
	int rc = pp_h5_file_open(path, &h5, err);

	if (!rc)
		rc = pp_h5_file_dataset(h5, tables, &d, err);
	return rc;
}

static int run(struct work *w, struct pp_err *err)
{
	uint64_t bytes = 0;
	struct stat st;
	int rc;

	for (size_t r = 1; r < w->given->runs; r++)
		bytes += stat(w->given->path[r], &st) ? 0 : (uint64_t)st.st_size;
	rc = pp_forked_read_more(w->given->path[0], bytes, work, w, err);
	if ((rc == -EINVAL || rc == -ETIMEDOUT) && w->shared->at && w->shared->at < w->given->runs) {
		const char *path = w->given->path[w->shared->at];
		struct pp_err own = {""};
		int again = pp_forked_read(path, open_only, (void *)path, &own);

		if (again)
			return pp_err_set(err, again, "%s", own.text);
	}
	return rc;
}

/* 0, or -ENOMEM: none is open then. */
static int open_files(int file[PP_DIFF_FILES])
{
	for (int i = 0; i < PP_DIFF_FILES; i++) {
		file[i] = memfd_create("podprof-diff", MFD_CLOEXEC);
		while (file[i] < 0 && i--)
			close(file[i]);
		if (i < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Takes the files. 0: they are to be read from their begin; else none is left. */
static int give_files(const int file[PP_DIFF_FILES], int is_wanted, FILE *ret_file[PP_DIFF_FILES])
{
	int is_all = is_wanted;

	for (int i = 0; i < PP_DIFF_FILES; i++) {
		ret_file[i] = is_wanted && !lseek(file[i], 0, SEEK_SET) ? fdopen(file[i], "r") : NULL;
		if (!ret_file[i])
			close(file[i]);
		is_all &= ret_file[i] != NULL;
	}
	for (int i = 0; i < PP_DIFF_FILES && !is_all; i++)
		if (ret_file[i])
			fclose(ret_file[i]);
	return is_all ? 0 : -ENOMEM;
}

int pp_diff_sessions(const struct pp_diff_given *given, struct pp_diff_check *check, FILE *ret_file[PP_DIFF_FILES],
                     struct pp_err *err)
{
	struct work *w = calloc(1, sizeof(*w));
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int file[PP_DIFF_FILES], is_open = !open_files(file), rc = 0;

	if (!w || shared == MAP_FAILED || !is_open) {
		rc = pp_err_set(err, -ENOMEM, "cannot compare the sessions: no memory");
	} else {
		shared->check = *check;
		*w = (struct work){.given = given, .shared = shared};
		memcpy(w->file, file, sizeof(file));
		rc = run(w, err);
		*check = shared->check;
	}
	if (is_open && give_files(file, !rc, ret_file) && !rc)
		rc = pp_err_set(err, -ENOMEM, "cannot print the comparison: no memory");
	if (shared != MAP_FAILED)
		munmap(shared, sizeof(*shared));
	free(w);
	return rc;
}
