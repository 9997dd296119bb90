/* Collectives of XLA as its own texts and messages describe them: what they are, their bytes, and which devices take part together.
 * In: HLO text (hlo_text.h), or HloProto (hlo_proto.h). Out: struct pp_hlo. Pure but for memory. Called by collectives.c. Rules:
 * openxla.org/xla/operation_semantics, "AllReduce" and "CollectivePermute". */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pp_hlo_kind {
	PP_HLO_NONE,
	PP_HLO_ALL_REDUCE,
	PP_HLO_ALL_GATHER,
	PP_HLO_REDUCE_SCATTER,
	PP_HLO_ALL_TO_ALL,
	PP_HLO_RAGGED_ALL_TO_ALL,
	PP_HLO_PERMUTE,
	PP_HLO_BROADCAST,
	PP_HLO_KINDS
};

enum pp_hlo_part { PP_HLO_WHOLE, PP_HLO_START, PP_HLO_DONE };

struct pp_hlo {
	uint8_t kind;        /* enum pp_hlo_kind */
	uint8_t part;        /* enum pp_hlo_part */
	uint8_t has_channel; /* and is_global: what the numbers in groups count */
	uint8_t is_global;
	uint8_t is_odd;           /* the groups are in a form that is not known */
	uint8_t is_once;          /* it runs once an execution: no other computation calls the one that has it */
	uint64_t result, operand; /* bytes of a device; 0: unknown */
	uint32_t *member;         /* group behind group */
	uint32_t *end;            /* [groups] of the members of each group */
	uint32_t groups;          /* 0: all devices are one group */
};

struct pp_hlo_devices {                /* on which a module runs */
	uint32_t replicas, partitions; /* 0: unknown */
	int64_t *id;                   /* [replicas * partitions], partitions of a replica together; NULL: unknown */
};

struct pp_hlo_group {
	uint32_t devices; /* that take part; 0: unknown */
	int is_known;     /* which group it is */
	uint64_t key;     /* equal for all devices of the group, and no other */
	char text[48];    /* "{0,2}"; "": there is only one */
};

/* What a name such as "all-reduce-start" says; kind NONE: it is no collective. */
void pp_hlo_opcode(const char *opcode, size_t length, struct pp_hlo *h);
/* Frees what it owns, and only that. */
void pp_hlo_release(struct pp_hlo *h);
/* Bytes of the device that sends or receives most, in a group of so many; 0: unknown. */
uint64_t pp_hlo_bytes(const struct pp_hlo *h, uint32_t devices);
/* The group of a device by its id (-1: unknown). 0: the device takes no part. */
int pp_hlo_group_of(const struct pp_hlo *h, const struct pp_hlo_devices *d, int64_t device, struct pp_hlo_group *ret_group);

/* -- for readers of texts and messages */

/* Groups of one size. -ENOMEM; -EINVAL: nonsense. */
int pp_hlo_put_iota(struct pp_hlo *h, const uint64_t *shape, size_t dims, const uint64_t *permutation, uint64_t groups,
                    uint64_t each);
/* Adds a member to the last group, after a group was begun. -ENOMEM. */
int pp_hlo_put_group(struct pp_hlo *h);
int pp_hlo_put_member(struct pp_hlo *h, uint64_t member);
/* Makes groups of pairs, which were put as groups of two: those that a chain of pairs ties. -ENOMEM. */
int pp_hlo_join_pairs(struct pp_hlo *h);
