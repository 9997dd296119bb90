/* The rows of podprof slurm check; see slurm_check.h. */
#include "launchers/slurm/slurm_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launchers/doctor/doctor.h"
#include "launchers/run/place.h"

enum { VALUE = 1024, LINES = 4096 };

static const char *const wanted[] = {"PlugStackConfig",  "Prolog",        "Epilog",        "TaskProlog", "TaskEpilog",
                                     "JobContainerType", "NamespaceType", "SLURM_VERSION", "SLURM_CONF"};

enum { PLUGSTACK, PROLOG, EPILOG, TASK_PROLOG, TASK_EPILOG, CONTAINER, NAMESPACE, VERSION, CONF, WANTED };

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

/* A hook may be a list of scripts, a pattern, or call podprof through another script: then nothing is certain. 1, 0 or -1, as
 * find_line(). */
static int calls(const char *script, const char *name)
{
	char line[VALUE], word[32];

	snprintf(word, sizeof(word), "podprof slurm %s", name);
	return find_line(script, word, line, sizeof(line));
}

/* "optional PATH [ARGUMENT...]", perhaps in a file that another one includes, which only Slurm can tell. Without the plug-in a task
 * prolog may do its part. */
static int check_plugin(const char *plugstack, const char *task_prolog)
{
	const char *path = *plugstack ? plugstack : "/etc/slurm/plugstack.conf";
	char line[VALUE], command[64] = "srun --help 2>/dev/null | grep -e --podprof", shown[256];
	char *file, *rest = NULL;
	int rc = find_line(path, "spank_podprof.so", line, sizeof(line));

	if (rc == 1) {
		strtok_r(line, " \t", &rest); /* optional or required */
		file = strtok_r(NULL, " \t", &rest);
		if (file && *file == '/' && access(file, R_OK)) {
			pp_doctor_row("plug-in", PP_DOCTOR_NO, "install podprof there, or correct that line",
			              "%s names %s, which cannot be read", path, file);
			return 1;
		}
	}
	if (!pp_doctor_line(command, shown, sizeof(shown))) {
		pp_doctor_row("plug-in", PP_DOCTOR_OK, "", "srun has --podprof%s%s", rc == 1 ? ", by " : "", rc == 1 ? path : "");
		return 0;
	}
	if (rc != 1 && calls(task_prolog, "task-prolog") == 1) {
		pp_doctor_row("plug-in", PP_DOCTOR_LIMITED, "add the line of plugstack.conf in docs/slurm.md",
		              "srun has no --podprof: users set PODPROF_SLURM for the task prolog");
		return 0;
	}
	pp_doctor_row("plug-in", PP_DOCTOR_NO, "add the line of plugstack.conf in docs/slurm.md",
	              rc == 1 ? "%s names it, but srun does not show --podprof: it was built for another version of Slurm"
	                      : "srun has no --podprof; %s does not name spank_podprof.so",
	              path);
	return 1;
}

static void check_hook(const char *name, const char *script, const char *use)
{
	int rc = *script ? calls(script, name) : 0;

	if (!*script)
		pp_doctor_row(name, PP_DOCTOR_LIMITED, "set it in slurm.conf, as docs/slurm.md says", "not configured: %s", use);
	else if (rc == 1)
		pp_doctor_row(name, PP_DOCTOR_OK, "", "%s calls 'podprof slurm %s'", script, name);
	else
		pp_doctor_row(name, PP_DOCTOR_LIMITED, "call it there, as docs/slurm.md says", "%s %s 'podprof slurm %s': %s",
		              script, rc ? "cannot be read, so perhaps it does not call" : "does not call", name, use);
}

/* Those of tasks are often a site's own, and needed only without the plug-in, or where a step ends by a kill. */
static void check_task_hook(const char *row, const char *name, const char *script)
{
	if (*script && calls(script, name) == 1)
		pp_doctor_row(row, PP_DOCTOR_OK, "", "%s calls 'podprof slurm %s'", script, name);
}

/* "Dirs=/tmp,/dev/shm" of job_container.conf beside slurm.conf; without the line Slurm has these two. */
static int takes_place(const char *slurm_conf)
{
	char path[VALUE + 32], line[VALUE] = "";
	const char *slash = strrchr(slurm_conf, '/');

	snprintf(path, sizeof(path), "%.*s/job_container.conf", slash ? (int)(slash - slurm_conf) : 0, slurm_conf);
	return find_line(path, "Dirs=", line, sizeof(line)) == 1 && strstr(line, PP_PLACE_STAYS);
}

/* Where a job's spool is gone before the epilog, or would be. */
static void check_place(char value[WANTED][VALUE])
{
	const char *container = *value[CONTAINER] ? value[CONTAINER] : value[NAMESPACE];

	if (!strstr(container, "tmpfs") && !strstr(container, "linux"))
		container = "";
	if (*container && takes_place(value[CONF]))
		pp_doctor_row(PP_PLACE_SHM, PP_DOCTOR_LIMITED, "take " PP_PLACE_STAYS " out of Dirs, or use --podprof=spool=DIR",
		              "%s gives each job a " PP_PLACE_SHM " and a " PP_PLACE_STAYS
		              " of its own: the epilog writes no session of a killed job",
		              container);
	else if (*container)
		pp_doctor_row(PP_PLACE_SHM, PP_DOCTOR_OK, "", "%s may give each job its own: then spools are in " PP_PLACE_STAYS,
		              container);
	if (pp_place_removes_ipc(""))
		pp_doctor_row("RemoveIPC", PP_DOCTOR_LIMITED, "set RemoveIPC=no in /etc/systemd/logind.conf of the nodes",
		              "logind empties " PP_PLACE_SHM
		              " when a user's last session here ends: only jobs of users who have one "
		              "now use " PP_PLACE_STAYS);
}

int pp_slurm_check(void)
{
	char value[WANTED][VALUE] = {""};
	int faults;

	if (read_configuration(value)) {
		pp_doctor_row("Slurm", PP_DOCTOR_NO, "type 'scontrol show config' and repair what it says",
		              "scontrol shows no configuration here");
		return 1;
	}
	pp_doctor_row("Slurm", PP_DOCTOR_OK, "", "version %s", value[VERSION]);
	faults = check_plugin(value[PLUGSTACK], value[TASK_PROLOG]);
	check_hook("prolog", value[PROLOG], "another user could take the name of the spool's directory before a job does");
	check_hook("epilog", value[EPILOG], "what killed jobs recorded stays on the node until 'podprof salvage'");
	check_task_hook(wanted[TASK_PROLOG], "task-prolog", value[TASK_PROLOG]);
	check_task_hook(wanted[TASK_EPILOG], "task-epilog", value[TASK_EPILOG]);
	check_place(value);
	return faults;
}
