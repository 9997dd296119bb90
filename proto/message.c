/* Messages of podprof.proto to bytes and back, by protobuf-c; see message.h. Called by aggregate/keeper/net*.c. */
#include "proto/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "proto/podprof.pb-c.h"

static int name_is_good(const char *name)
{
	return name && name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Where a field of a message stands in the plain struct, and with what size. Texts and bytes are pointers on both sides, but for
 * texts of which the plain struct has an array: is_array(). */
struct member {
	size_t at, size, length_at; /* length_at: of bytes, their number; else 0 */
};

#define IN(type, field, length_at)                                                                                                 \
	{                                                                                                                          \
		offsetof(type, field), sizeof(((type *)NULL)->field), length_at                                                    \
	}
#define AT(field) IN(struct pp_wire, field, 0)
#define BYTES_AT(field, length) IN(struct pp_wire, field, offsetof(struct pp_wire, length))
#define RANK_AT(field) IN(struct pp_wire_rank, field, 0)

/* In the order of podprof.proto; {0}: the field has code of its own. */
static const struct member hello[] = {
        AT(hello.protocol), AT(hello.job),           AT(hello.host),         AT(hello.version),         AT(hello.instance),
        {0} /* ranks */,    AT(hello.clock.boot_id), AT(hello.clock.timens), AT(hello.clock.tick_kind), AT(hello.transport),
};
static const struct member hello_ack[] = {
        AT(hello_ack.protocol), AT(hello_ack.host_index), AT(hello_ack.session),
        AT(hello_ack.refused),  AT(hello_ack.instance),   AT(hello_ack.host),
};
static const struct member piece[] = {
        AT(piece.gather), AT(piece.name), AT(piece.offset), AT(piece.total), {0} /* checksum */, BYTES_AT(piece.bytes, piece.size),
};
static const struct member heartbeat[] = {
        AT(heartbeat.received), AT(heartbeat.job_ns), {0} /* ranks */, AT(heartbeat.first_tick), AT(heartbeat.over),
};
static const struct member bye[] = {AT(bye.reason)};
static const struct member request[] = {AT(request.number), AT(request.kind), AT(request.first), AT(request.last),
                                        AT(request.level)};
static const struct member client_text[] = {AT(text.client), AT(text.ended), BYTES_AT(text.text, text.size)};
static const struct member invite[] = {BYTES_AT(text.text, text.size)};
static const struct member gather[] = {AT(gather.gather),
                                       AT(gather.cut),
                                       AT(gather.number),
                                       AT(gather.from),
                                       AT(gather.to),
                                       AT(gather.from_realtime),
                                       AT(gather.to_realtime),
                                       AT(gather.first),
                                       AT(gather.last),
                                       AT(gather.session),
                                       AT(gather.token),
                                       AT(gather.tick0),
                                       AT(gather.ns0),
                                       AT(gather.num),
                                       AT(gather.shift),
                                       AT(gather.bound),
                                       AT(gather.epoch_realtime),
                                       AT(gather.clock.boot_id),
                                       AT(gather.clock.timens),
                                       AT(gather.clock.tick_kind),
                                       AT(gather.host),
                                       AT(gather.has_steps),
                                       AT(gather.ranks)};
static const struct member share[] = {AT(share.gather), AT(share.code), AT(share.reason), AT(share.block), AT(share.files)};
static const struct member compare[] = {
        AT(compare.domain), AT(compare.port),   BYTES_AT(compare.key, compare.key_size),
        AT(compare.same),   AT(compare.parent), AT(compare.addresses),
        AT(compare.host),   AT(compare.hops),   AT(compare.serves),
};
static const struct member clock_of[] = {AT(clock.round),
                                         AT(clock.parent),
                                         AT(clock.port),
                                         AT(clock.addresses),
                                         AT(clock.verdict),
                                         AT(clock.lost),
                                         BYTES_AT(clock.chain, clock.chain_size)};
static const struct member doctor_command[] = {AT(doctor_command.kind)};
static const struct member doctor_host[] = {
        AT(doctor_host.name),         AT(doctor_host.boot_id),   AT(doctor_host.timens),        AT(doctor_host.why),
        AT(doctor_host.by),           AT(doctor_host.rank),      AT(doctor_host.local_size),    AT(doctor_host.claims),
        AT(doctor_host.synchronised), AT(doctor_host.error_ns),  AT(doctor_host.error_most_ns), AT(doctor_host.frequency_ppb),
        AT(doctor_host.stamps),       AT(doctor_host.tick_kind), AT(doctor_host.ticks_per_ns),  AT(doctor_host.resolution_ns),
        AT(doctor_host.cost_ns),
};
static const struct member doctor_reading[] = {
        AT(doctor_reading.tick),      AT(doctor_reading.raw_ns),    AT(doctor_reading.width_ns),     AT(doctor_reading.date_ns),
        AT(doctor_reading.date_tick), AT(doctor_reading.date_half), AT(doctor_reading.ticks_per_ns), AT(doctor_reading.rate_error),
};
static const struct member doctor_raw[] = {
        AT(doctor_raw.parent), AT(doctor_raw.nodes),  AT(doctor_raw.two),          AT(doctor_raw.x[0]),    AT(doctor_raw.x[1]),
        AT(doctor_raw.y[0]),   AT(doctor_raw.y[1]),   AT(doctor_raw.half[0]),      AT(doctor_raw.half[1]), AT(doctor_raw.least),
        AT(doctor_raw.bound),  AT(doctor_raw.date_y), AT(doctor_raw.date_y_bound), AT(doctor_raw.trips),   AT(doctor_raw.lost),
};
static const struct member rank_state[] = {
        RANK_AT(rank),           RANK_AT(pid),       RANK_AT(state),     RANK_AT(step),           RANK_AT(marks),
        RANK_AT(recording),      RANK_AT(over),      RANK_AT(request),   RANK_AT(first),          RANK_AT(last),
        RANK_AT(windows_passed), RANK_AT(signals),   RANK_AT(call),      RANK_AT(comm),           RANK_AT(sequence),
        RANK_AT(peer),           RANK_AT(last_call), RANK_AT(waits),     RANK_AT(waits_sequence), RANK_AT(other[0]),
        RANK_AT(other[1]),       RANK_AT(other[2]),  RANK_AT(other[3]),  RANK_AT(other_more),     RANK_AT(place_ms),
        RANK_AT(process),        RANK_AT(end),       RANK_AT(comm_size), RANK_AT(comm_flags),     RANK_AT(members),
        RANK_AT(comm_name),      RANK_AT(nccl),
};

static const struct form {
	const ProtobufCMessageDescriptor *message;
	const struct member *member;
	const char *name;
} form[PP_WIRE_KINDS] = {
        [PP_WIRE_HELLO] = {&podprof__hello__descriptor, hello, "hello"},
        [PP_WIRE_HELLO_ACK] = {&podprof__hello_ack__descriptor, hello_ack, "hello ack"},
        [PP_WIRE_BLOCK] = {&podprof__piece__descriptor, piece, "block"},
        [PP_WIRE_FILE] = {&podprof__piece__descriptor, piece, "file"},
        [PP_WIRE_HEARTBEAT] = {&podprof__heartbeat__descriptor, heartbeat, "heartbeat"},
        [PP_WIRE_BYE] = {&podprof__bye__descriptor, bye, "bye"},
        [PP_WIRE_REQUEST] = {&podprof__request__descriptor, request, "request"},
        [PP_WIRE_CLIENT_TEXT] = {&podprof__client_text__descriptor, client_text, "client text"},
        [PP_WIRE_GATHER] = {&podprof__gather__descriptor, gather, "gather"},
        [PP_WIRE_SHARE] = {&podprof__share__descriptor, share, "share"},
        [PP_WIRE_INVITE] = {&podprof__invite__descriptor, invite, "invitation"},
        [PP_WIRE_COMPARE] = {&podprof__compare__descriptor, compare, "compare"},
        [PP_WIRE_CLOCK] = {&podprof__clock__descriptor, clock_of, "clock"},
        [PP_WIRE_DOCTOR_COMMAND] = {&podprof__doctor_command__descriptor, doctor_command, "doctor's command"},
        [PP_WIRE_DOCTOR_HOST] = {&podprof__doctor_host__descriptor, doctor_host, "doctor's host"},
        [PP_WIRE_DOCTOR_READING] = {&podprof__doctor_reading__descriptor, doctor_reading, "doctor's reading"},
        [PP_WIRE_DOCTOR_RAW] = {&podprof__doctor_raw__descriptor, doctor_raw, "doctor's measurement"},
};
static const struct form rank_form = {&podprof__rank_state__descriptor, rank_state, "rank"};

const char *pp_wire_name(enum pp_wire_kind kind)
{
	return (unsigned)kind < PP_WIRE_KINDS && form[kind].name ? form[kind].name : "unknown message";
}

/* The arrays are larger than a pointer. */
static int is_array(const struct form *by, unsigned field)
{
	return by->message->fields[field].type == PROTOBUF_C_TYPE_STRING && by->member[field].size > sizeof(char *);
}

static int text_is_good(const struct pp_wire *m, unsigned field)
{
	const struct member *member = &form[m->kind].member[field];
	const char *at = (const char *)m + member->at;
	size_t most = is_array(&form[m->kind], field) ? member->size - 1 : PP_WIRE_TEXT;
	const char *text = is_array(&form[m->kind], field) ? at : *(char *const *)at;
	size_t n = text ? strnlen(text, most + 1) : 0;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return 0;
	return n <= most;
}

static const struct pp_wire_rank *ranks_of(const struct pp_wire *m, size_t *ret_ranks)
{
	*ret_ranks = m->kind == PP_WIRE_HELLO ? m->hello.ranks : m->kind == PP_WIRE_HEARTBEAT ? m->heartbeat.ranks : 0;
	return m->kind == PP_WIRE_HELLO ? m->hello.rank : m->kind == PP_WIRE_HEARTBEAT ? m->heartbeat.rank : NULL;
}

static int is_plain(const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return 0;
	return n < size;
}

static int place_is_good(const struct pp_wire_rank *r)
{
	return r->call <= UINT16_MAX && r->last_call <= UINT16_MAX && r->waits <= UINT16_MAX && r->process < 0x7f &&
	       r->place_ms <= INT64_MAX / 1000000 && r->comm_size <= INT32_MAX && r->comm_flags <= UINT16_MAX &&
	       is_plain(r->members, sizeof(r->members)) && is_plain(r->comm_name, sizeof(r->comm_name)) &&
	       is_plain(r->nccl, sizeof(r->nccl));
}

static const char *ranks_fault(const struct pp_wire *m)
{
	size_t ranks;
	const struct pp_wire_rank *rank = ranks_of(m, &ranks);

	if (ranks > PP_WIRE_RANKS)
		return "too many ranks of one host";
	for (size_t i = 0; i < ranks; i++)
		if (rank[i].rank < 0 || rank[i].pid < 0 || (unsigned)rank[i].state >= PP_WIRE_STATES || !place_is_good(&rank[i]))
			return "a rank's number or state is out of its range";
	return NULL;
}

static int is_open(int64_t ns)
{
	return ns == INT64_MIN || ns == INT64_MAX;
}

/* Both can be subtracted from any date of a clock, and from each other. */
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
		return "an invalid session name";
	if (g->from > g->to || g->from_realtime > g->to_realtime)
		return "a window that ends before it begins";
	if (!are_dates(g->from_realtime, g->to_realtime))
		return "a window without a date";
	return !g->num || g->num >> 62 || g->shift > 63 || g->bound < 0 ? "an invalid clock" : NULL;
}

