/* Lines of the list of ranks; see live_text.h. */
#include "aggregate/keeper/live_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int pp_live_put(const struct pp_live_rank *r, char *line, size_t size)
{
	char host[72];

	snprintf(host, sizeof(host), "%s", r->host[0] ? r->host : "?");
	for (char *p = host; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	return snprintf(line, size,
	                "rank %d %d %d %s %d %d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRIx64 " %" PRIu32
	                " %" PRId32 "\n",
	                r->rank, r->size, r->pid, host, (int)r->state, r->exit_status, r->recording, r->marks, r->step, r->step_ns,
	                r->still_ns, r->slow_ns, r->call[0] ? r->call : "-", r->comm, r->sequence, r->peer);
}

int pp_live_get(const char *line, struct pp_live_rank *ret)
{
	struct pp_live_rank r = {.rank = 0};
	int state = 0;

	/* NOLINTNEXTLINE(cert-err34-c): what is out of range is out of range in the table too */
	if (sscanf(line,
	           "rank %d %d %d %71s %d %d %d %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %47s %" SCNx64 " %" SCNu32
	           " %" SCNd32,
	           &r.rank, &r.size, &r.pid, r.host, &state, &r.exit_status, &r.recording, &r.marks, &r.step, &r.step_ns,
	           &r.still_ns, &r.slow_ns, r.call, &r.comm, &r.sequence, &r.peer) != 16 ||
	    state < PP_LIVE_RUNNING || state > PP_LIVE_GONE)
		return -EINVAL;
	r.state = (enum pp_live_state)state;
	if (!strcmp(r.call, "-"))
		r.call[0] = '\0';
	*ret = r;
	return 0;
}
