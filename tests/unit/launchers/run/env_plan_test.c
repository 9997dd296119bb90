/* What podprof run puts into a job's environment, and that the user's own values stay. */
#include "launchers/run/env_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static const char *preload, *nvtx, *itt, *python, *cuda;

static const char *get(const char *name)
{
	if (!strcmp(name, "LD_PRELOAD"))
		return preload;
	if (!strcmp(name, "INTEL_LIBITTNOTIFY64"))
		return itt;
	if (!strcmp(name, "PYTHONPATH"))
		return python;
	if (!strcmp(name, "CUDA_INJECTION64_PATH"))
		return cuda;
	return strcmp(name, "NVTX_INJECTION64_PATH") ? NULL : nvtx;
}

static const char *get_list(const char *name)
{
	return strcmp(name, PP_FORWARD_LIST) ? NULL : preload;
}

static const char *value_of(const struct pp_env_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!strcmp(plan->variable[i].name, name))
			return plan->variable[i].value;
	return NULL;
}

static void defaults(struct pp_options *options)
{
	for (int i = 0; i < PP_OPTS; i++) {
		options->text[i] = pp_opt_table[i].fallback;
		options->source[i] = PP_FROM_DEFAULT;
	}
}

TEST(nothing_of_the_users_is_lost)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {"/p/lib/libpodprof.so", "/p/lib/libpodprof-mpi.so", "/dev/shm/s", "/logs", &options, get};
	struct pp_err err;

	defaults(&options);
	options.text[PP_OPT_ID_STEPS] = "1:2";
	options.source[PP_OPT_ID_STEPS] = PP_FROM_COMMAND_LINE;
	preload = "/user/lib.so";
	nvtx = "/user/nvtx.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), "/p/lib/libpodprof.so:/p/lib/libpodprof-mpi.so:/user/lib.so");
	CHECK_STR(value_of(&plan, "NVTX_INJECTION64_PATH"), "/p/lib/libpodprof.so");
	CHECK_STR(value_of(&plan, "PODPROF_NVTX_CHAIN"), "/user/nvtx.so");
	CHECK_STR(value_of(&plan, "CUDA_INJECTION64_PATH"), "/p/lib/libpodprof.so");
	CHECK_STR(value_of(&plan, "PODPROF_SPOOL"), "/dev/shm/s");
	CHECK_STR(value_of(&plan, "PODPROF_STEPS"), "1:2");
	CHECK(!value_of(&plan, "PODPROF_WAIT"));
	CHECK_INT(pp_env_plan_apply(&plan, &err), 0);
	CHECK_STR(getenv("PODPROF_STEPS"), "1:2");
	pp_env_plan_release(&plan);
}

/* Behind libpodprof.so; behind all others if an outer run was without it. */
TEST(reads_are_counted_where_it_is_wanted)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {"/p/lib/libpodprof.so", "/p/lib/libpodprof-mpi.so", "/dev/shm/s", "/logs", &options, get};
	struct pp_err err;

	defaults(&options);
	options.text[PP_OPT_ID_IO] = "yes";
	options.source[PP_OPT_ID_IO] = PP_FROM_COMMAND_LINE;
	in.io_library = "/p/lib/libpodprof-io.so";
	preload = "/user/lib.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"),
	          "/p/lib/libpodprof.so:/p/lib/libpodprof-io.so:/p/lib/libpodprof-mpi.so:/user/lib.so");
	CHECK_STR(value_of(&plan, "PODPROF_IO"), "yes");
	pp_env_plan_release(&plan);
	preload = "/p/lib/libpodprof.so:/p/lib/libpodprof-io.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), preload);
	pp_env_plan_release(&plan);
	preload = "/p/lib/libpodprof.so:/user/lib.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), "/p/lib/libpodprof.so:/user/lib.so:/p/lib/libpodprof-io.so");
	pp_env_plan_release(&plan);
}

TEST(an_inner_run_adds_nothing_twice)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {"/p/lib/libpodprof.so", NULL, "/dev/shm/s", "/logs", &options, get};
	struct pp_err err;

	defaults(&options);
	preload = "/p/lib/libpodprof.so:/p/lib/libpodprof-mpi.so:/user/lib.so";
	nvtx = "/p/lib/libpodprof.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), preload);
	CHECK(!value_of(&plan, "PODPROF_NVTX_CHAIN"));
	pp_env_plan_release(&plan);
	preload = nvtx = NULL;
	cuda = "/user/cuda.so"; /* stays: the driver takes one */
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK(!value_of(&plan, "CUDA_INJECTION64_PATH"));
	pp_env_plan_release(&plan);
	cuda = "/older/libpodprof.so";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "CUDA_INJECTION64_PATH"), "/p/lib/libpodprof.so");
	pp_env_plan_release(&plan);
	cuda = NULL;
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), "/p/lib/libpodprof.so");
	pp_env_plan_release(&plan);
}

