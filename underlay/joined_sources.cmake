# Read at the end of each message package's own file: its type supports, dozens of small C++ sources that all
# include the same large headers, are compiled as one source each. That takes half the time.
function(join_sources)
  foreach(support cpp c introspection_cpp introspection_c fastrtps_cpp fastrtps_c)
    set(target ${PROJECT_NAME}__rosidl_typesupport_${support})
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL join_sources)
