// Nothing is added: OpenCombine has the declarations of Combine.

@_exported import OpenCombine
