# The contents of `cmake --install` and of the Debian package, by component:
# - `runtime`: the programs and the embedded model
# - `documentation`
# - `development`: what other programs link; not in the package
# - `service`: what systemd needs; in the package only
# deploy/debian/make builds the package.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)

install(DIRECTORY model/embedded DESTINATION ${CMAKE_INSTALL_DATADIR}/trivium
        PATTERN training EXCLUDE)
install(FILES README.md LICENSE docs/operating.md docs/threats.md
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trivium
        COMPONENT documentation)

# trivium_install_program(TARGET [SECTION]): installs a program, and its manual
# page if help2man can make one from the program's --help.
find_program(HELP2MAN help2man)
set(trivium_manuals_folder ${PROJECT_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${trivium_manuals_folder})
function(trivium_install_program target)
  install(TARGETS ${target} RUNTIME)
  if(NOT HELP2MAN OR TRIVIUM_SANITIZE)
    return()
  endif()
  set(section 1)
  if(ARGN)
    set(section ${ARGN})
  endif()
  set(page ${trivium_manuals_folder}/${target}.${section}.gz)
  add_custom_command(OUTPUT ${page} DEPENDS ${target} VERBATIM
    COMMAND ${PROJECT_SOURCE_DIR}/deploy/debian/make_manual
            $<TARGET_FILE:${target}> ${section} ${PROJECT_VERSION} ${page})
  add_custom_target(${target}_manual ALL DEPENDS ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
          COMPONENT documentation)
endfunction()

# trivium_install_completions(TARGET): installs what `TARGET completion SHELL`
# prints, where each shell looks for it.
function(trivium_install_completions target)
  if(TRIVIUM_SANITIZE)
    return()
  endif()
  set(folder ${PROJECT_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${folder})
  set(scripts)
  foreach(shell bash zsh fish)
    set(script ${folder}/${target}.${shell})
    add_custom_command(OUTPUT ${script} DEPENDS ${target} VERBATIM
      COMMAND sh -e -c "'$<TARGET_FILE:${target}>' completion ${shell} > '${script}'")
    list(APPEND scripts ${script})
  endforeach()
  add_custom_target(${target}_completions ALL DEPENDS ${scripts})
  install(FILES ${folder}/${target}.bash COMPONENT documentation RENAME ${target}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${folder}/${target}.zsh COMPONENT documentation RENAME _${target}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${folder}/${target}.fish COMPONENT documentation
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()

# The Debian package. Only the package installs files outside of a prefix.
set(debian ${PROJECT_SOURCE_DIR}/deploy/debian)
install(FILES ${debian}/trivium.service DESTINATION /lib/systemd/system
        COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${debian}/default DESTINATION /etc/default RENAME trivium
        COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${debian}/copyright DESTINATION /usr/share/doc/trivium
        COMPONENT service EXCLUDE_FROM_ALL)
install(CODE "execute_process(COMMAND gzip -9nc \"${debian}/changelog\"
                OUTPUT_FILE \"${PROJECT_BINARY_DIR}/changelog.gz\"
                COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/changelog.gz
        DESTINATION /usr/share/doc/trivium
        COMPONENT service EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME trivium)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
    "gRPC server for transformer models on CPUs")
set(CPACK_PACKAGE_VENDOR Trivium)
set(CPACK_PACKAGE_CONTACT "Trivium maintainers <trivium@packages.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime documentation service)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles
    ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_PACKAGE_DESCRIPTION
"Loads Hugging Face folders and GGUF files of encoders, decoders and
encoder-decoders, and answers Encode, Translate, Generate and their like with
continuous batching, in int8, bf16 or f32. It comes with a model that
translates between English and German, a systemd service, a command line and a
load generator.")
