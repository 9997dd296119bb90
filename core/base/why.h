/* The reason of an error number for a sentence. Called by launchers and the keeper; not in the collector. */
#pragma once

/* strerror() with a small first letter, for use in a sentence. Static buffer of the caller's thread. */
const char *pp_why(int error);
