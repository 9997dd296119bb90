/* What nothing recorded shows is unknown, not 0. In: a dataset whose waiting is complete. Out: its cells, and other rows. Pure. */
#pragma once

struct pp_dataset;

/* Sets wait_ns, transfer_ns and late_ns of cells to PP_UNKNOWN where nothing tells them: a cell that is absent, or has
 * communication of which no part is split into wait and transfer; all cells, where several ranks show no communication at all. */
void pp_dataset_mark_unseen(struct pp_dataset *d);
/* Does anything in the steps show how ranks communicate? */
int pp_dataset_sees_communication(const struct pp_dataset *d);

/* Sets other measured quantities to PP_UNKNOWN that no source gave, last: until then they are 0, so that they can be added up. */
void pp_dataset_mark_unmeasured(struct pp_dataset *d);
