/* What clock_exchange.c (the child) and clock_round.c (the parent) share; nobody else includes it. */
#ifndef PP_KEEPER_CLOCK_PRIVATE_H
#define PP_KEEPER_CLOCK_PRIVATE_H

#include "aggregate/keeper/clock/clock_exchange.h"

int64_t pp_clock_ns_of(const struct pp_clock_exchange *x, int64_t tick);
void pp_clock_say(struct pp_clock_exchange *x, struct pp_clock_packet *p, uint32_t to);

int pp_clock_round_init(struct pp_clock_exchange *x, const struct pp_clock_exchange_options *o, struct pp_err *err);
void pp_clock_round_start(struct pp_clock_exchange *x, uint64_t sync);
void pp_clock_round_packet(struct pp_clock_exchange *x, const struct pp_clock_packet *p, int64_t tick);
void pp_clock_round_due(struct pp_clock_exchange *x, int64_t now_ns);
int64_t pp_clock_round_next_ns(const struct pp_clock_exchange *x);

#endif
