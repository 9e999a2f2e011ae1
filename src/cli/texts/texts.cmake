# SPDX-License-Identifier: Apache-2.0
# Writes manual pages and completions into texts/ of the build, and installs them.
add_library(elision_texts_formats OBJECT
  texts/bash_completion.cc texts/fish_completion.cc texts/manual.cc texts/manual_words.cc texts/walk.cc texts/zsh_completion.cc)
target_link_libraries(elision_texts_formats PUBLIC elision_cli)
add_executable(elision_texts texts/main.cc)
target_link_libraries(elision_texts PRIVATE elision_texts_formats elision_verbs)

set(texts_folder ${CMAKE_BINARY_DIR}/texts)
set(pages elision.1 elision-annotate.1 elision-compare.1 elision-doctor.1 elision-export.1 elision-machines.1 elision-record.1 elision-report.1 elision-run.1 elision-vm.1)
list(TRANSFORM pages PREPEND ${texts_folder}/)
list(TRANSFORM pages APPEND .gz OUTPUT_VARIABLE compressed_pages)
set(completions ${texts_folder}/elision.bash ${texts_folder}/_elision ${texts_folder}/elision.fish)
add_custom_command(OUTPUT ${pages} ${compressed_pages} ${completions}
  COMMAND elision_texts ${ELISION_DATE} ${texts_folder}
  COMMAND gzip -9 --no-name --keep --force ${pages}
  DEPENDS elision_texts COMMENT "Writing manual pages and completions" VERBATIM)
add_custom_target(texts ALL DEPENDS ${pages} ${compressed_pages} ${completions})
add_dependencies(installed texts)

install(FILES ${compressed_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${texts_folder}/elision.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME elision
  COMPONENT program)
set(ELISION_ZSH_FOLDER ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Folder for functions of zsh, below the prefix")
install(FILES ${texts_folder}/_elision DESTINATION ${ELISION_ZSH_FOLDER} COMPONENT program)
install(FILES ${texts_folder}/elision.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

elision_test(cli_texts_test SOURCES texts/texts_test.cc LIBRARIES elision_texts_formats elision_verbs)
