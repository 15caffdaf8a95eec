# Run by cpack on the files it is about to pack: what Debian's policy wants otherwise than cmake --install
# leaves it. The licence is called copyright, there is a changelog in its own form, and that and manual pages
# are compressed, without a date.

set(usr "${CPACK_TEMPORARY_DIRECTORY}/usr")
set(doc "${usr}/share/doc/${CPACK_PACKAGE_NAME}")
file(RENAME "${doc}/LICENSE" "${doc}/copyright")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC) # or SOURCE_DATE_EPOCH
file(WRITE "${doc}/changelog" "${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What has changed is in CHANGELOG.md beside this file.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
file(GLOB pages "${usr}/share/man/man*/*")
execute_process(COMMAND gzip -9n "${doc}/changelog" ${pages} COMMAND_ERROR_IS_FATAL ANY)
