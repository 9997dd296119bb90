/* The writers: files where they belong, whole or not at all, stale ones gone, a sentence where it cannot be. With --keep DIR the
 * sample is left in DIR/host and DIR/rank for the checks of write_check.py and xprof. */
#include "aggregate/write/output.h"
#include "aggregate/write/writer.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/write/xspace/xspace_names.h"
#include "core/capture/thread.h"
#include "tests/unit/aggregate/write/sample_kit.h"

/* HDF5 1.10 itself leaks a block where H5Fcreate fails on a full disk. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libhdf5\n";
}

static char base[256];

static const char *in_base(const char *name)
{
	static char path[4][512];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", base, name);
	return p;
}

static int exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static void touch(const char *path)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	if (f)
		fclose(f);
}

static int write_all(const struct pp_output *out)
{
	struct pp_err err = {""};
	int code = 0;

	for (size_t i = 0; pp_writer_list[i] && !code; i++)
		code = pp_writer_list[i]->write(out, &err);
	if (code)
		fprintf(stderr, "%s\n", err.text);
	return code;
}

TEST(files_per_host_and_rank)
{
	struct sample s;

	sample_make(&s, 9, in_base("host"));
	CHECK_INT(write_all(&s.out), 0);
	CHECK(exists(in_base("host/plugins/profile/sample/node0.xplane.pb")));
	CHECK(exists(in_base("host/plugins/profile/sample/node1.xplane.pb")));
	CHECK(exists(in_base("host/podprof/sample/pod.h5")));
	CHECK(exists(in_base("host/podprof/sample/summary.txt")));
	CHECK(!exists(in_base("host/podprof/sample/pod.h5.part")));
	s.out.logdir = in_base("rank");
	s.out.xspace_per_rank = 1;
	CHECK_INT(write_all(&s.out), 0);
	CHECK(exists(in_base("rank/plugins/profile/sample/node0-rank0007.xplane.pb")));
	CHECK(exists(in_base("rank/plugins/profile/sample/node1-rank0008.xplane.pb")));
	sample_free(&s);
}

TEST(stale_files_go)
{
	static const char dir[] = "again/plugins/profile/sample";
	struct sample s;
	char path[512];

	sample_make(&s, 2, in_base("again"));
	CHECK_INT(write_all(&s.out), 0);
	snprintf(path, sizeof(path), "%s/ALL_HOSTS.op_stats_v2.pb", in_base(dir));
	touch(path);
	s.out.xspace_per_rank = 1;
	CHECK_INT(write_all(&s.out), 0);
	CHECK(!exists(path));
	snprintf(path, sizeof(path), "%s/node0.xplane.pb", in_base(dir));
	CHECK(!exists(path));
	s.out.xspace_per_rank = 0;
	CHECK_INT(write_all(&s.out), 0);
	CHECK(exists(path));
	snprintf(path, sizeof(path), "%s/node0-rank0000.xplane.pb", in_base(dir));
	CHECK(!exists(path));
	sample_free(&s);
}

/* A rank without steps would empty xprof's pod tools for all: it stands apart. */
TEST(no_steps_between)
{
	struct sample s;

	sample_make(&s, 2, in_base("apart"));
	for (size_t i = 0; i < s.steps.steps; i++)
		s.steps.cell[i * 2 + 1].present = 0;
	s.steps.before[1].present = s.steps.after[1].present = 0;
	s.out.xspace_per_rank = 1;
	CHECK_INT(write_all(&s.out), 0);
	CHECK(exists(in_base("apart/plugins/profile/sample/node0-rank0000.xplane.pb")));
	CHECK(!exists(in_base("apart/plugins/profile/sample/node0-rank0001.xplane.pb")));
	CHECK(exists(in_base("apart/plugins/profile/sample-nosteps/node0-rank0001.xplane.pb")));
	sample_free(&s);
}

static int has_text(const char *path, const char *text)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		fclose(f);
	return n < sizeof(bytes) && memmem(bytes, n, text, strlen(text)) != NULL;
}

/* A host that began before rank 0's: what XSpace cannot show where it was is counted, and whose clock it is by is said. */
TEST(other_hosts_clock)
{
	static const char path[] = "early/plugins/profile/sample/node0.xplane.pb";
	struct sample s;

	sample_make(&s, 1, in_base("early"));
	s.dataset.host_clock->hops = 1;
	snprintf(s.dataset.host_clock->parent, sizeof(s.dataset.host_clock->parent), "node7");
	CHECK_INT(write_all(&s.out), 0);
	CHECK(!has_text(in_base(path), "began before rank 0's first event"));
	CHECK(has_text(in_base(path), "compared with 'node7', 1 hop from rank 0's clock"));
	s.capture.rank->thread[0].first = s.capture.rank->thread[0].span[0].begin = -5;
	s.dataset.host_clock->host_bound_ns = PP_BOUND_UNKNOWN;
	CHECK_INT(write_all(&s.out), 0);
	CHECK(has_text(in_base(path), "podprof: node0: 1 events began before rank 0's first event"));
	CHECK(has_text(in_base(path), "not compared with rank 0's clock"));
	sample_free(&s);
}

