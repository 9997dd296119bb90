/* The layout of pod.h5: the file of a full session has every row of the table and no other, and docs/formats.md lists them
 * (--print writes its rows). */
#include "aggregate/dataset/describe_job.h"
#include "aggregate/dataset/hdf5_layout.h"
#include "aggregate/read/h5/file_dataset.h"

#include <errno.h>
#include <hdf5.h>
#include <stdlib.h>

#include "aggregate/read/h5/file.h"
#include "aggregate/report/report.h"
#include "aggregate/write/h5/table_write.h"
#include "tests/unit/aggregate/dataset/block_kit.h"
#include "tests/unit/aggregate/finding_kit.h"
#include "tests/unit/aggregate/write/sample_kit.h"

/* Rows of tables that are empty in a clean session. */
static int may_be_absent(const struct pp_h5_row *r)
{
	return !strcmp(r->group, "quality") && (strstr(r->variable, "missing") || strstr(r->variable, "warning"));
}

static struct listed {
	struct pp_h5_row row;
	char dims[PP_H5_TABLE_DIMS];
} * listed;
static size_t variables;

/* Lists the variables of the file by its descriptions. */
static void list_rows(void)
{
	for (int id = 0; id <= PP_TABLES; id++) {
		const struct pp_table_desc *d = id < PP_TABLES ? pp_table_desc(id) : pp_job_desc(0);

		listed = realloc(listed, (variables + d->columns) * sizeof(*listed));
		for (size_t k = 0; k < d->columns; k++)
			variables += (size_t)pp_h5_table_row(d, &d->column[k], listed[variables].dims, &listed[variables].row);
	}
}

/* Variable i of the file. 0: past the last. */
static int row_at(size_t i, char dims[PP_H5_TABLE_DIMS], struct pp_h5_row *ret)
{
	if (i >= variables)
		return 0;
	snprintf(dims, PP_H5_TABLE_DIMS, "%s", listed[i].dims);
	*ret = listed[i].row;
	ret->dims = dims;
	return 1;
}

/* Was the variable told before the i-th? Tables of one group have coordinates in common. `dims`: only of these dimensions. */
static int is_again(size_t i, const char *group, const char *variable, const char *dims)
{
	char d[PP_H5_TABLE_DIMS];
	struct pp_h5_row r;

	for (size_t k = 0; k < i && row_at(k, d, &r); k++)
		if (!strcmp(r.group, group) && (!variable || !strcmp(r.variable, variable)) && (!dims || !strcmp(d, dims)))
			return 1;
	return 0;
}

/* The row of the page with the i-th variable, if it is the first of its group and dimensions. Coordinates are in no row. */
static void print_group(FILE *to, size_t i)
{
	char dims[PP_H5_TABLE_DIMS], d[PP_H5_TABLE_DIMS];
	struct pp_h5_row first, r;
	size_t columns = 0;

	if (!row_at(i, dims, &first) || is_again(i, first.group, NULL, dims))
		return;
	for (size_t k = 0; row_at(k, d, &r); k++) {
		if (strcmp(r.group, first.group) != 0 || strcmp(d, dims) != 0 || !strcmp(d, r.variable) ||
		    is_again(k, r.group, r.variable, NULL))
			continue;
		if (!columns++)
			fprintf(to, "| /%s | %s | ", r.group, *dims ? dims : "-");
		fprintf(to, "%s`%s%s` %s", columns > 1 ? "; " : "", r.variable, r.is_maybe ? "?" : "", r.what);
	}
	if (columns)
		fprintf(to, " |\n");
}

TEST(rows_are_in_docs)
{
	char *docs = NULL;
	size_t size = 0;
	FILE *f = fopen(PP_TEST_DOCS "/formats.md", "r");
	char dims[PP_H5_TABLE_DIMS];
	struct pp_h5_row r;

	CHECK(f && getdelim(&docs, &size, '\0', f) > 0);
	if (f)
		fclose(f);
	for (size_t i = 0; docs && row_at(i, dims, &r); i++) {
		char *rows = NULL;

		f = open_memstream(&rows, &size);
		print_group(f, i);
		fclose(f);
		if (!strstr(docs, rows))
			fprintf(stderr, "docs/formats.md lacks the row:\n%s", rows);
		CHECK(strstr(docs, rows));
		free(rows);
	}
	free(docs);
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
	char said[400], again[400];
	struct pp_err err = {""};
	struct pp_dataset d;
	struct pp_h5_file *h5;

	CHECK_INT(pp_h5_file_open(path, &h5, &err), 0);
	CHECK_INT(pp_h5_file_dataset(h5, UINT64_MAX, &d, &err), 0);
	say_first_finding(written, said, sizeof(said));
	say_first_finding(&d, again, sizeof(again));
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
	kit_same_tables(written, &d, 1);
	pp_dataset_release(&d);
	pp_h5_file_close(h5);
}

