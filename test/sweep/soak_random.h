/* soak_random.h: the numbers that a trial of the soak is made of: the same seed, the same trial. */
#ifndef SOAK_RANDOM_H
#define SOAK_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

void     soak_random_begin(uint64_t seed, uint64_t trial);
uint64_t soak_random(uint64_t below); /* 0 <= n < below */
bool     soak_chance(int percent);
/* One of n weights that sum up to anything. */
int soak_pick(const int *weights, int n);

/* A number from the environment. */
uint64_t soak_setting(const char *name, uint64_t otherwise);

#endif
