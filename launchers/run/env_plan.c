/* Makes the table of variables for a job's environment, and applies it; podprof run calls it just before exec. */
#include "launchers/run/env_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/file_name.h"
#include "launchers/run/rendezvous.h"

int pp_env_plan_add(struct pp_env_plan *plan, const char *name, char *value, struct pp_err *err)
{
	if (!value)
		return pp_err_set(err, -ENOMEM, "no memory for the environment of the job");
	plan->variable[plan->count].name = name;
	plan->variable[plan->count].value = value;
	plan->count++;
	return 0;
}

/* Is `path` one of the words of a list already? An outer podprof run put it there. */
static int has_word(const char *list, const char *between, const char *path)
{
	size_t length = strlen(path);

	while (*list) {
		size_t word = strcspn(list, between);

		if (word == length && !memcmp(list, path, length))
			return 1;
		list += word;
		list += strspn(list, between);
	}
	return 0;
}

/* AddressSanitizer's shared runtime ends a program in which another library comes first, judging by the name in its path, as it
 * may then miss interposed functions. Our first library has none of them, and libpodprof-io.so goes on to the runtime's: so the
 * first path leads through a directory with the runtime's name. ASAN_OPTIONS would not do: ranks and scripts set their own. */
static char *path_before_asan(const char *library)
{
	const char *slash = strrchr(library, '/');
	char *path = NULL;

	if (!slash || asprintf(&path, "%.*s/" PODPROF_BEFORE_ASAN "/..%s", (int)(slash - library), library, slash) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

static char *preload(const struct pp_env_plan_input *in)
{
	const char *had = in->get("LD_PRELOAD");
	char *first = path_before_asan(in->library), *text = NULL;
	const char *library = first ? first : in->library, *mpi = in->mpi_library, *io = in->io_library;
	int rc;

	if (io && had && has_word(had, ": ", io))
		io = NULL;
	if (had && (has_word(had, ": ", library) || has_word(had, ": ", in->library)))
		rc = asprintf(&text, "%s%s%s", had, io ? ":" : "", io ? io : "");
	else
		rc = asprintf(&text, "%s%s%s%s%s%s%s", library, io ? ":" : "", io ? io : "", mpi ? ":" : "", mpi ? mpi : "",
		              had && *had ? ":" : "", had ? had : "");
	if (rc < 0)
		text = NULL;
	free(first);
	return text;
}

/* An empty element would mean the current directory: no colon follows where the variable was empty. */
static char *python_path(const struct pp_env_plan_input *in)
{
	const char *had = in->get("PYTHONPATH");
	char *text = NULL;

	if (had && has_word(had, ":", in->shim))
		return strdup(had);
	if (asprintf(&text, "%s%s%s", in->shim, had && *had ? ":" : "", had ? had : "") < 0)
		return NULL;
	return text;
}

/* Adds the variables by which NVTX, ITT, CUDA and Python load podprof; a tool that the user had for NVTX or ITT is loaded after
 * us. */
static int add_injections(const struct pp_env_plan_input *in, struct pp_env_plan *plan, struct pp_err *err)
{
	static const char *const pair[][2] = {{"NVTX_INJECTION64_PATH", "PODPROF_NVTX_CHAIN"},
	                                      {"INTEL_LIBITTNOTIFY64", "PODPROF_ITT_CHAIN"}};
	const char *had;
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(pair) / sizeof(pair[0]); i++) {
		had = in->get(pair[i][0]);
		if (had && *had && strcmp(had, in->library) != 0)
			rc = pp_env_plan_add(plan, pair[i][1], strdup(had), err);
		if (!rc)
			rc = pp_env_plan_add(plan, pair[i][0], strdup(in->library), err);
	}
	/* The driver calls one library only, and a tool that the user has there uses CUPTI, which has one user. */
	had = in->get("CUDA_INJECTION64_PATH");
	if (!rc && (!had || !*had || strstr(had, "/libpodprof.so")))
		rc = pp_env_plan_add(plan, "CUDA_INJECTION64_PATH", strdup(in->library), err);
	if (!rc && in->shim)
		rc = pp_env_plan_add(plan, "PYTHONPATH", python_path(in), err);
	return rc;
}

/* NCCL loads podprof as its profiler plug-in, which then loads the user's. The user may have switched off plug-ins. */
static int add_nccl(const struct pp_env_plan_input *in, struct pp_env_plan *plan, struct pp_err *err)
{
	const char *had = in->get("NCCL_PROFILER_PLUGIN");
	int rc = 0;

	if (had && !strcasecmp(had, "none"))
		return 0;
	if (had && *had && strcmp(had, in->library) != 0)
		rc = pp_env_plan_add(plan, "PODPROF_NCCL_CHAIN", strdup(had), err);
	return rc ? rc : pp_env_plan_add(plan, "NCCL_PROFILER_PLUGIN", strdup(in->library), err);
}

/* Adds what a rank on a host without the spool needs so that podprof makes it (core/coord/arrive.c). */
static int add_arrival(const struct pp_env_plan_input *in, struct pp_env_plan *plan, struct pp_err *err)
{
	const char *restart = in->get("TORCHELASTIC_RESTART_COUNT");
	int rc = pp_env_plan_add(plan, "PODPROF_PROGRAM", strdup(in->program), err);

	if (!rc)
		rc = pp_env_plan_add(plan, "PODPROF_JOB", strdup(in->job), err);
	if (!rc && restart)
		rc = pp_env_plan_add(plan, "PODPROF_RESTART", strdup(restart), err);
	if (!rc && in->rendezvous)
		rc = pp_env_plan_add(plan, PP_RENDEZVOUS_VARIABLE, strdup(in->rendezvous), err);
	return rc;
}

int pp_env_plan_make(const struct pp_env_plan_input *in, struct pp_env_plan *ret_plan, struct pp_err *err)
{
	int rc;

	ret_plan->count = 0;
	if (strpbrk(in->library, ": "))
		return pp_err_set(err, -EINVAL,
		                  "cannot preload '%s': the path has a blank or a colon. Install podprof in another directory",
		                  in->library);
	rc = pp_env_plan_add(ret_plan, "PODPROF_SPOOL", strdup(in->spool), err);
	if (!rc)
		rc = pp_env_plan_add(ret_plan, "LD_PRELOAD", preload(in), err);
	if (!rc)
		rc = add_injections(in, ret_plan, err);
	if (!rc)
		rc = add_nccl(in, ret_plan, err);
	if (!rc && in->program)
		rc = add_arrival(in, ret_plan, err);
	for (int i = 0; !rc && i < PP_OPTS; i++) {
		const char *value = in->options->text[i];

		if (i == PP_OPT_ID_SPOOL || !(pp_opt_table[i].groups & PP_OPT_RUN))
			continue;
		/* The log directory is passed on even where it is the default: another directory and host would give another
		 * one. */
		if (in->options->source[i] == PP_FROM_DEFAULT && i != PP_OPT_ID_OUTPUT)
			continue;
		rc = pp_env_plan_add(ret_plan, pp_opt_table[i].env, strdup(i == PP_OPT_ID_OUTPUT ? in->output : value), err);
	}
	if (rc)
		pp_env_plan_release(ret_plan);
	return rc;
}

void pp_env_plan_replace(struct pp_env_plan *plan, const char *name, char *value)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->variable[i].name, name) != 0)
			continue;
		free(plan->variable[i].value);
		plan->variable[i].value = value;
		return;
	}
	free(value);
}

