/* Defines what libzmq's archive references and no library here has. The linker takes it from here, see cmake/podprofNet.cmake:
 * one function for multicast (PGM, NORM) and Kerberos, cmake/zmq_left_out.list, and three that only newer libcs have. */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

int pp_net_left_out(void);
size_t pp_net_copy_text(char *to, const char *from, size_t size);
uint32_t pp_net_random(void);
int pp_net_find_object(void *address, void *result);

/* 1: libzmq starts PGM even unused, and requires success. */
int pp_net_left_out(void)
{
	return 1;
}

/* strlcpy() */
size_t pp_net_copy_text(char *to, const char *from, size_t size)
{
	size_t n = strlen(from), room = n < size ? n : size ? size - 1 : 0;

	if (size) {
		memcpy(to, from, room);
		to[room] = '\0';
	}
	return n;
}

/* arc4random(), of glibc 2.36: for std::random_device, which nothing here uses. */
uint32_t pp_net_random(void)
{
	uint32_t value = 0;

	return getrandom(&value, sizeof(value), 0) == sizeof(value) ? value : 0;
}

#ifdef DLFO_EH_SEGMENT_TYPE
struct search {
	uintptr_t address;
	struct dl_find_object *found;
};

static int is_it(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Phdr) *frames = NULL, *holds = NULL;
	struct search *s = data;

	(void)size;
	for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && s->address - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			holds = p;
		else if (p->p_type == DLFO_EH_SEGMENT_TYPE)
			frames = p;
	}
	if (!holds)
		return 0;
	if (!frames)
		return -1;
	s->found->dlfo_map_start = (void *)(info->dlpi_addr + holds->p_vaddr);
	s->found->dlfo_map_end = (void *)(info->dlpi_addr + holds->p_vaddr + holds->p_memsz);
	s->found->dlfo_eh_frame = (void *)(info->dlpi_addr + frames->p_vaddr);
	return 1;
}
#endif

/* _dl_find_object(), of glibc 2.35, from functions that every libc has: libgcc finds the frames of an exception by it. */
int pp_net_find_object(void *address, void *result)
{
#ifdef DLFO_EH_SEGMENT_TYPE
	struct search s = {(uintptr_t)address, result};

	return dl_iterate_phdr(is_it, &s) == 1 ? 0 : -1;
#else
	(void)address;
	(void)result;
	return -1;
#endif
}
