/* Reads a spool's control page, lock and options; see state.h. */
#include "aggregate/spool/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aggregate/spool/options.h"
#include "core/base/lock.h"
#include "core/base/proc.h"
#include "core/ring/ring_file.h"

static int read_control(const char *spool, struct pp_spool_state *s, uint32_t *ret_state)
{
	char path[PP_SPOOL_PATH + 32];
	struct pp_control control = {.pod = 0};
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/control", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	n = read(fd, &control, sizeof(control));
	close(fd);
	if (n < (ssize_t)offsetof(struct pp_control, pod) || /* an older keeper's ends there */
	    memcmp(control.magic, PP_CONTROL_MAGIC, sizeof(control.magic)))
		return -EINVAL;
	*ret_state = pp_control_keeper_state(&control);
	s->keeper_pid = pp_control_keeper_pid(&control);
	s->pod = pp_control_pod(&control);
	control.message[sizeof(control.message) - 1] = '\0';
	snprintf(s->message, sizeof(s->message), "%.*s", (int)sizeof(s->message) - 1, control.message);
	return 0;
}

/* Did podprof write its options, or its control page? Others' files may have the names of ours. */
static int is_made_by_podprof(const char *path)
{
	struct pp_spool_state state;
	char value[256];
	uint32_t life;

	return !pp_spool_read_option(path, "VERSION", value, sizeof(value)) || !read_control(path, &state, &life);
}

int pp_spool_is_one(const char *path)
{
	char file[PP_SPOOL_PATH + 32];
	DIR *d = opendir(path);
	struct dirent *e;
	int own = 1, lock, rings = pp_spool_count_rings(path) > 0;

	while (d && (e = readdir(d)))
		own &= !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		       (pp_spool_is_file_name(e->d_name) && e->d_type != DT_DIR);
	if (d)
		closedir(d);
	snprintf(file, sizeof(file), "%s/keeper.lock", path);
	lock = !access(file, F_OK);
	snprintf(file, sizeof(file), "%s/options", path);
	if (!lock && !rings && (access(file, F_OK) || !own || !is_made_by_podprof(path)))
		return -ENOENT;
	return own && is_made_by_podprof(path);
}

int pp_spool_read(const char *spool, struct pp_spool_state *ret_state)
{
	char path[PP_SPOOL_PATH], lock[PP_SPOOL_PATH + 32];
	uint32_t state = PP_KEEPER_NONE;
	struct stat st;
	int held;

	snprintf(path, sizeof(path), "%s", spool);
	memset(ret_state, 0, sizeof(*ret_state));
	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -ENOENT;
	snprintf(ret_state->path, sizeof(ret_state->path), "%s", path);
	pp_spool_read_option(path, "OUTPUT", ret_state->output, sizeof(ret_state->output));
	ret_state->rings = pp_spool_count_rings(path);
	read_control(path, ret_state, &state);
	snprintf(lock, sizeof(lock), "%s/keeper.lock", path);
	held = pp_lock_is_held(lock);
	if (held < 0) /* no /proc/locks in this container */
		held = ret_state->keeper_pid > 0 && (!kill(ret_state->keeper_pid, 0) || errno == EPERM);
	ret_state->keeper_lives = held > 0;
	if (state == PP_KEEPER_DONE)
		ret_state->life = PP_SPOOL_DONE;
	else if (state == PP_KEEPER_FAILED)
		ret_state->life = PP_SPOOL_FAILED;
	else if (!held)
		ret_state->life = PP_SPOOL_LEFT;
	else
		ret_state->life = state == PP_KEEPER_WRITING ? PP_SPOOL_WRITING : PP_SPOOL_RECORDING;
	return 0;
}

/* In another PID namespace the number is another process's, which has another name. */
int pp_spool_keeper_is_stopped(int keeper)
{
	char path[32], text[128];

	snprintf(path, sizeof(path), "/proc/%d/stat", keeper);
	return pp_proc_read(path, text, sizeof(text)) > 0 && strstr(text, " (podprof-keeper) T ");
}
