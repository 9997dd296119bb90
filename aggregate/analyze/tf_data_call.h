/* Calls of tf.data's iterators on a rank, and which call made the elements of which: by nesting on a thread, and between threads by
 * the elements that one made and the other took. In: a rank's spans. Out: calls as trees. Called by tf_data.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_capture;

struct pp_tf_call { /* of an iterator */
	int64_t begin, end;
	int64_t self_ns;      /* duration less that in which a call below works */
	uint32_t iterator;    /* index in pp_rank.iterator */
	uint32_t child, next; /* index + 1: the first call below, and the next below the same; 0: none */
	uint8_t is_root;      /* the program called it */
	uint8_t is_below;     /* one other call has it below: calls below roots are trees */
};

struct pp_tf_calls {
	struct pp_tf_call *call; /* by thread, then by begin */
	size_t calls, room;
	uint32_t *parent; /* [pp_rank.iterators] index + 1 of the iterator that takes its elements; 0: unknown */
	uint64_t without_id, cut, unused, unmade, empty; /* as the columns of /tf_data_left_out say */
};

/* All of a rank. of_name: [names of the capture] enum pp_tf_event. 0, or -ENOMEM: release it then, too. */
int pp_tf_calls_find(const struct pp_capture *c, size_t rank, const uint8_t *of_name, struct pp_tf_calls *to);
void pp_tf_calls_release(struct pp_tf_calls *c);