/* AddressSanitizer's runtime looks for its own name in the path of the first library. */
TEST(the_first_path_has_the_name_that_asan_looks_for)
{
	struct pp_options options;
	struct pp_env_plan plan;
	char dir[] = "/tmp/podprof-plan-XXXXXX", library[64], way[96], wanted[160];
	struct pp_env_plan_input in = {library, NULL, "/dev/shm/s", "/logs", &options, get};
	struct pp_err err;
	FILE *f;

	defaults(&options);
	preload = nvtx = NULL;
	CHECK(mkdtemp(dir) != NULL);
	snprintf(library, sizeof(library), "%s/libpodprof.so", dir);
	snprintf(way, sizeof(way), "%s/before-libasan.so", dir);
	CHECK_INT(mkdir(way, 0700), 0);
	f = fopen(library, "w");
	CHECK(f != NULL && !fclose(f));
	snprintf(wanted, sizeof(wanted), "%s/../libpodprof.so", way);
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), wanted);
	CHECK_STR(value_of(&plan, "NVTX_INJECTION64_PATH"), library);
	pp_env_plan_release(&plan);
	preload = wanted;
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "LD_PRELOAD"), wanted);
	pp_env_plan_release(&plan);
	preload = NULL;
	CHECK(!unlink(library) && !rmdir(way) && !rmdir(dir));
}

/* The shim in front of the user's modules, his collector behind ours; once, however many podprof run are around the job. */
TEST(itt_and_python_find_us_first)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {.library = "/p/lib/libpodprof.so",
	                               .spool = "/dev/shm/s",
	                               .output = "/logs",
	                               .options = &options,
	                               .get = get,
	                               .shim = "/p/lib/python"};
	struct pp_err err;
	char *list;

	defaults(&options);
	itt = "/user/itt.so";
	python = "/user/modules:/p/lib/python-other:";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "INTEL_LIBITTNOTIFY64"), "/p/lib/libpodprof.so");
	CHECK_STR(value_of(&plan, "PODPROF_ITT_CHAIN"), "/user/itt.so");
	CHECK_STR(value_of(&plan, "PYTHONPATH"), "/p/lib/python:/user/modules:/p/lib/python-other:");
	list = pp_forward_list(&plan, get);
	CHECK(list && strstr(list, ";INTEL_LIBITTNOTIFY64;") && strstr(list, ";PODPROF_ITT_CHAIN;") && strstr(list, ";PYTHONPATH"));
	free(list);
	pp_env_plan_release(&plan);
	itt = "/p/lib/libpodprof.so";
	python = "/put/in/front:/p/lib/python:/user/modules";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK(!value_of(&plan, "PODPROF_ITT_CHAIN"));
	CHECK_STR(value_of(&plan, "PYTHONPATH"), python);
	pp_env_plan_release(&plan);
	itt = NULL;
	python = "";
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "PYTHONPATH"), "/p/lib/python");
	pp_env_plan_release(&plan);
	in.shim = NULL;
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK(!value_of(&plan, "PYTHONPATH"));
	pp_env_plan_release(&plan);
	python = NULL;
}

/* What ranks of other hosts need, and mpirun's own list of what it passes on, behind the user's. */
TEST(other_hosts_get_it_too)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {.library = "/p/lib/libpodprof.so",
	                               .spool = "/dev/shm/s",
	                               .output = "/logs",
	                               .options = &options,
	                               .get = get,
	                               .program = "/p/bin/podprof",
	                               .job = "job"};
	struct pp_err err;
	char *list;

	defaults(&options);
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), 0);
	CHECK_STR(value_of(&plan, "PODPROF_OUTPUT"), "/logs");
	CHECK_STR(value_of(&plan, "PODPROF_JOB"), "job");
	list = pp_forward_list(&plan, get);
	CHECK(list && !strncmp(list, "PODPROF_SPOOL;LD_PRELOAD;", 25) && !strchr(list, '='));
	free(list);
	pp_env_plan_release(&plan);
	preload = "USER=1;B";
	CHECK_STR((list = pp_forward_list(&plan, get_list)), "USER=1;B");
	free(list);
	preload = NULL;
}

