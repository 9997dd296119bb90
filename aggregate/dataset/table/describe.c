/* Descriptions of the tables of pp_dataset. Called by all who take any table. */
#include "aggregate/dataset/table/describe.h"
