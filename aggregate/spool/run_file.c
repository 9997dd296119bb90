/* Writes, removes and reads run files; see run_file.h. */
#include "aggregate/spool/run_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/spool/layout.h"
#include "core/base/proc.h"
#include "core/base/why.h"

/* Containers that share a spool have pids of their own. */
static void run_file(const char *spool, const struct pp_job *job, char *path, size_t size)
{
	uint32_t space = pp_proc_pid_space();

	if (space == PP_PID_SPACE_FIRST || !space)
		snprintf(path, size, "%s/run-%d", spool, job->pid);
	else
		snprintf(path, size, "%s/run-%d-%u", spool, job->pid, (unsigned)space);
}

int pp_spool_register(const char *spool, const struct pp_job *job, struct pp_err *err)
{
	char part[PP_SPOOL_PATH + 64], path[PP_SPOOL_PATH + 64], text[96];
	int rc, length;

	run_file(spool, job, path, sizeof(path));
	snprintf(part, sizeof(part), "%s/.run-XXXXXX", spool);
	length = snprintf(text, sizeof(text), "%d %d %llu %d\n", job->rank, job->local_size,
	                  (unsigned long long)pp_proc_start_time(job->pid), job->sees_launcher);
	rc = pp_spool_write_part(part, text, (size_t)length);
	if (!rc && rename(part, path))
		rc = -errno;
	if (rc)
		unlink(part);
	return rc ? pp_err_set(err, rc, "cannot write '%s': %s", path, pp_why(-rc)) : 0;
}

void pp_spool_unregister(const char *spool, const struct pp_job *job)
{
	char path[PP_SPOOL_PATH + 64];

	run_file(spool, job, path, sizeof(path));
	unlink(path);
}

void pp_run_file_parse(const char *name, struct pp_run_file *ret)
{
	char *end;

	*ret = (struct pp_run_file){.rank = -1, .pid = (int)strtol(name + 4, &end, 10)};
	ret->space = *end == '-' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
}

int pp_run_file_read(const char *spool, const char *name, struct pp_run_file *ret)
{
	char path[4096], text[128];
	unsigned long long start_time = 0;
	long n;

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	n = pp_proc_read(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (sscanf(text, "%d %d %llu %d", &ret->rank, &ret->local_size, &start_time, &ret->sees_launcher) < 2)
		return -EINVAL;
	ret->start_time = start_time;
	return 0;
}
