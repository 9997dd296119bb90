/* What a rank has beside its spans and side arrays and a table of pod.h5 has as it is. In: aggregate/read. Out:
 * aggregate/dataset. */
#pragma once

#include <stdint.h>

enum { PP_REMARKS = 4, PP_REMARK_TEXT = 160 };

struct pp_trace_metadata { /* of the file of another profiler that a rank is from */
	char file[256];    /* "": not from such a file */
	char format[16];   /* XSpace, Kineto */
	char producer[64];
	uint64_t bytes;          /* of the file, compressed or not */
	uint64_t events;         /* read */
	uint64_t derived;        /* left out: lines that a viewer had added from the others */
	uint64_t untimed;        /* left out: without a begin, or with a time that no clock shows */
	uint64_t damaged;        /* left out: not readable */
	uint64_t damaged_at;     /* offset of the first damage in the unpacked bytes */
	char damage[96];         /* what it is; "": none */
	uint64_t contradictions; /* marks and collectives of other ranks than the first, which nothing tells apart */
	int64_t resolution_ns;   /* unit of its times; 0: unknown */
	int says_host;           /* the host is the file's; 0: the file's name */
	int64_t clock_bound_ns;  /* of a file of podprof: largest error of its times against rank 0's clock; -1: unknown */
};

struct pp_c10d_count {         /* collectives of torch.distributed, aggregate/read/torch/c10d.h */
	uint64_t calls;        /* in the window */
	uint64_t unannotated;  /* without an annotation of their group */
	uint64_t recorder_off; /* of those: of ranks without any annotation */
	uint64_t unended;      /* whose end was not seen */
	uint64_t enqueued;     /* whose end is on a device */
	uint64_t rootless;     /* with an unknown root */
};

/* Adds the text to remark[PP_REMARKS] and counts it, unless it is there. */
void pp_remark_add(char (*remark)[PP_REMARK_TEXT], uint32_t *remarks, const char *text);
