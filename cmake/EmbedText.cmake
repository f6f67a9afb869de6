# headrace_embed_text(OUTPUT INPUT HEADER DECLARATION): the C++ file OUTPUT, whose function DECLARATION, of header
# HEADER, returns the text of INPUT.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(headrace_embed_text output input header declaration)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DHEADER=${header} "-DDECLARATION=${declaration}"
              -P ${script}
      DEPENDS ${input} ${script} VERBATIM)
  endfunction()
  return()
endif()

# What that command runs, when the project is built. Compilers limit the length of a literal.
file(READ ${INPUT} text)
set(code "#include \"${HEADER}\"\n\n${DECLARATION} {\n  return ")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 15000 piece)
  string(APPEND code "R\"~~~(${piece})~~~\"\n")
  math(EXPR at "${at} + 15000")
endwhile()
file(WRITE ${OUTPUT} "${code};\n}\n")
