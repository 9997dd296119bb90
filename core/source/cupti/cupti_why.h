/* What an error of CUPTI means and what to do, in one sentence that fits a remark. Pure. Used by
 * cupti_session.c. */
#pragma once

/* A word for the cause, "not enough privileges"; for unknown codes "error N". Static text, or `buffer` of >= 16 bytes. */
const char *pp_cupti_why(int result, char *buffer);
/* What the user does about it; never empty. */
const char *pp_cupti_fix(int result);
