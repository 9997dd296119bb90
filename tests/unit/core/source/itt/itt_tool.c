/* Another ITT collector, which podprof chains: it has handles of its own and counts its calls. Run under itt_inject_test.c. */
#include <stdlib.h>
#include <string.h>

#include "core/source/itt/itt_abi.h"

enum { FEW = 16, OURS = 0x7001 };

__attribute__((visibility("default"))) extern int itt_tool_tasks, itt_tool_counts;
int itt_tool_tasks, itt_tool_counts;
static char counter;

static struct pp_itt_domain *domain_create(const char *name)
{
	static struct pp_itt_domain domain[FEW];
	static int used;
	struct pp_itt_domain *d = &domain[used++ % FEW];

	*d = (struct pp_itt_domain){.flags = 1, .name = strdup(name), .extra1 = OURS};
	return d;
}

static struct pp_itt_string *string_handle_create(const char *text)
{
	static struct pp_itt_string string[FEW];
	static int used;
	struct pp_itt_string *s = &string[used++ % FEW];

	*s = (struct pp_itt_string){.text = strdup(text), .extra1 = OURS};
	return s;
}

static void task_begin(const struct pp_itt_domain *domain, struct pp_itt_id id, struct pp_itt_id parent,
                       const struct pp_itt_string *name)
{
	itt_tool_tasks += domain->extra1 == OURS && name->extra1 == OURS && id.d3 == 3 && parent.d1 == 4;
}

static void *counter_create(const char *name, const char *domain)
{
	(void)name, (void)domain;
	return &counter;
}

static void counter_inc(void *c)
{
	itt_tool_counts += c == &counter;
}

__attribute__((visibility("default"))) void __itt_api_init(struct pp_itt_global *g, int groups);

void __itt_api_init(struct pp_itt_global *g, int groups)
{
	static const struct {
		const char *name;
		pp_itt_function function;
	} have[] = {{"__itt_domain_create", (pp_itt_function)domain_create},
	            {"__itt_string_handle_create", (pp_itt_function)string_handle_create},
	            {"__itt_task_begin", (pp_itt_function)task_begin},
	            {"__itt_counter_create", (pp_itt_function)counter_create},
	            {"__itt_counter_inc", (pp_itt_function)counter_inc},
	            {"__itt_id_create", (pp_itt_function)domain_create}};

	(void)groups;
	for (struct pp_itt_api *a = g->api; a->name; a++)
		for (size_t i = 0; i < sizeof(have) / sizeof(have[0]); i++)
			if (!strcmp(a->name, have[i].name))
				*a->function = have[i].function;
}
