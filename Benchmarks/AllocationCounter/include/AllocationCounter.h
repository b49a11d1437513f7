#pragma once
/* Nothing to call: the library is preloaded. */
