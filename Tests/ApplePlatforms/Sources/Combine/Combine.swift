// Stands in for Combine: OpenCombine has the same declarations.

@_exported import OpenCombine
