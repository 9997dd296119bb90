/* Which kernels of a rank communicate, beyond what their names tell: what a communicating operator launches does. In: a rank whose
 * kernels have their operators. Out: activities of spans, a remark. Called by readers of rings, XSpace and Kineto files. */
#pragma once

struct pp_intern;
struct pp_rank;

/* A user's rule for the name of a kernel, copy or set decides first. A kernel with such an operator is COLLECTIVE, if its name does
 * not say that it computes; UNSURE, if it uses tensor cores too.
 * Sets pp_span_device.by, where the reader has not. Remarks the longest kernel of those that stay UNSURE. 0, or -ENOMEM. */
int pp_communication_find(struct pp_rank *rank, const struct pp_intern *names);
