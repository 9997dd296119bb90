/* Reads loaded objects as the dynamic linker holds them: segments, relocations, the libraries that they need. */
#pragma once

#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct pp_loaded {
	uintptr_t base, first, end;
	uintptr_t relro, relro_end;
	const Elf64_Sym *symbols;
	const char *strings, *soname; /* soname NULL: none */
	const Elf64_Rela *rela, *plt;
	size_t rela_count, plt_count;
	int calls_mpi; /* it needs a library libmpi* */
};

/* 0: it has no dynamic section. */
int pp_loaded_read(const struct dl_phdr_info *info, struct pp_loaded *ret);
/* Path of a loaded MPI library, by its SONAME. 0: there is none. */
int pp_loaded_library(char *ret_path, size_t size);
/* Does a loaded object need an MPI library? */
int pp_loaded_mpi(void);
