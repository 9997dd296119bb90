/* Looks at the ranks for a second, then says what they do; see request_status.h. */
#include "aggregate/keeper/request_status.h"

#include <stdlib.h>
#include <time.h>

#include "aggregate/keeper/live_text.h"
#include "aggregate/keeper/request_private.h"
#include "aggregate/keeper/request_socket.h"

enum { LOOK_MS = 1000 };

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static int anybody(const struct pp_requests *r)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++)
		if (r->client[i].state == PP_CLIENT_LOOKS)
			return 1;
	return 0;
}

static void answer_all(struct pp_requests *r, const struct pp_live_rank *list, long count)
{
	for (int i = 0; i < PP_REQUEST_SLOTS; i++) {
		struct pp_client *c = &r->client[i];
		char line[512];

		if (c->state != PP_CLIENT_LOOKS)
			continue;
		pp_client_say(c, "%s", count < 0 ? "failed\nthe keeper has no memory to look at the ranks" : "done\n");
		for (long k = 0; k < count; k++) {
			pp_live_put(&list[k], line, sizeof(line));
			pp_client_say(c, "%s", line);
		}
		pp_client_leave(c);
	}
}

void pp_requests_status(struct pp_requests *r)
{
	struct pp_live_rank *list = NULL;
	long count = -1;

	if (!r->live && !anybody(r))
		return;
	if (!r->live) {
		r->live_ms = pp_requests_now_ms();
		if (!pp_live_open(r->spool, &r->live, NULL) && pp_live_list(r->live, now_ns(), &list) >= 0) {
			free(list);
			return;
		}
	}
	if (r->live)
		pp_live_look(r->live, now_ns());
	if (r->live && pp_requests_now_ms() - r->live_ms < LOOK_MS)
		return;
	if (r->live)
		count = pp_live_list(r->live, now_ns(), &list);
	answer_all(r, list, count);
	free(list);
	pp_live_close(r->live);
	r->live = NULL;
}
