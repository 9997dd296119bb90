/* What a message between keepers may say: the same rules for what is sent and for what is heard. Called by message.c. */
#include <string.h>

#include "proto/message.h"

#define TEXTS 6

const char *pp_wire_name(enum pp_wire_kind kind)
{
	static const char *const name[PP_WIRE_KINDS] = {
	        [PP_WIRE_HELLO] = "hello", [PP_WIRE_HELLO_ACK] = "hello ack", [PP_WIRE_BLOCK] = "block",
	        [PP_WIRE_FILE] = "file",   [PP_WIRE_HEARTBEAT] = "heartbeat", [PP_WIRE_BYE] = "bye",
	        [PP_WIRE_TELL] = "tell",   [PP_WIRE_WORDS_OF] = "words",      [PP_WIRE_GATHER] = "gather",
	        [PP_WIRE_SHARE] = "share", [PP_WIRE_INVITE] = "invitation",   [PP_WIRE_COMPARE] = "compare",
	        [PP_WIRE_CLOCK] = "clock",
	};

	return kind > 0 && kind < PP_WIRE_KINDS && name[kind] ? name[kind] : "unknown message";
}

static int text_is_good(const char *text)
{
	size_t n = strnlen(text, PP_WIRE_TEXT + 1);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return 0;
	return n <= PP_WIRE_TEXT;
}

static int name_is_good(const char *name)
{
	return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static size_t texts_of(const struct pp_wire *m, const char *text[TEXTS])
{
	const char *of[TEXTS] = {NULL};

	switch (m->kind) {
	case PP_WIRE_HELLO:
		of[0] = m->hello.job, of[1] = m->hello.host, of[2] = m->hello.version;
		of[3] = m->hello.clock.boot_id, of[4] = m->hello.clock.timens;
		break;
	case PP_WIRE_HELLO_ACK:
		of[0] = m->hello_ack.session, of[1] = m->hello_ack.refused, of[2] = m->hello_ack.host;
		break;
	case PP_WIRE_BLOCK:
	case PP_WIRE_FILE:
		of[0] = m->piece.name;
		break;
	case PP_WIRE_GATHER:
		of[0] = m->gather.session, of[1] = m->gather.token;
		of[2] = m->gather.clock.boot_id, of[3] = m->gather.clock.timens, of[4] = m->gather.host;
		of[5] = m->gather.ranks;
		break;
	case PP_WIRE_SHARE:
		of[0] = m->share.reason;
		break;
	case PP_WIRE_COMPARE:
		of[0] = m->compare.addresses, of[1] = m->compare.host;
		break;
	case PP_WIRE_CLOCK:
		of[0] = m->clock.addresses;
		break;
	case PP_WIRE_BYE:
		of[0] = m->bye.reason;
		break;
	default:
		break;
	}
	memcpy(text, of, sizeof(of));
	return TEXTS;
}

static const char *ranks_fault(const struct pp_wire *m)
{
	const struct pp_wire_rank *rank = NULL;
	size_t ranks = 0;

	if (m->kind == PP_WIRE_HELLO) {
		rank = m->hello.rank;
		ranks = m->hello.ranks;
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		rank = m->heartbeat.rank;
		ranks = m->heartbeat.ranks;
	}
	if (ranks > PP_WIRE_RANKS)
		return "too many ranks of one host";
	for (size_t i = 0; i < ranks; i++)
		if (rank[i].rank < 0 || rank[i].pid < 0 || (unsigned)rank[i].state >= PP_WIRE_STATES || rank[i].call > UINT16_MAX)
			return "a rank's number or state is out of its range";
	return NULL;
}

static int is_open(int64_t ns)
{
	return ns == INT64_MIN || ns == INT64_MAX;
}

/* One of them is subtracted from any date that a clock may have, and from the other. */
static int are_dates(int64_t from, int64_t to)
{
	const int64_t least = -INT64_MAX / 4;
	int64_t length;

	if ((from < least && !is_open(from)) || (to < least && !is_open(to)))
		return 0;
	return is_open(from) || is_open(to) || !__builtin_sub_overflow(to, from, &length);
}

static const char *gather_fault(const struct pp_wire_gather *g)
{
	if (!name_is_good(g->session) || g->session[0] == '.' || !name_is_good(g->token))
		return "a session's name that is none";
	if (g->from > g->to || g->from_realtime > g->to_realtime)
		return "a window that ends before it begins";
	if (!are_dates(g->from_realtime, g->to_realtime))
		return "a window of no date";
	return !g->num || g->num >> 62 || g->shift > 63 || g->bound < 0 ? "a clock that is none" : NULL;
}

static const char *clock_fault(const struct pp_wire *m)
{
	const struct pp_wire_compare *c = &m->compare;

	if (m->kind == PP_WIRE_COMPARE && (c->key_size != PP_WIRE_KEY || !c->port || c->port > UINT16_MAX))
		return "a port or a key that is none";
	if (m->kind == PP_WIRE_COMPARE && (!c->domain || c->domain == c->parent || c->hops > UINT16_MAX))
		return "a place among the clocks that is none";
	if (m->kind == PP_WIRE_CLOCK && (m->clock.port > UINT16_MAX || m->clock.chain_size > PP_WIRE_CHAIN))
		return "a port that is none, or a chain that is too long";
	return NULL;
}

const char *pp_wire_fault(const struct pp_wire *m)
{
	const struct pp_wire_piece *p = &m->piece;
	const char *text[TEXTS];

	if (m->kind < PP_WIRE_HELLO || m->kind >= PP_WIRE_KINDS || (m->kind > PP_WIRE_HELLO_ACK && m->kind < PP_WIRE_BLOCK))
		return "no kind of message that is known";
	for (size_t i = 0, n = texts_of(m, text); i < n; i++)
		if (text[i] && !text_is_good(text[i]))
			return "a text is too long or has control characters";
	if (m->kind == PP_WIRE_FILE && !name_is_good(p->name))
		return "a file's name that is none";
	if ((m->kind == PP_WIRE_FILE || m->kind == PP_WIRE_BLOCK) &&
	    (p->size > PP_WIRE_PIECE || p->offset > p->total || p->size > p->total - p->offset))
		return "a piece that is larger than what it is of";
	if ((m->kind == PP_WIRE_WORDS_OF || m->kind == PP_WIRE_INVITE) && m->words.size > PP_WIRE_WORDS)
		return "words that are too many";
	if (m->kind == PP_WIRE_GATHER)
		return gather_fault(&m->gather);
	if (m->kind == PP_WIRE_SHARE && m->share.code > 0)
		return "a code that is none";
	if (m->kind == PP_WIRE_COMPARE || m->kind == PP_WIRE_CLOCK)
		return clock_fault(m);
	return ranks_fault(m);
}
