/* Which collective each of a framework's annotations is of. In: a rank's calls, by begin. Out: their annotations and groups.
 * Internal to aggregate/read. */
#pragma once

#include "aggregate/read/torch/c10d_private.h"

/* A group whose sequence numbers go back was made again under its old name: its second life becomes a group of its own, in
 * rank->comm too. Uses the order of records, which does not depend on clocks. -ENOMEM: some are parted. */
int c10d_part(struct c10d *c);
/* Sets call[].annotation, and call[].operation by it. Sorts rank->annotation, which call[] then points into. */
void c10d_annotate(struct c10d *c);
