/* The rows of podprof slurm check; see slurm_check.h. */
#include "launchers/slurm/slurm_check.h"

#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/spool/root.h"
#include "core/base/parse.h"
#include "launchers/doctor/doctor_command.h"
#include "launchers/doctor/doctor_row.h"
#include "launchers/run/env_plan.h"

enum { VALUE = 1024, LINES = 4096 };

static const char *const wanted[] = {"PlugStackConfig",  "Prolog",        "Epilog",        "PrologEpilogTimeout",
                                     "PrologTimeout",    "EpilogTimeout", "TaskProlog",    "TaskEpilog",
                                     "JobContainerType", "NamespaceType", "SLURM_VERSION", "SLURM_CONF"};

enum {
	PLUGSTACK,
	PROLOG,
	EPILOG,
	BOTH_TIMEOUT,
	PROLOG_TIMEOUT,
	EPILOG_TIMEOUT,
	TASK_PROLOG,
	TASK_EPILOG,
	CONTAINER,
	NAMESPACE,
	VERSION,
	CONF,
	WANTED
};

/* Lines of "Name   = value"; "(null)" is none. Returns 0: there is a Slurm. */
static int read_configuration(char value[WANTED][VALUE])
{
	/* NOLINTNEXTLINE(cert-env33-c): a fixed text, looked up in PATH as the administrator would have it */
	FILE *f = popen("scontrol show config 2>/dev/null", "re");
	char line[VALUE + 64];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; i < WANTED; i++) {
			size_t length = strcspn(line, " =");
			const char *text = line + strcspn(line, "=");

			if (length != strlen(wanted[i]) || memcmp(line, wanted[i], length) != 0 || *text != '=')
				continue;
			text += 1 + strspn(text + 1, " ");
			found = 1;
			if (strncmp(text, "(null)", 6) != 0)
				snprintf(value[i], VALUE, "%.*s", (int)strcspn(text, "\n"), text);
		}
	return !f || pclose(f) || !found;
}

/* The first line of the file that has the word. 1: found; 0: not; -1: the file cannot be read. */
static int find_line(const char *path, const char *word, char *ret_line, size_t size)
{
	FILE *f = fopen(path, "re");
	int found = 0;

	if (!f)
		return -1;
	for (int i = 0; i < LINES && !found && fgets(ret_line, (int)size, f); i++) {
		ret_line[strcspn(ret_line, "\n")] = '\0';
		found = ret_line[strspn(ret_line, " \t")] != '#' && strstr(ret_line, word);
	}
	fclose(f);
	return found;
}

struct hook {
	int calls;           /* one of its scripts calls podprof */
	char script[VALUE];  /* that one, or the last one */
	char program[VALUE]; /* what it calls, where that is a path that cannot be executed */
	char missing[VALUE]; /* a script that is not there, or that nobody may execute */
	char unknown[VALUE]; /* one that we may not read */
	int64_t seconds;     /* that it gives the call, or the default */
};

/* The word in front of " slurm NAME". */
static void take_program(const char *line, const char *word, char *ret_program, size_t size)
{
	const char *end = strstr(line, word) + strlen("podprof"), *begin = end;

	while (begin > line && !strchr(" \t\"'=;(&|", begin[-1]))
		begin--;
	snprintf(ret_program, size, "%.*s", (int)(end - begin), begin);
	if (*ret_program != '/' || !access(ret_program, X_OK))
		*ret_program = '\0';
}

/* "podprof slurm epilog 20 2>&1": 20. */
static int64_t seconds_behind(const char *line, const char *word)
{
	char number[16];
	const char *begin = strstr(line, word) + strlen(word);
	int64_t seconds;

	begin += strspn(begin, " \t\"'");
	snprintf(number, sizeof(number), "%.*s", (int)strcspn(begin, " \t\"';|&)"), begin);
	return pp_parse_int(number, &seconds, NULL) ? PP_SLURM_HOOK_S : seconds;
}

