/* Annotates collectives of torch.distributed by the events that describe them (record_param_comms), as a shim does in a live job;
 * see state.h. Called by finish.c. */
#include "aggregate/read/kineto/collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/read/kineto/dialect.h"
#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/base/hash.h"
#include "core/base/partition.h"
#include "core/call/mpi_call.h"
#include "core/capture/side.h"
#include "core/capture/thread.h"

enum { GROUPS_MOST = 256, INDEX_BITS = 20, STEPS_MOST = 4096 };

struct group {
	uint64_t id;
	int64_t step;    /* of the collective before */
	uint32_t index;  /* of the next one in that step */
	uint32_t number; /* of the next one, where steps do not number them */
};

struct work {
	struct kineto_store *s;
	struct pp_rank *rank;
	struct group group[GROUPS_MOST];
	size_t groups, comms_room, annotations_room;
	const struct pp_thread *thread; /* that marks steps; NULL */
	size_t step;                    /* its span to look at next */
};

PP_COMPARE_BY_2(compare_collective, struct kineto_collective, begin, track)

/* Call number of the name that PyTorch gives the work, or of its operator; 0: none that all ranks of a group call. */
static unsigned call_of(const char *name)
{
	static const char *const same[][2] = {{"allreduce", "c10d::allreduce_"},
	                                      {"allreduce_sparse", "c10d::allreduce_"},
	                                      {"allreduce_coalesced", "c10d::allreduce_coalesced_"},
	                                      {"allgather", "c10d::allgather_"},
	                                      {"all_gather", "c10d::allgather_"},
	                                      {"_allgather_base", "c10d::_allgather_base_"},
	                                      {"_all_gather_base", "c10d::_allgather_base_"},
	                                      {"allgather_into_tensor_coalesced", "c10d::allgather_into_tensor_coalesced_"},
	                                      {"reduce_scatter", "c10d::reduce_scatter_"},
	                                      {"_reduce_scatter_base", "c10d::_reduce_scatter_base_"},
	                                      {"reduce_scatter_tensor_coalesced", "c10d::reduce_scatter_tensor_coalesced_"},
	                                      {"all_to_all", "c10d::alltoall_"},
	                                      {"all_to_allv", "c10d::alltoall_base_"},
	                                      {"barrier", "c10d::barrier"},
	                                      {"broadcast", "c10d::broadcast_"},
	                                      {"_broadcast_oop", "c10d::broadcast_"},
	                                      {"_reduce_oop", "c10d::reduce_"},
	                                      {"allgather_coalesced", "c10d::allgather_coalesced_"},
	                                      {"scatter", "c10d::scatter_"},
	                                      {"reduce", "c10d::reduce_"},
	                                      {"gather", "c10d::gather_"}};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (!strcmp(name, same[i][0]) || !strcmp(name, same[i][1]))
			return pp_c10d_call_of(same[i][1], strlen(same[i][1]));
	return 0;
}

static uint64_t bytes_of(int64_t elements, const char *type)
{
	return elements > 0 && elements < (int64_t)1 << 50 ? (uint64_t)elements * pp_kineto_type_bytes(type) : 0;
}

/* World ranks of "[0, 1, 2]"; NULL: not all are given. *ret_none: no memory. */
static int32_t *members_of(const char *text, int64_t size, int *ret_none)
{
	int32_t *member = NULL;
	int64_t n = 0;

	if (*text++ != '[' || size < 1 || size > (int64_t)strlen(text)) /* each has a digit */
		return NULL;
	member = calloc((size_t)size, sizeof(*member));
	*ret_none = !member;
	if (!member)
		return NULL;
	while (n < size) {
		char *end;
		long rank = strtol(text, &end, 10);

		if (end == text || rank < 0 || rank > INT32_MAX)
			break;
		member[n++] = (int32_t)rank;
		text = end + strspn(end, ", ");
	}
	if (n == size && *text == ']')
		return member;
	free(member);
	return NULL;
}

static int add_group(struct work *w, uint64_t id, const struct kineto_collective *c)
{
	const char *name = pp_intern_text(w->s->names, c->group, NULL);
	struct pp_comm *comm = pp_grow(w->rank->comm, w->rank->comms, &w->comms_room, sizeof(*comm));
	int none = 0;

	if (!comm)
		return -ENOMEM;
	w->rank->comm = comm;
	comm += w->rank->comms++;
	*comm = (struct pp_comm){.id = id, .name = name[0] ? c->group : c->group_ranks, .size = (uint32_t)c->group_size};
	comm->member = members_of(pp_intern_text(w->s->names, c->group_ranks, NULL), c->group_size, &none);
	return none ? -ENOMEM : 0;
}

