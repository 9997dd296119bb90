/* Reads small files of /proc and /sys as text; collector and keeper. No allocation, any thread, errno may change. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Up to size - 1 bytes of a file, terminated; number of bytes, or -errno (text is then ""). */
long pp_proc_read(const char *path, char *text, size_t size);
/* Which boot of the kernel this is; "": unknown. */
void pp_proc_boot_id(char *text, size_t size);
/* Offsets of this process's time namespace, "monotonic 0 0 boottime 0 0": as the kernel writes them, blanks folded; "" where it has
 * no time namespaces. */
void pp_proc_timens(char *text, size_t size);
/* Field 22 of /proc/PID/stat; 0 where there is no such process. */
uint64_t pp_proc_start_time(int pid);
/* How long this process has run at most, in ns since its fork, time asleep included; 0: unknown. */
int64_t pp_proc_age_ns(void);
/* Pid of the parent; 0: no such process, or it has no parent. */
int pp_proc_parent(int pid);
/* 1: it has ended, but its parent has not waited for it. */
int pp_proc_is_zombie(int pid);
/* Bytes of this host's memory that programs can still have; 0: unknown. */
uint64_t pp_proc_memory_free(void);
/* Identifies the pid namespace: pids of two namespaces are not comparable. 0: unknown. */
#define PP_PID_SPACE_FIRST 0xeffffffcu /* of the initial namespace */
uint32_t pp_proc_pid_space(void);
