# What the addon and a library that it opens must have in common: a hash of a header and of all that it includes. A library with another one
# would be called through tables that it does not have, and is refused instead.
#
# arbalest_interface(TARGET) gives the target's sources that of device/backend.h, for libraries of backends, as ARBALEST_INTERFACE in
# interface_hash.h; arbalest_link_interface(TARGET) that of transport/link.h, as ARBALEST_LINK_INTERFACE in link_interface_hash.h. Those
# sources alone that include such a header are compiled anew where the hash is another.
get_filename_component(ARBALEST_SOURCES ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

function(arbalest_interface target)
  arbalest_interface_of(${target} device/backend.h ARBALEST_INTERFACE interface_hash.h)
endfunction()

function(arbalest_link_interface target)
  arbalest_interface_of(${target} transport/link.h ARBALEST_LINK_INTERFACE link_interface_hash.h)
endfunction()

function(arbalest_interface_of target root name file)
  set(left ${root})
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
  file(CONFIGURE OUTPUT ${made}/${file} CONTENT "#define ${name} \"${interface}\"\n")
  target_include_directories(${target} PRIVATE ${made})
endfunction()
