/* Reads <spool>/options and <spool>/rules as a whole; see settings.h. */
#include "aggregate/spool/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/spool/control.h"
#include "aggregate/spool/layout.h"
#include "core/base/memory_room.h"
#include "core/base/proc.h"
#include "core/step/user_rules.h"

enum { FILE_BYTES = 64 * 1024, RULES_MOST = 1 << 20, LEAST_BUFFER = 2 << 20 };

static void set(char *to, size_t size, const char *value)
{
	snprintf(to, size, "%s", value);
}

static void add_to_text(struct pp_settings *s, const struct pp_opt *opt, const char *value)
{
	size_t n = strlen(s->text);

	if (strcmp(value, opt->fallback) && n < sizeof(s->text))
		snprintf(s->text + n, sizeof(s->text) - n, "%s--%s=%s", n ? " " : "", opt->name, value);
}

static void one_line(struct pp_settings *s, char *line)
{
	char *value = strchr(line, '='), env[80];
	const struct pp_opt *opt;
	struct pp_err err = {""};

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "JOB")) {
		set(s->job, sizeof(s->job), value);
		return;
	}
	if (!strcmp(line, "COMMAND")) {
		set(s->command, sizeof(s->command), value);
		return;
	}
	snprintf(env, sizeof(env), "PODPROF_%.70s", line);
	opt = pp_opt_find_env(env);
	if (!opt)
		return;
	if (pp_opt_set(opt, value, s, NULL, &err)) {
		pp_keeper_log("option skipped: %s", err.text);
		return;
	}
	add_to_text(s, opt, value);
}

static void finish_windows(struct pp_settings *s)
{
	struct pp_step_windows *w = &s->windows;

	pp_step_windows_repeat(w, s->every, NULL); /* podprof run has reported the error; collectors do the same */
	s->timed = !w->count && (*s->delay.text || *s->duration.text || *s->at); /* collectors decide the same */
	if (!w->count)
		return;
	s->steps_first = w->first[0];
	s->steps_last = w->every ? INT64_MAX : w->last[w->count - 1];
}

int pp_settings_read(const char *spool, struct pp_settings *ret_settings, struct pp_err *err)
{
	char path[4096], *text = malloc(FILE_BYTES);
	struct pp_settings s = {0};
	long n = -ENOMEM;

	for (int i = 0; i < PP_OPTS; i++)
		pp_opt_set(&pp_opt_table[i], pp_opt_table[i].fallback, &s, NULL, NULL);
	snprintf(path, sizeof(path), "%s/options", spool);
	if (text)
		n = pp_proc_read(path, text, FILE_BYTES);
	for (char *line = text, *next; n >= 0 && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		one_line(&s, line);
	}
	free(text);
	finish_windows(&s);
	*ret_settings = s;
	return n < 0 ? pp_err_set(err, (int)n, "cannot read '%s': %s", path, strerror((int)-n)) : 0;
}

int pp_settings_rules(const char *spool, struct pp_err *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/" PP_SPOOL_RULES, spool) >= (int)sizeof(path) || stat(path, &st))
		return 0;
	if (!S_ISREG(st.st_mode) || st.st_size > RULES_MOST)
		return pp_err_set(err, -EINVAL, "cannot use the rules '%s': it is not the file that podprof run wrote", path);
	return pp_user_rules_load(path, err);
}

void pp_settings_learn_command(const char *spool, struct pp_settings *s, int pid)
{
	char path[4096];
	long n;
	int fd;

	if (s->command[0])
		return;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	n = pp_proc_read(path, s->command, sizeof(s->command));
	for (long i = 0; i + 1 < n; i++)
		if ((unsigned char)s->command[i] < ' ')
			s->command[i] = ' ';
	snprintf(path, sizeof(path), "%s/options", spool);
	fd = n > 0 ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (fd < 0)
		return;
	dprintf(fd, "COMMAND=%s\n", s->command);
	close(fd);
}

int pp_settings_always(const struct pp_settings *s)
{
	return !s->windows.count && !s->timed;
}

void pp_settings_fit_memory(struct pp_settings *s)
{
	uint64_t room = pp_memory_room(PP_MEMORY_CGROUP, PP_MEMORY_ROOT);
	uint64_t most = room / 16 > LEAST_BUFFER ? room / 16 : LEAST_BUFFER;

	if (s->buffer <= most)
		return;
	s->buffer = most;
	pp_keeper_log("the window buffer is %" PRIu64 " KiB: the memory cgroup has %" PRIu64 " KiB left", most / 1024, room / 1024);
}
