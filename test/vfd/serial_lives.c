/* serial_lives.c: see lives.h; without MPI. $LIVES_RANK is the rank whose file it takes for its own. */
#include "lives.h"

int
main(int argc, char **argv)
{
    const char *own = getenv("LIVES_RANK");

    rank = own != NULL ? atoi(own) : 0;
    return begin_lives(argc, argv) ? run_words(argv + 3) : 1;
}
