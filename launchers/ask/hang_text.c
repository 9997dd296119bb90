/* Prints the operations that ranks are stuck in, and the first cause; see hang_text.h. */
#include "launchers/ask/hang_text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "aggregate/keeper/hang_call.h"
#include "aggregate/keeper/hang_nccl.h"
#include "core/base/libc.h"
#include "core/base/rank_list.h"
#include "core/base/signal_name.h"
#include "launchers/cmd.h"

enum { LINES = 8, LIST = 120, PLACE = 512 };

typedef int (*pick)(const struct pp_hang_rank *r);

/* "0-3, 7" as far as it fits; ranks of `list`, or those that `which` picks. Returns how many there are. */
/* NOLINTNEXTLINE(readability-non-const-parameter): written through the ranks */
static int32_t list_ranks(const struct pp_hang *h, const int32_t *list, int32_t count, pick which, char *text, size_t room)
{
	struct pp_rank_text ranks = {.to = text, .size = room};

	for (int32_t i = 0; list && i < count; i++)
		pp_rank_text_add(&ranks, list[i]);
	for (int32_t i = 0; !list && i < h->ranks; i++)
		/* cppcheck-suppress nullPointer ; one of list and which is given */
		if (which(&h->rank[i]))
			pp_rank_text_add(&ranks, i);
	return (int32_t)pp_rank_text_end(&ranks);
}

static const char *time_text(int64_t ns, char *text, size_t size)
{
	int64_t s = ns / 1000000000;

	if (s < 10)
		snprintf(text, size, "%" PRId64 ".%d s", s < 0 ? 0 : s, (int)(ns / 100000000 % 10));
	else if (s < 600)
		snprintf(text, size, "%" PRId64 " s", s);
	else
		snprintf(text, size, "%" PRId64 " min", s / 60);
	return text;
}

/* " of MPI_COMM_WORLD"; "" where the call has no communicator. */
static const char *on_comm(const struct pp_live_rank *r, const char *word, char *text, size_t size)
{
	const char *name = pp_live_comm_name(r);
	const char *kind = r->comm_flags & PP_RING_COMM_FILE ? "file " : r->comm_flags & PP_RING_COMM_WINDOW ? "window " : "";

	text[0] = '\0';
	if (name)
		snprintf(text, size, " %s %s%s", word, kind, name);
	else if (r->comm)
		snprintf(text, size, " %s %s%016" PRIx64, word, *kind ? kind : "communicator ", r->comm);
	return text;
}

/* "MPI_Allreduce number 812 of MPI_COMM_WORLD", "MPI_Recv from rank 1 on MPI_COMM_WORLD". */
static void call_text(const struct pp_hang_rank *r, const char *call, int is_now, char *text, size_t size)
{
	const struct pp_live_rank *l = r->live;
	int is_wait = is_now && l->waits[0], sends = strstr(call, "end") != NULL && !strstr(call, "recv"), peer = l->peer;
	char comm[160];
	size_t n;

	n = (size_t)snprintf(text, size, "%s", call);
	if (is_wait)
		n += (size_t)snprintf(text + n, size - n, " for %s", l->waits);
	if (pp_hang_is_numbered(is_wait ? l->waits : call)) {
		snprintf(text + n, size - n, " number %" PRIu32 "%s", is_wait ? l->waits_sequence : l->sequence,
		         on_comm(l, "of", comm, sizeof(comm)));
		return;
	}
	if (peer >= 0)
		n += (size_t)snprintf(text + n, size - n, " %s rank%s %d",
		                      sends                  ? "to"
		                      : strstr(call, "Recv") ? "from"
		                                             : "with",
		                      is_now && r->targets > 1 ? "s" : "", peer);
	else if (peer == -2)
		n += (size_t)snprintf(text + n, size - n, " from any rank");
	for (int i = 0; is_now && i < r->targets && n < size; i++)
		if (r->target[i] != peer)
			n += (size_t)snprintf(text + n, size - n, " %s %d",
			                      i                ? "and"
			                      : r->targets > 1 ? "with ranks"
			                                       : "with rank",
			                      r->target[i]);
	if (n < size)
		snprintf(text + n, size - n, "%s", on_comm(l, "on", comm, sizeof(comm)));
}

