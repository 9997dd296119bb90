/* The list of readers; see reader.h. Called by pair.c, cut.c and finish.c. */
#include "aggregate/read/ring/reader.h"

#define PP_READER(number, symbol) extern const struct pp_reader_ops pp_reader_##symbol;
#include "aggregate/read/ring/reader_list.def"
#undef PP_READER

const struct pp_reader_ops *const pp_reader_list[PP_READERS] = {
#define PP_READER(number, symbol) [PP_READER_##number] = &pp_reader_##symbol,
#include "aggregate/read/ring/reader_list.def"
#undef PP_READER
};
