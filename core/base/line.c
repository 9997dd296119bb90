/* Lines on the application's stderr; see line.h. Called by core/collector.c. */
#include "core/base/line.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "core/base/hold.h"

enum { PATIENCE_MS = 200 };

void pp_line_write(const char *line, size_t length)
{
	struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct pp_hold hold;
	int saved = errno;

	if (poll(&err, 1, PATIENCE_MS) == 1 && err.revents == POLLOUT) {
		pp_hold_begin(&hold);
		pp_hold_end(&hold, write(STDERR_FILENO, line, length) < 0 ? errno : 0);
	}
	errno = saved;
}
