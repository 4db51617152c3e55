# What the addon and the libraries of its backends must have in common: a hash of device/backend.h and of all that it includes. A library with
# another one would be called through tables that it does not have, and is refused instead.
#
# arbalest_interface(TARGET) gives it to the target's sources, as ARBALEST_INTERFACE in a header of its own: those alone that include it are
# compiled anew where it is another.
get_filename_component(ARBALEST_SOURCES ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

function(arbalest_interface target)
  set(left device/backend.h)
  set(seen)
  set(contents)
  while(left)
    list(POP_FRONT left header)
    if(header IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${header})
    file(SHA256 ${ARBALEST_SOURCES}/${header} hash)
    string(APPEND contents "${header} ${hash}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARBALEST_SOURCES}/${header})
    file(STRINGS ${ARBALEST_SOURCES}/${header} lines REGEX "^#include \"")
    list(TRANSFORM lines REPLACE "^#include \"([^\"]+)\".*" "\\1")
    list(APPEND left ${lines})
  endwhile()
  string(SHA256 interface "${contents}")
  set(made ${CMAKE_CURRENT_BINARY_DIR}/interface)
  file(CONFIGURE OUTPUT ${made}/interface_hash.h CONTENT "#define ARBALEST_INTERFACE \"${interface}\"\n")
  target_include_directories(${target} PRIVATE ${made})
endfunction()
