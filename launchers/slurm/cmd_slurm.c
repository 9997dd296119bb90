/* podprof slurm: for Slurm's hooks, prolog and epilog as root on each node of a job, task-prolog and task-epilog as its user, and
 * for the administrator. The hooks act as the job's user, never as root, and always succeed: an exit code would drain the node or
 * end the task. slurm_supervisor.c holds them to their time, slurm_task.c has those of tasks, slurm_check.c the check. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/keeper/salvage.h"
#include "aggregate/spool/list.h"
#include "aggregate/spool/options.h"
#include "aggregate/spool/root.h"
#include "aggregate/spool/view.h"
#include "core/base/now.h"
#include "core/base/parse.h"
#include "core/base/proc.h"
#include "core/base/why.h"
#include "launchers/cmd.h"
#include "launchers/doctor/cmd_doctor.h"
#include "launchers/doctor/doctor_row.h"
#include "launchers/options/options.h"
#include "launchers/options/say.h"
#include "launchers/slurm/slurm_check.h"
#include "launchers/slurm/slurm_child.h"
#include "launchers/slurm/slurm_comment.h"
#include "launchers/slurm/slurm_supervisor.h"
#include "launchers/slurm/slurm_task.h"

const struct pp_options_verb pp_verb_slurm = {
        .name = "podprof slurm",
        .arguments = "check | prolog [SECONDS] | epilog [SECONDS] | task-prolog | task-epilog [SECONDS]",
        .groups = PP_OPT_SLURM,
        .doc = "check: say whether Slurm is set up for podprof, with a fix for each fault.\v"
               "The others are for Slurm's hooks. They act as the user of the job in SLURM_JOB_ID, and always exit with 0. prolog "
               "makes the directories of the user's spools and prints what 'podprof doctor --json' says of the node. epilog "
               "writes sessions of what killed jobs recorded on this node, and removes their spools. Each of the two ends within "
               "SECONDS (30), which must be less than PrologEpilogTimeout of slurm.conf. task-prolog does what the plug-in does, "
               "for steps with PODPROF_SLURM=OPTIONS in their environment. task-epilog waits at most SECONDS (5) "
               "while a keeper of the step still writes.",
};

enum {
	SPOOLS = 64,
	LINE = 800,
	NAP_MS = 20,
	DOCTOR_MS = 1000,
	KEEPER_MS = 10000,
	TASK_EPILOG_S = 5,
	MOST_S = 3600,
	LEAST_MEMORY = 256 << 20
};

static int read_uid(uid_t *ret_uid)
{
	const char *text = getenv("SLURM_JOB_UID");
	int64_t uid = 0;

	if (!text || pp_parse_int(text, &uid, NULL) || uid < 0 || uid >= (uid_t)-1) {
		pp_say("SLURM_JOB_UID does not say whose job this is. Call this from Prolog or Epilog of slurm.conf.");
		return -1;
	}
	*ret_uid = (uid_t)uid;
	return 0;
}

/* Root becomes the job's user for good. 0, or -1: one line says why not. */
static int become_user(void)
{
	struct passwd *user;
	uid_t uid = 0;
	gid_t gid;

	if (read_uid(&uid))
		return -1;
	if (uid == geteuid())
		return 0;
	user = getpwuid(uid); /* cppcheck-suppress getpwuidCalled ; one thread */
	gid = user ? user->pw_gid : (gid_t)uid;
	if ((user ? initgroups(user->pw_name, gid) : setgroups(0, NULL)) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
	    geteuid() != uid || !setuid(0)) {
		pp_say("cannot become user %lld: %s. Nothing was done.", (long long)uid, pp_why(errno));
		return -1;
	}
	return 0;
}

