# Sanitizers go through vramwise_flags, so that libraries, doors and tests agree.
if(VRAMWISE_SANITIZERS)
  set(sanitize
      -fsanitize=${VRAMWISE_SANITIZERS}
      # vptr asks for type information that the core is compiled without.
      -fno-sanitize=vptr -fno-sanitize-recover=all)
  target_compile_options(vramwise_flags INTERFACE ${sanitize} -fno-omit-frame-pointer -g1)
  target_link_options(vramwise_flags INTERFACE ${sanitize})
  target_compile_definitions(vramwise_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(VRAMWISE_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "the fuzzers need clang (preset fuzz)")
  endif()
  target_compile_options(vramwise_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