static void read_script(const char *script, const char *name, struct hook *h)
{
	char line[VALUE], word[32];
	int rc;

	snprintf(word, sizeof(word), "podprof slurm %s", name);
	if (access(script, X_OK) && (errno == ENOENT || errno == ENOTDIR || !geteuid())) {
		snprintf(h->missing, VALUE, "%s", script);
		return;
	}
	rc = find_line(script, word, line, sizeof(line));
	if (rc < 0)
		snprintf(h->unknown, VALUE, "%s", script);
	if (!h->calls)
		snprintf(h->script, VALUE, "%s", script);
	if (rc == 1 && !h->calls++) {
		take_program(line, word, h->program, VALUE);
		h->seconds = seconds_behind(line, word);
	}
}

/* A hook is a file, a list of them, or a pattern; each may call podprof through another script, so that nothing is certain. */
static void find_hook(const char *scripts, const char *name, struct hook *h)
{
	char list[VALUE], *rest = NULL;
	glob_t found;

	snprintf(list, sizeof(list), "%s", scripts);
	for (char *one = strtok_r(list, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (glob(one, GLOB_NOCHECK, NULL, &found))
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_script(found.gl_pathv[i], name, h);
		globfree(&found);
	}
}

static int calls(const char *scripts, const char *name)
{
	struct hook h = {0};

	find_hook(scripts, name, &h);
	return h.calls && !*h.program;
}

static int find_self(char *ret_path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, size - 1);

	ret_path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The plug-in stands beside the collector. */
static void cure_plugin(const char *plugstack, char *ret_cure, size_t size)
{
	char self[VALUE], file[VALUE + 32] = "", *library = NULL, *mpi = NULL;

	if (find_self(self, sizeof(self)) && !pp_env_find_libraries(self, &library, &mpi, NULL))
		snprintf(file, sizeof(file), "%.*s/spank_podprof.so", (int)(strrchr(library, '/') - library), library);
	if (*file && !access(file, R_OK))
		snprintf(ret_cure, size, "on all nodes, add this line to %s: optional %s", plugstack, file);
	else
		snprintf(ret_cure, size, "install podprof with its plug-in for Slurm, as docs/slurm.md says");
	free(library);
	free(mpi);
}

/* The hooks of the installation that this program is in. */
static void cure_hook(const char *key, const char *name, char *ret_cure, size_t size)
{
	char self[VALUE], path[2 * VALUE], *slash, *file = NULL;

	slash = find_self(self, sizeof(self)) ? strrchr(self, '/') : NULL;
	if (slash) {
		snprintf(path, sizeof(path), "%.*s/" PODPROF_HOOKS_PATH "/%s", (int)(slash - self), self, name);
		file = realpath(path, NULL);
	}
	if (file)
		snprintf(ret_cure, size, "add this line to slurm.conf: %s=%s", key, file);
	else
		snprintf(ret_cure, size, "set it in slurm.conf, as docs/slurm.md says");
	free(file);
}

/* "optional PATH [ARGUMENT...]": what is wrong with it. 0: nothing, or nothing that can be seen here. */
static int judge_line(const char *path, char *line)
{
	char *rest = NULL, *word, *file;

	strtok_r(line, " \t", &rest); /* optional or required */
	file = strtok_r(NULL, " \t", &rest);
	if (file && *file == '/' && access(file, R_OK)) {
		pp_doctor_row("plug-in", PP_DOCTOR_NO, "install podprof there, or correct that line",
		              "%s names %s, which cannot be read", path, file);
		return 1;
	}
	while ((word = strtok_r(NULL, " \t", &rest)))
		if (!strncmp(word, "podprof=", 8) && access(word + 8, X_OK)) {
			pp_doctor_row("plug-in", PP_DOCTOR_NO, "install podprof there, or correct that line",
			              "%s names the program %s, which cannot be executed: steps would run unprofiled", path,
			              word + 8);
			return 1;
		}
	return 0;
}

/* The line may be in a file that another one includes, which only Slurm can tell. Without the plug-in a task prolog may do its
 * part. */
static int check_plugin(const char *plugstack, const char *slurm_conf, const char *task_prolog)
{
	static const char *const why = "srun --help 2>&1 >/dev/null | sed -n 's/^srun: error: //p'";
	char path[VALUE + 32], line[VALUE], shown[256], cure[3 * VALUE];
	const char *slash = strrchr(slurm_conf, '/');
	int rc;

	snprintf(path, sizeof(path), "%s", plugstack);
	if (!*plugstack)
		snprintf(path, sizeof(path), "%.*s/plugstack.conf", slash ? (int)(slash - slurm_conf) : 0, slurm_conf);
	rc = find_line(path, "spank_podprof.so", line, sizeof(line));
	if (rc == 1 && judge_line(path, line))
		return 1;
	if (!pp_doctor_line("srun --help 2>/dev/null | grep -e --podprof", shown, sizeof(shown))) {
		pp_doctor_row("plug-in", PP_DOCTOR_OK, "", "srun has --podprof%s%s", rc == 1 ? ", by " : "", rc == 1 ? path : "");
		return 0;
	}
	cure_plugin(path, cure, sizeof(cure));
	if (rc != 1 && calls(task_prolog, "task-prolog")) {
		pp_doctor_row("plug-in", PP_DOCTOR_LIMITED, cure,
		              "srun has no --podprof: users set PODPROF_SLURM for the task prolog");
		return 0;
	}
	if (rc == 1)
		pp_doctor_row("plug-in", PP_DOCTOR_NO,
		              "install podprof with a plug-in that was built for this Slurm, and write its whole path in that line",
		              "%s names it, but srun does not load it: %s", path,
		              pp_doctor_line(why, shown, sizeof(shown)) ? "srun --help does not say why" : shown);
	else
		pp_doctor_row("plug-in", PP_DOCTOR_NO, cure,
		              rc ? "srun has no --podprof; %s cannot be read"
		                 : "srun has no --podprof; %s does not name spank_podprof.so",
		              path);
	return 1;
}

/* Slurm would end the hook, and drain the node; 65534 is no limit. `both`: where the hook has no limit of its own. */
static void check_time(const char *name, const struct hook *h, const char *own, const char *both)
{
	int64_t limit = strtoll(own, NULL, 10), common = strtoll(both, NULL, 10);

	if (limit <= 0 || limit >= UINT16_MAX - 1)
		limit = common;
	if (h->calls && limit > 0 && limit < UINT16_MAX - 1 && limit <= h->seconds)
		pp_doctor_row(name, PP_DOCTOR_LIMITED,
		              "raise PrologEpilogTimeout, or give podprof fewer seconds, as docs/slurm.md says",
		              "may take %lld s, and slurm.conf allows %lld s: Slurm would drain the node", (long long)h->seconds,
		              (long long)limit);
}

/* Returns 1 where Slurm would drain the node. */
static int check_hook(char value[WANTED][VALUE], int which, const char *name, const char *use)
{
	const char *key = wanted[which], *scripts = value[which];
	char cure[2 * VALUE];
	struct hook h = {0};

	find_hook(scripts, name, &h);
	cure_hook(key, name, cure, sizeof(cure));
	if (*h.missing)
		pp_doctor_row(name, PP_DOCTOR_NO, "install the file and make it executable, or correct slurm.conf",
		              "%s of slurm.conf cannot be executed here: Slurm drains a node whose %s fails", h.missing, name);
	else if (!*scripts)
		pp_doctor_row(name, PP_DOCTOR_LIMITED, cure, "not configured: %s", use);
	else if (*h.program)
		pp_doctor_row(name, PP_DOCTOR_LIMITED, "correct that path", "%s calls %s, which cannot be executed: %s", h.script,
		              h.program, use);
	else if (h.calls)
		pp_doctor_row(name, PP_DOCTOR_OK, "", "%s calls 'podprof slurm %s'", h.script, name);
	else if (*h.unknown)
		pp_doctor_row(name, PP_DOCTOR_LIMITED, "type 'podprof slurm check' as root",
		              "%s cannot be read, so perhaps it does not call 'podprof slurm %s': %s", h.unknown, name, use);
	else
		pp_doctor_row(name, PP_DOCTOR_LIMITED, "call it there, as docs/slurm.md says",
		              "%s does not call 'podprof slurm %s': %s", scripts, name, use);
	check_time(name, &h, value[which == PROLOG ? PROLOG_TIMEOUT : EPILOG_TIMEOUT], value[BOTH_TIMEOUT]);
	return *h.missing != '\0';
}

/* Those of tasks are often a site's own, and needed only without the plug-in, or where a step ends by a kill. Returns 1 where no
 * task would start. */
static int check_task_hook(const char *row, const char *name, const char *scripts)
{
	struct hook h = {0};
	int is_fatal;

	find_hook(scripts, name, &h);
	is_fatal = *h.missing && !strcmp(name, "task-prolog");
	if (is_fatal)
		pp_doctor_row(row, PP_DOCTOR_NO, "install the file and make it executable, or correct slurm.conf",
		              "%s of slurm.conf cannot be executed here: Slurm starts no task then", h.missing);
	else if (*h.program)
		pp_doctor_row(row, PP_DOCTOR_LIMITED, "correct that path", "%s calls %s, which cannot be executed", h.script,
		              h.program);
	else if (h.calls)
		pp_doctor_row(row, PP_DOCTOR_OK, "", "%s calls 'podprof slurm %s'", h.script, name);
	return is_fatal;
}

/* "Dirs=/tmp,/dev/shm" of job_container.conf beside slurm.conf; without the line Slurm has these two. */
static int takes_place(const char *slurm_conf)
{
	char path[VALUE + 32], line[VALUE] = "";
	const char *slash = strrchr(slurm_conf, '/');

	snprintf(path, sizeof(path), "%.*s/job_container.conf", slash ? (int)(slash - slurm_conf) : 0, slurm_conf);
	return find_line(path, "Dirs=", line, sizeof(line)) == 1 && strstr(line, PP_SPOOL_ROOT_STAYS);
}

/* Where a job's spool is gone before the epilog, or would be. */
static void check_place(char value[WANTED][VALUE])
{
	const char *container = *value[CONTAINER] ? value[CONTAINER] : value[NAMESPACE];

	if (!strstr(container, "tmpfs") && !strstr(container, "linux"))
		container = "";
	if (*container && takes_place(value[CONF]))
		pp_doctor_row(PP_SPOOL_ROOT_SHM, PP_DOCTOR_LIMITED,
		              "take " PP_SPOOL_ROOT_STAYS " out of Dirs, or use --podprof=spool=DIR",
		              "%s gives each job a " PP_SPOOL_ROOT_SHM " and a " PP_SPOOL_ROOT_STAYS
		              " of its own: the epilog writes no session of a killed job",
		              container);
	else if (*container)
		pp_doctor_row(PP_SPOOL_ROOT_SHM, PP_DOCTOR_OK, "",
		              "%s may give each job its own: then spools are in " PP_SPOOL_ROOT_STAYS, container);
	if (pp_spool_root_removes_ipc(""))
		pp_doctor_row("RemoveIPC", PP_DOCTOR_LIMITED, "set RemoveIPC=no in /etc/systemd/logind.conf of the nodes",
		              "logind empties " PP_SPOOL_ROOT_SHM
		              " when a user's last session here ends: only jobs of users who have one "
		              "now use " PP_SPOOL_ROOT_STAYS);
}

static int check_all(void)
{
	char value[WANTED][VALUE] = {""};
	int faults;

	if (read_configuration(value)) {
		pp_doctor_row("Slurm", PP_DOCTOR_NO, "type 'scontrol show config' and repair what it says",
		              "scontrol shows no configuration here");
		return 1;
	}
	pp_doctor_row("Slurm", PP_DOCTOR_OK, "", "version %s", value[VERSION]);
	faults = check_plugin(value[PLUGSTACK], value[CONF], value[TASK_PROLOG]);
	faults +=
	        check_hook(value, PROLOG, "prolog", "another user could take the name of the spool's directory before a job does");
	faults += check_hook(value, EPILOG, "epilog", "what killed jobs recorded stays on the node until 'podprof salvage'");
	faults += check_task_hook(wanted[TASK_PROLOG], "task-prolog", value[TASK_PROLOG]);
	faults += check_task_hook(wanted[TASK_EPILOG], "task-epilog", value[TASK_EPILOG]);
	check_place(value);
	return faults;
}

int pp_slurm_check(int is_json)
{
	int faults;

	if (is_json)
		pp_doctor_json_begin();
	faults = check_all();
	if (is_json)
		pp_doctor_json_end(!faults);
	return faults;
}
