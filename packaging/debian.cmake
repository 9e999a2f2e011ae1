# SPDX-License-Identifier: Apache-2.0
# Debian's packages, one for each component. Only the preset `package` includes this file.
set(ELISION_MAINTAINER "Elision <elision@example.org>" CACHE STRING "Who answers for the packages")
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(generated ${CMAKE_BINARY_DIR}/packaging)

# The libraries of another release have other names, so each release has its own packages. A later release's version is higher.
file(STRINGS /etc/os-release release REGEX "^VERSION_ID=")
string(REGEX REPLACE "[^0-9]" "" release "${release}")
if(NOT release)
  message(FATAL_ERROR "packages are built on a stable release of Debian: /etc/os-release has no VERSION_ID")
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~deb${release})
set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# ---- What policy asks each package to have.
file(READ ${CMAKE_SOURCE_DIR}/viewer/dist/report.html page)
string(FIND "${page}" "The page contains these works" begin)  # in a comment
string(SUBSTRING "${page}" ${begin} -1 page)
string(FIND "${page}" "-->" end)
string(SUBSTRING "${page}" 0 ${end} bundled)
string(REPLACE "The page" "\nThe page that elision compare --html writes" bundled "${bundled}")
configure_file(${CMAKE_SOURCE_DIR}/packaging/copyright.in ${generated}/copyright @ONLY)
execute_process(COMMAND date -u -R -d ${ELISION_DATE} OUTPUT_VARIABLE date_of_mail OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
configure_file(${CMAKE_SOURCE_DIR}/packaging/changelog.in ${generated}/changelog.Debian @ONLY)
execute_process(COMMAND gzip -9 --no-name --keep --force ${generated}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
configure_file(${CMAKE_SOURCE_DIR}/packaging/shlibs.in ${generated}/shlibs @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/packaging/triggers ${generated}/triggers COPYONLY)
set(package_of_program elision)
set(package_of_library libelision-api${soversion})
set(package_of_development libelision-dev)
foreach(component program library development)
  install(FILES ${generated}/copyright ${generated}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_of_${component}} COMPONENT ${component})
endforeach()

# ---- CPack.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program library development)
set(CPACK_PACKAGE_NAME elision)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${ELISION_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ${package_of_program})
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS gnuplot-nox)  # compare --plot
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "find the best lock design for a program
Elision runs a multithreaded program, unmodified, under several lock designs
and says which one is fastest for it, and why. Some designs elide locks by
hardware transactions. If the CPU has none, Elision runs the program on a
virtual multicore that does.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${package_of_library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${generated}/shlibs ${generated}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "locks whose sections run as hardware transactions
Mutexes, shared mutexes, lock sets and coarsened sections that run as hardware
transactions where the CPU has them, and take the lock elsewhere.
This package has the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${package_of_development})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${package_of_library} (= ${version}), libc6-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "locks whose sections run as hardware transactions (development)
Mutexes, shared mutexes, lock sets and coarsened sections that run as hardware
transactions where the CPU has them, and take the lock elsewhere.
This package has what compilers and linkers need.")
include(CPack)
