/* Which launcher's command names several hosts: tables of what their options say; see launcher_hosts.h. Called by cmd_run.c. */
#include "launchers/run/launcher_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_name.h"
#include "core/base/proc.h"

enum { LIST_BYTES = 64 * 1024 };

enum use { NOTHING, HOSTS, HOST_FILE, NODES, NODE_LIST, COMPONENTS, TASKS }; /* what the value of an option says */

struct option {
	const char *names; /* without dashes, with a space between two */
	int words;         /* that an option takes behind it */
	enum use use;
};

/* Of Open MPI's mpirun and of MPICH's kin, with one dash or two; one that is not here takes no word. */
static const struct option mpirun_options[] = {
        {"host H hosts", 1, HOSTS},
        {"hostfile machinefile f default-hostfile", 1, HOST_FILE},
        {"n np c N npernode ppn map-by bind-to rank-by x wdir wd prefix path tag-output-filename timeout tune app envlist genvlist",
         1, NOTHING},
        {"launcher bootstrap iface rmk stdin report-uri dvm-uri output-filename personality", 1, NOTHING},
        {"mca gmca pmixmca prtemca gpmixmca genv env", 2, NOTHING},
        {NULL, 0, NOTHING},
};

/* One letter is for one dash; one that is not here takes a word. */
static const struct option srun_options[] = {
        {"N nodes", 1, NODES},
        {"w nodelist", 1, NODE_LIST},
        {"het-group", 1, COMPONENTS},
        {"n ntasks", 1, TASKS},
        {"l u v q Q E O s k X Z H label unbuffered verbose quiet overcommit oversubscribe no-kill disable-status", 0, NOTHING},
        {"no-allocate pty multi-prog overlap exclusive contiguous exact whole preserve-env spread-job kill-on-bad-exit hold", 0,
         NOTHING},
        {NULL, 1, NOTHING},
};

static int is_one_of(const char *name, size_t length, const char *names)
{
	for (size_t n; *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		if (n == length && !strncmp(name, names, n))
			return 1;
	}
	return 0;
}

/* The last row: any other. */
static const struct option *option_of(const struct option *table, const char *name, size_t length)
{
	while (table->names && !is_one_of(name, length, table->names))
		table++;
	return table;
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

static int mpirun_spans(char *const *command)
{
	const char *given[] = {getenv("OMPI_MCA_orte_default_hostfile"), getenv("PRTE_MCA_prte_default_hostfile"),
	                       getenv("HYDRA_HOST_FILE")};
	int has_value = 0, in_program = 0;
	struct hosts h = {.several = 0};

	for (size_t i = 1; command[i]; i++) {
		const char *word = command[i], *name = word + (word[0] == '-') + (word[0] == '-' && word[1] == '-'), *value;
		const struct option *option;
		size_t length;

		if (in_program || word[0] != '-' || !*name) { /* its words are not mpirun's; another program may follow */
			in_program = strcmp(word, ":") != 0;
			continue;
		}
		length = strcspn(name, "=");
		option = option_of(mpirun_options, name, length);
		value = name[length] ? name + length + 1 : command[i + 1];
		has_value |= option->use != NOTHING && value;
		if (option->use == HOSTS && value)
			take_names(&h, value, ":,", ",");
		else if (option->use == HOST_FILE && value)
			take_file(&h, value);
		for (int more = name[length] ? 0 : option->words; more > 0 && command[i + 1]; more--)
			i++;
	}
	if (has_value)
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

static long max_of(long a, long b)
{
	return a > b ? a : b;
}

/* Components of a heterogeneous step, which have nodes of their own where the allocation has not one for all. */
static int srun_components_span(char *const *command)
{
	int several = 0;

	for (size_t i = 1; command[i]; i++)
		several |= !strcmp(command[i], ":");
	return several && (!getenv("SLURM_JOB_ID") || number(getenv("SLURM_HET_SIZE")) > 1 || allocation_several());
}

static int srun_spans(char *const *command)
{
	long tasks = 0, nodes = 0;

	if (srun_components_span(command))
		return 1;
	for (size_t i = 1; command[i] && command[i][0] == '-' && strcmp(command[i], "--") != 0; i++) {
		const char *word = command[i], *name = word + 1 + (word[1] == '-'), *value;
		size_t length = word[1] == '-' ? strcspn(name, "=") : *name != '\0';
		const struct option *option = option_of(srun_options, name, word[1] == '-' && length == 1 ? 0 : length);
		int in_word = name[length] != '\0';

		value = in_word ? name + length + (name[length] == '=' && word[1] == '-') : command[i + 1];
		if (option->use == NODES && value)
			nodes = max_of(nodes, most_of(value));
		if (option->use == NODE_LIST && value)
			nodes = max_of(nodes, nodelist_several(value) ? 2 : 1);
		if (option->use == COMPONENTS && value && strpbrk(value, ",-")) /* of a heterogeneous job */
			return 1;
		if (option->use == TASKS && value)
			tasks = number(value);
		i += !in_word && command[i + 1] && option->words;
	}
	if (nodes)
		return nodes > 1;
	if (getenv("SLURM_JOB_ID"))
		return allocation_several();
	return tasks > 1; /* Slurm will choose the nodes */
}

static const struct {
	const char *names;
	int (*spans)(char *const *command);
} launchers[] = {
        {"mpirun mpiexec orterun prterun prun mpirun.openmpi mpiexec.openmpi mpirun.mpich mpiexec.mpich mpiexec.hydra",
         mpirun_spans},
        {"srun", srun_spans},
};

int pp_launcher_spans(char *const *command)
{
	const char *name = command[0] ? pp_file_name(command[0]) : "";

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (is_one_of(name, strlen(name), launchers[i].names))
			return launchers[i].spans(command);
	return 0;
}
