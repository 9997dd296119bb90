/* The bytes of an XSpace file, unpacked. In: a path. Out: one range of memory: the mapped file, or what inflate made of a .gz.
 * Called by xspace.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/read/trace_options.h"
#include "core/base/err.h"

struct pp_xsource {
	const uint8_t *bytes;
	size_t size;
	uint64_t file_bytes;
	size_t mapped;
	int is_unpacked; /* memory of this process: what is released is lost */
	char damage[96]; /* of the packing: where it is cut or wrong, bytes end; "": none */
};

/* 0, or -errno with the sentence. Of a damaged .gz it has what could be unpacked; the caller closes it. Bytes stay where they are.
 * */
int pp_xsource_open(const char *path, const struct pp_trace_options *options, struct pp_xsource *ret_source, struct pp_err *err);
/* All pointers into the bytes become invalid. */
void pp_xsource_close(struct pp_xsource *s);
/* Gives whole pages back that will not be read again (of a mapped file they may be, from the page cache). */
void pp_xsource_release(const struct pp_xsource *s, const uint8_t *from, const uint8_t *to);
/* Reports, in bytes of the file, that those before `at` are read. */
void pp_xsource_progress(const struct pp_xsource *s, const struct pp_trace_options *options, const uint8_t *at);
