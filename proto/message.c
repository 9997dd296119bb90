/* Messages of podprof.proto to bytes and back, by protobuf-c; see message.h. Called by aggregate/keeper/net*.c. */
#include "proto/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "proto/podprof.pb-c.h"

#define TEXT(text) ((char *)(uintptr_t)((text) ? (text) : "")) /* NULL is written as "" */
#define TEXTS 6                                                /* most of one message */

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

enum { UNPACK_MAX = 8 << 20 }; /* a frame of many empty parts unpacks to more than itself */

#define BASE(message) .base = PROTOBUF_C_MESSAGE_INIT(&podprof__##message##__descriptor)

union body {
	Podprof__Hello hello;
	Podprof__HelloAck hello_ack;
	Podprof__Piece piece;
	Podprof__Heartbeat heartbeat;
	Podprof__Bye bye;
	Podprof__Tell tell;
	Podprof__Words words;
	Podprof__Gather gather;
	Podprof__Share share;
	Podprof__Invite invite;
	Podprof__Compare compare;
	Podprof__Clock clock;
};

static const struct pp_wire_rank *ranks_of(const struct pp_wire *m, size_t *ret_ranks)
{
	*ret_ranks = m->kind == PP_WIRE_HELLO ? m->hello.ranks : m->kind == PP_WIRE_HEARTBEAT ? m->heartbeat.ranks : 0;
	return m->kind == PP_WIRE_HELLO ? m->hello.rank : m->kind == PP_WIRE_HEARTBEAT ? m->heartbeat.rank : NULL;
}

static void fill_piece(Podprof__Piece *p, const struct pp_wire_piece *from)
{
	podprof__piece__init(p);
	p->gather = from->gather;
	p->name = TEXT(from->name);
	p->offset = from->offset;
	p->total = from->total;
	p->checksum = (uint32_t)crc32_z(0, from->bytes, from->size);
	p->bytes = (ProtobufCBinaryData){from->size, (uint8_t *)(uintptr_t)from->bytes};
}

static void fill_compare(Podprof__Compare *c, const struct pp_wire_compare *from)
{
	podprof__compare__init(c);
	c->domain = from->domain;
	c->port = from->port;
	c->key = (ProtobufCBinaryData){from->key_size, (uint8_t *)(uintptr_t)from->key};
	c->same = from->same != 0;
	c->parent = from->parent;
	c->addresses = TEXT(from->addresses);
	c->host = TEXT(from->host);
	c->hops = from->hops;
	c->serves = from->serves != 0;
}

static void fill_clock(Podprof__Clock *c, const struct pp_wire_told *from)
{
	podprof__clock__init(c);
	c->round = from->round;
	c->parent = from->parent;
	c->port = from->port;
	c->addresses = TEXT(from->addresses);
	c->verdict = from->verdict;
	c->lost = from->lost != 0;
	c->chain = (ProtobufCBinaryData){from->chain_size, (uint8_t *)(uintptr_t)from->chain};
}

static void fill_gather(Podprof__Gather *g, const struct pp_wire_gather *from)
{
	podprof__gather__init(g);
	g->gather = from->gather;
	g->cut = from->cut;
	g->number = from->number;
	g->from = from->from;
	g->to = from->to;
	g->from_realtime = from->from_realtime;
	g->to_realtime = from->to_realtime;
	g->first = from->first;
	g->last = from->last;
	g->session = TEXT(from->session);
	g->token = TEXT(from->token);
	g->host = TEXT(from->host);
	g->ranks = TEXT(from->ranks);
	g->has_steps = from->has_steps != 0;
	g->tick0 = from->tick0;
	g->ns0 = from->ns0;
	g->num = from->num;
	g->shift = from->shift;
	g->bound = from->bound;
	g->epoch_realtime = from->epoch_realtime;
	g->boot_id = TEXT(from->clock.boot_id);
	g->timens = TEXT(from->clock.timens);
	g->tick_kind = from->clock.tick_kind;
}

static void fill_hello(Podprof__Hello *h, const struct pp_wire_hello *from, Podprof__RankState **list)
{
	podprof__hello__init(h);
	h->protocol = from->protocol;
	h->job = TEXT(from->job);
	h->host = TEXT(from->host);
	h->version = TEXT(from->version);
	h->instance = from->instance;
	h->n_rank = from->ranks;
	h->rank = list;
	h->boot_id = TEXT(from->clock.boot_id);
	h->timens = TEXT(from->clock.timens);
	h->tick_kind = from->clock.tick_kind;
	h->way = from->way;
}

