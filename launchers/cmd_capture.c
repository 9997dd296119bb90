/* podprof capture: asks the keeper of a live job for the next steps, waits for them, says where they are. In: a log directory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "aggregate/keeper/request.h"
#include "launchers/cmd.h"
#include "launchers/options.h"
#include "launchers/spool.h"

const struct pp_options_verb pp_verb_capture = {
        .name = "podprof capture",
        .arguments = "[LOGDIR]",
        .doc = "Capture steps that are to come, the same on all ranks, of the jobs of this node that record into LOGDIR "
               "(podprof_logs if "
               "none is given), while they run; ten steps, or --steps=+N. Waits for the session and prints where it is.",
        .groups = PP_OPT_CAPTURE,
};

enum { JOBS = 16, STEPS = 10, ANSWER = 4096 };

struct jobs {
	const char *logdir;
	struct pp_spool_state state[JOBS];
	int count, over;
};

static int see(const struct pp_spool_state *state, void *data)
{
	struct jobs *jobs = data;

	if (strcmp(state->output, jobs->logdir))
		return 0;
	if (state->life != PP_SPOOL_RECORDING)
		jobs->over++;
	else if (jobs->count < JOBS)
		jobs->state[jobs->count++] = *state;
	return 0;
}

static int ask(const char *spool, int64_t steps, struct pp_err *err)
{
	struct sockaddr_un address;
	int directory = -1, fd, rc = pp_requests_address(spool, &address, &directory);
	char line[64];

	if (rc)
		return pp_err_set(err, rc, "cannot open '%s': %s", spool, pp_why(-rc));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		rc = pp_err_set(err, -errno, "cannot ask the keeper of '%s': %s. It takes requests while its job records", spool,
		                pp_why(errno));
		goto close_files;
	}
	snprintf(line, sizeof(line), "capture %" PRId64 "\n", steps);
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line)) {
		close(directory);
		return fd;
	}
	rc = pp_err_set(err, -EPIPE, "the keeper of '%s' did not take the request", spool);
close_files:
	if (fd >= 0)
		close(fd);
	close(directory);
	return rc;
}

/* "wait ..." lines are shown and taken away. Returns the bytes that are left. */
static size_t take_waits(char *text, size_t used, int shows)
{
	char *end;

	while (used > 5 && !strncmp(text, "wait ", 5) && (end = memchr(text, '\n', used))) {
		size_t n = (size_t)(end - text) + 1;

		*end = '\0';
		if (shows)
			fprintf(stderr, "\rpodprof: waiting %s \033[K", text + 5);
		memmove(text, text + n, used - n);
		used -= n;
		text[used] = '\0';
	}
	return used;
}

static int wait_for_answer(int fd)
{
	int shows = isatty(STDERR_FILENO);
	char text[ANSWER] = "";
	size_t used = 0;
	ssize_t n;

	while (used < sizeof(text) - 1 && ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0 || (n < 0 && errno == EINTR))) {
		used += n > 0 ? (size_t)n : 0;
		text[used] = '\0';
		used = take_waits(text, used, shows);
	}
	if (shows)
		fputs("\r\033[K", stderr);
	if (!strncmp(text, "done\n", 5)) {
		puts(text + 5);
		return fflush(stdout) ? PP_EXIT_FAILED : PP_EXIT_OK;
	}
	if (!strncmp(text, "failed\n", 7))
		pp_say("%s.", text + 7);
	else
		pp_say("the keeper ended before the capture was done. 'podprof salvage' reads what is left of it.");
	return PP_EXIT_FAILED;
}

static int capture_all(const struct jobs *jobs, const char *given, int64_t steps)
{
	int rc = PP_EXIT_OK;

	if (!jobs->count) {
		pp_say("no job on this node records into '%s'%s. Start one with 'podprof run -o %s -- CMD'; on other nodes, type "
		       "this "
		       "there.",
		       given, jobs->over ? " any more: its windows are written, or it is at its end" : "", given);
		return PP_EXIT_FAILED;
	}
	for (int i = 0; i < jobs->count; i++) {
		struct pp_err err = {""};
		int fd = ask(jobs->state[i].path, steps, &err), one = PP_EXIT_FAILED;

		if (fd >= 0) {
			one = wait_for_answer(fd);
			close(fd);
		} else {
			pp_say("%s.", err.text);
		}
		rc = one ? one : rc;
	}
	return rc;
}

int pp_cmd_capture(int argc, char **argv)
{
	struct pp_options options;
	struct jobs jobs = {.count = 0};
	int64_t steps = STEPS;
	const char *given;
	char *logdir;
	int first, rc = pp_options_parse(&pp_verb_capture, argc, argv, &options, &first);

	if (rc >= 0)
		return rc;
	if (argc - first > 1) {
		pp_say("capture takes one directory, not '%s' too. Type 'podprof capture LOGDIR'.", argv[first + 1]);
		return PP_EXIT_USAGE;
	}
	if (*options.value[PP_OPT_ID_STEPS])
		pp_opt_parse_int(options.value[PP_OPT_ID_STEPS] + 1, &steps, NULL);
	given = first < argc ? argv[first] : pp_opt_table[PP_OPT_ID_OUTPUT].fallback;
	logdir = realpath(given, NULL);
	if (!logdir) {
		pp_say("cannot open '%s': %s. Give the directory that -o named.", given, pp_why(errno));
		return PP_EXIT_FAILED;
	}
	jobs.logdir = logdir;
	pp_spool_each(see, &jobs);
	rc = capture_all(&jobs, given, steps);
	free(logdir);
	return rc;
}
