/* golden_own.h: the vectors of test/golden/own, the values of the two headers among them as the engine's structs, and a directory to write
 * in. What the vectors are of is in generate.py beside them. */
#ifndef GOLDEN_OWN_H
#define GOLDEN_OWN_H

#include "member/member.h"

#define OWN_PREFIX     "ckpt_1.h5."
#define OWN_DATA       "ckpt_1.h5"
#define OWN_DESCRIPTOR OWN_PREFIX "1.redset"
#define OWN_REDUNDANCY OWN_PREFIX "1.xor.grp_1_of_1.mem_2_of_3.redset"
#define OWN_ONE_RANK   "one.h5.0.single.grp_1_of_1.mem_1_of_1.redset"

enum { OWN_SIZE = 6000, OWN_CHUNK = 3000, OWN_HEADER = 4096 };

/* Generations, oldest first; own_at_first: that of the next journal before it belonged to a commit. */
#define OWN_OLDEST     UINT64_C(0x10cc0ffee01)
#define OWN_OLDER      UINT64_C(0x20000beef03)
#define OWN_GENERATION UINT64_C(0x3ab12cd34ef)
#define OWN_AT_FIRST   UINT64_C(0x46070809001)
#define OWN_NEXT       UINT64_C(0x41020304051)
#define OWN_SINCE      (UINT64_C(200000000000) << 22 | 0x2aaaab)
#define OWN_OF_ONE     (UINT64_C(200000000777) << 22 | 0x155555)
#define OWN_TIME       UINT64_C(1790000000)

/* Its bytes; freed with free(). */
uint8_t *own_vector(const char *name, size_t *n_out);
void     assert_is_own_vector(const uint8_t *bytes, size_t n, const char *name);

/* Bytes of the data file of a rank of the set; 3: of the file of one rank. */
void own_content(int rank, uint64_t off, uint8_t *to, size_t n);

/* The payload of rank 1 of the set, which the update changes at OWN_CHANGED_AT. */
enum { OWN_CHANGED_AT = 100, OWN_CHANGED = 16 };
void own_payload(uint8_t to[OWN_CHUNK], bool changed);

rset_desc   own_desc(int rank, uint64_t generation);
rset_header own_header_of_set(uint64_t generation, uint64_t time, bool changed);
rset_header own_header_of_one_rank(void);

void assert_same_own_desc(const rset_desc *a, const rset_desc *b);
void assert_same_own_header(const rset_header *a, const rset_header *b);

/* ---- a directory to write in ---- */

typedef struct own_place {
    char         *base;
    rset_dir     *dir;
    rset_local    local; /* of the data file of rank 1 */
    rset_evidence ev;
    rset_err      err;
} own_place;

/* What the engine takes for the boot: that of the vectors, until a test changes it. */
extern uint64_t own_boot;

/* For cmocka: *state is a new place. */
int own_set_up(void **state);
int own_tear_down(void **state);
#define OWN_TEST(name) cmocka_unit_test_setup_teardown(name, own_set_up, own_tear_down)

/* Fails with p->err. */
void own_must(own_place *p, rset_status st);

/* Puts the vector "<of>/<name>" into the directory; and is the file of that name there the vector? */
void own_put(const own_place *p, const char *of, const char *name);
void assert_own_wrote(const own_place *p, const char *of, const char *name);

/* Puts so many bytes of the data file of rank 1 there. */
void own_put_data(const own_place *p, size_t size);
/* Puts the data file there with all that protects it, and surveys it. */
void own_put_set(own_place *p);

#endif