static void fill_answer(Podprof__HelloAck *a, const struct pp_wire_hello_ack *from)
{
	podprof__hello_ack__init(a);
	a->protocol = from->protocol;
	a->host_index = from->host_index;
	a->session = TEXT(from->session);
	a->refused = TEXT(from->refused);
	a->instance = from->instance;
	a->host = TEXT(from->host);
}

static void fill_small(const struct pp_wire *m, union body *b)
{
	int has_words = m->kind == PP_WIRE_WORDS_OF || m->kind == PP_WIRE_INVITE;
	ProtobufCBinaryData words = {has_words ? m->words.size : 0, has_words ? (uint8_t *)(uintptr_t)m->words.text : NULL};

	if (m->kind == PP_WIRE_BYE) {
		b->bye = (Podprof__Bye){BASE(bye), .reason = TEXT(m->bye.reason)};
	} else if (m->kind == PP_WIRE_TELL) {
		b->tell = (Podprof__Tell){BASE(tell), .number = m->tell.number, .kind = m->tell.kind, .first = m->tell.first,
		                          .last = m->tell.last};
	} else if (m->kind == PP_WIRE_WORDS_OF) {
		b->words = (Podprof__Words){BASE(words), .client = m->words.client, .ended = m->words.ended != 0, .text = words};
	} else if (m->kind == PP_WIRE_SHARE) {
		b->share = (Podprof__Share){BASE(share),
		                            .gather = m->share.gather,
		                            .code = m->share.code,
		                            .reason = TEXT(m->share.reason),
		                            .block = m->share.block,
		                            .files = m->share.files};
	} else if (m->kind == PP_WIRE_COMPARE) {
		fill_compare(&b->compare, &m->compare);
	} else if (m->kind == PP_WIRE_CLOCK) {
		fill_clock(&b->clock, &m->clock);
	} else {
		podprof__invite__init(&b->invite);
		b->invite.text = words;
	}
}

static void fill_body(const struct pp_wire *m, union body *b, Podprof__RankState **list)
{
	if (m->kind == PP_WIRE_HELLO) {
		fill_hello(&b->hello, &m->hello, list);
	} else if (m->kind == PP_WIRE_HELLO_ACK) {
		fill_answer(&b->hello_ack, &m->hello_ack);
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		b->heartbeat = (Podprof__Heartbeat){BASE(heartbeat),
		                                    .received = m->heartbeat.received,
		                                    .job_ns = m->heartbeat.job_ns,
		                                    .n_rank = m->heartbeat.ranks,
		                                    .rank = list,
		                                    .first_tick = m->heartbeat.first_tick,
		                                    .over = m->heartbeat.over != 0};
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		fill_piece(&b->piece, &m->piece);
	} else if (m->kind == PP_WIRE_GATHER) {
		fill_gather(&b->gather, &m->gather);
	} else {
		fill_small(m, b);
	}
}

static void fill_rank(Podprof__RankState *r, const struct pp_wire_rank *from)
{
	podprof__rank_state__init(r);
	r->rank = from->rank;
	r->pid = from->pid;
	r->state = (uint32_t)from->state;
	r->step = from->step;
	r->marks = from->marks != 0;
	r->recording = from->recording != 0;
	r->over = from->over != 0;
	r->request = from->request;
	r->first = from->first;
	r->last = from->last;
	r->windows_passed = from->windows_passed;
	r->signals = from->signals;
	r->call = from->call;
	r->comm = from->comm;
	r->sequence = from->sequence;
	r->peer = from->peer;
}

