/* replay.c: main for a fuzz target where there is no libFuzzer: runs the target once over each file named,
 * and over all files of directories named. */
#include "image.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

/* What targets with a mutator of their own want from libFuzzer. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

size_t
LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    (void)data, (void)max;
    return size;
}

int
main(int argc, char **argv)
{
    unsigned long inputs = 0;

    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        image all = image_take(argv[i]);

        for (size_t f = 0; f < all.n; f++, inputs++)
            LLVMFuzzerTestOneInput(all.at[f].data, all.at[f].size);
        image_free(&all);
    }
    printf("%lu inputs\n", inputs);
    return inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
