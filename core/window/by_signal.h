/* A signal that asks for a capture. In: the name of --signal. Out: a count in the ring's header, which the keeper looks at. */
#pragma once

/* At the claim. Only where the signal does what it does by default: never over a handler of the application, whose own, put there
 * later, takes the signal from us. `name`: "" none. */
void pp_by_signal_start(const char *name);
