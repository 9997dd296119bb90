/* Finds the operations of NCCL that ranks are missing in; see hang_nccl.h. */
#include "aggregate/keeper/hang_nccl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/compare.h"
#include "core/base/grow.h"
#include "core/call/mpi_call.h"

PP_COMPARE(by_comm, struct pp_hang_line, PP_UP(nccl.comm) ?: PP_UP(nccl.begun) ?: PP_UP(rank))

int pp_hang_nccl_read(struct pp_hang *h)
{
	struct pp_live_nccl n;
	size_t room = 0;

	for (int32_t i = 0; i < h->ranks; i++)
		for (const char *at = h->rank[i].live ? h->rank[i].live->nccl : ""; (at = pp_live_nccl_next(at, &n));) {
			if (PP_GROW(h->line, h->lines, room))
				return -ENOMEM;
			h->line[h->lines++] = (struct pp_hang_line){.nccl = n, .rank = i};
		}
	if (h->lines)
		qsort(h->line, h->lines, sizeof(*h->line), by_comm);
	return 0;
}

static unsigned call_of(const struct pp_live_nccl *n)
{
	unsigned c10d = pp_c10d_call_of(n->call, strlen(n->call));

	return c10d ? c10d : pp_nccl_call_of(strncmp(n->call, "nccl", 4) ? "" : n->call + 4);
}

static int has_root(const struct pp_live_nccl *n)
{
	enum pp_mpi_class class = pp_mpi_call_info(call_of(n))->class;

	return class == PP_MPI_FROM_ROOT || class == PP_MPI_TO_ROOT;
}

enum pp_hang_mismatch pp_hang_nccl_compare(const struct pp_live_nccl *a, const struct pp_live_nccl *b)
{
	unsigned call = call_of(a);

	if (strcmp(a->call, b->call) != 0)
		return PP_HANG_CALLS_DIFFER;
	if (has_root(a) && a->root != b->root)
		return PP_HANG_ROOTS_DIFFER;
	return pp_mpi_call_has_equal_bytes(call) && a->bytes != b->bytes ? PP_HANG_SIZES_DIFFER : PP_HANG_SAME;
}

int pp_hang_nccl_has_called(const struct pp_hang_line *line, uint64_t number)
{
	return line->nccl.begun > number;
}

/* Of those whose last call is operation `number`. */
static enum pp_hang_mismatch mismatch_of(const struct pp_hang_line *line, size_t lines, uint64_t number)
{
	const struct pp_live_nccl *first = NULL;
	enum pp_hang_mismatch found = PP_HANG_SAME;

	for (size_t i = 0; i < lines && found != PP_HANG_CALLS_DIFFER; i++) {
		enum pp_hang_mismatch one;

		if (line[i].nccl.begun != number + 1)
			continue;
		if (!first)
			first = &line[i].nccl;
		one = pp_hang_nccl_compare(first, &line[i].nccl);
		found = one ? one : found;
	}
	return found;
}

int pp_hang_nccl_next(const struct pp_hang *h, size_t *at, struct pp_hang_unfinished *ret)
{
	while (*at < h->lines) {
		const struct pp_hang_line *first = &h->line[*at];
		struct pp_hang_unfinished u = {.line = *at};
		uint64_t least = first->nccl.begun, most;

		while (*at < h->lines && h->line[*at].nccl.comm == first->nccl.comm)
			++*at;
		u.lines = *at - u.line;
		most = first[u.lines - 1].nccl.begun;
		/* Where all have called the last one, it is unfinished for sure only if their calls cannot match. */
		u.number = most > least ? least : least - 1;
		u.mismatch = most ? mismatch_of(first, u.lines, u.number) : PP_HANG_SAME;
		if (most == least && !u.mismatch)
			continue;
		*ret = u;
		return 1;
	}
	return 0;
}

static int32_t unique(int32_t *list, int32_t count)
{
	int32_t n = 0;

	qsort(list, (size_t)(uint32_t)count, sizeof(*list), pp_compare_int32);
	for (int32_t i = 0; i < count; i++)
		if (!n || list[n - 1] != list[i])
			list[n++] = list[i];
	return n;
}

int pp_hang_nccl_fill(const struct pp_hang *h, struct pp_hang_op *op)
{
	const struct pp_hang_line *line = &h->line[op->line];

	free(op->in);
	op->in = calloc(op->lines + 1, sizeof(*op->in));
	op->missing = calloc(op->lines + 1, sizeof(*op->missing));
	op->wanted = calloc(op->lines + 1, sizeof(*op->wanted));
	op->ins = 0;
	if (!op->in || !op->missing || !op->wanted)
		return -ENOMEM;
	for (size_t i = 0; i < op->lines; i++) {
		if (pp_hang_nccl_has_called(&line[i], op->number))
			op->in[op->ins++] = line[i].rank;
		else
			op->missing[op->missings++] = line[i].rank;
		if (line[i].nccl.size > op->size)
			op->size = line[i].nccl.size;
	}
	op->is_known = op->size > 0 && op->lines >= (size_t)(uint32_t)op->size;
	op->is_sure = 1;
	op->ins = unique(op->in, op->ins);
	op->missings = op->wanteds = unique(op->missing, op->missings);
	memcpy(op->wanted, op->missing, (size_t)(uint32_t)op->missings * sizeof(*op->wanted));
	return 0;
}

const struct pp_live_nccl *pp_hang_nccl_call(const struct pp_hang *h, const struct pp_hang_op *op)
{
	for (size_t i = 0; i < op->lines; i++)
		if (h->line[op->line + i].nccl.begun == op->number + 1)
			return &h->line[op->line + i].nccl;
	return NULL;
}