/* Columns of more than 64 KiB, numbers and texts. */
TEST(large_columns)
{
	enum { LARGE = 9000 };
	struct pp_row_collective *c = calloc(LARGE, sizeof(*c));
	struct pp_err err = {""};
	struct sample s;

	sample_make(&s, 2, in_base("large"));
	for (size_t i = 0; i < LARGE; i++) {
		c[i] = s.dataset.collective[i % s.dataset.collectives];
		c[i].sequence = (uint32_t)i;
	}
	free(s.dataset.collective);
	s.dataset.collective = c;
	s.dataset.collectives = LARGE;
	CHECK_INT(sample_writer("hdf5")->write(&s.out, &err), 0);
	CHECK(exists(in_base("large/podprof/sample/pod.h5")));
	sample_free(&s);
}

TEST(one_worker)
{
	struct sample s;

	sample_make(&s, 1, in_base("one"));
	CHECK_INT(write_all(&s.out), 0);
	sample_free(&s);
}

TEST(nothing_recorded)
{
	struct pp_capture c = make_capture(0);
	struct pp_steps steps = {0};
	struct pp_dataset d = {.names = c.names, .ranks_asked = 4};
	struct pp_output out = {.capture = &c, .steps = &steps, .dataset = &d, .logdir = in_base("empty"), .session = "sample"};
	struct pp_err err = {""};

	CHECK_INT(pp_tools_run(&d, &err), 0);
	CHECK_INT(write_all(&out), 0);
	CHECK(exists(in_base("empty/podprof/sample/pod.h5")));
	CHECK(exists(in_base("empty/podprof/sample/summary.txt")));
	pp_dataset_release(&d);
	free_capture(&c);
}

TEST(cannot_write)
{
	struct pp_err err = {""};
	struct sample s;

	touch(in_base("file"));
	sample_make(&s, 1, in_base("file"));
	for (size_t i = 0; pp_writer_list[i]; i++) {
		err.text[0] = '\0';
		CHECK(pp_writer_list[i]->write(&s.out, &err) < 0);
		CHECK(strstr(err.text, "cannot make directory") != NULL);
	}
	sample_free(&s);
}

/* Needs root: a tmpfs of 64 KiB. */
static int full_disk(void)
{
	static const char *const file[] = {"hdf5", "xspace", "text"};
	struct pp_err err = {""};
	struct sample s;
	FILE *f;

	mkdir(in_base("full"), 0700);
	if (mount("none", in_base("full"), "tmpfs", 0, "size=64k"))
		return 77;
	sample_make(&s, 2, in_base("full"));
	CHECK_INT(pp_output_make_dirs(&s.out, &err), 0);
	f = fopen(in_base("full/ballast"), "w");
	while (f && fputc('x', f) != EOF)
		;
	if (f)
		fclose(f);
	for (size_t i = 0; i < 3; i++) {
		err.text[0] = '\0';
		CHECK(sample_writer(file[i])->write(&s.out, &err) < 0);
		CHECK(strstr(err.text, "o space left on device") != NULL);
		if (!strstr(err.text, "o space left"))
			fprintf(stderr, "%s: %s\n", file[i], err.text);
	}
	CHECK(!exists(in_base("full/podprof/sample/pod.h5")));
	CHECK(!exists(in_base("full/podprof/sample/pod.h5.part")));
	CHECK(!exists(in_base("full/podprof/sample/summary.txt.part")));
	CHECK(!exists(in_base("full/plugins/profile/sample/node0.xplane.pb.part")));
	sample_free(&s);
	umount(in_base("full"));
	return 0;
}

TEST(special_names)
{
	CHECK(pp_xname_is_special("train_step"));
	CHECK(pp_xname_is_special("test"));
	CHECK(!pp_xname_is_special("train/step"));
	CHECK(!pp_xname_is_special("restrain"));
	CHECK(pp_xname_is_special("ITERATORGETNEXT::x"));
	CHECK(pp_xname_is_special("memcpyhtod"));
	CHECK(pp_xname_is_special("FunctionRun"));
	CHECK(!pp_xname_is_special("forward"));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

int main(int argc, char **argv)
{
	int keep = argc > 2 && !strcmp(argv[1], "--keep");

	if (argc > 1 && !strcmp(argv[1], "--full-disk")) {
		int code;

		snprintf(base, sizeof(base), "%s", "/tmp/podprof-write-XXXXXX");
		CHECK(mkdtemp(base) != NULL);
		code = full_disk();
		nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		return code ? code : test_end();
	}
	if (keep) {
		snprintf(base, sizeof(base), "%s", argv[2]);
		nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		mkdir(base, 0755);
	} else {
		snprintf(base, sizeof(base), "%s", "/tmp/podprof-write-XXXXXX");
		CHECK(mkdtemp(base) != NULL);
	}
	files_per_host_and_rank();
	stale_files_go();
	no_steps_between();
	other_hosts_clock();
	large_columns();
	one_worker();
	nothing_recorded();
	cannot_write();
	special_names();
	if (!keep)
		nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return test_end();
}
