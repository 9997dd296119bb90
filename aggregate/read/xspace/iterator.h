/* Calls of tf.data's iterators: the number that ties them, and what the first call says of its iterator. Called by host.c. */
#pragma once

#include "aggregate/read/xspace/event.h"

/* Gives the span of a call its iterator's number as payload, and that of an element that is made or taken ahead the element's. Adds
 * iterators to the rank. */
void pp_xiterator_take(struct pp_xread *x, struct pp_xplane *p, const struct pp_field *event, const struct pp_xmeta *m,
                       const struct pp_xevent *e, struct pp_span *s);
