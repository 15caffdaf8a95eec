/* soak_random.c: see soak_random.h. */
#include "soak_random.h"

#include <stdlib.h>

static uint64_t state;

void
soak_random_begin(uint64_t seed, uint64_t number)
{
    state = seed * UINT64_C(0x9e3779b97f4a7c15) ^ number * UINT64_C(0xd1b54a32d192ed03);
}

uint64_t
soak_random(uint64_t below)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

bool
soak_chance(int percent)
{
    return soak_random(100) < (uint64_t)percent;
}

int
soak_pick(const int *weights, int n)
{
    uint64_t sum = 0, at;
    int      i = 0;

    for (int k = 0; k < n; k++)
        sum += (uint64_t)weights[k];
    for (at = soak_random(sum); at >= (uint64_t)weights[i]; i++)
        at -= (uint64_t)weights[i];
    return i;
}

uint64_t
soak_setting(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);

    return value != NULL ? strtoull(value, NULL, 10) : otherwise;
}