static void end_text(const struct pp_live_rank *l, char *text, size_t size)
{
	const char *name = WIFSIGNALED(l->end) ? pp_signal_name(WTERMSIG(l->end)) : NULL;

	if (l->state == PP_LIVE_ENDED && l->exit_status != PP_EXIT_STATUS_UNKNOWN)
		snprintf(text, size, "ended with exit code %d", l->exit_status);
	else if (l->state == PP_LIVE_GONE && l->end >= 0 && WIFSIGNALED(l->end))
		snprintf(text, size, "ended by signal %d%s%s%s", WTERMSIG(l->end), name ? " (SIG" : "", name ? name : "",
		         name ? ")" : "");
	else if (l->state == PP_LIVE_GONE && l->end >= 0)
		snprintf(text, size, "ended without exit handlers, as by _exit() or exec, with status %d", WEXITSTATUS(l->end));
	else if (l->state == PP_LIVE_GONE)
		snprintf(text, size, "killed, or ended by _exit() (which of them is unknown)");
	else
		snprintf(text, size, "ended");
}

/* Where the rank is, to follow "rank 2 ". `time`: how long it has been there. */
static const char *timed_text(const struct pp_hang *h, int32_t rank, const char *time, char *text, size_t size)
{
	const struct pp_hang_rank *r = &h->rank[rank];
	const struct pp_live_rank *l = r->live;
	char call[256] = "", end[96], step[48] = "", nccl[128];
	const char *in;

	if (!l) {
		snprintf(text, size, "never arrived: no MPI call, step or range of it was seen");
		return text;
	}
	in = l->call[0] ? "in" : "after";
	if (l->call[0] || l->last[0])
		call_text(r, l->call[0] ? l->call : l->last, l->call[0] != 0, call, sizeof(call));
	if (l->marks && l->step != INT64_MIN)
		snprintf(step, sizeof(step), ", step %" PRId64, l->step);
	if (r->at == PP_HANG_LOST)
		snprintf(text, size, "lost with its host %s, last seen %s %s%s", l->host, in, *call ? call : "no MPI call", step);
	else if (r->at == PP_HANG_ENDED && !*call)
		snprintf(text, size, "%s%s", (end_text(l, end, sizeof(end)), end), step);
	else if (r->at == PP_HANG_ENDED)
		snprintf(text, size, "%s %s %s%s", (end_text(l, end, sizeof(end)), end), in, call, step);
	else if (r->at == PP_HANG_STOPPED)
		snprintf(text, size, "stopped (process state %c) for %s%s%s%s%s", l->process, time, *call ? ", " : "",
		         *call ? in : "", *call ? " " : "", call);
	else if (r->at != PP_HANG_OUTSIDE && l->call[0])
		snprintf(text, size, "%s %s for %s%s", pp_hang_is_poll(l->call) ? "polls" : "in", call, time, step);
	else if (!*call && *pp_live_nccl_text(l->nccl, nccl, sizeof(nccl)))
		snprintf(text, size, "in the application for %s, %s%s", time, nccl, step);
	else
		snprintf(text, size, "in the application for %s%s%s%s", time, *call ? ", last call " : ", no MPI call so far", call,
		         step);
	return text;
}

static const char *place_text(const struct pp_hang *h, int32_t rank, char *text, size_t size)
{
	char time[32];

	return timed_text(h, rank, time_text(h->rank[rank].live ? h->rank[rank].live->place_ns : 0, time, sizeof(time)), text,
	                  size);
}

static int hosts_differ(const struct pp_hang *h)
{
	const char *first = NULL;

	for (int32_t i = 0; i < h->ranks; i++) {
		if (!h->rank[i].live)
			continue;
		if (first && strcmp(first, h->rank[i].live->host) != 0)
			return 1;
		first = h->rank[i].live->host;
	}
	return 0;
}

/* Ranks that are at the same place, but for the time. */
struct group {
	int32_t *rank, count;
	char place[PLACE];
};