int pp_env_plan_apply(const struct pp_env_plan *plan, struct pp_err *err)
{
	char *had[PP_ENV_PLAN_MAX] = {NULL};
	size_t done;

	for (done = 0; done < plan->count; done++) {
		const char *old = getenv(plan->variable[done].name);

		had[done] = old ? strdup(old) : NULL;
		if ((old && !had[done]) || setenv(plan->variable[done].name, plan->variable[done].value, 1))
			break;
	}
	for (size_t i = done; done < plan->count && i-- > 0;) {
		if (had[i])
			setenv(plan->variable[i].name, had[i], 1);
		else
			unsetenv(plan->variable[i].name);
	}
	for (size_t i = 0; i < PP_ENV_PLAN_MAX; i++)
		free(had[i]);
	return done < plan->count ? pp_err_set(err, -ENOMEM, "no memory for the environment of the job") : 0;
}

void pp_env_stand_in(const char *library, const char *mpi_library, const char *(*get)(const char *name))
{
	const char *size = get("OMPI_COMM_WORLD_SIZE"), *local = get("OMPI_COMM_WORLD_LOCAL_SIZE");
	struct pp_env_plan_input in = {.library = library, .mpi_library = mpi_library, .get = get};
	char *text;

	if (!library || !mpi_library || !size || !local || !strcmp(size, local) || strpbrk(library, ": "))
		return;
	text = preload(&in);
	if (text)
		setenv("LD_PRELOAD", text, 1);
	free(text);
}

void pp_env_plan_release(struct pp_env_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		free(plan->variable[i].value);
	plan->count = 0;
}

/* `place` relative to the directory of `program`, with leading "../" resolved: the path is shown, and used in LD_PRELOAD. */
static char *beside(const char *program, const char *place, const char *file)
{
	const char *slash = strrchr(program, '/');
	size_t length = slash ? (size_t)(slash - program) : 0;
	char *path = NULL;

	while (!strncmp(place, "../", 3) && length) {
		while (length && program[--length] != '/')
			;
		place += 3;
	}
	if (asprintf(&path, "%.*s/%s/%s", (int)length, program, place, file) < 0)
		return NULL;
	return path;
}

