/* The ranks of `mpirun podprof analyze`; see several.h. Called by cmd_analyze.c. */
#include "launchers/analyze/several.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/spool/job.h"
#include "core/base/grow.h"
#include "launchers/cmd.h"
#include "launchers/options/say.h"
#include "launchers/run/env_plan.h"

struct head { /* of a file's result between ranks; `size` bytes follow */
	uint64_t index, size;
	struct pp_analyze_whose whose;
	int32_t read_as;
	char why[sizeof(((struct pp_analyze_file *)0)->why)];
};

struct named { /* of a file in rank 0's list */
	struct pp_trace_glance glance;
	int32_t rank;
	uint32_t length; /* of its path, which follows */
	char why[sizeof(((struct pp_analyze_file *)0)->why)];
};

/* libpodprof-gather.so beside libpodprof-mpi.so, after the MPI library that it takes its functions from. */
static const struct pp_analysis_ops *load(char *why, size_t size)
{
	char *library = NULL, *mpi = NULL, program[PATH_MAX], path[PATH_MAX + 32] = "";
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	const struct pp_analysis_ops *ops = NULL;
	struct pp_err err = {""};
	void *module = NULL, *library_of_mpi;

	program[length > 0 ? length : 0] = '\0';
	if (length > 0 && !pp_env_find_libraries(program, &library, &mpi, &err))
		snprintf(path, sizeof(path), "%.*s/libpodprof-gather.so", (int)(strrchr(library, '/') - library), library);
	library_of_mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
	if (!library_of_mpi)
		library_of_mpi = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
	if (!library_of_mpi)
		snprintf(why, size, "there is no MPI library that podprof can load (libmpi.so.40)");
	else if (!*path || !(module = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		snprintf(why, size, "podprof was installed without libpodprof-gather.so, or it cannot be loaded");
	else
		ops = dlsym(module, PP_ANALYSIS_OPS);
	free(library);
	free(mpi);
	/* cppcheck-suppress resourceLeak ; the MPI library stays until this process ends */
	return ops;
}

/* Started by srun, and by nothing that ranks find each other through: MPI_Init would end the process. */
static int is_unjoined_step(void)
{
	return getenv("SLURM_PROCID") && !getenv("PMIX_RANK") && !getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK");
}

int pp_several_begin_all(struct pp_several *s)
{
	struct pp_job job;
	char why[160] = "";

	*s = (struct pp_several){.world = {.rank = 0, .size = 1}, .local_size = 1};
	pp_job_read(&job);
	if (job.size < 2 || job.rank < 0)
		return 0;
	if (is_unjoined_step()) {
		if (!job.rank)
			pp_say("srun started %d processes that cannot find each other, and each would write a session of its own: "
			       "type 'srun --mpi=pmix -n %d podprof analyze ...', or leave out srun. Nothing was analysed.",
			       job.size, job.size);
		return PP_EXIT_USAGE;
	}
	s->local_size = job.local_size > 0 ? job.local_size : 1;
	s->ops = load(why, sizeof(why));
	if (s->ops && s->ops->begin_all(&s->world, why, sizeof(why)))
		s->ops = NULL;
	if (s->ops && s->world.size == job.size)
		return 0;
	if (s->ops) {
		snprintf(why, sizeof(why), "the launcher is of another MPI than '%.60s'", s->world.library);
		s->ops->end_all();
	}
	s->ops = NULL;
	s->idle = job.rank > 0;
	s->world = (struct pp_analysis_world){.rank = job.rank, .size = 1};
	snprintf(s->why_alone, sizeof(s->why_alone), "rank 0 reads all files alone: %s", why);
	return 0;
}

static void put(FILE *to, const void *bytes, size_t size)
{
	fwrite(bytes, size, 1, to);
}

static void put_file(FILE *to, const struct pp_analyze_file *f)
{
	struct named n = {.glance = f->glance, .rank = f->rank, .length = (uint32_t)strlen(f->path)};

	memcpy(n.why, f->why, sizeof(n.why));
	put(to, &n, sizeof(n));
	put(to, f->path, n.length);
}

/* The list as rank 0 has put it. */
static int take_files(struct pp_inputs *in, const char *bytes, uint64_t size)
{
	for (uint64_t at = 0; at + sizeof(struct named) <= size;) {
		struct pp_analyze_file *grown;
		struct named n;

		if (PP_RESIZE(in->file, in->files + 1))
			return -ENOMEM;
		memcpy(&n, bytes + at, sizeof(n));
		at += sizeof(n);
		grown = &in->file[in->files];
		*grown = (struct pp_analyze_file){.glance = n.glance, .rank = n.rank, .path = strndup(bytes + at, n.length)};
		memcpy(grown->why, n.why, sizeof(n.why));
		at += n.length;
		if (!grown->path)
			return -ENOMEM;
		in->files++;
	}
	return 0;
}

int pp_several_inputs_all(const struct pp_several *s, struct pp_inputs *in, struct pp_err *err)
{
	char *text = NULL;
	size_t length = 0;
	uint64_t size;
	void *bytes;
	FILE *to;
	int rc = 0;

	if (!s->ops)
		return 0;
	to = s->world.rank ? NULL : open_memstream(&text, &length);
	for (size_t i = 0; to && i < in->files; i++)
		put_file(to, &in->file[i]);
	if (to && fclose(to))
		length = 0; /* no memory: the others read nothing, and rank 0 says so */
	bytes = text;
	size = length;
	rc = s->ops->share_all(&bytes, &size);
	if (!rc && s->world.rank && take_files(in, bytes, size))
		pp_inputs_release(in); /* this rank reads nothing: rank 0 misses its files */
	if (!rc || !s->world.rank)
		free(bytes);
	return rc ? pp_err_set(err, rc, "no memory for the list of files") : 0;
}

int pp_several_is_mine(const struct pp_several *s, const struct pp_inputs *in, size_t index)
{
	const struct pp_analyze_file *f = in->file;
	size_t before = 0, ranks = (size_t)s->world.size, turn;

	for (size_t i = 0; i < in->files; i++) {
		int is_larger = f[i].glance.bytes > f[index].glance.bytes;

		before += is_larger || (i < index && f[i].glance.bytes == f[index].glance.bytes);
	}
	turn = before % (2 * ranks);
	return (turn < ranks ? turn : 2 * ranks - 1 - turn) == (size_t)s->world.rank;
}

static void take(void *context, int rank, const void *bytes, uint64_t size)
{
	struct pp_inputs *in = context;

	for (uint64_t at = 0; rank && bytes && at + sizeof(struct head) <= size;) {
		struct pp_analyze_file *f;
		struct head h;

		memcpy(&h, (const char *)bytes + at, sizeof(h));
		at += sizeof(h);
		if (h.index >= in->files || h.size > size - at)
			return;
		f = &in->file[h.index];
		memcpy(f->why, h.why, sizeof(f->why));
		f->whose = h.whose;
		f->read_as = h.read_as;
		f->block = h.size ? malloc(h.size) : NULL;
		f->size = h.size;
		if (f->block)
			memcpy(f->block, (const char *)bytes + at, h.size);
		at += h.size;
	}
}

int pp_several_gather_all(const struct pp_several *s, struct pp_inputs *in, struct pp_err *err)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to;

	if (!s->ops)
		return 0;
	to = open_memstream(&text, &length);
	for (size_t i = 0; to && s->world.rank && i < in->files; i++) {
		const struct pp_analyze_file *f = &in->file[i];
		struct head h = {.index = i, .size = f->block ? f->size : 0, .whose = f->whose, .read_as = f->read_as};

		if (!pp_several_is_mine(s, in, i) || (!f->block && !f->why[0]))
			continue;
		memcpy(h.why, f->why, sizeof(h.why));
		put(to, &h, sizeof(h));
		put(to, f->block, h.size);
	}
	if (to && fclose(to))
		length = 0;
	s->ops->gather_all(text, length, take, in);
	free(text);
	for (size_t i = 0; !s->world.rank && i < in->files; i++)
		if (!in->file[i].block && !in->file[i].why[0])
			snprintf(in->file[i].why, sizeof(in->file[i].why),
			         "cannot read '%s': the result of the rank that read it did not arrive", in->file[i].path);
	return to ? 0 : pp_err_set(err, -ENOMEM, "no memory for the results");
}

int pp_several_code_all(const struct pp_several *s, int code)
{
	uint64_t size = sizeof(code);
	void *bytes = &code;

	if (!s->ops || s->ops->share_all(&bytes, &size))
		return code;
	if (s->world.rank) {
		memcpy(&code, bytes, sizeof(code));
		free(bytes);
	}
	return code;
}

void pp_several_end_all(struct pp_several *s)
{
	if (s->ops)
		s->ops->end_all();
	s->ops = NULL;
}
