// A library that defines a function of XNNPACK, as a library does that links XNNPACK statically.
extern "C" int xnn_create_runtime_v4() { return 0; }
