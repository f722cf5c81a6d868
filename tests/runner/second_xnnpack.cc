// A library that defines a function of XNNPACK's, as one that links XNNPACK statically does.
extern "C" int xnn_create_runtime_v4() { return 0; }
