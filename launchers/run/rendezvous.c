/* Does a launcher's command span hosts, and files of the rendezvous point; see rendezvous.h. Called by cmd_run.c and
 * cmd_arrive.c. */
#include "launchers/run/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aggregate/keeper/net/rendezvous_point.h"
#include "core/base/proc.h"

enum { WAIT_MS = 2000, PAUSE_MS = 2, PATH_SIZE = 640, LIST_BYTES = 64 * 1024 };

/* Words that an option of mpirun, of Open MPI or of MPICH's kin, takes; one that is not here takes none. */
static const struct {
	const char *name; /* with one dash or two */
	int words;
} mpirun_options[] = {{"n", 1},          {"np", 1},       {"c", 1},          {"N", 1},         {"npernode", 1},
                      {"ppn", 1},        {"map-by", 1},   {"bind-to", 1},    {"rank-by", 1},   {"x", 1},
                      {"mca", 2},        {"gmca", 2},     {"pmixmca", 2},    {"prtemca", 2},   {"gpmixmca", 2},
                      {"wdir", 1},       {"wd", 1},       {"prefix", 1},     {"path", 1},      {"tag-output-filename", 1},
                      {"timeout", 1},    {"tune", 1},     {"app", 1},        {"genv", 2},      {"env", 2},
                      {"envlist", 1},    {"genvlist", 1}, {"launcher", 1},   {"bootstrap", 1}, {"iface", 1},
                      {"rmk", 1},        {"stdin", 1},    {"report-uri", 1}, {"dvm-uri", 1},   {"output-filename", 1},
                      {"personality", 1}};

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int is_one_of(const char *word, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(word, *names))
			return 1;
	return 0;
}

struct hosts { /* that were named */
	char first[256];
	int several;
};

/* Each name ends at one of `ends`; what follows it up to the next of `between` is slots and the like. */
static void take_names(struct hosts *h, const char *text, const char *ends, const char *between)
{
	while (*text) {
		size_t n;

		text += strspn(text, between);
		text += strspn(text, " \t");
		n = strcspn(text, ends);
		if (n && *text != '#' && !h->first[0])
			snprintf(h->first, sizeof(h->first), "%.*s", (int)n, text);
		else if (n && *text != '#' && (strlen(h->first) != n || strncmp(h->first, text, n) != 0))
			h->several = 1;
		text += strcspn(text, between);
	}
}

/* Two nodes in brackets, as Slurm writes them, or behind a comma. */
static int nodelist_several(const char *text)
{
	const char *bracket = strchr(text, '[');

	return strchr(text, ',') != NULL || (bracket && strchr(bracket, '-'));
}

static void take_file(struct hosts *h, const char *path)
{
	char *text = path ? malloc(LIST_BYTES) : NULL;

	if (text && pp_proc_read(path, text, LIST_BYTES) > 0)
		take_names(h, text, ": \t\r\n", "\n");
	free(text);
}

static int file_several(const char *path)
{
	struct hosts h = {.several = 0};

	take_file(&h, path);
	return h.several;
}

static long number(const char *text)
{
	return text ? strtol(text, NULL, 10) : 0;
}

/* A resource manager has given several nodes. */
static int allocation_several(void)
{
	const char *lsf = getenv("LSB_MCPU_HOSTS"), *first;
	size_t length;

	if (number(getenv("SLURM_JOB_NUM_NODES")) > 1 || number(getenv("SLURM_NNODES")) > 1 || number(getenv("NHOSTS")) > 1 ||
	    number(getenv("PBS_NUM_NODES")) > 1)
		return 1;
	if (file_several(getenv("PBS_NODEFILE")))
		return 1;
	if (!lsf) /* "a 4 b 4" */
		return 0;
	first = lsf + strspn(lsf, " ");
	length = strcspn(first, " ");
	first += length;
	first += strspn(first, " ");
	first += strcspn(first, " ");
	return first[strspn(first, " ")] != '\0';
}

/* The value of an option, in the same word behind '=' or the next one; NULL: it is another option. */
static const char *value_of(const char *word, const char *next, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(word, name, n) != 0)
		return NULL;
	if (word[n] == '=')
		return word + n + 1;
	return word[n] ? NULL : next;
}

/* 1: a word of mpirun that names hosts. */
static int mpirun_word(struct hosts *h, const char *name, const char *next)
{
	static const char *const lists[] = {"host", "H", "hosts"}, *const files[] = {"hostfile", "machinefile", "f",
	                                                                             "default-hostfile"};
	const char *value;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		value = value_of(name, next, lists[i]);
		if (value) {
			take_names(h, value, ":,", ",");
			return 1;
		}
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		value = value_of(name, next, files[i]);
		if (value) {
			take_file(h, value);
			return 1;
		}
	}
	return 0;
}

static int words_of(const char *name)
{
	for (size_t i = 0; i < sizeof(mpirun_options) / sizeof(mpirun_options[0]); i++)
		if (!strcmp(mpirun_options[i].name, name))
			return mpirun_options[i].words;
	return 0;
}

static int mpirun_spans(char *const *command)
{
	const char *given[] = {getenv("OMPI_MCA_orte_default_hostfile"), getenv("PRTE_MCA_prte_default_hostfile"),
	                       getenv("HYDRA_HOST_FILE")};
	int said = 0, in_program = 0;
	struct hosts h = {.several = 0};

	for (size_t i = 1; command[i]; i++) {
		const char *word = command[i], *name = word + (word[0] == '-') + (word[0] == '-' && word[1] == '-');
		int more, here;

		if (in_program || word[0] != '-' || !*name) { /* its words are not mpirun's; another program may follow */
			in_program = strcmp(word, ":") != 0;
			continue;
		}
		here = mpirun_word(&h, name, command[i + 1]);
		said |= here;
		more = here ? !strchr(word, '=') : words_of(name);
		while (more-- > 0 && command[i + 1])
			i++;
	}
	if (said)
		return h.several;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (file_several(given[i]))
			return 1;
	return allocation_several();
}

