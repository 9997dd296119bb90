/* Where a rank is in the dimensions of its job, as the job itself has named them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pp_dataset;

/* "pp 1": the coordinates that all chosen workers have in common; "": none. chosen: [workers]. */
void pp_coordinates_common(const struct pp_dataset *d, const uint8_t *chosen, char *text, size_t size);
