/* What a keeper knows of its host's clock, as a file of the spool: PP_SPOOL_CLOCKS. Written by pod_clock.c when a comparison has
 * ended, read by clock_salvage.c after all keepers have died. In: the bursts of the exchange. Out: the same, so that salvage makes
 * the band and the chain that a live keeper would have made. A head and one record per burst, each with a checksum; new bursts are
 * appended, anything else replaces the file by a rename. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aggregate/spool/layout.h"
#include "core/base/err.h"
#include "core/clock/band.h"
#include "core/clock/clock_map.h"

enum { PP_CLOCK_FILE_VERSION = 1, PP_CLOCK_FILE_RECORDS = 4096 /* most that are read */ };

struct pp_clock_file_head {
	char magic[8];
	uint32_t version, byte_order, record_bytes;
	uint32_t self, parent; /* domains of the exchange; rank 0's keeper is 0, and its own parent */
	uint32_t same;         /* it shares the parent's clock, and no round trip contradicts that */
	uint32_t tick_kind;
	int32_t hops;
	uint64_t exchange; /* equal in all files of one exchange */
	double ticks_per_ns, rate, wander;
	struct pp_clock_pair first; /* when the keeper began to compare */
	char boot_id[40], timens_ns[64], parent_host[72];
};

struct pp_clock_file_burst {
	struct pp_clock_pair now; /* when it was written */
	uint64_t rounds, trips, lost, impossible, foreign;
	int64_t round_ns, cpu_ns;
	struct pp_band_group group; /* rank 0's keeper: empty */
};

struct pp_clock_file { /* of a keeper that writes; zero: nothing written yet */
	struct pp_clock_file_head head;
	size_t records;
};

/* Fills magic, version, byte_order and record_bytes. Is it the head of what was written? Then bursts may be appended. */
int pp_clock_file_fits(const struct pp_clock_file *f, struct pp_clock_file_head *head);
/* Appends the bursts, or replaces the file. After a failure nothing fits. */
int pp_clock_file_write(struct pp_clock_file *f, const char *spool, const struct pp_clock_file_head *head,
                        const struct pp_clock_file_burst *burst, size_t bursts, int anew, struct pp_err *err);

struct pp_clock_saved { /* what a file holds */
	struct pp_clock_file_head head;
	struct pp_clock_file_burst last; /* the last record */
	struct pp_band band;             /* not solved; without groups where the host was not compared */
	size_t records, ignored;         /* bytes behind the last whole record */
};

/* Reads hostile bytes. -ENOENT: there is no file. -EBADMSG: it is none of ours, or has no whole record. */
int pp_clock_file_read(const char *spool, struct pp_clock_saved *ret, struct pp_err *err);
/* Frees the band; also of a zeroed one. */
void pp_clock_saved_release(struct pp_clock_saved *k);
