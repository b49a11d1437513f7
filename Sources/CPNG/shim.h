#pragma once
#include <stdio.h>
#include <png.h>
