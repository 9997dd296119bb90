/* The launcher's own key-value store, by its libpmix: how processes under mpirun or srun meet that are no MPI programs and share no
 * directory. Called by doctor_clock_rendezvous.c. Loaded at run time; absent where the library or the launcher's server is.
 * Every rank of a job has to open and close it, once one does: Open MPI ends a job of which some ranks did not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_pmix;

/* NULL: not under such a launcher, or no library. May take as long as the launcher's server does: the caller has a deadline. */
struct pp_pmix *pp_pmix_open(void);
void pp_pmix_close(struct pp_pmix *p);
/* Our own text under a name; 0 or -EIO. */
int pp_pmix_put(struct pp_pmix *p, const char *key, const char *text);
/* What another rank has put, within end_ms (pp_now_ms()); 0, or -ETIMEDOUT. */
int pp_pmix_get(struct pp_pmix *p, uint32_t rank, const char *key, int64_t end_ms, char *ret_text, size_t size);
/* The host that the launcher has put a rank on; 0, or -ENOENT. */
int pp_pmix_host(struct pp_pmix *p, uint32_t rank, char *ret_name, size_t size);