static const char *clock_fault(const struct pp_wire *m)
{
	const struct pp_wire_compare *c = &m->compare;

	if (m->kind == PP_WIRE_COMPARE && (c->key_size != PP_WIRE_KEY || !c->port || c->port > UINT16_MAX))
		return "an invalid port or key";
	if (m->kind == PP_WIRE_COMPARE && (!c->domain || c->domain == c->parent || c->hops > UINT16_MAX))
		return "an invalid place among the clocks";
	if (m->kind == PP_WIRE_CLOCK && (m->clock.port > UINT16_MAX || m->clock.chain_size > PP_WIRE_CHAIN))
		return "an invalid port, or a chain that is too long";
	return NULL;
}

static const char *doctor_fault(const struct pp_wire *m)
{
	const struct pp_wire_doctor_host *h = &m->doctor_host;

	if (m->kind == PP_WIRE_DOCTOR_HOST && (h->rank < 0 || h->local_size < 0 || !(h->ticks_per_ns > 0)))
		return "a host's number or clock is out of its range";
	return m->kind == PP_WIRE_DOCTOR_RAW && m->doctor_raw.nodes > 2 ? "too many bursts" : NULL;
}

const char *pp_wire_fault(const struct pp_wire *m)
{
	const struct pp_wire_piece *p = &m->piece;

	if ((unsigned)m->kind >= PP_WIRE_KINDS || !form[m->kind].message)
		return "an unknown kind of message";
	for (unsigned i = 0; i < form[m->kind].message->n_fields; i++)
		if (form[m->kind].message->fields[i].type == PROTOBUF_C_TYPE_STRING && !text_is_good(m, i))
			return "a text is too long or has control characters";
	if (m->kind == PP_WIRE_FILE && !name_is_good(p->name))
		return "an invalid file name";
	if ((m->kind == PP_WIRE_FILE || m->kind == PP_WIRE_BLOCK) &&
	    (p->size > PP_WIRE_PIECE || p->offset > p->total || p->size > p->total - p->offset))
		return "a piece larger than the whole";
	if ((m->kind == PP_WIRE_CLIENT_TEXT || m->kind == PP_WIRE_INVITE) && m->text.size > PP_WIRE_LONG_TEXT)
		return "text that is too long";
	if (m->kind == PP_WIRE_GATHER)
		return gather_fault(&m->gather);
	if (m->kind == PP_WIRE_SHARE && m->share.code > 0)
		return "an invalid code";
	if (m->kind == PP_WIRE_COMPARE || m->kind == PP_WIRE_CLOCK)
		return clock_fault(m);
	return m->kind >= PP_WIRE_DOCTOR_COMMAND ? doctor_fault(m) : ranks_fault(m);
}

