#pragma once

/// Whether this process may start with the limits that it has (setrlimit): too small ones end it with a sentence and code 1.
/// The loader calls this before the constructors of libraries, which such limits would end by a signal.
void limits_require(int count, char **arguments, char **environment);