/* The group by its name and its ranks, which all its ranks have alike. `own`: of one rank only; 0: of all. 0: it has none, or there
 * are too many; -ENOMEM. */
static int find_group(struct work *w, const struct kineto_collective *c, uint64_t own, struct group **ret_group)
{
	size_t name_length, ranks_length, at = 0;
	const char *name = pp_intern_text(w->s->names, c->group, &name_length);
	const char *ranks = pp_intern_text(w->s->names, c->group_ranks, &ranks_length);
	uint64_t id = pp_hash(pp_hash(PP_HASH_BEGIN, name, name_length + 1), ranks, ranks_length);

	*ret_group = NULL;
	if (c->group_size < 1 || c->group_size > INT32_MAX)
		return 0;
	if (own || !ranks_length) {
		id = pp_hash(id, &own, sizeof(own));
		id = pp_hash(id, &c->group_size, sizeof(c->group_size));
	}
	id |= 1;
	while (at < w->groups && w->group[at].id != id)
		at++;
	if (at == GROUPS_MOST)
		return 0;
	if (at == w->groups) {
		if (add_group(w, id, c))
			return -ENOMEM;
		w->group[w->groups++] = (struct group){.id = id, .step = -1};
	}
	*ret_group = &w->group[at];
	return 0;
}

/* The step that is open at that time; -1: none. Times come in order. */
static int64_t step_at(struct work *w, int64_t time)
{
	while (w->thread && w->step < w->thread->spans) {
		const struct pp_span *span = &w->thread->span[w->step];

		if (span->kind == PP_SPAN_STEP && span->end > time)
			return span->begin <= time ? span->step.number : -1;
		w->step++;
	}
	return -1;
}

/* Its number in its group, equal on all ranks: the file's, else its place in its step. -1: none. */
static int64_t sequence_of(struct group *g, const struct kineto_collective *c, int64_t step)
{
	if (c->sequence >= 0)
		return c->sequence <= UINT32_MAX ? c->sequence : -1;
	if (step < 0)
		return -1;
	if (step != g->step)
		g->index = 0;
	g->step = step;
	return g->index >> INDEX_BITS ? -1 : (step % STEPS_MOST) << INDEX_BITS | g->index++;
}

/* Its group and number. Where nothing numbers it as on other ranks, it is the n-th of a group that only this rank has: its bytes
 * and its time on the device are known all the same. */
static int find_joined(struct work *w, const struct kineto_collective *c, int64_t step, struct group **ret_group,
                       int64_t *ret_sequence)
{
	const uint64_t own = (uint64_t)(uint32_t)w->rank->rank + 1;
	struct group *group = NULL;
	int rc = 0;

	*ret_sequence = -1;
	if ((c->sequence >= 0 || step >= 0) && pp_intern_text(w->s->names, c->group_ranks, NULL)[0]) {
		rc = find_group(w, c, 0, &group);
		*ret_sequence = group ? sequence_of(group, c, step) : -1;
	}
	if (rc == 0 && *ret_sequence < 0) {
		rc = find_group(w, c, own, &group);
		*ret_sequence = group ? (int64_t)group->number++ : -1;
	}
	*ret_group = group;
	return rc;
}

static int annotate(struct work *w, const struct kineto_collective *c)
{
	const char *type = pp_intern_text(w->s->names, c->type, NULL);
	unsigned call = call_of(pp_intern_text(w->s->names, c->operation, NULL));
	int64_t step = step_at(w, c->begin), sequence;
	struct group *group;

	if (!call)
		return 0;
	if (find_joined(w, c, step, &group, &sequence))
		return -ENOMEM;
	if (!group)
		return 0;
	if (PP_GROW(w->rank->annotation, w->rank->annotations, w->annotations_room))
		return -ENOMEM;
	w->rank->annotation[w->rank->annotations++] = (struct pp_annotation){.time = c->begin,
	                                                                     .done = c->done,
	                                                                     .comm = group->id,
	                                                                     .sent = bytes_of(c->elements_in, type),
	                                                                     .received = bytes_of(c->elements_out, type),
	                                                                     .sequence = (uint32_t)sequence,
	                                                                     .correlation = c->kernels == 1 ? c->correlation : 0,
	                                                                     .root = -1,
	                                                                     .call = (uint16_t)call};
	return 0;
}