enum { UNPACK_MAX = 8 << 20 }; /* a message of many empty parts unpacks to more than its size */

static void to_message(const struct form *by, const void *plain, void *ret_message)
{
	protobuf_c_message_init(by->message, ret_message);
	for (unsigned i = 0; i < by->message->n_fields; i++) {
		const struct member *m = &by->member[i];
		char *theirs = (char *)ret_message + by->message->fields[i].offset;
		const char *ours = (const char *)plain + m->at;
		ProtobufCBinaryData bytes;

		if (m->length_at) {
			memcpy(&bytes.len, (const char *)plain + m->length_at, sizeof(bytes.len));
			memcpy(&bytes.data, ours, sizeof(bytes.data));
			ours = (const char *)&bytes;
		}
		if (is_array(by, i))
			memcpy(theirs, &ours, sizeof(ours));
		else
			memcpy(theirs, ours, m->length_at ? sizeof(bytes) : m->size);
	}
}

static void to_plain(const struct form *by, const void *message, void *ret_plain)
{
	for (unsigned i = 0; i < by->message->n_fields; i++) {
		const struct member *m = &by->member[i];
		const char *theirs = (const char *)message + by->message->fields[i].offset;

		if (m->length_at) {
			memcpy((char *)ret_plain + m->length_at, theirs + offsetof(ProtobufCBinaryData, len), sizeof(size_t));
			theirs += offsetof(ProtobufCBinaryData, data);
		}
		if (is_array(by, i)) /* one that is too long has no end there, which pp_wire_fault() sees */
			memccpy((char *)ret_plain + m->at, *(char *const *)theirs, '\0', m->size);
		else
			memcpy((char *)ret_plain + m->at, theirs, m->size);
	}
}