static void print_group(const struct pp_hang *h, const struct group *g, const char *before, int hosts)
{
	int32_t longest = g->rank[0];
	const struct pp_live_rank *l;
	char ranks[LIST], place[PLACE];

	for (int32_t i = 1; i < g->count; i++)
		if (h->rank[g->rank[i]].live && h->rank[g->rank[i]].live->place_ns > h->rank[longest].live->place_ns)
			longest = g->rank[i];
	list_ranks(h, g->rank, g->count, NULL, ranks, sizeof(ranks));
	l = g->count == 1 ? h->rank[longest].live : NULL;
	printf("%srank%s %s%s%s: %s\n", before, g->count > 1 ? "s" : "", ranks, hosts && l ? " on " : "", hosts && l ? l->host : "",
	       place_text(h, longest, place, sizeof(place)));
}

/* A line for each place that ranks of the list are at. */
static void print_ranks(const struct pp_hang *h, const int32_t *list, int32_t count, const char *before, int hosts)
{
	struct group *group = calloc(LINES, sizeof(*group));
	int32_t *rank = calloc((size_t)(uint32_t)count * (LINES + 1) + 1, sizeof(*rank)), *rest = rank, rests = 0;
	char place[PLACE], ranks[LIST];
	int groups = 0, k;

	for (int32_t i = 0; group && rank && i < count; i++) {
		timed_text(h, list[i], "", place, sizeof(place));
		for (k = 0; k < groups && strcmp(group[k].place, place) != 0; k++)
			;
		if (k == LINES) {
			rest[rests++] = list[i];
			continue;
		}
		if (k == groups) {
			group[k].rank = rank + (size_t)(uint32_t)count * (size_t)(k + 1);
			memcpy(group[groups++].place, place, sizeof(place));
		}
		group[k].rank[group[k].count++] = list[i];
	}
	for (k = 0; k < groups; k++)
		print_group(h, &group[k], before, hosts);
	if (rests) {
		list_ranks(h, rest, rests, NULL, ranks, sizeof(ranks));
		printf("%sand %d more: rank%s %s\n", before, rests, rests > 1 ? "s" : "", ranks);
	}
	free(group);
	free(rank);
}

/* The same for the ranks that `which` picks. */
static void print_picked(const struct pp_hang *h, pick which, const char *before, int hosts)
{
	int32_t *list = calloc((size_t)h->ranks, sizeof(*list)), n = 0;

	for (int32_t i = 0; list && i < h->ranks; i++)
		if (which(&h->rank[i]))
			list[n++] = i;
	print_ranks(h, list, n, before, hosts);
	free(list);
}

static void op_title(const struct pp_hang *h, const struct pp_hang_op *op, char *text, size_t size)
{
	const struct pp_hang_rank *r = &h->rank[op->first->rank];
	const struct pp_live_nccl *n = pp_hang_nccl_call(h, op);
	char comm[160], call[256];

	if (op->kind == PP_HANG_FINALIZE)
		snprintf(text, size, "MPI_Finalize");
	else if (op->kind == PP_HANG_C10D)
		snprintf(text, size, "%s of torch.distributed", op->first->call);
	else if (op->kind == PP_HANG_NCCL)
		snprintf(text, size, "%s number %" PRIu64 " of %s", n ? n->call : "operation of NCCL", op->number,
		         pp_live_nccl_name(&h->line[op->line].nccl, comm, sizeof(comm)));
	else if (op->kind == PP_HANG_ANY)
		snprintf(text, size, "receive from any rank%s", on_comm(op->first, "on", comm, sizeof(comm)));
	else {
		call_text(r, op->first->call, 1, call, sizeof(call));
		snprintf(text, size, "%s", call);
	}
}

