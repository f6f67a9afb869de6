# Writes a C++ file whose function DECLARATION, of header HEADER, returns the text of INPUT, in
# pieces that every compiler takes.
file(READ ${INPUT} text)
string(REGEX REPLACE "source_filename = [^\n]*\n" "" text "${text}")
set(code "#include \"${HEADER}\"\n\n${DECLARATION} {\n  return ")
string(LENGTH "${text}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 15000 piece)
  string(APPEND code "R\"~~~(${piece})~~~\"\n")
  math(EXPR at "${at} + 15000")
endwhile()
file(WRITE ${OUTPUT} "${code};\n}\n")
