/* What limits a job, a code of /finding. Append only. */
#pragma once

enum pp_finding_kind {
	PP_FINDING_PERSISTENT,   /* ranks are late in the usual steps */
	PP_FINDING_SUDDEN,       /* from a step on */
	PP_FINDING_GROWING,      /* more from step to step */
	PP_FINDING_PHASE,        /* work of ranks that call what no other rank calls: a serial part */
	PP_FINDING_NOISE,        /* a rank that was ready to work, and had no core */
	PP_FINDING_ROTATING,     /* other ranks are late in other steps */
	PP_FINDING_LINK,         /* a slow link: no rank is late by itself */
	PP_FINDING_PERIODIC,     /* steps that take longer than usual, at equal distances */
	PP_FINDING_ONE_OFF,      /* one such step */
	PP_FINDING_IRREGULAR,    /* several */
	PP_FINDING_START_UP,     /* the first steps */
	PP_FINDING_INPUT,        /* on all ranks */
	PP_FINDING_OUTPUT,       /* on all ranks */
	PP_FINDING_UNSPLIT,      /* communication that is neither known to wait nor to transfer */
	PP_FINDING_NOT_RECORDED, /* MPI ran, and no call was recorded */
	PP_FINDING_CATEGORY,     /* nothing of these: the largest part of the step */
	PP_FINDING_PROGRESS,     /* ranks whose work keeps operations waiting that they have begun already */
	PP_FINDING_KINDS
};

/* The code's words in a file, in order. */
#define PP_FINDING_WORDS                                                                                                           \
	"persistent sudden growing phase noise rotating link periodic one_off irregular start_up input output unsplit "            \
	"not_recorded category late_progress"