/* Which calls or roots meet in one collective. */
static void print_mismatch(const struct pp_hang *h, const struct pp_hang_op *op)
{
	char ranks[LIST];
	int32_t some[256], n;

	printf("    the ranks disagree: %s\n",
	       op->mismatch == PP_HANG_CALLS_DIFFER ? "they call different collectives" : "they name different roots");
	for (int32_t i = 0, lines = 0; i < op->ins && lines < LINES; i++) {
		const struct pp_live_rank *l = h->rank[op->in[i]].live;
		int32_t k = 0;

		while (k < i && !pp_hang_agree(l, h->rank[op->in[k]].live))
			k++;
		if (k < i)
			continue;
		n = 0;
		for (k = i; k < op->ins && n < 256; k++)
			if (pp_hang_agree(l, h->rank[op->in[k]].live))
				some[n++] = op->in[k];
		list_ranks(h, some, n, NULL, ranks, sizeof(ranks));
		printf("      rank%s %s: %s", n > 1 ? "s" : "", ranks, l->waits[0] ? l->waits : l->call);
		printf(op->mismatch == PP_HANG_ROOTS_DIFFER ? " with root %d\n" : "\n", l->peer);
		lines++;
	}
}

/* Which calls, roots or sizes meet in one collective of NCCL. */
static void print_nccl_mismatch(const struct pp_hang *h, const struct pp_hang_op *op)
{
	static const char *const differ[] = {"", "they call different collectives", "they name different roots",
	                                     "they call it with different sizes"};
	const struct pp_hang_line *line = &h->line[op->line];
	char ranks[LIST];
	int32_t some[256], n, lines = 0;

	printf("    the ranks disagree: %s\n", differ[op->mismatch]);
	for (size_t i = 0, k = 0; i < op->lines && lines < LINES; i++) {
		if (line[i].nccl.begun != op->number + 1)
			continue;
		for (k = 0; k < i; k++)
			if (line[k].nccl.begun == op->number + 1 && !pp_hang_nccl_compare(&line[i].nccl, &line[k].nccl))
				break;
		if (k < i)
			continue;
		n = 0;
		for (k = i; k < op->lines && n < 256; k++)
			if (line[k].nccl.begun == op->number + 1 && !pp_hang_nccl_compare(&line[i].nccl, &line[k].nccl))
				some[n++] = line[k].rank;
		list_ranks(h, some, n, NULL, ranks, sizeof(ranks));
		printf("      rank%s %s: %s", n > 1 ? "s" : "", ranks, line[i].nccl.call);
		if (op->mismatch == PP_HANG_ROOTS_DIFFER)
			printf(" with root %" PRId32, line[i].nccl.root);
		printf(", %" PRIu64 " bytes\n", line[i].nccl.bytes);
		lines++;
	}
}

/* What ranks have enqueued: whether they are in it, or through, only the device knows. */
static void print_nccl(const struct pp_hang *h, const struct pp_hang_op *op, const char *title, int hosts)
{
	char time[32], ranks[LIST];
	int32_t in = list_ranks(h, op->in, op->ins, NULL, ranks, sizeof(ranks));

	printf("  %s: a rank that has enqueued it has stood still for %s\n", title, time_text(op->since_ns, time, sizeof(time)));
	if (op->size)
		printf("    enqueued by %d of %d ranks (%s)\n", in, op->size, ranks);
	else
		printf("    enqueued by rank%s %s\n", in > 1 ? "s" : "", ranks);
	if (!op->is_known)
		printf("    not all of its ranks are known\n");
	if (op->mismatch)
		print_nccl_mismatch(h, op);
	if (op->missings)
		printf("    not enqueued by:\n");
	print_ranks(h, op->missing, op->missings, "      ", hosts);
}