/* The operator's name of a call; 0: none. */
static uint32_t name_of_call(struct kineto_store *s, const struct kineto_collective *c)
{
	unsigned call = call_of(pp_intern_text(s->names, c->operation, NULL));
	const char *name = call ? pp_mpi_call_info(call)->name : NULL;

	return name ? pp_intern_put(s->names, name, strlen(name)) : 0;
}

/* Where the program called the backend without the dispatcher, no operator of c10d is around the description: it stands for it.
 * Collectives are by track, then begin. */
static void adopt(struct kineto_store *s, struct pp_thread *thread, uint32_t track, uint32_t parameters)
{
	const struct kineto_collective *c = s->collective;
	size_t at = PP_PARTITION(s->collectives, i, c[i].track < track);
	int64_t until = INT64_MIN;

	for (size_t i = 0; at < s->collectives && c[at].track == track && i < thread->spans; i++) {
		struct pp_span *span = &thread->span[i];
		uint32_t name;

		if (span->kind != PP_SPAN_RANGE)
			continue;
		if (!strncmp(pp_intern_text(s->names, span->name, NULL), "c10d::", 6) && span->end > until)
			until = span->end;
		if (span->name != parameters)
			continue;
		while (at < s->collectives && c[at].track == track && c[at].begin < span->begin)
			at++;
		if (at == s->collectives || c[at].track != track || c[at].begin != span->begin || span->end <= until)
			continue;
		name = name_of_call(s, &c[at]);
		span->name = name ? name : span->name;
	}
}

static void adopt_all(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track)
{
	static const char text[] = "record_param_comms";
	uint32_t parameters = s->collectives ? pp_intern_put(s->names, text, sizeof(text) - 1) : 0;

	for (size_t t = 0; parameters && t < rank->threads; t++)
		if (!rank->thread[t].device)
			adopt(s, &rank->thread[t], track[t], parameters);
}

/* "[0, 1, 2]" of all ranks; 0: no memory, or too many. */
static uint32_t all_ranks(struct kineto_store *s)
{
	const size_t size = (size_t)s->world * 12 + 3;
	char *text = malloc(size);
	size_t at = 0;
	uint32_t id;

	for (int32_t r = 0; text && r < s->world; r++)
		at += (size_t)snprintf(text + at, size - at, "%s%" PRId32 "%s", r ? ", " : "[", r, r + 1 < s->world ? "" : "]");
	id = text ? pp_intern_put(s->names, text, at) : 0;
	free(text);
	return id;
}

/* Backends other than NCCL's do not describe collectives. Where the job has one group only, all are of it: operators stand for
 * descriptions. */
static int describe(struct kineto_store *s, const struct pp_rank *rank, const uint32_t *track)
{
	const uint32_t ranks = all_ranks(s);

	for (size_t t = 0; ranks && t < rank->threads; t++) {
		int64_t until = INT64_MIN;

		for (size_t i = 0; !rank->thread[t].device && i < rank->thread[t].spans; i++) {
			const struct pp_span *span = &rank->thread[t].span[i];
			const char *name = span->kind == PP_SPAN_RANGE && span->range.origin == PP_ORIGIN_OPERATOR
			                           ? pp_intern_text(s->names, span->name, NULL)
			                           : "";

			if (strncmp(name, "c10d::", 6) != 0 || span->begin < until || !call_of(name))
				continue;
			until = span->end;
			if (PP_GROW(s->collective, s->collectives, s->collectives_room))
				return -ENOMEM;
			s->collective[s->collectives++] = (struct kineto_collective){.track = track[t],
			                                                             .begin = span->begin,
			                                                             .end = span->end,
			                                                             .operation = span->name,
			                                                             .group_ranks = ranks,
			                                                             .group_size = s->world,
			                                                             .sequence = -1};
		}
	}
	return ranks ? 0 : -ENOMEM;
}

int pp_kineto_collectives(struct kineto_store *s, struct pp_rank *rank, const uint32_t *track)
{
	struct work w = {.s = s, .rank = rank};
	int rc = 0;

	adopt_all(s, rank, track);
	if (!s->collectives && s->groups == 1 && s->world > 1)
		rc = describe(s, rank, track);
	for (size_t t = 0; t < rank->threads; t++)
		if (rank->thread[t].is_main)
			w.thread = &rank->thread[t];
	if (s->collectives)
		qsort(s->collective, s->collectives, sizeof(*s->collective), compare_collective);
	for (size_t i = 0; i < s->collectives && rc == 0; i++)
		rc = annotate(&w, &s->collective[i]);
	return rc;
}
