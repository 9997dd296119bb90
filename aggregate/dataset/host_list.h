/* Lists of hosts as Slurm writes them: "gpu[001-004,007],login1". In: names. Out: text, and names again. Pure, any thread. */
#pragma once

#include <stddef.h>

enum { PP_HOST_LIST_MOST = 65536, PP_HOST_LIST_NAME = 72 };

/* Sorts names in place, as a list has them: returns how many differ, which then come first. Bytes that no host's name has become
 * '?'. */
size_t pp_host_list_sort(char (*name)[PP_HOST_LIST_NAME], size_t names);
/* Appends names, in the order of ret_text, to `text` of `size` bytes. The names are sorted as by
 * pp_host_list_sort(). Returns how many did not fit. */
size_t pp_host_list_write(char (*name)[PP_HOST_LIST_NAME], size_t names, char *text, size_t size);
/* Calls `take` for each name. Its first value that is not 0 ends it and is returned; -EINVAL: the text is no such list, or has more
 * than PP_HOST_LIST_MOST names. */
int pp_host_list_read(const char *text, int (*take)(const char *name, void *context), void *context);