/* "2", or "2-4": the most. */
static long most_of(const char *text)
{
	const char *dash = strchr(text, '-');

	return number(dash ? dash + 1 : text);
}

/* The value of a short option of srun, behind its letter or in the next word, or that of the long one. */
static const char *srun_value(const char *word, const char *next, char letter, const char *name)
{
	if (word[1] == letter)
		return word[2] ? word + 2 : next;
	return word[1] == '-' ? value_of(word + 2, next, name) : NULL;
}

static int srun_spans(char *const *command)
{
	static const char *const flags[] = {"-l",
	                                    "-u",
	                                    "-v",
	                                    "-q",
	                                    "-Q",
	                                    "-E",
	                                    "-O",
	                                    "-s",
	                                    "-k",
	                                    "-X",
	                                    "-Z",
	                                    "-H",
	                                    "--label",
	                                    "--unbuffered",
	                                    "--verbose",
	                                    "--quiet",
	                                    "--overcommit",
	                                    "--oversubscribe",
	                                    "--no-kill",
	                                    "--disable-status",
	                                    "--no-allocate",
	                                    "--pty",
	                                    "--multi-prog",
	                                    "--overlap",
	                                    "--exclusive",
	                                    "--contiguous",
	                                    "--exact",
	                                    "--whole",
	                                    "--preserve-env",
	                                    "--spread-job",
	                                    "--kill-on-bad-exit",
	                                    "--hold",
	                                    NULL};
	long tasks = 0;

	for (size_t i = 1; command[i] && command[i][0] == '-' && strcmp(command[i], "--") != 0; i++) {
		const char *word = command[i], *next = command[i + 1], *value;
		int in_word = word[1] == '-' ? strchr(word, '=') != NULL : word[1] && word[2];

		value = srun_value(word, next, 'N', "nodes");
		if (value)
			return most_of(value) > 1;
		value = srun_value(word, next, 'w', "nodelist");
		if (value)
			return nodelist_several(value);
		value = srun_value(word, next, 'n', "ntasks");
		tasks = value ? number(value) : tasks;
		i += !in_word && next && !is_one_of(word, flags);
	}
	if (getenv("SLURM_JOB_ID"))
		return allocation_several();
	return tasks > 1; /* Slurm will choose the nodes */
}

int pp_launcher_spans(char *const *command)
{
	static const char *const mpiruns[] = {
	        "mpirun",          "mpiexec",      "orterun",       "prterun",       "prun", "mpirun.openmpi",
	        "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", NULL};

	if (!command[0])
		return 0;
	if (is_one_of(last_part(command[0]), mpiruns))
		return mpirun_spans(command);
	return !strcmp(last_part(command[0]), "srun") && srun_spans(command);
}

static void path_of(const char *spool, const char *name, char path[PATH_SIZE])
{
	snprintf(path, PATH_SIZE, "%s/%s", spool, name);
}

void pp_rendezvous_want(const char *spool, int nested)
{
	char path[PATH_SIZE];
	int fd;

	path_of(spool, PP_RENDEZVOUS_POINT_FILE, path);
	if (nested && !access(path, F_OK)) /* the podprof run around us has asked */
		return;
	unlink(path); /* of a job that was killed here */
	path_of(spool, PP_RENDEZVOUS_POINT_FAILED, path);
	unlink(path);
	path_of(spool, PP_RENDEZVOUS_POINT_WANTED, path);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
}

char *pp_rendezvous_wait(const char *spool, struct pp_err *err)
{
	const struct timespec nap = {.tv_nsec = PAUSE_MS * 1000000};
	char wanted[PATH_SIZE], made[PATH_SIZE], failed[PATH_SIZE];
	char text[PP_RENDEZVOUS_POINT_TEXT] = "", why[256] = "";
	char *value;

	path_of(spool, PP_RENDEZVOUS_POINT_WANTED, wanted);
	path_of(spool, PP_RENDEZVOUS_POINT_FILE, made);
	path_of(spool, PP_RENDEZVOUS_POINT_FAILED, failed);
	for (int i = 0; i < WAIT_MS / PAUSE_MS && !access(wanted, F_OK); i++)
		nanosleep(&nap, NULL);
	if (pp_proc_read(made, text, sizeof(text)) > 0) {
		value = strdup(text);
		explicit_bzero(text, sizeof(text));
		return value;
	}
	pp_proc_read(failed, why, sizeof(why));
	pp_err_set(err, -ETIMEDOUT, "%s", why[0] ? why : "its keeper said nothing");
	return NULL;
}

int pp_rendezvous_pass(const char *spool)
{
	const char *value = getenv(PP_RENDEZVOUS_VARIABLE);
	char part[PATH_SIZE + 32], path[PATH_SIZE];
	size_t length = value ? strnlen(value, PP_RENDEZVOUS_POINT_TEXT - 1) : 0;
	int fd, done;

	path_of(spool, PP_RENDEZVOUS_POINT_FILE, path);
	if (!length || !access(path, F_OK))
		return 0;
	snprintf(part, sizeof(part), "%s-%d", path, (int)getpid());
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	/* link() instead of rename(): ranks that start together have the same, and no keeper reads half of it. */
	done = !fchmod(fd, 0600) && write(fd, value, length) == (ssize_t)length && !link(part, path);
	close(fd);
	unlink(part);
	return done;
}