/* Each group has the variables of its descriptions and nothing else. */
static void check_variables(hid_t file)
{
	char name[128], dims[PP_H5_TABLE_DIMS];
	size_t rows = 0, found = 0;
	struct pp_h5_row r;

	for (size_t i = 0; row_at(i, dims, &r); i++) {
		int here = H5Lexists(file, r.group, H5P_DEFAULT) > 0;
		hsize_t at = 0;

		if (!is_again(i, r.group, NULL, NULL))
			H5Literate_by_name(file, r.group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, count, &found, H5P_DEFAULT);
		if (is_again(i, r.group, r.variable, NULL))
			continue;
		snprintf(name, sizeof(name), "%s/%s", r.group, r.variable);
		here = here && H5Lexists(file, name, H5P_DEFAULT) > 0;
		if (!here && !may_be_absent(&r))
			fprintf(stderr, "%s is not in the file\n", name);
		CHECK(here || may_be_absent(&r));
		rows += (size_t)here;
	}
	CHECK_INT(found, rows);
}

/* `podprof report --table` */
static void check_printed(const char *path)
{
	char *text = NULL, missing[64] = "x";
	struct pp_err err = {""};
	size_t size;
	FILE *f = open_memstream(&text, &size);
	static const char channel[] =
	        "source,destination,bytes,time_ns,count,device_ns,device_count,nccl_channels,link,seen,transfer_ns,"
	        "transfer_bytes,usual_ns,latency_ns,bandwidth,error_ns\n0,1,100,3,2,0,0,0,\"unknown\",0,0,0,0,0,0,0\n{";

	CHECK_INT(pp_report_table(path, "channel", 0, f, missing, sizeof(missing), &err), 0);
	CHECK_STR(missing, "");
	CHECK_INT(pp_report_table(path, "quality", 1, f, missing, sizeof(missing), &err), 0);
	CHECK_STR(missing, "");
	CHECK_INT(pp_report_table(path, "none", 0, f, missing, sizeof(missing), &err), -ENOENT);
	CHECK(strstr(err.text, "unknown table: 'none'. Choose one of: worker, step, ") != NULL);
	CHECK(strlen(err.text) > 8 && !strcmp(err.text + strlen(err.text) - 9, ", quality")); /* the last one is not cut off */
	CHECK_INT(pp_report_tool(path, "none", 0, f, missing, sizeof(missing), &err), -ENOENT);
	CHECK_STR(err.text, "unknown tool: 'none'. Choose one of: overview, input_pipeline, tf_data, op_stats, kernel_stats, "
	                    "memory_profile, pod_viewer");
	fclose(f);
	CHECK(!strncmp(text, channel, sizeof(channel) - 1));
	CHECK(strstr(text, "{\"table\":\"quality\",\"rows\":1,") && strstr(text, "\"data\":[88]}"));
	free(text);
}

/* `podprof export` */
static void check_tools(const char *path)
{
	static const struct {
		const char *tool;
		int is_json;
		const char *first, *has;
	} want[] = {
	        {"kernel_stats", 0, "rank,name,registers,", "\n1,\""},
	        {"kernel_stats", 1, "{\"tool\":\"kernel_stats\",\"tables\":[{\"table\":\"kernel_stat\",\"rows\":1,", "]}\n]}\n"},
	        {"op_stats", 0, "rank,host_or_device,type,name,occurrences,", "\"Idle\""},
	        {"overview", 0, "# worker\n", "\n\n# precision\nprecision,compute_ns,percent\n"},
	        {"overview", 1, "{\"tool\":\"overview\",\"tables\":[{\"table\":\"worker\"", "]}\n,{\"table\":\"precision\""},
	        {"pod_viewer", 0, "# cell\n", "\n\n# channel\nsource,destination,bytes,"},
	        {"memory_profile", 0, "", ""},
	        {"input_pipeline", 1, "{\"tool\":\"input_pipeline\"", ""}};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char *text = NULL, missing[512] = "x";
		struct pp_err err = {""};
		size_t size;
		FILE *f = open_memstream(&text, &size);

		CHECK_INT(pp_report_tool(path, want[i].tool, want[i].is_json, f, missing, sizeof(missing), &err), 0);
		fclose(f);
		CHECK_STR(missing, "");
		if (strncmp(text, want[i].first, strlen(want[i].first)) != 0 || !strstr(text, want[i].has))
			fprintf(stderr, "%s: %.300s\n", want[i].tool, text);
		CHECK(!strncmp(text, want[i].first, strlen(want[i].first)) && strstr(text, want[i].has));
		free(text);
	}
}

