/* Prints and parses the communicators of NCCL of a rank; see live_nccl.h. */
#include "aggregate/keeper/live_nccl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/spool/place.h"
#include "core/base/plain.h"
#include "core/call/mpi_call.h"

#define C10D_WORD "c10d__" /* as word_of() makes it */
enum { MORE = 12 };        /* "+4294967295" */

/* As one word of an entry; "-" for none. */
static const char *word_of(const char *from, char *text, size_t size)
{
	snprintf(text, size, "%.*s", (int)size - 1, from);
	pp_plain(text, "");
	for (char *p = text; *p; p++)
		if (*p == ':' || *p == ',')
			*p = '_';
	return *text ? text : "-";
}

static const char *call_of(uint16_t call)
{
	return call && pp_mpi_call_is_known(call - 1u) ? pp_mpi_call_info(call - 1u)->name : "";
}

void pp_live_nccl_put(const struct pp_ring_header *h, char *text, size_t size)
{
	char entry[256], name[32], call[sizeof(((struct pp_live_nccl *)0)->call)];
	struct pp_ring_comm row;
	uint32_t lost = pp_ring_comms(h) ? pp_ring_comms_lost(h) : 0;
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < PP_RING_COMMS; i++) {
		const struct pp_ring_nccl *c = &row.nccl;
		int more;

		if (!pp_place_nccl(h, i, &row))
			continue;
		more = snprintf(entry, sizeof(entry),
		                "%" PRIx64 ":%" PRId32 ":%" PRId32 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRId32 ":%" PRIx64
		                ":%" PRIx32 ":%s:%s,",
		                (uint64_t)row.id, c->rank, row.size, c->begun, c->ended, c->bytes, c->root, c->turn, c->messages,
		                word_of(call_of(c->call), call, sizeof(call)), word_of(row.name, name, sizeof(name)));
		if (more < 0 || (size_t)more >= sizeof(entry) || n + (size_t)more + MORE >= size) {
			lost++;
			continue;
		}
		memcpy(text + n, entry, (size_t)more + 1);
		n += (size_t)more;
	}
	if (lost)
		snprintf(text + n, size - n, "+%" PRIu32, lost);
}

uint32_t pp_live_nccl_more(const char *entries)
{
	const char *last = strrchr(entries, ',');

	last = last ? last + 1 : entries;
	return *last == '+' ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

const char *pp_live_nccl_next(const char *at, struct pp_live_nccl *ret)
{
	struct pp_live_nccl n = {.comm = 0};
	int used = 0;

	/* NOLINTNEXTLINE(cert-err34-c): what is out of range is out of range in the header too */
	if (sscanf(at,
	           "%" SCNx64 ":%" SCNd32 ":%" SCNd32 ":%" SCNx64 ":%" SCNx64 ":%" SCNx64 ":%" SCNd32 ":%" SCNx64 ":%" SCNx32
	           ":%39[^:,]:%31[^:,],%n",
	           &n.comm, &n.rank, &n.size, &n.begun, &n.ended, &n.bytes, &n.root, &n.turn, &n.messages, n.call, n.name,
	           &used) != 11 ||
	    used <= 0)
		return NULL;
	if (!strcmp(n.call, "-"))
		n.call[0] = '\0';
	if (!strncmp(n.call, C10D_WORD, strlen(C10D_WORD)))
		memcpy(n.call, "c10d::", strlen(C10D_WORD));
	if (!strcmp(n.name, "-"))
		n.name[0] = '\0';
	*ret = n;
	return at + used;
}

const char *pp_live_nccl_name(const struct pp_live_nccl *n, char *text, size_t size)
{
	if (n->name[0])
		snprintf(text, size, "%s", n->name);
	else
		snprintf(text, size, "communicator %016" PRIx64, n->comm);
	return text;
}

const char *pp_live_nccl_text(const char *entries, char *text, size_t size)
{
	struct pp_live_nccl n, last = {.begun = 0};
	char name[48];

	for (const char *at = entries; (at = pp_live_nccl_next(at, &n));)
		if (n.begun && n.call[0] && (!last.begun || n.turn > last.turn))
			last = n;
	text[0] = '\0';
	if (last.begun)
		snprintf(text, size, "%s %s number %" PRIu64 " of %s", last.ended < last.begun ? "last called" : "last enqueued",
		         last.call, last.begun - 1, pp_live_nccl_name(&last, name, sizeof(name)));
	return text;
}
