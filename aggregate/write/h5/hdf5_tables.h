/* Tables of pod.h5: collective, channel, communicator, quality. Called by hdf5.c. */
#pragma once

#include "aggregate/dataset/dataset.h"
#include "aggregate/write/h5/hdf5_file.h"

/* A group whose table would be empty is absent, and quality says why. */
void pp_h5_write_tables(struct pp_h5 *h, const struct pp_dataset *d);

/* /clock; hdf5_clock.c */
void pp_h5_write_clock(struct pp_h5 *h, const struct pp_dataset *d);
