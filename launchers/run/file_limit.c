/* The limit on file sizes; see file_limit.h. */
#include "launchers/run/file_limit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

enum { LEAST_KIB = 512 }; /* a ring of two chunks, a short session's pod.h5 */

static struct sigaction had;
static int is_ignored;

void pp_file_limit_ignore(void)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	is_ignored = !sigaction(SIGXFSZ, &ignore, &had);
}

void pp_file_limit_restore(void)
{
	if (is_ignored)
		sigaction(SIGXFSZ, &had, NULL);
	is_ignored = 0;
}

int pp_file_limit_check(struct pp_err *err)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur == RLIM_INFINITY || most.rlim_cur >= LEAST_KIB * 1024)
		return 0;
	return pp_err_set(err, -EFBIG, "the limit on file sizes is %llu KiB; podprof needs at least %d KiB",
	                  (unsigned long long)most.rlim_cur / 1024, LEAST_KIB);
}
