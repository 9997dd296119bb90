/* What the reader of devices' calls keeps of a call until device_link.c has linked it: in the payload of its span, whose payload
 * type is then 0. Used by device.c and device_link.c. */
#pragma once

#include <stdint.h>
#include <string.h>

enum pp_call_detail {
	PP_CALL_PLAIN,
	PP_CALL_WAITS_STREAM,  /* for all that was launched on its stream */
	PP_CALL_WAITS_CONTEXT, /* for all that was launched in its context */
	PP_CALL_COPIES,        /* and returns after the copy */
	PP_CALL_CAPTURES,      /* from here on launches go into a graph */
	PP_CALL_CAPTURED,      /* up to here */
	PP_CALL_OF_HOST        /* launches a function of the host: no device runs it */
};

struct pp_call_payload {
	uint8_t call, detail;     /* enum pp_device_call, enum pp_call_detail */
	uint32_t context, stream; /* of the WAITS */
};

enum { PP_CALL_NUMBER_BITS = 24 };

static inline uint64_t pp_call_pack(struct pp_call_payload p)
{
	if (p.context >> PP_CALL_NUMBER_BITS || p.stream >> PP_CALL_NUMBER_BITS)
		return p.call; /* no number of a context or a stream is so large */
	return (uint64_t)p.stream << 40 | (uint64_t)p.context << 16 | (uint64_t)p.detail << 8 | p.call;
}

static inline struct pp_call_payload pp_call_unpack(uint64_t payload)
{
	return (struct pp_call_payload){.call = (uint8_t)payload,
	                                .detail = (uint8_t)(payload >> 8),
	                                .context = (uint32_t)(payload >> 16) & 0xffffff,
	                                .stream = (uint32_t)(payload >> 40)};
}

/* By the name of a function of CUDA. */
static inline enum pp_call_detail pp_call_detail(const char *name)
{
	if (strstr(name, "StreamSynchronize"))
		return PP_CALL_WAITS_STREAM;
	if (strstr(name, "DeviceSynchronize") || strstr(name, "CtxSynchronize"))
		return PP_CALL_WAITS_CONTEXT;
	if (strstr(name, "Memcpy") && !strstr(name, "Async"))
		return PP_CALL_COPIES;
	if (strstr(name, "StreamBeginCapture"))
		return PP_CALL_CAPTURES;
	if (strstr(name, "LaunchHostFunc"))
		return PP_CALL_OF_HOST;
	return strstr(name, "StreamEndCapture") ? PP_CALL_CAPTURED : PP_CALL_PLAIN;
}
