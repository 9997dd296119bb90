/* What `--json` prints of a session, whichever verb made it. */
#pragma once

/* Prints the verdict and ranks of the session in that directory as one object. 0, or an exit code after one error line. */
int pp_brief_print(const char *directory);
