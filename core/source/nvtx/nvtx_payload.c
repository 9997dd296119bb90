/* Payloads of NVTX events, and NVTX's payload extension: schemas, ranges and marks that are only a payload.
 * A payload is one PAYLOAD record right before the record it belongs to, with the same tick. Called by nvtx_emit.h and NVTX. */
#include "core/source/nvtx/nvtx_payload.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/env.h"
#include "core/source/nvtx/nvtx_definitions.h"
#include "core/source/nvtx/nvtx_handler.h"
#include "core/source/nvtx/nvtx_inject.h"

enum { MOST_PAYLOADS = 8, STRING_TYPE = 75, STRING_UTF8_TYPE = 76 };

pp_nvtx_function pp_nvtx_next_payload[PP_NVTX_P_IDS];

static void put_bytes(pp_tick tick, uint16_t domain, enum pp_payload_type type, uint64_t schema, const void *bytes, size_t size)
{
	struct pp_record r = {.tick = tick, .kind = PP_RECORD_PAYLOAD};
	size_t length = size < PP_PAYLOAD_BYTES ? size : PP_PAYLOAD_BYTES, n = length < PP_TEXT_INLINE ? length : PP_TEXT_INLINE;

	r.length = (uint32_t)length;
	r.payload.schema = schema;
	r.payload.type = (uint16_t)type;
	r.payload.domain = domain;
	r.payload.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	if (n)
		memcpy(r.payload.text, bytes, n);
	pp_ring_put(&r, (const char *)bytes + n, (uint32_t)(length - n));
}

static void put_payloads(pp_tick tick, uint16_t domain, const struct pp_nvtx_payload *p, size_t count)
{
	if (!p)
		return;
	for (size_t i = 0; i < count && i < MOST_PAYLOADS; i++) {
		size_t size = p[i].size;

		if (size == SIZE_MAX) { /* unknown: the schema may have it, a string ends with 0 */
			size = pp_nvtx_schema_size(domain, p[i].schema);
			if (p[i].bytes && (p[i].schema == STRING_TYPE || p[i].schema == STRING_UTF8_TYPE))
				size = strnlen(p[i].bytes, PP_PAYLOAD_BYTES);
		}
		put_bytes(tick, domain, PP_PAYLOAD_EXT, p[i].schema, p[i].bytes ? p[i].bytes : "", p[i].bytes ? size : 0);
	}
}

static void put_range(pp_tick tick, enum pp_record_kind kind, uint16_t domain, uint32_t category, uint64_t id, const char *name,
                      size_t length)
{
	struct pp_emit e = {
	        .kind = (uint16_t)kind, .domain = domain, .source = PP_SOURCE_NVTX, .nvtx_category = category, .id = id};

	pp_emit_range_at(&e, tick, name, length);
}

void pp_nvtx_emit_payload(enum pp_record_kind kind, uint16_t domain, uint64_t id, const struct pp_nvtx_attributes *a,
                          const char *name, size_t length)
{
	pp_tick tick = pp_tick_now();
	size_t size = a->payload_type >= PP_PAYLOAD_UINT32 ? 4 : 8;

	if (a->payload_type == PP_NVTX_PAYLOAD_EXT)
		put_payloads(tick, domain, (const struct pp_nvtx_payload *)(uintptr_t)a->payload,
		             a->reserved > 0 ? (size_t)a->reserved : 0);
	else if (a->payload_type >= PP_PAYLOAD_UINT64 && a->payload_type <= PP_PAYLOAD_FLOAT)
		put_bytes(tick, domain, (enum pp_payload_type)a->payload_type, 0, &a->payload, size);
	put_range(tick, kind, domain, a->category, id, name, length);
}

/* An event without a message gets its first payload's schema as name. */
static void begin(enum pp_record_kind kind, void *domain, uint64_t id, const struct pp_nvtx_payload *p, size_t count)
{
	uint16_t index = pp_nvtx_domain_index(domain);
	const char *name = "";
	size_t length = 0;
	pp_tick tick;

	if (!pp_emit_wanted())
		return;
	tick = pp_tick_now();
	if (p && count)
		name = pp_nvtx_schema_name(index, p[0].schema, &length);
	put_payloads(tick, index, p, count);
	put_range(tick, kind, index, 0, id, name, length);
}

static void end(enum pp_record_kind kind, void *domain, uint64_t id, const struct pp_nvtx_payload *p, size_t count)
{
	uint16_t index = pp_nvtx_domain_index(domain);
	pp_tick tick;

	if (!pp_emit_wanted())
		return;
	tick = pp_tick_now();
	put_payloads(tick, index, p, count);
	put_range(tick, kind, index, 0, id, "", 0);
}

#define NEXT_IS(id) (pp_nvtx_next_payload[id])

