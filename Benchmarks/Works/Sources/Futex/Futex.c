#include "Futex.h"
