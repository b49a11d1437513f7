#pragma once
#include <xcb/xtest.h>