static uint64_t schema_register(void *domain, const struct pp_nvtx_schema *s)
{
	typedef uint64_t (*next)(void *, const struct pp_nvtx_schema *);
	int saved = errno;
	uint64_t id = NEXT_IS(PP_NVTX_P_SCHEMA) ? ((next)NEXT_IS(PP_NVTX_P_SCHEMA))(domain, s) : 0;

	id = pp_nvtx_schema_register(pp_nvtx_domain_index(domain), s, id);
	errno = saved;
	return id;
}

static uint64_t enum_register(void *domain, const struct pp_nvtx_enum *e)
{
	typedef uint64_t (*next)(void *, const struct pp_nvtx_enum *);
	int saved = errno;
	uint64_t id = NEXT_IS(PP_NVTX_P_ENUM) ? ((next)NEXT_IS(PP_NVTX_P_ENUM))(domain, e) : 0;

	id = pp_nvtx_enum_register(pp_nvtx_domain_index(domain), e, id);
	errno = saved;
	return id;
}

static void p_mark(void *domain, const struct pp_nvtx_payload *p, size_t count)
{
	typedef void (*next)(void *, const struct pp_nvtx_payload *, size_t);

	begin(PP_RECORD_MARK, domain, 0, p, count);
	if (NEXT_IS(PP_NVTX_P_MARK))
		((next)NEXT_IS(PP_NVTX_P_MARK))(domain, p, count);
}

typedef int (*nest_function)(void *, const struct pp_nvtx_payload *, size_t);

static int p_push(void *domain, const struct pp_nvtx_payload *p, size_t count)
{
	begin(PP_RECORD_PUSH, domain, 0, p, count);
	if (NEXT_IS(PP_NVTX_P_PUSH))
		return ((nest_function)NEXT_IS(PP_NVTX_P_PUSH))(domain, p, count);
	return enter_depth(pp_nvtx_domain_index(domain));
}

static int p_pop(void *domain, const struct pp_nvtx_payload *p, size_t count)
{
	end(PP_RECORD_POP, domain, 0, p, count);
	if (NEXT_IS(PP_NVTX_P_POP))
		return ((nest_function)NEXT_IS(PP_NVTX_P_POP))(domain, p, count);
	return leave_depth(pp_nvtx_domain_index(domain));
}

static uint64_t p_start(void *domain, const struct pp_nvtx_payload *p, size_t count)
{
	typedef uint64_t (*next)(void *, const struct pp_nvtx_payload *, size_t);
	uint64_t id = NEXT_IS(PP_NVTX_P_START) ? ((next)NEXT_IS(PP_NVTX_P_START))(domain, p, count) : pp_nvtx_new_range();

	begin(PP_RECORD_START, domain, id, p, count);
	return id;
}

static void p_end(void *domain, uint64_t id, const struct pp_nvtx_payload *p, size_t count)
{
	typedef void (*next)(void *, uint64_t, const struct pp_nvtx_payload *, size_t);

	end(PP_RECORD_END, domain, id, p, count);
	if (NEXT_IS(PP_NVTX_P_END))
		((next)NEXT_IS(PP_NVTX_P_END))(domain, id, p, count);
}

static uint8_t p_enabled(void *domain)
{
	(void)domain;
	return 1;
}

static const pp_nvtx_function handlers[PP_NVTX_P_IDS] = {
        HANDLER(schema_register), HANDLER(enum_register), HANDLER(p_mark), HANDLER(p_push),
        HANDLER(p_pop),           HANDLER(p_start),       HANDLER(p_end),  HANDLER(p_enabled),
};

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(struct pp_nvtx_extension *x);

/* Once per DSO and extension. 0 refuses: its functions do nothing then (memory, counters). */
int InitializeInjectionNvtxExtension(struct pp_nvtx_extension *x)
{
	int saved = errno, chained = 0, taken = 0;
	struct pp_nvtx_segment *s;

	if (!x || x->size < sizeof(*x) || !pp_env("PODPROF_SPOOL"))
		return 0;
	chained = pp_nvtx_chain("InitializeInjectionNvtxExtension", x);
	s = x->segments ? x->segment : NULL;
	if (x->module == PP_NVTX_EXT_PAYLOAD && x->compatibility >= PP_NVTX_EXT_PAYLOAD_COMPATIBLE && s && s->slot) {
		for (size_t i = 0; i < PP_NVTX_P_IDS && i < s->slots; i++) {
			if (chained && s->slot[i] && s->slot[i] != (intptr_t)handlers[i])
				pp_nvtx_next_payload[i] = (pp_nvtx_function)s->slot[i];
			s->slot[i] = (intptr_t)handlers[i];
		}
		taken = 1;
	}
	errno = saved;
	return taken || chained;
}
