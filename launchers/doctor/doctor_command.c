/* Runs a command for its first line; see doctor_command.h. */
#include "launchers/doctor/doctor_command.h"

#include <stdio.h>
#include <string.h>

int pp_doctor_line(const char *command, char *ret_line, size_t size)
{
	char rest[512];
	/* NOLINTNEXTLINE(cert-env33-c): fixed texts, looked up in PATH as the user of doctor would have them */
	FILE *f = popen(command, "re");

	*ret_line = '\0';
	if (!f)
		return -1;
	if (fgets(ret_line, (int)size, f))
		ret_line[strcspn(ret_line, "\n")] = '\0';
	while (fgets(rest, sizeof(rest), f))
		;
	return pclose(f) || !*ret_line ? -1 : 0;
}
