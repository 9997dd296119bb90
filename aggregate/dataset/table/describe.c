/* Descriptions of the tables of pp_dataset, for code that handles any table. */
#include "aggregate/dataset/table/describe.h"
