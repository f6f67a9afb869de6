# Writes a C++ file whose function DECLARATION, of header HEADER, returns the text of INPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\n${DECLARATION} {\n  return R\"~~~(${text})~~~\";\n}\n")