/* So that nobody else takes the name before the job does. */
static void make_root(const char *base)
{
	char root[64];
	struct stat st;

	snprintf(root, sizeof(root), "%s/podprof-%u", base, (unsigned)geteuid());
	if (mkdir(root, 0700) && errno != EEXIST)
		pp_say("cannot create '%s': %s. Jobs use another directory instead.", root, pp_why(errno));
	else if (lstat(root, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		pp_say("'%s' is not a directory of user %u alone. Jobs use another one instead; remove it.", root,
		       (unsigned)geteuid());
}

static void prolog(void)
{
	const char *job = getenv("SLURM_JOB_ID");
	pid_t child;
	int rc;

	make_root(PP_SPOOL_ROOT_SHM);
	make_root(PP_SPOOL_ROOT_STAYS);
	pp_doctor_json_begin();
	pp_doctor_row("prolog", PP_DOCTOR_OK, "", "job %s of user %u", job ? job : "?", (unsigned)geteuid());
	child = fork();
	if (!child) {
		setpgid(0, 0);
		_exit(chdir("/") || !pp_doctor_of_node() ? PP_EXIT_FAILED : PP_EXIT_OK);
	}
	rc = child > 0 ? pp_slurm_wait(child, DOCTOR_MS) : -errno;
	if (rc < 0)
		pp_doctor_row("doctor", PP_DOCTOR_LIMITED, "podprof doctor", "%s: checks are missing here",
		              rc == -ETIMEDOUT ? "it did not end within 1 s" : "it failed");
	pp_doctor_json_end(!rc);
}

struct found {
	const char *job, *first; /* of a heterogeneous job: the one that all its components' tasks have in SLURM_JOB_ID */
	char *line;              /* [LINE] of the last session of a job's rank 0; shared with the process that writes it */
	char comment[LINE];
	size_t commented;
	struct pp_spool_state state[SPOOLS];
	size_t count, more;
};

static int is_of_job(const struct pp_spool_state *state, void *data)
{
	struct found *found = data;
	char job[64];

	if (pp_spool_read_option(state->path, "SLURM_JOB", job, sizeof(job)) ||
	    (strcmp(job, found->job) != 0 && strcmp(job, found->first) != 0))
		return 0;
	if (found->count < SPOOLS)
		found->state[found->count++] = *state;
	else
		found->more++;
	return 0;
}

static int has_rank_0(const char *spool)
{
	DIR *d = opendir(spool);
	struct dirent *e;
	int found = 0;

	while (d && !found && (e = readdir(d)))
		found = !strncmp(e->d_name, "rank-0-", 7);
	if (d)
		closedir(d);
	return found;
}

/* "steps 10..14 captured on 8 of 8 ranks, 1 host: PATH", on the node of rank 0 alone: a large job makes one call. */
static void add_session(const struct pp_spool_state *state, const char *message, char *line)
{
	char path[PP_SPOOL_PATH + 32], session[PP_SPOOL_PATH] = "";

	snprintf(path, sizeof(path), "%s/" PP_SPOOL_SALVAGED, state->path);
	if (!has_rank_0(state->path) || pp_proc_read(path, session, sizeof(session)) <= 0)
		return;
	session[strcspn(session, "\n")] = '\0';
	snprintf(line, LINE, "%.*s: %s", (int)strcspn(message, "\n"), message, session);
}

static int write_session(const struct pp_spool_state *state, char *line)
{
	struct pp_session_options session = {.salvaged = 1, .logdir = state->output, .session = ""};
	char message[3072] = "", xspace[16] = "", site_log[PP_SPOOL_PATH] = "", metrics[PP_SPOOL_PATH] = "";
	char *spool[] = {(char *)state->path, NULL};
	struct pp_err err = {""};
	size_t left_out, rings_left_out = 0, alive = 0;

	if (!*state->output) {
		pp_say("'%s' does not say where its session belongs. Type 'podprof salvage %s -o DIR'.", state->path, state->path);
		return PP_EXIT_FAILED;
	}
	pp_spool_read_option(state->path, "XSPACE", xspace, sizeof(xspace));
	session.xspace_per_rank = !strcmp(xspace, "rank");
	pp_spool_read_option(state->path, "SITE_LOG", site_log, sizeof(site_log));
	session.site_log = site_log;
	pp_spool_read_option(state->path, "METRICS", metrics, sizeof(metrics));
	session.metrics = metrics;
	session.memory = pp_proc_memory_free() / 4; /* half of the supervisor's limit, which may be a cgroup's */
	session.ret_rings_left_out = &rings_left_out;
	session.ret_alive = &alive;
	if (pp_salvage(spool, 1, &session, message, sizeof(message), &left_out, &err)) {
		pp_say("%s. The spool '%s' stays.", err.text, state->path);
		return PP_EXIT_FAILED;
	}
	if (line)
		add_session(state, message, line);
	pp_say_lines(message);
	if (!rings_left_out && !alive)
		return PP_EXIT_OK;
	pp_say("The spool '%s' stays, for the %s.", state->path, alive ? "ranks that still run" : "rings that were left out");
	return PP_EXIT_PARTIAL;
}

/* The job's processes have ended; its keeper may still write. */
static void end_spool(struct pp_spool_state *state, char *line, int64_t until_ms)
{
	int64_t begin_ms = pp_now_ms(), left_ms;
	pid_t child;
	int rc;

	while (state->keeper_lives) {
		if (pp_now_ms() > begin_ms + KEEPER_MS || pp_now_ms() > until_ms) {
			pp_say("the keeper of '%s' (pid %d) still works; it is left alone.", state->path, state->keeper_pid);
			return;
		}
		pp_nap_ms(NAP_MS);
		if (pp_spool_read(state->path, state))
			return;
	}
	if (state->rings && state->life != PP_SPOOL_DONE) { /* a done one was killed while it removed the spool */
		child = fork();
		if (!child) {
			setpgid(0, 0);
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			_exit(write_session(state, line));
		}
		left_ms = until_ms - pp_now_ms();
		rc = child > 0 ? pp_slurm_wait(child, left_ms > 0 ? (int)left_ms : 0) : -errno;
		if (rc == -ETIMEDOUT)
			pp_say("no session of '%s' in the time of the epilog. The spool stays; type 'podprof salvage %s'.",
			       state->path, state->path);
		if (rc)
			return;
	}
	if (pp_spool_is_one(state->path) == 1)
		pp_spool_remove(state->path);
}

/* The first one; of others their number. */
static void keep_line(struct found *found)
{
	if (!found->line || !*found->line)
		return;
	if (!found->commented++)
		snprintf(found->comment, sizeof(found->comment), "%s", found->line);
	*found->line = '\0';
}

static void add_comment(struct found *found)
{
	size_t n = strlen(found->comment);

	if (found->commented > 1)
		snprintf(found->comment + n, sizeof(found->comment) - n, ", and %zu more", found->commented - 1);
	if (found->commented)
		pp_slurm_comment(found->comment);
}

static void epilog(int64_t until_ms)
{
	struct found *found = calloc(1, sizeof(*found));

	if (!found)
		return;
	found->job = getenv("SLURM_JOB_ID");
	found->first = getenv("SLURM_HET_JOB_ID");
	if (!found->first)
		found->first = "";
	if (found->job && *found->job)
		pp_spool_each(is_of_job, found);
	else
		pp_say("SLURM_JOB_ID does not say which job ended. Call this from Epilog of slurm.conf.");
	found->line = mmap(NULL, LINE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (found->line == MAP_FAILED)
		found->line = NULL;
	for (size_t i = 0; i < found->count; i++) {
		end_spool(&found->state[i], found->line, until_ms);
		keep_line(found);
	}
	add_comment(found);
	if (found->more)
		pp_say("%zu more spools of job %s were left. Type 'podprof doctor' to see them.", found->more, found->job);
	if (found->line)
		munmap(found->line, LINE);
	free(found);
}

struct hook {
	int is_epilog;
	int64_t until_ms; /* its own end, so that the supervisor need not kill it */
};

static int become(void *data)
{
	(void)data;
	return become_user();
}

static void run_hook(void *data)
{
	const struct hook *h = data;

	umask(077);
	if (h->is_epilog)
		epilog(h->until_ms);
	else
		prolog();
}

/* The hooks of the node: root watches over the user's work. */
static int hook(const char *word, int seconds)
{
	struct hook h = {.is_epilog = !strcmp(word, "epilog"), .until_ms = pp_now_ms() + (int64_t)seconds * 1000 * 9 / 10};
	struct pp_slurm_work work = {.name = word,
	                             .seconds = seconds,
	                             .memory = pp_proc_memory_free() / 2,
	                             .become = become,
	                             .run = run_hook,
	                             .data = &h};
	uid_t uid;

	if (read_uid(&uid))
		return PP_EXIT_OK;
	if (work.memory < LEAST_MEMORY)
		work.memory = LEAST_MEMORY;
	if (!geteuid())
		pp_slurm_supervise(&work);
	else if (!become_user())
		run_hook(&h);
	return PP_EXIT_OK;
}

static int seconds_of(const char *argument, int fallback)
{
	int64_t seconds = fallback;

	if (argument && (pp_parse_int(argument, &seconds, NULL) || seconds < 0 || seconds > MOST_S)) {
		pp_say("'%s' is not a number of seconds up to %d.", argument, MOST_S);
		seconds = fallback;
	}
	return (int)seconds;
}

/* As the user already, where Slurm runs it; the plug-in runs it as root. */
static int task_hook(const char *word, const char *argument)
{
	if (!geteuid() && getenv("SLURM_JOB_UID") && become_user())
		return PP_EXIT_OK;
	if (!strcmp(word, "task-prolog"))
		pp_slurm_task_prolog();
	else
		pp_slurm_task_epilog(seconds_of(argument, TASK_EPILOG_S));
	return PP_EXIT_OK;
}

static const char *const words_known[] = {"check", "prolog", "epilog", "task-prolog", "task-epilog"};

int pp_cmd_slurm(int argc, char **argv)
{
	struct pp_options options;
	int first, rc = pp_options_parse(&pp_verb_slurm, argc, argv, &options, &first), words = argc - first;
	const char *word, *near;

	if (rc >= 0)
		return rc;
	word = words >= 1 && words <= 2 ? argv[first] : "";
	if (!strcmp(word, "task-epilog") || (!strcmp(word, "task-prolog") && words == 1))
		return task_hook(word, words == 2 ? argv[first + 1] : NULL);
	if (!strcmp(word, "check") && words == 1)
		return pp_slurm_check(options.verb.json) || !pp_is_printed("the checks") ? PP_EXIT_FAILED : PP_EXIT_OK;
	if (!strcmp(word, "prolog") || !strcmp(word, "epilog"))
		return hook(word, seconds_of(words == 2 ? argv[first + 1] : NULL, PP_SLURM_HOOK_S));
	near = *word ? pp_nearest(word, words_known, sizeof(words_known) / sizeof(words_known[0])) : NULL;
	if (near && strcmp(near, word) != 0) {
		pp_say("unknown word '%s': did you mean 'podprof slurm %s'?", word, near);
		return PP_EXIT_USAGE;
	}
	pp_say("slurm takes one of these words: 'check', or for Slurm's hooks 'prolog', 'epilog', 'task-prolog' or "
	       "'task-epilog'.");
	return PP_EXIT_USAGE;
}