int pp_wire_write(const struct pp_wire *m, void **ret_bytes, size_t *ret_size, struct pp_err *err)
{
	const char *fault = pp_wire_fault(m);
	const struct pp_wire_rank *rank;
	Podprof__Message out;
	Podprof__RankState *state;
	Podprof__RankState **list;
	union body body;
	size_t ranks, size;
	void *bytes;

	if (fault)
		return pp_err_set(err, -EINVAL, "cannot send a %s: %s", pp_wire_name(m->kind), fault);
	rank = ranks_of(m, &ranks);
	state = calloc(ranks + 1, sizeof(*state));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, as protobuf-c wants it */
	list = calloc(ranks + 1, sizeof(*list));
	if (!state || !list)
		goto no_memory;
	for (size_t i = 0; i < ranks; i++) {
		fill_rank(&state[i], &rank[i]);
		list[i] = &state[i];
	}
	fill_body(m, &body, list);
	podprof__message__init(&out);
	out.sequence = m->sequence;
	out.body_case = (Podprof__Message__BodyCase)m->kind;
	out.hello = &body.hello; /* one pointer of a union: whichever it is */
	size = podprof__message__get_packed_size(&out);
	bytes = size <= PP_WIRE_MAX ? malloc(size + 1) : NULL;
	if (bytes)
		podprof__message__pack(&out, bytes);
	free(list);
	free(state);
	if (size > PP_WIRE_MAX)
		return pp_err_set(err, -EMSGSIZE, "cannot send a %s of %zu bytes", pp_wire_name(m->kind), size);
	if (!bytes)
		return pp_err_set(err, -ENOMEM, "cannot send a %s: no memory", pp_wire_name(m->kind));
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;

no_memory:
	free(list);
	free(state);
	return pp_err_set(err, -ENOMEM, "cannot send a %s: no memory", pp_wire_name(m->kind));
}

struct bounded { /* what unpacking may take */
	size_t left;
};

static void *bounded_alloc(void *data, size_t size)
{
	struct bounded *b = data;

	if (size > b->left)
		return NULL;
	b->left -= size;
	return malloc(size);
}

static void bounded_free(void *data, void *pointer)
{
	(void)data;
	free(pointer);
}

void pp_wire_release(struct pp_wire *m)
{
	ProtobufCAllocator plain = {.alloc = bounded_alloc, .free = bounded_free};

	if (m->owned[0])
		podprof__message__free_unpacked(m->owned[0], &plain);
	free(m->owned[1]);
	memset(m, 0, sizeof(*m));
}

static struct pp_wire_compare take_compare(const Podprof__Compare *c)
{
	return (struct pp_wire_compare){.domain = c->domain,
	                                .port = c->port,
	                                .key = c->key.data,
	                                .key_size = c->key.len,
	                                .same = c->same,
	                                .parent = c->parent,
	                                .hops = c->hops,
	                                .addresses = c->addresses,
	                                .host = c->host,
	                                .serves = c->serves};
}

static struct pp_wire_told take_clock(const Podprof__Clock *c)
{
	return (struct pp_wire_told){.round = c->round,
	                             .parent = c->parent,
	                             .port = c->port,
	                             .verdict = c->verdict,
	                             .addresses = c->addresses,
	                             .lost = c->lost,
	                             .chain = c->chain.data,
	                             .chain_size = c->chain.len};
}

static int take_ranks(struct pp_wire *m, Podprof__RankState **list, size_t n)
{
	struct pp_wire_rank *rank = n <= PP_WIRE_RANKS ? calloc(n + 1, sizeof(*rank)) : NULL;

	m->owned[1] = rank;
	if (!rank)
		return n <= PP_WIRE_RANKS ? -ENOMEM : -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (list[i]->state >= PP_WIRE_STATES)
			return -EBADMSG;
		rank[i] = (struct pp_wire_rank){.rank = list[i]->rank,
		                                .pid = list[i]->pid,
		                                .state = (enum pp_wire_state)list[i]->state,
		                                .step = list[i]->step,
		                                .marks = list[i]->marks,
		                                .recording = list[i]->recording,
		                                .over = list[i]->over,
		                                .request = list[i]->request,
		                                .first = list[i]->first,
		                                .last = list[i]->last,
		                                .windows_passed = list[i]->windows_passed,
		                                .signals = list[i]->signals,
		                                .call = list[i]->call,
		                                .sequence = list[i]->sequence,
		                                .comm = list[i]->comm,
		                                .peer = list[i]->peer};
	}
	return 0;
}

static int take_piece(struct pp_wire *m, const Podprof__Piece *p)
{
	m->piece = (struct pp_wire_piece){.gather = p->gather,
	                                  .name = p->name,
	                                  .offset = p->offset,
	                                  .total = p->total,
	                                  .bytes = p->bytes.data,
	                                  .size = p->bytes.len};
	return (uint32_t)crc32_z(0, p->bytes.data, p->bytes.len) == p->checksum ? 0 : -EBADMSG;
}

