/* What this process is; see self.h. Filled by collector.c. */
#include "core/coord/self.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/line.h"
#include "core/base/plain.h"
#include "core/coord/control.h"

struct pp_self pp_self;

const char *pp_self_spool(void)
{
	return pp_self.spool;
}

const struct pp_control *pp_self_control(void)
{
	int foreign = 0;

	if (!pp_self.control)
		pp_self.control = pp_control_map(pp_self.spool, &foreign);
	return pp_self.control;
}

int pp_self_has_keeper(void)
{
	const struct pp_control *c = pp_self.control;

	return !c || (!pp_control_is_final(c) && pp_control_keeper_lives(c));
}

int pp_self_is_forked(void)
{
	if (!pp_self.birth)
		pp_self.birth = getpid(); /* a source was called before the constructor */
	return pp_self.birth != getpid();
}

void pp_self_print(const char *text)
{
	char line[640];
	int n;

	if (pp_self.claim.rank != 0 && !pp_self.is_speaker)
		return;
	n = snprintf(line, sizeof(line), "podprof: %s\n", text);
	if (n >= (int)sizeof(line))
		n = sizeof(line) - 1;
	pp_plain(line, "");
	line[n - 1] = '\n';
	pp_line_write(line, (size_t)n);
}
