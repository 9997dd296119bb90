/* What ranks do, in words and in classes: kinds of operations, sizes of groups. In: uses, one per rank and kind of operation, in
 * the order of key and rank. Out: texts of /role. Called by role.c. */
#pragma once

#include "aggregate/dataset/dataset.h"

struct pp_use { /* of one kind of operation by one rank */
	uint64_t key;
	double per_step, bytes; /* mean of one */
	double share;           /* of its steps, those with one */
	int64_t step;           /* the last one */
	uint32_t worker;        /* index */
	uint32_t count_class, bytes_class;
};

/* Sizes of communicators: those that differ by a quarter or one rank are one class, for groups of 3, 3 and 4. */
struct pp_group_sizes {
	struct pp_group_size {
		int32_t size, low; /* low: the least of its class */
	} * size;
	size_t sizes, room;
};

int pp_group_sizes_add(struct pp_group_sizes *g, int32_t size);
void pp_group_sizes_sort(struct pp_group_sizes *g);
int32_t pp_group_low(const struct pp_group_sizes *g, int32_t size);

/* Messages first, then by operation. */
uint64_t pp_use_key(uint16_t operation, int is_message, int is_sender, int32_t low);

enum pp_role_word { PP_ROLE_BY_CALLS, PP_ROLE_SAME, PP_ROLE_ALL_DIFFER, PP_ROLE_NOTHING };

enum pp_role_end { PP_ROLE_END_NONE, PP_ROLE_END_FIRST, PP_ROLE_END_LAST }; /* of a pipeline */

enum { PP_ROLE_KINDS = 64 }; /* kinds of operations that texts look at */

struct pp_role_words {
	const struct pp_dataset *in;
	const struct pp_use *use;
	size_t uses;
	const int32_t *role; /* [workers] */
	const uint8_t *end;  /* [workers] enum pp_role_end */
	const struct pp_group_sizes *sizes;
	enum pp_role_word word;
	struct pp_role_kind { /* set by pp_role_words_init(), and the next two */
		size_t first, uses;
		uint8_t is_common; /* all ranks do the same */
	} kind[PP_ROLE_KINDS];
	size_t kinds, more; /* more: kinds without room */
};

void pp_role_words_init(struct pp_role_words *k);

/* What the ranks of a role have in common and others have not; worker: index of one of them. */
void pp_role_why(const struct pp_role_words *k, size_t worker, char *to, size_t size);
/* Ranks of each role as "0-3, 8", and how many they are. */
void pp_role_ranks(const struct pp_dataset *in, const int32_t *role, struct pp_row_role *row, size_t roles);
