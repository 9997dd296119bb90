/* Finds the repeating pattern of one communicator's collectives, or of one rank's messages, and with it the steps of a job that
 * marks none. In: one symbol per call, collectives in the order of sequence numbers. Out: ends of steps. Used by pattern.c and
 * core/step/step_{period,message,nest}.c.
 * All ranks find the same without a message: MPI makes all members call the collectives of one communicator in one order, a
 * symbol holds only what MPI makes equal on all of them (the call, its root, and the bytes of those calls that require equal
 * ones), and the state depends on the symbols alone: no clock, no address, no rank. So by induction over sequence numbers all
 * ranks that start at the same number have the same state after the same number. Only a call that fails on one rank breaks
 * this. MPI orders no calls between communicators: one machine reads one communicator. Messages between two collectives are one
 * symbol, MESSAGES, so an exchange and a reduction are a pattern of two: there ranks may differ, if one has no neighbours.
 * A step is the shortest pattern that came LEAST times, and LEAST_CALLS calls, in a row without a mismatch, has two different
 * symbols, and one that joins data of several ranks. One repeated collective may be one per step or a hundred: it is a pattern
 * if it came MOST times in a row, more than any pattern can hold. The broadcasts before a job's first step are none. The pattern
 * begins where its first occurrence began, and never ends with MESSAGES, so a step ends with the last collective of a loop.
 * Collectives between two of the known pattern are skipped (`irregular`); after more of them than the pattern has, or at its
 * first symbol, matching restarts at its beginning. Another pattern takes over when it came often enough since the known one's
 * last occurrence: as above, and a quarter as many calls as all steps have. One that differs in bytes only renews the known one,
 * in the same phase: the first condition is enough, and it counts as no other.
 * O(1) per call, fastest while the known pattern goes on; the call that confirms a pattern takes O(pattern), one that renews it
 * at most O(pattern^2). Fixed memory; no malloc, lock or I/O. One thread at a time. */
#pragma once

#include <stdint.h>

enum {
	PP_PERIOD_MOST = 512,       /* symbols of the longest pattern */
	PP_PERIOD_HISTORY = 2048,   /* a power of 2 */
	PP_PERIOD_LEAST = 3,        /* times in a row */
	PP_PERIOD_LEAST_CALLS = 12, /* symbols in a row */
	PP_PERIOD_TAKE_OVER = 1024, /* calls in a row that are enough for any new pattern */
	PP_PERIOD_ORDERS = 4,       /* lengths of context: 1, 2, 4, 16 */
	PP_PERIOD_PLACE_BITS = 9,   /* places of each table: 512 */
	PP_PERIOD_JOINS = 1,        /* bit of a symbol: it joins data of all ranks */
	PP_PERIOD_KIND = 0xfff,     /* bits of a symbol that do not depend on its bytes */
	PP_PERIOD_GAP = 2,          /* a symbol that is not known */
	PP_PERIOD_MESSAGES = 8,     /* messages between two collectives, whatever they are */
};

enum pp_period_event {
	PP_PERIOD_NOTHING,
	PP_PERIOD_FOUND, /* a pattern was confirmed: `start`, `period` and `steps` are new, `steps` have ended since `start` */
	PP_PERIOD_STEP,  /* a step ended with this symbol */
};

struct pp_period {
	uint64_t position;  /* of the next symbol */
	uint64_t start;     /* position of the pattern's first symbol */
	uint64_t steps;     /* ended since `start` */
	uint64_t last_end;  /* position behind the last step's end, of any pattern; 0: none ended */
	uint64_t matched;   /* symbols of all steps that ended, without those passed over */
	uint64_t irregular; /* symbols passed over since the first pattern was found */
	uint32_t found;     /* patterns so far, renewed ones once */
	uint32_t period;    /* symbols of the pattern; 0: none found */
	uint32_t at;        /* next symbol of the pattern */
	uint32_t skipped;   /* symbols passed over since the last that fitted */
	uint32_t clean;     /* 1: no mismatch since the last step ended; nothing is searched then */
	uint64_t since;     /* position from which on a new pattern is searched */
	uint32_t trial;     /* period that is being tried; 0: none */
	uint64_t run;       /* symbols in a row that were equal to those `trial` before */
	uint64_t changed;   /* position behind the last symbol that differs from the one before */
	uint64_t joined;    /* position behind the last symbol that joins */
	uint64_t context[PP_PERIOD_ORDERS], power[PP_PERIOD_ORDERS];
	uint16_t place[PP_PERIOD_ORDERS][1 << PP_PERIOD_PLACE_BITS]; /* low bits of the position where a context was last seen */
	uint32_t history[PP_PERIOD_HISTORY];
	uint32_t pattern[PP_PERIOD_MOST];
	uint16_t border[PP_PERIOD_MOST]; /* scratch of the call that confirms */
};

/* A machine that has seen no symbol. */
void pp_period_init(struct pp_period *p);
/* The next symbol, of pp_period_symbol() or PP_PERIOD_GAP; what it found. */
enum pp_period_event pp_period_feed(struct pp_period *p, uint32_t symbol);

/* Never 0. joins: needs the data of all ranks. root: world rank, -1 none. bytes: 0 where ranks may differ. Of a message: its peer
 * for the root, and its tag mixed into the bytes. */
uint32_t pp_period_symbol(uint16_t call, int joins, int32_t root, uint64_t bytes);
