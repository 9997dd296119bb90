/* Pages of podprof's files on a disk that fails, in the application's process: they become memory of its own, in place of SIGBUS,
 * which would end it. In: mappings. Out: whether pages were lost. Called by chunk_pool.c and core/coord/self.c at the claim; any
 * thread of the application may meet the fault.
 *
 * Only for files that are not in memory: tmpfs, where spools are by default, has no disk to lose. Each other SIGBUS is passed on to
 * the handler that was there, which MPI libraries and Python set, or ends the process as without podprof. */
#pragma once

#include <stddef.h>

/* Until pp_disk_fault_forget(); `fd`: of the file that is mapped there. Whether its pages are watched. */
int pp_disk_fault_guard(void *at, size_t bytes, int fd);
/* Now and then: another handler may have been set since, which ours goes before. */
void pp_disk_fault_again(void);
void pp_disk_fault_forget(const void *at);
/* Pages that were replaced so far: what was recorded since is lost. */
int pp_disk_fault_pages(void);
