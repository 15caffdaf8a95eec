/* comm_mpi_ending.c: no thread of ours is in an MPI call when MPI_Finalize begins. See comm_mpi.h.
 *
 * The standard has the attributes of MPI_COMM_SELF deleted before MPI_Finalize does anything else (MPI 4.0, 11.2.4), and there we wait for
 * the thread that talks to other ranks in the background. MPICH from 3.4 on tells itself before that, that the process has one thread only:
 * what another one has locked stays locked, and MPI_Finalize ends the job (`pthread_mutex_destroy: Device or resource busy`).
 * So with MPICH the callers of MPI_Finalize, which find it by the tables of their modules, find a function of ours in its place. A program
 * that asks the linker for its address itself does not. */
#include "comm_mpi.h"

#include "comm_mpi_calls.h"

#ifdef OPEN_MPI

bool
rset_mpi_waits_at_end(void (*wait)(void))
{
    (void)wait;
    return true;
}

#else

#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT };
#else
enum { JUMP = -1, DATA = -1 }; /* none is found */
#endif

static void (*wait_for_threads)(void);

static int
finalize(void)
{
    wait_for_threads();
    return MPI_Finalize();
}

static int
finalize_by_other_name(void)
{
    wait_for_threads();
    return PMPI_Finalize();
}

/* The tables of one module, by which it calls functions of others. */
typedef struct module {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    uintptr_t   fixed, fixed_end; /* what the linker has made read-only */
} module;

/* The entry is written in one step: other threads may call by it meanwhile. */
static bool
replace(const module *m, void **entry, void *function)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)entry;
    void *const     start = (void *)(at & ~(page - 1));
    const bool      fixed = at >= m->fixed && at < m->fixed_end;

    if (fixed && mprotect(start, page, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(entry, function, __ATOMIC_RELEASE);
    if (fixed)
        (void)mprotect(start, page, PROT_READ);
    return true;
}

static bool
replace_in(const module *m, const ElfW(Rela) * list, size_t bytes)
{
    bool any = false;

    for (size_t i = 0; list != NULL && i < bytes / sizeof *list; i++) {
        const int   kind = (int)ELF64_R_TYPE(list[i].r_info);
        void      **entry = (void **)(m->base + list[i].r_offset);
        const char *name;

        if (kind != JUMP && kind != DATA)
            continue;
        name = m->names + m->symbols[ELF64_R_SYM(list[i].r_info)].st_name;
        if (strcmp(name, "MPI_Finalize") == 0)
            any = replace(m, entry, (void *)finalize) || any;
        else if (strcmp(name, "PMPI_Finalize") == 0)
            any = replace(m, entry, (void *)finalize_by_other_name) || any;
    }
    return any;
}

static int
look_at_module(struct dl_phdr_info *info, size_t size, void *any_out)
{
    module m = {.base = info->dlpi_addr};
    const ElfW(Dyn) *at = NULL;
    const ElfW(Rela) *jumps = NULL, *data = NULL;
    size_t njumps = 0, ndata = 0;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t start = m.base + info->dlpi_phdr[i].p_vaddr;

        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            at = (const ElfW(Dyn) *)start;
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
            m.fixed = start;
            m.fixed_end = start + info->dlpi_phdr[i].p_memsz;
        }
    }
    for (; at != NULL && at->d_tag != DT_NULL; at++)
        switch (at->d_tag) {
        case DT_SYMTAB: m.symbols = (const void *)at->d_un.d_ptr; break;
        case DT_STRTAB: m.names = (const void *)at->d_un.d_ptr; break;
        case DT_JMPREL: jumps = (const void *)at->d_un.d_ptr; break;
        case DT_PLTRELSZ: njumps = at->d_un.d_val; break;
        case DT_RELA: data = (const void *)at->d_un.d_ptr; break;
        case DT_RELASZ: ndata = at->d_un.d_val; break;
        default: break;
        }
    /* the kernel's own module has addresses that nobody has adjusted */
    if (m.symbols != NULL && m.names != NULL && (uintptr_t)m.names > m.base)
        *(bool *)any_out |= replace_in(&m, jumps, njumps) | replace_in(&m, data, ndata);
    return 0;
}

bool
rset_mpi_waits_at_end(void (*wait)(void))
{
    static bool any;

    if (wait_for_threads == NULL) {
        wait_for_threads = wait;
        (void)dl_iterate_phdr(look_at_module, &any);
    }
    return any;
}

#endif