int pp_env_find_libraries(const char *program, char **ret_library, char **ret_mpi, struct pp_err *err)
{
	/* installed as configured, installed elsewhere, in the build tree */
	static const char *const places[] = {PODPROF_PLUGIN_PATH, "../lib/podprof", "../lib"};
	char *library = NULL, *mpi = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		free(library);
		library = beside(program, places[i], "libpodprof.so");
		if (!library)
			return pp_err_set(err, -ENOMEM, "no memory for the path of libpodprof.so");
		if (access(library, R_OK))
			continue;
		mpi = beside(program, places[i], "libpodprof-mpi.so");
		if (!mpi) {
			free(library);
			return pp_err_set(err, -ENOMEM, "no memory for the path of libpodprof-mpi.so");
		}
		if (access(mpi, R_OK)) {
			free(mpi);
			mpi = NULL;
		}
		*ret_library = library;
		*ret_mpi = mpi;
		return 0;
	}
	pp_err_set(err, -ENOENT, "cannot find libpodprof.so for '%s': it is not built or not installed", program);
	free(library);
	return -ENOENT;
}

char *pp_env_find_io(const char *library)
{
	const char *slash = strrchr(library, '/');
	char *path = NULL;

	if (!slash || asprintf(&path, "%.*s/libpodprof-io.so", (int)(slash - library), library) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

char *pp_env_find_shim(const char *library)
{
	const char *slash = strrchr(library, '/');
	char *path = NULL;

	if (!slash || asprintf(&path, "%.*s/python/sitecustomize.py", (int)(slash - library), library) < 0)
		return NULL;
	if (access(path, R_OK)) {
		free(path);
		return NULL;
	}
	*strrchr(path, '/') = '\0';
	return path;
}

static int is_one_of(const char *word, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(word, *names))
			return 1;
	return 0;
}

/* Where a shell would find it, links followed; "" nowhere. */
static void real_path(const char *command, char *ret_path)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	*ret_path = '\0';
	if (strchr(command, '/')) {
		if (!realpath(command, ret_path))
			*ret_path = '\0';
		return;
	}
	for (path = path ? path : "/bin:/usr/bin"; path; path = strchr(path, ':') ? strchr(path, ':') + 1 : NULL) {
		int length = (int)strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s%s%s", length, path, length ? "/" : "", command) < (int)sizeof(file) &&
		    !access(file, X_OK) && realpath(file, ret_path))
			return;
	}
	*ret_path = '\0';
}

/* Others have an mpirun too, which would not know "-x". */
static int is_open_mpi(const char *command)
{
	static const char *const own[] = {"orterun", "prterun", "prun", NULL}, *const shared[] = {"mpirun", "mpiexec", NULL};
	char path[PATH_MAX], beside[PATH_MAX + 16];

	real_path(command, path);
	if (is_one_of(pp_file_name(path), own))
		return 1;
	snprintf(beside, sizeof(beside), "%.*sprterun", (int)(pp_file_name(path) - path), path);
	return is_one_of(pp_file_name(path), shared) && !access(beside, X_OK);
}

enum pp_forward pp_forward_how(char *const *command)
{
	static const char *const launchers[] = {"mpirun",         "mpiexec",         "orterun", "prterun",
	                                        "mpirun.openmpi", "mpiexec.openmpi", NULL};
	static const char *const hidden[] = {
	        "--app", "-app", "--tune", "-tune", "--am", "-am", "--amca", "-amca", "mca_base_env_list", NULL};
	static const char *const words[] = {"-x", "--x", NULL};
	int has_words = 0;

	if (!command[0] || !is_one_of(pp_file_name(command[0]), launchers))
		return PP_FORWARD_NOT;
	for (size_t i = 1; command[i]; i++) {
		if (is_one_of(command[i], hidden))
			return PP_FORWARD_NOT;
		has_words |= is_one_of(command[i], words);
	}
	if (!has_words)
		return PP_FORWARD_BY_LIST;
	/* A word of the application may look like it: the list would be right, and the other way is right for both. */
	return is_open_mpi(command[0]) && !getenv(PP_FORWARD_LIST) ? PP_FORWARD_BY_WORDS : PP_FORWARD_NOT;
}

char *pp_forward_list(const struct pp_env_plan *plan, const char *(*get)(const char *name))
{
	const char *had = get(PP_FORWARD_LIST), *between = get(PP_FORWARD_LIST "_delimiter");
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (!between || !*between)
		between = ";";
	fputs(had ? had : "", f);
	for (size_t i = 0; i < plan->count; i++)
		fprintf(f, "%s%s", i || (had && *had) ? between : "", plan->variable[i].name);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The user gives it a value of his own there. */
static int is_given(char *const *command, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 1; command[i]; i++)
		if (!strncmp(command[i], name, length) && (!command[i][length] || command[i][length] == '='))
			return 1;
	return 0;
}

char **pp_forward_words(const struct pp_env_plan *plan, char *const *command)
{
	size_t words = 0, contexts = 1, n = 0;
	char **line;

	for (; command[words]; words++)
		contexts += words && !strcmp(command[words], ":");
	line = calloc(words + contexts * plan->count * 2 + 1, sizeof(*line));
	if (!line)
		return NULL;
	for (size_t i = 0; i < words; i++) {
		line[n++] = command[i];
		if (i && strcmp(command[i], ":"))
			continue;
		for (size_t k = 0; k < plan->count; k++) {
			if (is_given(command, plan->variable[k].name))
				continue;
			line[n++] = (char *)"-x";
			line[n++] = (char *)plan->variable[k].name; /* static */
		}
	}
	return line;
}
