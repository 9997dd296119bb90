/* The session before this one, where an elastic launcher has started the ranks again. Called by hdf5.c, in its child. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregate/read/h5/file.h"
#include "aggregate/read/h5/file_attribute.h"
#include "aggregate/write/h5/hdf5_file.h"

enum { MOST = 256 }; /* files that are opened */

/* aggregate/spool/job.c: the job before "J-r3" is "J-r2", before "J-r1" it is "J". 0: this is the first. */
static int job_before(const char *job, char *ret_before, size_t size)
{
	const char *end = strrchr(job, '-');
	long times = end && end[1] == 'r' ? strtol(end + 2, NULL, 10) : 0;
	char again[24];

	if (times < 1)
		return 0;
	snprintf(again, sizeof(again), "-r%ld", times);
	if (strcmp(end, again))
		return 0;
	snprintf(again, sizeof(again), "-r%ld", times - 1);
	return snprintf(ret_before, size, "%.*s%s", (int)(end - job), job, times > 1 ? again : "") < (int)size;
}

void pp_h5_previous(const char *logdir, const char *job, char *ret_session, size_t size)
{
	char before[160], of[160], path[PATH_MAX];
	struct timespec newest = {0};
	struct dirent *e;
	struct stat st;
	DIR *d;

	*ret_session = '\0';
	if (!job_before(job, before, sizeof(before)) || snprintf(path, sizeof(path), "%s/podprof", logdir) >= (int)sizeof(path))
		return;
	d = opendir(path);
	for (int files = 0, code; d && files < MOST && (e = readdir(d));) {
		if (e->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/podprof/%s/pod.h5", logdir, e->d_name) >= (int)sizeof(path) || stat(path, &st))
			continue;
		if (st.st_mtim.tv_sec < newest.tv_sec ||
		    (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec))
			continue;
		files++;
		code = pp_h5_file_read_attribute(path, "job", of, sizeof(of), NULL);
		if (code == -ETIMEDOUT) /* damaged; ranks wait for this session: not for a second one */
			break;
		if (code || strcmp(of, before))
			continue;
		newest = st.st_mtim;
		snprintf(ret_session, size, "%s", e->d_name);
	}
	if (d)
		closedir(d);
}
