/* The layout of pod.h5: every row of the table is in the file of a full session, nothing else is, and docs/formats.md tells each
 * row
 * (--print writes them for it). */
#include "aggregate/dataset/hdf5_layout.h"

#include <hdf5.h>
#include <stdlib.h>

#include "aggregate/read/h5/pod.h"
#include "aggregate/tools/verdict.h"
#include "tests/unit/aggregate/block_kit.h"
#include "tests/unit/aggregate/sample.h"

/* Rows of tables that are empty in a clean session. */
static int may_be_absent(const struct pp_h5_row *r)
{
	return !strcmp(r->group, "quality") && (strstr(r->variable, "missing") || strstr(r->variable, "warning"));
}

static void print_rows(FILE *to)
{
	const char *group = "";

	for (const struct pp_h5_row *r = pp_h5_layout; r->group; r++) {
		if (strcmp(group, r->group))
			fprintf(to, "\n### /%s\n\n| variable | dimensions | type | unit | what |\n|---|---|---|---|---|\n",
			        r->group);
		group = r->group;
		fprintf(to, "| %s | %s | %s | %s | %s |\n", r->variable, r->dims, pp_h5_type_name(r->type), r->unit, r->what);
	}
}

TEST(rows_are_told_in_docs)
{
	char *rows = NULL, *docs = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&rows, &size);

	print_rows(f);
	fclose(f);
	f = fopen(PP_TEST_DOCS "/formats.md", "r");
	CHECK(f && getdelim(&docs, &size, '\0', f) > 0);
	if (f)
		fclose(f);
	CHECK(docs && strstr(docs, rows));
	free(docs);
	free(rows);
}

static herr_t count(hid_t group, const char *name, const H5L_info_t *info, void *n)
{
	(void)group, (void)name, (void)info;
	++*(size_t *)n;
	return 0;
}

/* The page is made of the file: what it says first must be what summary.txt says. */
static void check_read_back(const char *path, const struct pp_dataset *written)
{
	char said[320], again[320];
	struct pp_err err = {""};
	struct pp_dataset d;
	struct pp_pod_file *pod;

	CHECK_INT(pp_pod_file_open(path, &pod, &err), 0);
	CHECK_INT(pp_pod_file_dataset(pod, &d, &err), 0);
	pp_verdict(written, said, sizeof(said));
	pp_verdict(&d, again, sizeof(again));
	CHECK_STR(again, said);
	CHECK_INT(d.startup_ns, written->startup_ns);
	CHECK_INT(d.cell[1].point_to_point_ns, written->cell[1].point_to_point_ns);
	CHECK_INT(d.straggler.waited_for, written->straggler.waited_for);
	CHECK_INT(d.straggler.waited_ns, written->straggler.waited_ns);
	CHECK_INT(d.straggler.involuntary, written->straggler.involuntary);
	CHECK_INT(d.straggler.run_queue_ns, written->straggler.run_queue_ns);
	CHECK_INT(pp_dataset_bound(&d), pp_dataset_bound(written));
	CHECK_INT(d.pair_bound_ns, written->pair_bound_ns);
	CHECK(!memcmp(&d.causality, &written->causality, sizeof(d.causality)) && d.violations == written->violations);
	CHECK(d.workers == written->workers && !memcmp(d.late, written->late, d.workers * sizeof(*d.late)));
	CHECK_INT(d.host_clocks, written->host_clocks);
	for (size_t i = 0; i < d.host_clocks && !test_failures; i++)
		kit_same_clock(&written->host_clock[i], &d.host_clock[i]);
	for (size_t i = 0; i < d.workers; i++)
		CHECK_INT(d.worker[i].host_clock, written->worker[i].host_clock);
	CHECK_STR(d.window.by, written->window.by);
	CHECK_STR(d.window.what, written->window.what);
	CHECK(d.window.tries == written->window.tries && d.window.ranks == written->window.ranks);
	for (size_t i = 0; i < written->window.ranks && i < d.window.ranks; i++) {
		const struct pp_window_rank *a = &d.window.rank[i], *b = &written->window.rank[i];

		CHECK(a->rank == b->rank && a->asked == b->asked && a->acked == b->acked && a->started == b->started &&
		      a->ended == b->ended && a->delivered == b->delivered);
		CHECK_STR(a->reason, b->reason);
	}
	pp_dataset_release(&d);
	pp_pod_file_close(pod);
}

TEST(file_is_the_layout)
{
	char dir[] = "/tmp/podprof-hdf5-XXXXXX", path[256];
	struct pp_err err = {""};
	size_t rows = 0, found = 0;
	struct sample s;
	struct pp_channel channel = {0, 1, 100, 2, 3};

	CHECK(mkdtemp(dir) != NULL);
	sample_make(&s, 3, dir);
	s.dataset.channel = malloc(sizeof(channel));
	memcpy(s.dataset.channel, &channel, sizeof(channel));
	s.dataset.channels = 1;
	s.dataset.startup_ns = 3 * s.dataset.cell[0].step_ns;
	s.dataset.violations = 4;
	s.dataset.cell[1].point_to_point_ns = 77;
	s.dataset.straggler = (struct pp_straggler){.waited_for = 1, .waited_ns = 88, .involuntary = 9, .run_queue_ns = 55};
	s.dataset.pair_bound_ns = 12345;
	s.dataset.causality = (struct pp_causality){.pairs = 50, .inverted = 7, .violated = 3, .worst_ns = 99};
	CHECK_INT(sample_writer("hdf5")->write(&s.out, &err), 0);
	snprintf(path, sizeof(path), "%s/podprof/sample/pod.h5", dir);
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

	CHECK(file >= 0);
	for (const struct pp_h5_row *r = pp_h5_layout; r->group; r++) {
		char name[128];

		snprintf(name, sizeof(name), "%s/%s", r->group, r->variable);
		int here = H5Lexists(file, r->group, H5P_DEFAULT) > 0 && H5Lexists(file, name, H5P_DEFAULT) > 0;

		if (!here && !may_be_absent(r))
			fprintf(stderr, "%s is not in the file\n", name);
		CHECK(here || may_be_absent(r));
		rows += (size_t)here;
		if (r == pp_h5_layout || strcmp(r[-1].group, r->group)) {
			hsize_t at = 0;

			H5Literate_by_name(file, r->group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, count, &found, H5P_DEFAULT);
		}
	}
	CHECK_INT(found, rows);
	H5Fclose(file);
	check_read_back(path, &s.dataset);
	sample_free(&s);
	snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	CHECK_INT(system(path), 0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--print")) {
		print_rows(stdout);
		return 0;
	}
	rows_are_told_in_docs();
	file_is_the_layout();
	return test_end();
}
