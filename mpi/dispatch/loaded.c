/* Reads the tables of loaded objects; see loaded.h. Called by the dispatcher and by mpi/pmpi_later.c. */
#include "mpi/dispatch/loaded.h"

#include <string.h>

/* Some dynamic linkers leave offsets in place, others put addresses there. */
static const void *address(const struct pp_loaded *o, Elf64_Addr at)
{
	return (const void *)(at < o->base ? o->base + at : at);
}

static void read_dynamic(struct pp_loaded *o, const Elf64_Dyn *dynamic)
{
	size_t rela_bytes = 0, plt_bytes = 0;
	int plt_is_rela = 0;

	for (const Elf64_Dyn *d = dynamic; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			o->symbols = address(o, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			o->strings = address(o, d->d_un.d_ptr);
			break;
		case DT_RELA:
			o->rela = address(o, d->d_un.d_ptr);
			break;
		case DT_RELASZ:
			rela_bytes = d->d_un.d_val;
			break;
		case DT_JMPREL:
			o->plt = address(o, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			plt_bytes = d->d_un.d_val;
			break;
		case DT_PLTREL:
			plt_is_rela = d->d_un.d_val == DT_RELA;
			break;
		default:
			break;
		}
	}
	for (const Elf64_Dyn *d = dynamic; o->strings && d->d_tag != DT_NULL; d++) {
		o->calls_mpi |= d->d_tag == DT_NEEDED && !strncmp(o->strings + d->d_un.d_val, "libmpi", 6);
		if (d->d_tag == DT_SONAME)
			o->soname = o->strings + d->d_un.d_val;
	}
	o->rela_count = o->rela ? rela_bytes / sizeof *o->rela : 0;
	o->plt_count = o->plt && plt_is_rela ? plt_bytes / sizeof *o->plt : 0;
}

int pp_loaded_read(const struct dl_phdr_info *info, struct pp_loaded *ret)
{
	struct pp_loaded o = {.base = info->dlpi_addr, .first = UINTPTR_MAX};
	const Elf64_Dyn *dynamic = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &info->dlpi_phdr[i];
		uintptr_t first = o.base + p->p_vaddr, end = first + p->p_memsz;

		if (p->p_type == PT_LOAD) {
			o.first = first < o.first ? first : o.first;
			o.end = end > o.end ? end : o.end;
		} else if (p->p_type == PT_DYNAMIC) {
			dynamic = (const Elf64_Dyn *)first;
		} else if (p->p_type == PT_GNU_RELRO) {
			o.relro = first;
			o.relro_end = end;
		}
	}
	if (dynamic)
		read_dynamic(&o, dynamic);
	*ret = o;
	return dynamic != NULL;
}

static int is_mpi_program(struct dl_phdr_info *info, size_t size, void *data)
{
	struct pp_loaded o;

	(void)size;
	(void)data;
	return pp_loaded_read(info, &o) && o.calls_mpi;
}

int pp_loaded_mpi(void)
{
	return dl_iterate_phdr(is_mpi_program, NULL);
}

struct search {
	char *path;
	size_t size;
};

static int is_library(struct dl_phdr_info *info, size_t size, void *data)
{
	static const char *const begins[] = {"libmpi.", "libmpi_", "libmpich"};
	struct search *s = data;
	struct pp_loaded o;

	(void)size;
	if (!pp_loaded_read(info, &o) || !o.soname || strlen(info->dlpi_name) >= s->size)
		return 0;
	for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
		if (!strncmp(o.soname, begins[i], strlen(begins[i]))) {
			memcpy(s->path, info->dlpi_name, strlen(info->dlpi_name) + 1);
			return 1;
		}
	}
	return 0;
}

/* Of several, as libmpi_mpifh.so and libmpi.so, any serves: a look-up goes through the libraries that it needs. */
/* NOLINTNEXTLINE(readability-non-const-parameter): is_library() writes to it */
int pp_loaded_library(char *ret_path, size_t size)
{
	struct search s = {ret_path, size};

	return dl_iterate_phdr(is_library, &s);
}