static void take_gather(struct pp_wire *m, const Podprof__Gather *g)
{
	m->gather = (struct pp_wire_gather){.gather = g->gather,
	                                    .cut = g->cut,
	                                    .number = g->number,
	                                    .from = g->from,
	                                    .to = g->to,
	                                    .from_realtime = g->from_realtime,
	                                    .to_realtime = g->to_realtime,
	                                    .first = g->first,
	                                    .last = g->last,
	                                    .session = g->session,
	                                    .token = g->token,
	                                    .host = g->host,
	                                    .ranks = g->ranks,
	                                    .has_steps = g->has_steps,
	                                    .tick0 = g->tick0,
	                                    .num = g->num,
	                                    .ns0 = g->ns0,
	                                    .bound = g->bound,
	                                    .epoch_realtime = g->epoch_realtime,
	                                    .shift = g->shift,
	                                    .clock = {g->boot_id, g->timens, g->tick_kind}};
}

static void take_small(struct pp_wire *m, const Podprof__Message *in)
{
	if (m->kind == PP_WIRE_BYE)
		m->bye.reason = in->bye->reason;
	else if (m->kind == PP_WIRE_TELL)
		m->tell = (struct pp_wire_tell){in->tell->number, in->tell->kind, in->tell->first, in->tell->last};
	else if (m->kind == PP_WIRE_WORDS_OF)
		m->words = (struct pp_wire_words){in->words->client, in->words->ended, (const char *)in->words->text.data,
		                                  in->words->text.len};
	else if (m->kind == PP_WIRE_SHARE)
		m->share = (struct pp_wire_share){in->share->gather, in->share->block, in->share->code, in->share->reason,
		                                  in->share->files};
	else if (m->kind == PP_WIRE_COMPARE)
		m->compare = take_compare(in->compare);
	else if (m->kind == PP_WIRE_CLOCK)
		m->clock = take_clock(in->clock);
	else
		m->words = (struct pp_wire_words){.text = (const char *)in->invite->text.data, .size = in->invite->text.len};
}

static int take_body(struct pp_wire *m, const Podprof__Message *in)
{
	const Podprof__Hello *h = in->hello;
	const Podprof__HelloAck *a = in->hello_ack;
	const Podprof__Heartbeat *b = in->heartbeat;
	int rc = 0;

	if (m->kind == PP_WIRE_HELLO) {
		rc = take_ranks(m, h->rank, h->n_rank);
		m->hello = (struct pp_wire_hello){h->protocol, h->job,      h->host,   h->version,
		                                  h->instance, m->owned[1], h->n_rank, {h->boot_id, h->timens, h->tick_kind},
		                                  h->way};
	} else if (m->kind == PP_WIRE_HELLO_ACK) {
		m->hello_ack = (struct pp_wire_hello_ack){a->protocol, a->host_index, a->session, a->refused, a->instance, a->host};
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		rc = take_ranks(m, b->rank, b->n_rank);
		m->heartbeat = (struct pp_wire_heartbeat){b->received, b->job_ns, m->owned[1], b->n_rank, b->first_tick, b->over};
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		rc = take_piece(m, in->block);
	} else if (m->kind == PP_WIRE_GATHER) {
		take_gather(m, in->gather);
	} else {
		take_small(m, in);
	}
	return rc;
}

int pp_wire_read(const void *bytes, size_t size, struct pp_wire *ret_message, struct pp_err *err)
{
	struct bounded room = {UNPACK_MAX};
	ProtobufCAllocator allocator = {.alloc = bounded_alloc, .free = bounded_free, .allocator_data = &room};
	struct pp_wire m = {0};
	const char *fault = NULL;
	Podprof__Message *in;
	int rc;

	if (size > PP_WIRE_MAX)
		return pp_err_set(err, -EBADMSG, "a message of %zu bytes is refused: too long", size);
	in = podprof__message__unpack(&allocator, size, bytes);
	if (!in)
		return pp_err_set(err, -EBADMSG, "a message of %zu bytes is refused: not of podprof's protocol", size);
	m.owned[0] = in;
	m.sequence = in->sequence;
	m.kind = (enum pp_wire_kind)in->body_case;
	if (!in->body_case || !in->hello)
		rc = -EBADMSG;
	else
		rc = take_body(&m, in);
	if (rc == 0)
		fault = pp_wire_fault(&m);
	if (rc == 0 && !fault) {
		*ret_message = m;
		return 0;
	}
	if (rc == -ENOMEM)
		pp_err_set(err, rc, "a %s is lost: no memory", pp_wire_name(m.kind));
	else
		pp_err_set(err, -EBADMSG, "a %s is refused: %s", pp_wire_name(m.kind),
		           fault ? fault : "checksum, state or kind is wrong");
	pp_wire_release(&m);
	return rc ? rc : -EBADMSG;
}
