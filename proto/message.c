/* Messages of podprof.proto to bytes and back, by protobuf-c; see message.h. Called by aggregate/keeper/net*.c. */
#include "proto/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "proto/podprof.pb-c.h"

/* A frame of many empty parts unpacks to more than itself. */
enum { UNPACK_MAX = 8 << 20 };

#define TEXTS 4

union body {
	Podprof__Hello hello;
	Podprof__HelloAck hello_ack;
	Podprof__Window window;
	Podprof__Piece piece;
	Podprof__Heartbeat heartbeat;
	Podprof__Bye bye;
};

const char *pp_wire_name(enum pp_wire_kind kind)
{
	static const char *const name[] = {"hello",          "hello ack",      "window request", "window ack",
	                                   "window refused", "window started", "window ended",   "window cancel",
	                                   "block",          "file",           "heartbeat",      "bye"};

	return kind >= PP_WIRE_HELLO && kind <= PP_WIRE_BYE ? name[kind - PP_WIRE_HELLO] : "unknown message";
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
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static const char *texts_of(const struct pp_wire *m, const char *text[TEXTS])
{
	size_t n = 0;

	memset(text, 0, TEXTS * sizeof(*text));
	if (m->kind == PP_WIRE_HELLO) {
		text[n++] = m->hello.job;
		text[n++] = m->hello.host;
		text[n++] = m->hello.version;
	} else if (m->kind == PP_WIRE_HELLO_ACK) {
		text[n++] = m->hello_ack.session;
		text[n++] = m->hello_ack.refused;
		text[n++] = m->hello_ack.host;
	} else if (m->kind >= PP_WIRE_WINDOW_REQUEST && m->kind <= PP_WIRE_WINDOW_CANCEL) {
		text[n++] = m->window.rank_list;
		text[n++] = m->window.reason;
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		text[n++] = m->piece.name;
	} else if (m->kind == PP_WIRE_BYE) {
		text[n++] = m->bye.reason;
	}
	for (size_t i = 0; i < n; i++)
		if (text[i] && !text_is_good(text[i]))
			return "a text is too long or has control characters";
	return NULL;
}

static const char *ranks_of(const struct pp_wire *m, const struct pp_wire_rank **ret_rank, size_t *ret_ranks)
{
	*ret_rank = NULL;
	*ret_ranks = 0;
	if (m->kind == PP_WIRE_HELLO) {
		*ret_rank = m->hello.rank;
		*ret_ranks = m->hello.ranks;
	} else if (m->kind >= PP_WIRE_WINDOW_REQUEST && m->kind <= PP_WIRE_WINDOW_CANCEL) {
		*ret_rank = m->window.rank;
		*ret_ranks = m->window.ranks;
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		*ret_rank = m->heartbeat.rank;
		*ret_ranks = m->heartbeat.ranks;
	}
	if (*ret_ranks > PP_WIRE_RANKS)
		return "too many ranks of one host";
	for (size_t i = 0; i < *ret_ranks; i++)
		if ((*ret_rank)[i].rank < 0 || (*ret_rank)[i].pid < 0 || (unsigned)(*ret_rank)[i].state >= PP_WIRE_STATES)
			return "a rank's number or state is out of its range";
	return NULL;
}

/* The same rules for what is said and for what is heard. NULL: all is well. */
static const char *fault_of(const struct pp_wire *m)
{
	const struct pp_wire_piece *p = &m->piece;
	const struct pp_wire_rank *rank;
	const char *text[TEXTS], *fault;
	size_t ranks;

	if (m->kind < PP_WIRE_HELLO || m->kind > PP_WIRE_BYE)
		return "no kind of message that is known";
	fault = texts_of(m, text);
	if (!fault)
		fault = ranks_of(m, &rank, &ranks);
	if (fault)
		return fault;
	if (m->kind >= PP_WIRE_WINDOW_REQUEST && m->kind <= PP_WIRE_WINDOW_STARTED && m->window.first > m->window.last)
		return "a window that ends before it begins";
	if (m->kind == PP_WIRE_FILE && (!p->name || !name_is_good(p->name)))
		return "a file's name that is none";
	if ((m->kind == PP_WIRE_FILE || m->kind == PP_WIRE_BLOCK) &&
	    (p->size > PP_WIRE_PIECE || p->offset > p->total || p->size > p->total - p->offset))
		return "a piece that is larger than what it is of";
	return NULL;
}

static char *text_or_empty(const char *text)
{
	return (char *)(uintptr_t)(text ? text : "");
}

static void fill_window(Podprof__Window *w, const struct pp_wire_window *from)
{
	w->window = from->window;
	w->attempt = from->attempt;
	w->by_time = from->by_time != 0;
	w->first = from->first;
	w->last = from->last;
	w->ranks = text_or_empty(from->rank_list);
	w->reason = text_or_empty(from->reason);
}

static void fill_piece(Podprof__Piece *p, const struct pp_wire_piece *from)
{
	p->window = from->window;
	p->name = text_or_empty(from->name);
	p->offset = from->offset;
	p->total = from->total;
	p->checksum = (uint32_t)crc32_z(0, from->bytes, from->size);
	p->bytes.len = from->size;
	p->bytes.data = (uint8_t *)(uintptr_t)from->bytes;
}

static void fill_body(const struct pp_wire *m, union body *b, Podprof__RankState **list, size_t ranks)
{
	if (m->kind == PP_WIRE_HELLO) {
		podprof__hello__init(&b->hello);
		b->hello.protocol = m->hello.protocol;
		b->hello.job = text_or_empty(m->hello.job);
		b->hello.host = text_or_empty(m->hello.host);
		b->hello.version = text_or_empty(m->hello.version);
		b->hello.instance = m->hello.instance;
		b->hello.n_rank = ranks;
		b->hello.rank = list;
	} else if (m->kind == PP_WIRE_HELLO_ACK) {
		podprof__hello_ack__init(&b->hello_ack);
		b->hello_ack.protocol = m->hello_ack.protocol;
		b->hello_ack.host_index = m->hello_ack.host_index;
		b->hello_ack.session = text_or_empty(m->hello_ack.session);
		b->hello_ack.refused = text_or_empty(m->hello_ack.refused);
		b->hello_ack.instance = m->hello_ack.instance;
		b->hello_ack.host = text_or_empty(m->hello_ack.host);
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		podprof__heartbeat__init(&b->heartbeat);
		b->heartbeat.received = m->heartbeat.received;
		b->heartbeat.job_ns = m->heartbeat.job_ns;
		b->heartbeat.n_rank = ranks;
		b->heartbeat.rank = list;
	} else if (m->kind == PP_WIRE_BYE) {
		podprof__bye__init(&b->bye);
		b->bye.reason = text_or_empty(m->bye.reason);
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		podprof__piece__init(&b->piece);
		fill_piece(&b->piece, &m->piece);
	} else {
		podprof__window__init(&b->window);
		fill_window(&b->window, &m->window);
		b->window.n_rank = ranks;
		b->window.rank = list;
	}
}

int pp_wire_write(const struct pp_wire *m, void **ret_bytes, size_t *ret_size, struct pp_err *err)
{
	const char *fault = fault_of(m);
	const struct pp_wire_rank *rank;
	Podprof__Message out;
	Podprof__RankState *state;
	Podprof__RankState **list;
	union body body;
	size_t ranks, size;
	void *bytes;

	if (fault)
		return pp_err_set(err, -EINVAL, "cannot send a %s: %s", pp_wire_name(m->kind), fault);
	ranks_of(m, &rank, &ranks);
	state = calloc(ranks + 1, sizeof(*state));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, as protobuf-c wants it */
	list = calloc(ranks + 1, sizeof(*list));
	if (!state || !list)
		goto no_memory;
	for (size_t i = 0; i < ranks; i++) {
		podprof__rank_state__init(&state[i]);
		state[i].rank = rank[i].rank;
		state[i].pid = rank[i].pid;
		state[i].state = (uint32_t)rank[i].state;
		state[i].step = rank[i].step;
		list[i] = &state[i];
	}
	fill_body(m, &body, list, ranks);
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

static int take_ranks(struct pp_wire *m, Podprof__RankState **list, size_t n)
{
	struct pp_wire_rank *rank = n <= PP_WIRE_RANKS ? calloc(n + 1, sizeof(*rank)) : NULL;

	m->owned[1] = rank;
	if (!rank)
		return n <= PP_WIRE_RANKS ? -ENOMEM : -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (list[i]->state >= PP_WIRE_STATES)
			return -EBADMSG;
		rank[i] = (struct pp_wire_rank){list[i]->rank, list[i]->pid, (enum pp_wire_state)list[i]->state, list[i]->step};
	}
	return 0;
}

static int take_window(struct pp_wire *m, const Podprof__Window *w)
{
	int rc = take_ranks(m, w->rank, w->n_rank);

	m->window = (struct pp_wire_window){.window = w->window,
	                                    .attempt = w->attempt,
	                                    .by_time = w->by_time,
	                                    .first = w->first,
	                                    .last = w->last,
	                                    .rank_list = w->ranks,
	                                    .reason = w->reason,
	                                    .rank = m->owned[1],
	                                    .ranks = w->n_rank};
	return rc;
}

static int take_piece(struct pp_wire *m, const Podprof__Piece *p)
{
	m->piece = (struct pp_wire_piece){.window = p->window,
	                                  .name = p->name,
	                                  .offset = p->offset,
	                                  .total = p->total,
	                                  .bytes = p->bytes.data,
	                                  .size = p->bytes.len};
	return (uint32_t)crc32_z(0, p->bytes.data, p->bytes.len) == p->checksum ? 0 : -EBADMSG;
}

static int take_body(struct pp_wire *m, const Podprof__Message *in)
{
	const Podprof__Hello *h = in->hello;
	const Podprof__HelloAck *a = in->hello_ack;
	const Podprof__Heartbeat *b = in->heartbeat;
	int rc = 0;

	if (m->kind == PP_WIRE_HELLO) {
		rc = take_ranks(m, h->rank, h->n_rank);
		m->hello = (struct pp_wire_hello){h->protocol, h->job, h->host, h->version, h->instance, m->owned[1], h->n_rank};
	} else if (m->kind == PP_WIRE_HELLO_ACK) {
		m->hello_ack = (struct pp_wire_hello_ack){a->protocol, a->host_index, a->session, a->refused, a->instance, a->host};
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		rc = take_ranks(m, b->rank, b->n_rank);
		m->heartbeat = (struct pp_wire_heartbeat){b->received, b->job_ns, m->owned[1], b->n_rank};
	} else if (m->kind == PP_WIRE_BYE) {
		m->bye.reason = in->bye->reason;
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		rc = take_piece(m, in->block);
	} else {
		rc = take_window(m, in->window_request);
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
	if (m.kind < PP_WIRE_HELLO || m.kind > PP_WIRE_BYE || !in->hello)
		rc = -EBADMSG;
	else
		rc = take_body(&m, in);
	if (rc == 0)
		fault = fault_of(&m);
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
