/* What a kind of finding means for those that print it. Pure. */
#pragma once

struct pp_row_finding;

/* 1: it names ranks as the cause: they are late in usual steps. */
int pp_finding_names_ranks(const struct pp_row_finding *f);
/* How the sentence of a job ends whose ranks are known not to wait for each other. */
#define PP_FINDING_NO_WAIT "No rank waits long for another one"
/* The kind as a word for scripts: "persistent". */
const char *pp_finding_word(int kind);
