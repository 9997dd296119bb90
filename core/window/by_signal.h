/* A signal that requests a capture. In: the name of --signal. Out: a count in the ring's header, which the keeper reads. */
#pragma once

/* At the claim. Takes the signal only where its action is the default, so never from the application; a handler that the
 * application installs later replaces ours. `name`: "" none. */
void pp_by_signal_start(const char *name);
