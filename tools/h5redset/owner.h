/* owner.h: root works for others as the owner of the files, so that the kernel refuses what he could not do himself, and what is made
 * is his. For the file calls of this thread, and of those that it starts meanwhile, his user and groups hold (setfsuid(2)); the
 * process stays root's, so he can neither signal nor trace it. Without root none of this changes anything. */
#ifndef OWNER_H
#define OWNER_H

#include "common/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whose a file is: a user's number. Without root it is not asked: all files are as this process's own. */
uint64_t owner_of(const struct stat *sb);

/* The same of what does not exist yet. */
uint64_t owner_self(void);

/* Does this process work for others? */
bool owner_matters(void);

/* Takes the rights of that user until owner_return: of one that nothing knows, of no group that anybody has. May be called again
 * before. RSET_IO: they cannot be had, and nothing may be done for him; all is as after owner_return. */
rset_status owner_become(uint64_t owner, rset_err *err);

/* As whom it works now: owner_become takes that. */
uint64_t owner_now(void);

/* Back to the rights that the process began with. A process that cannot have these ends. */
void owner_return(void);

/* For a moment what this process began with, between owner_become and owner_return: for what is not in the owner's directories.
 * Outside of these nothing happens. */
void owner_pause(void);
void owner_resume(void);

/* His name, or number. A new string. */
char *owner_name(uint64_t owner);

/* Who protected files, as that is recorded: by name, also where the number is recorded. A new string; NULL: nobody is. */
char *owner_recorded(const char *user);

#endif
