/* Looks at the event files of a session, not into them; see event_files.h. */
#include "aggregate/timeline/event_files.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include "aggregate/timeline/load.h"
#include "aggregate/timeline/timeline.h"

static int is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

void pp_event_files_find(const char *pod_path, struct pp_event_files *ret)
{
	char directory[PATH_MAX];
	struct dirent *e;
	struct stat st;
	DIR *d;

	*ret = (struct pp_event_files){.files = 0};
	d = pp_timeline_directory(pod_path, directory) ? NULL : opendir(directory);
	while (d && (e = readdir(d))) {
		if (fnmatch("*.xplane.pb", e->d_name, FNM_PERIOD) || fstatat(dirfd(d), e->d_name, &st, 0))
			continue;
		ret->files++;
		ret->bytes += (uint64_t)st.st_size;
		if (is_later(st.st_mtim, ret->newest))
			ret->newest = st.st_mtim;
	}
	if (d)
		closedir(d);
}
