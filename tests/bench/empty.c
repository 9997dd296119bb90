/* A library that does nothing: what preloading one costs in itself, for run.py. */
void bench_empty(void);

void bench_empty(void)
{
}