static void print_op(const struct pp_hang *h, const struct pp_hang_op *op, int hosts)
{
	char title[320], time[32], ranks[LIST];
	int32_t in;

	op_title(h, op, title, sizeof(title));
	if (op->kind == PP_HANG_NCCL) {
		print_nccl(h, op, title, hosts);
		return;
	}
	in = list_ranks(h, op->in, op->ins, NULL, ranks, sizeof(ranks));
	printf("  %s: the first rank waits for %s\n", title, time_text(op->since_ns, time, sizeof(time)));
	if (op->size)
		printf("    in it: %d of %d ranks (%s)\n", in, op->size, ranks);
	else
		printf("    in it: rank%s %s; which other ranks belong to it is not known\n", in > 1 ? "s" : "", ranks);
	if (op->mismatch)
		print_mismatch(h, op);
	if (op->kind == PP_HANG_ANY)
		return;
	if (op->kind == PP_HANG_C10D && !op->missings)
		printf("    every rank is in one: perhaps in different ones, with different sizes, or the network fails\n");
	else if (op->is_known && !op->missings && !op->mismatch && pp_hang_waits_beyond(op->first->call))
		printf("    every rank of the communicator is in it: it waits for processes outside of it\n");
	else if (op->is_known && !op->missings && !op->mismatch && op->ins == op->size)
		printf("    every rank is in it, and yet it does not end: look at the network, and at MPI itself\n");
	else if (op->is_known && !op->missings && !op->mismatch)
		printf("    the others have left it: perhaps with another root or size, or its messages are lost in the network\n");
	if (op->missings)
		printf("    not in it:\n");
	print_ranks(h, op->missing, op->missings, "      ", hosts);
}

static int has_cause(const struct pp_hang_rank *r)
{
	return r->is_cause && !r->in_circle;
}

static int is_in_circle(const struct pp_hang_rank *r)
{
	return r->in_circle;
}

static int waits_paused(const struct pp_hang_rank *r)
{
	return r->is_paused;
}

static int waits_for_message(const struct pp_hang_rank *r)
{
	return r->is_stuck && !r->is_paused && r->op < 0 && r->at != PP_HANG_STOPPED && !r->in_circle;
}

static void print_causes(const struct pp_hang *h, int hosts)
{
	int32_t all = h->causes - h->circle;
	char ranks[LIST];

	if (h->circle) {
		list_ranks(h, NULL, 0, is_in_circle, ranks, sizeof(ranks));
		if (h->circle == 1)
			printf("First cause: rank %s waits for itself: for another of its threads, or for ever\n", ranks);
		else
			printf("%s: ranks %s wait for each other\n", h->in_c10d ? "Possible deadlock" : "Deadlock", ranks);
		print_picked(h, is_in_circle, "  ", hosts);
	}
	for (long i = 0; i < h->ops; i++)
		if (h->circle && h->op[i].kind == PP_HANG_FINALIZE && h->op[i].is_stuck && h->op[i].missings) {
			list_ranks(h, h->op[i].in, h->op[i].ins, NULL, ranks, sizeof(ranks));
			printf("  Rank%s %s called MPI_Finalize before the others had done their last operation\n",
			       h->op[i].ins > 1 ? "s" : "", ranks);
		}
	if (!all)
		return;
	list_ranks(h, NULL, 0, has_cause, ranks, sizeof(ranks));
	printf("%s: rank%s %s, which no other rank's wait explains\n",
	       h->is_unsure ? "Possible cause"
	       : h->circle  ? "Another cause"
	                    : "First cause",
	       all > 1 ? "s" : "", ranks);
	print_picked(h, has_cause, "  ", hosts);
}

static int is_running(const struct pp_hang_rank *r)
{
	return r->live && r->live->state == PP_LIVE_RUNNING;
}

/* Communicators that are in no list: a rank may wait in one of them. */
static void print_more(const struct pp_hang *h)
{
	uint64_t more = 0;
	int32_t ranks = 0;

	for (int32_t i = 0; i < h->ranks; i++) {
		uint32_t of = h->rank[i].live ? pp_live_nccl_more(h->rank[i].live->nccl) : 0;

		more += of;
		ranks += of > 0;
	}
	if (more)
		printf("  Nothing is known of %" PRIu64 " communicator%s of %d rank%s: too many existed at a time\n", more,
		       more > 1 ? "s" : "", ranks, ranks > 1 ? "s" : "");
}

