// Gives the precompiled header a target of its own; see cmake/HeadraceMLIR.cmake.
