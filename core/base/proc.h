/* Small files of /proc and /sys as text; guest and keeper. No allocation, any thread, errno may change. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Up to size - 1 bytes of a file, terminated; number of bytes, or -errno (text is then ""). */
long pp_proc_read(const char *path, char *text, size_t size);
/* Field 22 of /proc/PID/stat; 0 where there is no such process. */
uint64_t pp_proc_start_time(int pid);
/* 0: there is no such process, or nobody's child. */
int pp_proc_parent(int pid);
/* 1: it has ended, but whoever is to take note of that has not. */
int pp_proc_is_zombie(int pid);
/* Number of the pid namespace: pids of two are not to be compared. 0: unknown. */
#define PP_PID_SPACE_FIRST 0xeffffffcu /* of the kernel's first one */
uint32_t pp_proc_pid_space(void);