TEST(mpirun_is_known)
{
	char *const plain[] = {(char *)"/usr/bin/mpirun", (char *)"-n", (char *)"4", (char *)"./train", NULL};
	char *const other[] = {(char *)"bash", (char *)"-c", (char *)"mpirun -n 4 ./train", NULL};
	char *const tuned[] = {(char *)"mpirun", (char *)"--tune", (char *)"file", (char *)"./train", NULL};
	char *const missing[] = {(char *)"/nowhere/mpirun", (char *)"-x", (char *)"A", (char *)"./train", NULL};
	char *const many[] = {
	        (char *)"mpirun", (char *)"-x", (char *)"A", (char *)"-x", (char *)"PODPROF_OUTPUT=/mine", (char *)"a", (char *)":",
	        (char *)"-n",     (char *)"2",  (char *)"b", NULL};
	struct pp_env_plan plan = {.variable = {{"PODPROF_SPOOL", NULL}, {"PODPROF_OUTPUT", NULL}}, .count = 2};
	char **line = pp_forward_words(&plan, many);

	CHECK_INT(pp_forward_how(plain), PP_FORWARD_BY_LIST);
	CHECK_INT(pp_forward_how(other), PP_FORWARD_NOT);
	CHECK_INT(pp_forward_how(tuned), PP_FORWARD_NOT);
	CHECK_INT(pp_forward_how(missing), PP_FORWARD_NOT);
	CHECK(line != NULL);
	for (size_t i = 0; line && i < 3; i++)
		CHECK_STR(line[i], i == 0 ? "mpirun" : i == 1 ? "-x" : "PODPROF_SPOOL");
	CHECK_STR(line[8], ":");
	CHECK_STR(line[10], "PODPROF_SPOOL");
	CHECK(line[14] == NULL);
	free(line);
}

TEST(a_path_that_cannot_be_preloaded)
{
	struct pp_options options;
	struct pp_env_plan plan;
	struct pp_env_plan_input in = {"/my libs/libpodprof.so", NULL, "/dev/shm/s", "/logs", &options, get};
	struct pp_err err;

	defaults(&options);
	CHECK_INT(pp_env_plan_make(&in, &plan, &err), -EINVAL);
	CHECK(strstr(err.text, "/my libs/libpodprof.so") != NULL);
}

static void make_file(const char *base, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", base, name);
	for (char *c = path + strlen(base) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	f = fopen(path, "we");
	if (f)
		fclose(f);
}

/* An installed tree wins over a build tree, and the wrappers for MPI are those beside the collector that was found. */
TEST(libraries_beside_the_program)
{
	char base[] = "/tmp/podprof-unit-XXXXXX", program[512], want[512], command[600];
	char *library = NULL, *mpi = NULL, *shim;
	struct pp_err err;

	CHECK(mkdtemp(base) != NULL);
	snprintf(program, sizeof(program), "%s/bin/podprof", base);
	CHECK_INT(pp_env_find_libraries(program, &library, &mpi, &err), -ENOENT);
	CHECK(!library && !mpi && strstr(err.text, program));
	make_file(base, "lib/libpodprof.so");
	make_file(base, "lib/libpodprof-mpi.so");
	CHECK_INT(pp_env_find_libraries(program, &library, &mpi, &err), 0);
	snprintf(want, sizeof(want), "%s/lib/libpodprof.so", base);
	CHECK_STR(library, want);
	snprintf(want, sizeof(want), "%s/lib/libpodprof-mpi.so", base);
	CHECK_STR(mpi, want);
	free(library);
	free(mpi);
	library = mpi = NULL;
	make_file(base, "lib/podprof/libpodprof.so");
	CHECK_INT(pp_env_find_libraries(program, &library, &mpi, &err), 0);
	snprintf(want, sizeof(want), "%s/lib/podprof/libpodprof.so", base);
	CHECK_STR(library, want);
	CHECK(!mpi && !pp_env_find_io(library));
	make_file(base, "lib/podprof/libpodprof-io.so");
	snprintf(want, sizeof(want), "%s/lib/podprof/libpodprof-io.so", base);
	CHECK_STR((shim = pp_env_find_io(library)), want);
	free(shim);
	make_file(base, "lib/python/sitecustomize.py");
	CHECK(!pp_env_find_shim(library) && !pp_env_find_shim("libpodprof.so"));
	make_file(base, "lib/podprof/python/sitecustomize.py");
	snprintf(want, sizeof(want), "%s/lib/podprof/python", base);
	CHECK_STR((shim = pp_env_find_shim(library)), want);
	free(shim);
	free(library);
	snprintf(command, sizeof(command), "rm -r '%s'", base);
	CHECK_INT(system(command), 0);
}

int main(void)
{
	reads_are_counted_where_it_is_wanted();
	libraries_beside_the_program();
	nothing_of_the_users_is_lost();
	an_inner_run_adds_nothing_twice();
	the_first_path_has_the_name_that_asan_looks_for();
	itt_and_python_find_us_first();
	other_hosts_get_it_too();
	mpirun_is_known();
	a_path_that_cannot_be_preloaded();
	return test_end();
}