static uint32_t checksum_of(const struct pp_wire_piece *p)
{
	return (uint32_t)crc32_z(0, p->bytes, p->size);
}

union body { /* those with fields that have code of their own */
	Podprof__Hello hello;
	Podprof__Heartbeat heartbeat;
	Podprof__Piece piece;
};

/* NULL: no memory. */
static void *body_of(const struct pp_wire *m, Podprof__RankState **list, size_t ranks)
{
	union body *b = calloc(1, form[m->kind].message->sizeof_message);

	if (!b)
		return NULL;
	to_message(&form[m->kind], m, b);
	if (m->kind == PP_WIRE_HELLO) {
		b->hello.n_rank = ranks;
		b->hello.rank = list;
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		b->heartbeat.n_rank = ranks;
		b->heartbeat.rank = list;
	} else if (m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) {
		b->piece.checksum = checksum_of(&m->piece);
	}
	return b;
}

int pp_wire_write(const struct pp_wire *m, void **ret_bytes, size_t *ret_size, struct pp_err *err)
{
	const char *fault = pp_wire_fault(m);
	Podprof__Message out = PODPROF__MESSAGE__INIT;
	const struct pp_wire_rank *rank;
	Podprof__RankState *state;
	Podprof__RankState **list;
	size_t ranks, size = 0;
	void *bytes = NULL;

	if (fault)
		return pp_err_set(err, -EINVAL, "cannot send a %s: %s", pp_wire_name(m->kind), fault);
	rank = ranks_of(m, &ranks);
	state = calloc(ranks + 1, sizeof(*state));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers, as protobuf-c wants it */
	list = calloc(ranks + 1, sizeof(*list));
	for (size_t i = 0; i < ranks && state && list; i++) {
		to_message(&rank_form, &rank[i], &state[i]);
		list[i] = &state[i];
	}
	out.sequence = m->sequence;
	out.body_case = (Podprof__Message__BodyCase)m->kind;
	out.hello = state && list ? body_of(m, list, ranks) : NULL; /* one pointer of a union: whichever it is */
	if (out.hello) {
		size = podprof__message__get_packed_size(&out);
		bytes = size <= PP_WIRE_MAX ? malloc(size + 1) : NULL;
	}
	if (bytes)
		podprof__message__pack(&out, bytes);
	free(out.hello);
	free(list);
	free(state);
	if (size > PP_WIRE_MAX)
		return pp_err_set(err, -EMSGSIZE, "cannot send a %s of %zu bytes", pp_wire_name(m->kind), size);
	if (!bytes)
		return pp_err_set(err, -ENOMEM, "cannot send a %s: no memory", pp_wire_name(m->kind));
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

struct bounded { /* limits what unpacking may allocate */
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
	for (size_t i = 0; i < n; i++)
		to_plain(&rank_form, list[i], &rank[i]);
	return 0;
}

static int take_body(struct pp_wire *m, const Podprof__Message *in)
{
	int rc = 0;

	to_plain(&form[m->kind], in->hello, m);
	if (m->kind == PP_WIRE_HELLO) {
		rc = take_ranks(m, in->hello->rank, in->hello->n_rank);
		m->hello.rank = m->owned[1];
		m->hello.ranks = in->hello->n_rank;
	} else if (m->kind == PP_WIRE_HEARTBEAT) {
		rc = take_ranks(m, in->heartbeat->rank, in->heartbeat->n_rank);
		m->heartbeat.rank = m->owned[1];
		m->heartbeat.ranks = in->heartbeat->n_rank;
	} else if ((m->kind == PP_WIRE_BLOCK || m->kind == PP_WIRE_FILE) && checksum_of(&m->piece) != in->block->checksum) {
		rc = -EBADMSG;
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
		pp_err_set(err, -EBADMSG, "a %s is refused: %s", pp_wire_name(m.kind), fault ? fault : "checksum or kind is wrong");
	pp_wire_release(&m);
	return rc ? rc : -EBADMSG;
}
