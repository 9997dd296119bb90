/* Names of C++ as a compiler writes them into libraries, in the words of the source. In: the name of a kernel as CUPTI gives it.
 * Out: its text. Pure, any thread. Called by readers of rings, XSpace and Kineto files, once per distinct name.
 *
 * Not __cxa_demangle() of the C++ library: its text may be 2^n times as long as the name, and takes as long to write (a name of
 * 250 bytes: 570 MB, 19 s), which a file of anybody may hold. It also refuses some kernels of CUTLASS, and a host may lack it.
 * Texts equal those for what libraries of kernels have: tests/unit/aggregate/read/demangle_test.c holds them against it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_intern;

enum { PP_DEMANGLED = 1024 };

/* Writes the text, terminated; its length, or 0: it is no such name, and stays as it is. What is too long is cut in template
 * arguments, "kernel<...>(int)". A name that cannot be read gets its leading part, "cutlass::device_kernel<...>". Both end in a
 * hash of the whole name, so that two kernels remain two. */
size_t pp_demangle(const char *name, size_t length, char text[PP_DEMANGLED]);

/* Texts by pp_intern id. All 0: empty. One thread. */
struct pp_kernel_texts {
	uint32_t *text; /* id + 1; 0: not yet */
	uint32_t room;
};

/* Id of the text of the name with this id, which is the same one where the name stays. */
uint32_t pp_kernel_text(struct pp_kernel_texts *texts, struct pp_intern *names, uint32_t id);
/* Frees the ids; empty then. */
void pp_kernel_texts_release(struct pp_kernel_texts *texts);
