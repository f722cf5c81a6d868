#pragma once

namespace etprof::runner {

// Every process draws its memory layout at random, so that two equal variants do not differ by theirs.
//
// Operating systems move the heap by whole pages. Within a page, the address of what ExecuTorch allocates
// depends on what was allocated before, and so on the lengths of the model's path and of the messages. Every
// launch of a variant has the same layout, and a variant with another name has another one. No number of
// launches averages that out: for MobileNetV3-Small, a path that was 16 characters longer changed the self
// time of 11 of 18 OPERATOR_CALLs by more than 20% (145 ns instead of 210 ns), in every launch and in the
// same direction. Copies of the file, arguments, and environment variables changed nothing. What a launch
// draws is part of the launch's effect, which the interval over launches covers (stats/ratio/launches.h). See
// Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009; Curtsinger &
// Berger, "Stabilizer: Statistically Sound Performance Evaluation", ASPLOS 2013.

// Calls `program` with the stack moved by up to a page. Linux moves it in steps of 16 bytes already. Other
// systems move it by whole pages, so that its offset depends on the arguments and the environment.
int WithShiftedStack(int (*program)(int, char**), int argc, char** argv);

// Moves what is allocated from here on by a random part of a page, and fills some of the free blocks, which
// would be used next. The process keeps about 20 KB for it. All draws of a launch together take 0.2 ms.
void ShiftHeap();

}  // namespace etprof::runner