static void add_kernels(struct sample *s)
{
	struct pp_dataset *d = &s->dataset;
	struct pp_table table[PP_TABLES];
	struct pp_err err = {""};

	d->kernel = calloc(2, sizeof(*d->kernel));
	d->kernels = 2;
	for (int i = 0; i < 2; i++) {
		struct pp_row_kernel k = {.name = d->op[0].name, .op = d->op[1].name, .grid_x = 7, .worker = i, .occurrences = 3};

		k.min_ns = 1, k.max_ns = 10 + i, k.total_ns = 12 + i, k.occupancy_percent = 62.5;
		k.precision = PP_PRECISION_16;
		d->kernel[i] = k;
	}
	pp_dataset_tables(d, table);
	CHECK_INT(pp_tool_kernel_stats(d, table, &err), 0);
	CHECK_INT(pp_tool_device_speed(d, table, &err), 0);
	pp_dataset_take_tables(d, table);
	CHECK_INT(d->kernel_stats, 1);
}

TEST(file_is_the_layout)
{
	char dir[] = "/tmp/podprof-hdf5-XXXXXX", path[256];
	struct pp_err err = {""};
	struct sample s;
	struct pp_row_channel channel = {.destination = 1, .bytes = 100, .time_ns = 3, .count = 2};

	CHECK(mkdtemp(dir) != NULL);
	sample_make(&s, 3, dir);
	s.dataset.channel = malloc(sizeof(channel));
	memcpy(s.dataset.channel, &channel, sizeof(channel));
	s.dataset.channels = 1;
	s.dataset.trace_file = calloc(1, sizeof(*s.dataset.trace_file));
	s.dataset.trace_files = 1;
	s.dataset.tf_data_pipeline = calloc(1, sizeof(*s.dataset.tf_data_pipeline));
	s.dataset.tf_data_iterator = calloc(1, sizeof(*s.dataset.tf_data_iterator));
	s.dataset.tf_data_call = calloc(1, sizeof(*s.dataset.tf_data_call));
	s.dataset.tf_data_node = calloc(1, sizeof(*s.dataset.tf_data_node));
	s.dataset.tf_data_pipelines = s.dataset.tf_data_iterators = s.dataset.tf_data_calls = s.dataset.tf_data_nodes = 1;
	s.dataset.lone_call = calloc(1, sizeof(*s.dataset.lone_call));
	s.dataset.lone_calls = 1;
	CHECK(s.dataset.memories > 0);
	s.dataset.memory[0].time_ns = -2 * PP_TABLE_TIME_MAX; /* a host whose date is wrong by years */
	s.dataset.startup_ns = 3 * s.dataset.cell[0].step_ns;
	s.dataset.violations = 4;
	s.dataset.cell[1].point_to_point_ns = 77;
	s.dataset.straggler = (struct pp_straggler){.waited_for = 1, .waited_ns = 88, .involuntary = 9, .run_queue_ns = 55};
	s.dataset.pair_bound_ns = 12345;
	s.dataset.causality = (struct pp_causality){.pairs = 50, .inverted = 7, .violated = 3, .worst_ns = 99};
	add_kernels(&s);
	CHECK_INT(sample_writer("hdf5")->write(&s.out, &err), 0);
	snprintf(path, sizeof(path), "%s/podprof/sample/pod.h5", dir);
	hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

	CHECK(file >= 0);
	check_variables(file);
	H5Fclose(file);
	check_read_back(path, &s.dataset);
	check_printed(path);
	check_tools(path);
	sample_free(&s);
	snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	CHECK_INT(system(path), 0);
}

int main(int argc, char **argv)
{
	list_rows();
	if (argc > 1 && !strcmp(argv[1], "--print")) {
		char dims[PP_H5_TABLE_DIMS];
		struct pp_h5_row r;

		for (size_t i = 0; row_at(i, dims, &r); i++)
			print_group(stdout, i);
		return 0;
	}
	rows_are_in_docs();
	file_is_the_layout();
	return test_end();
}
