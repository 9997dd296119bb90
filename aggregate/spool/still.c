/* Watches where-am-I lines for changes; see still.h. */
#include "aggregate/spool/still.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/place.h"
#include "core/base/grow.h"
#include "core/base/proc.h"
#include "core/call/mpi_call.h"

enum { PROCESS_MS = 1000 };

int pp_still_polls(unsigned call)
{
	static const char *const poll[] = {"MPI_Test",   "MPI_Testall", "MPI_Testany",           "MPI_Testsome",
	                                   "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"};
	const char *name = call ? pp_mpi_call_info(call - 1)->name : "";

	for (size_t i = 0; i < sizeof(poll) / sizeof(poll[0]); i++)
		if (!strcmp(name, poll[i]))
			return 1;
	return 0;
}

static int is_same(const struct pp_where *a, const struct pp_where *b)
{
	if (a->last != b->last || a->comm != b->comm || a->sequence != b->sequence || a->peer != b->peer || a->step != b->step)
		return 0;
	return (a->calls == b->calls && a->call == b->call) || pp_still_polls(a->last);
}

void pp_still_check(struct pp_still *s, const struct pp_ring_header *h, int64_t now_ms)
{
	struct pp_where now = pp_place_where(h);

	if (s->since_ms && is_same(&s->where, &now))
		return;
	s->where = now;
	s->since_ms = now_ms > 0 ? now_ms : 1;
	s->process_ms = 0;
}

void pp_still_check_all(struct pp_spool_view *v, int64_t now_ms, int64_t pause_ms)
{
	size_t rings = pp_spool_count(v);

	if (v->still_ms && now_ms - v->still_ms < pause_ms)
		return;
	v->still_ms = now_ms;
	if (rings > v->stills) {
		if (PP_RESIZE(v->still, rings))
			return;
		memset(v->still + v->stills, 0, (rings - v->stills) * sizeof(*v->still));
		v->stills = rings;
	}
	for (size_t i = 0; i < rings; i++)
		pp_still_check(&v->still[i], pp_spool_header(v, i), now_ms);
}

struct pp_still *pp_still_of(const struct pp_spool_view *v, size_t ring)
{
	return ring < v->stills && v->still[ring].since_ms ? &v->still[ring] : NULL;
}

char pp_still_process(struct pp_still *s, const struct pp_watch *w, int64_t now_ms)
{
	char path[64], text[512];
	const char *end;

	if (w->gone || w->is_foreign || w->pid <= 0)
		return 0;
	if (s->process_ms && now_ms - s->process_ms < PROCESS_MS)
		return s->process;
	s->process_ms = now_ms;
	s->process = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", w->pid);
	if (pp_proc_read(path, text, sizeof(text)) < 0)
		return 0;
	end = strrchr(text, ')'); /* the name may hold any character */
	if (end && end[1] == ' ' && end[2])
		s->process = end[2];
	return s->process;
}