static void print_unseen(const struct pp_hang *h, const char *title, const char *after, int hosts)
{
	printf("%s: it is not known whether ranks are stuck: for %s or longer no rank has begun a step, and none has "
	       "made an MPI call%s\n",
	       title, after, h->lines ? " or called NCCL or gloo" : "");
	print_picked(h, is_running, "  ", hosts);
	if (h->lines)
		printf("  Of each communicator of NCCL and process group that is known, all ranks have enqueued the same "
		       "collectives; whether the device has done them is not known.\n");
	printf("  podprof sees waits in MPI calls, and collectives of NCCL and of torch.distributed with gloo that ranks have not "
	       "called.\n");
}

void pp_hang_print(const struct pp_hang *h, const char *title, int64_t after_ns)
{
	int lines = 0, more = 0, hosts = hosts_differ(h);
	char after[32], ranks[LIST];

	time_text(after_ns, after, sizeof(after));
	if (h->stuck)
		printf("%s: %d of %d ranks %s stuck for %s or longer\n", title, h->stuck, h->ranks, h->stuck == 1 ? "is" : "are",
		       after);
	else if (pp_hang_is_unseen(h))
		print_unseen(h, title, after, hosts);
	else
		printf("%s: nothing is stuck: no rank of %d has waited for %s or longer for one that does not move\n", title,
		       h->ranks, after);
	for (long i = 0; i < h->ops; i++) {
		if (!h->op[i].is_stuck)
			continue;
		if (lines < LINES)
			print_op(h, &h->op[i], hosts);
		more += lines++ >= LINES;
	}
	if (more)
		printf("  and %d more operations\n", more);
	print_picked(h, waits_for_message, "  ", hosts);
	if (h->stuck)
		print_causes(h, hosts);
	if (h->paused) {
		list_ranks(h, NULL, 0, waits_paused, ranks, sizeof(ranks));
		printf("  rank%s %s wait%s for %s or longer, for ranks that move\n", h->paused > 1 ? "s" : "", ranks,
		       h->paused > 1 ? "" : "s", after);
	}
	if (h->stuck || pp_hang_is_unseen(h))
		print_more(h);
	if (h->in_c10d)
		printf("  Of calls of torch.distributed only the name is known, not number, process group or peer: ranks that are "
		       "listed in one may be in different ones.\n");
	else if (h->is_unsure && h->stuck)
		printf("  For whom some ranks wait is not known: it began while nothing was recorded, or the call does not name "
		       "them, as for locks of windows.\n");
}

static void add_list(struct pp_json *j, const char *name, const int32_t *list, int32_t count)
{
	pp_json_open_list(j, name);
	for (int32_t i = 0; i < count; i++)
		pp_json_add_int(j, NULL, list[i]);
	pp_json_close(j);
}

static void add_picked(struct pp_json *j, const struct pp_hang *h, const char *name, pick which)
{
	pp_json_open_list(j, name);
	for (int32_t i = 0; i < h->ranks; i++)
		if (which(&h->rank[i]))
			pp_json_add_int(j, NULL, i);
	pp_json_close(j);
}

static void add_nccl(struct pp_json *j, const struct pp_hang *h, const struct pp_hang_op *op)
{
	static const char *const differ[] = {"", "calls", "roots", "sizes"};
	const struct pp_live_nccl *line = &h->line[op->line].nccl, *n = pp_hang_nccl_call(h, op);

	pp_json_open(j, NULL);
	pp_json_add_text(j, "kind", n && pp_hang_is_c10d(n->call) ? "c10d" : "nccl");
	pp_json_add_text(j, "call", n ? n->call : "");
	pp_json_add_number(j, "sequence", "%" PRIu64, op->number);
	pp_json_add_id(j, "communicator", op->comm);
	if (line->name[0])
		pp_json_add_text(j, "communicator_name", line->name);
	if (op->size)
		pp_json_add_int(j, "size", op->size);
	pp_json_add_number(j, "since_ns", "%" PRId64, op->since_ns);
	pp_json_add_bool(j, "stuck", op->is_stuck);
	pp_json_add_bool(j, "known", op->is_known);
	if (op->mismatch)
		pp_json_add_text(j, "mismatch", differ[op->mismatch]);
	add_list(j, "in", op->in, op->ins);
	add_list(j, "not_in", op->missing, op->missings);
	pp_json_close(j);
}

