/* Which writers exist. Called by aggregate/keeper/session. */
#include "aggregate/write/writer.h"

#include <stddef.h>

#define PP_WRITER(symbol) extern const struct pp_writer_ops symbol;
#include "aggregate/write/writer_list.def"
#undef PP_WRITER

const struct pp_writer_ops *const pp_writer_list[] = {
#define PP_WRITER(symbol) &symbol,
#include "aggregate/write/writer_list.def"
#undef PP_WRITER
        NULL,
};
