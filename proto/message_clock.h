/* What message.c and message_clock.c share; nobody else includes it. */
#ifndef PP_PROTO_MESSAGE_CLOCK_H
#define PP_PROTO_MESSAGE_CLOCK_H

#include "proto/message.h"
#include "proto/podprof.pb-c.h"

#define TEXT(text) ((char *)(uintptr_t)((text) ? (text) : "")) /* NULL is written as "" */

void pp_wire_fill_compare(Podprof__Compare *c, const struct pp_wire_compare *from);
void pp_wire_fill_clock(Podprof__Clock *c, const struct pp_wire_told *from);
struct pp_wire_compare pp_wire_take_compare(const Podprof__Compare *c);
struct pp_wire_told pp_wire_take_clock(const Podprof__Clock *c);
/* NULL: all is well. */
const char *pp_wire_clock_fault(const struct pp_wire *m);

#endif