static void add_op(struct pp_json *j, const struct pp_hang *h, const struct pp_hang_op *op)
{
	static const char *const kind[] = {"collective", "finalize", "any", "c10d"}, *const differ[] = {"", "calls", "roots"};
	const char *name = pp_live_comm_name(op->first);

	if (op->kind == PP_HANG_NCCL) {
		add_nccl(j, h, op);
		return;
	}
	pp_json_open(j, NULL);
	pp_json_add_text(j, "kind", kind[op->kind]);
	pp_json_add_text(j, "call", op->first->waits[0] && op->kind == PP_HANG_COLLECTIVE ? op->first->waits : op->first->call);
	if (op->kind == PP_HANG_COLLECTIVE) {
		pp_json_add_int(j, "sequence", op->sequence);
		pp_json_add_id(j, "communicator", op->comm);
	}
	if (name && op->kind != PP_HANG_FINALIZE)
		pp_json_add_text(j, "communicator_name", name);
	if (op->size)
		pp_json_add_int(j, "size", op->size);
	pp_json_add_number(j, "since_ns", "%" PRId64, op->since_ns);
	pp_json_add_bool(j, "stuck", op->is_stuck);
	if (op->mismatch)
		pp_json_add_text(j, "mismatch", differ[op->mismatch]);
	add_list(j, "in", op->in, op->ins);
	if (op->is_known && op->kind != PP_HANG_ANY)
		add_list(j, "not_in", op->missing, op->missings);
	pp_json_close(j);
}

/* What is known of a rank that runs here. */
static void add_live(struct pp_json *j, const struct pp_live_rank *l)
{
	pp_json_add_text(j, "host", l->host);
	pp_json_add_int(j, "pid", l->pid);
	pp_json_add_number(j, "place_ns", "%" PRId64, l->place_ns);
	if (l->marks && l->step != INT64_MIN)
		pp_json_add_number(j, "step", "%" PRId64, l->step);
	if (l->call[0])
		pp_json_add_text(j, "call", l->call);
	if (l->last[0])
		pp_json_add_text(j, "last_call", l->last);
	if (l->comm) {
		pp_json_add_id(j, "communicator", l->comm);
		pp_json_add_int(j, "sequence", l->sequence);
		pp_json_add_int(j, "peer", l->peer);
	}
}

static void add_rank(struct pp_json *j, const struct pp_hang *h, int32_t rank)
{
	static const char *const at[] = {"application", "waits", "mpi", "stopped", "ended", "lost", "absent"};
	const struct pp_hang_rank *r = &h->rank[rank];
	char place[PLACE];

	pp_json_open(j, NULL);
	pp_json_add_int(j, "rank", rank);
	pp_json_add_text(j, "at", at[r->at]);
	pp_json_add_bool(j, "stuck", r->is_stuck && !r->is_paused);
	pp_json_add_text(j, "text", place_text(h, rank, place, sizeof(place)));
	if (r->targets)
		add_list(j, "waits_for", r->target, r->targets);
	if (r->live)
		add_live(j, r->live);
	pp_json_close(j);
}

void pp_hang_json(const struct pp_hang *h, int64_t after_ns, struct pp_json *j)
{
	pp_json_add_int(j, "size", h->ranks);
	pp_json_add_number(j, "after_ns", "%" PRId64, after_ns);
	pp_json_add_int(j, "stuck", h->stuck);
	pp_json_add_int(j, "paused", h->paused);
	pp_json_add_bool(j, "unsure", h->is_unsure);
	pp_json_add_bool(j, "unseen", pp_hang_is_unseen(h));
	pp_json_open_list(j, "operations");
	for (long i = 0; i < h->ops; i++)
		if (h->op[i].ins)
			add_op(j, h, &h->op[i]);
	pp_json_close(j);
	add_picked(j, h, "causes", has_cause);
	add_picked(j, h, "deadlock", is_in_circle);
	pp_json_open_list(j, "ranks");
	for (int32_t i = 0; i < h->ranks; i++)
		add_rank(j, h, i);
	pp_json_close(j);
}
