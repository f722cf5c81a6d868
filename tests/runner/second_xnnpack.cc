// A library that defines a function of XNNPACK, as a library does that links XNNPACK statically.
extern "C" int xnn_deinitialize() { return 0; }
