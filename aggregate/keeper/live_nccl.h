/* The communicators of NCCL and the process groups of gloo that a rank has, and how many collectives it has called on each: rows
 * of the ring's header as a text, which travels between keepers and to clients. In: a ring's header, of any content. Out: the text,
 * its entries, a sentence. Called by live.c, the keepers' messages, hang_nccl.c and the verbs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/ring/ring_file.h"

enum { PP_LIVE_NCCL = 2048 }; /* bytes of the text: 25 communicators or more */

struct pp_live_nccl { /* as in struct pp_ring_nccl */
	uint64_t comm, begun, ended, bytes, turn;
	int32_t rank, size, root;
	uint32_t messages;
	char call[40]; /* the last collective; "" none */
	char name[32]; /* "" none */
};

/* Whole entries, as many as fit; then the number of communicators, of MPI too, that have none: "+3". */
void pp_live_nccl_put(const struct pp_ring_header *h, char *text, size_t size);
/* Reads the entry at `at`. Returns the place of the next one; NULL: there is none, or the text is damaged. */
const char *pp_live_nccl_next(const char *at, struct pp_live_nccl *ret);
/* How many have no entry. */
uint32_t pp_live_nccl_more(const char *entries);
/* "gradients", "communicator 00ab..."; `size` of at least 40. */
const char *pp_live_nccl_name(const struct pp_live_nccl *n, char *text, size_t size);
/* "last enqueued ncclAllReduce number 12 of gradients": the last call of the rank; "" where it has called no collective. */
const char *pp_live_nccl_text(const char *entries, char *text, size_t size);
