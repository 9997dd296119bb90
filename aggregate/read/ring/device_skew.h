/* How far a device's clock is off the host's, as far as order proves it: nothing runs before its launch begins, and a call that
 * waits ends after what it waited for. In: pairs of such times. Out: bounds of what must be added to the device's times.
 * Internal to aggregate/read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_rank;

/* The row of pp_rank.skew, from row `from` on, of that device (number + 1), made where it is new; NULL: no memory. */
struct pp_device_skew *pp_device_skew_of(struct pp_rank *rank, size_t from, uint32_t device);
/* What began on the device then was launched by a call that began `call`. */
void pp_device_skew_launched(struct pp_device_skew *s, int64_t call, int64_t began);
/* What ended on the device then was waited for by a call that ended `call`. */
void pp_device_skew_waited(struct pp_device_skew *s, int64_t call, int64_t ended);
/* What to add to the device's times: the least that order allows. 0 where nothing does, too: *ret_usable 0. */
int64_t pp_device_skew_shift(const struct pp_device_skew *s, int *ret_usable);
