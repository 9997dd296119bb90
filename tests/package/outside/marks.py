"""Ten marked steps by C's interface, as any language with one would; prints whether anybody recorded them. marks.py LIBRARY"""
import ctypes
import sys

marks = ctypes.CDLL(sys.argv[1])
marks.podprof_step_begin.argtypes = [ctypes.c_int64]
marks.podprof_range_push_as.argtypes = [ctypes.c_char_p, ctypes.c_int]
recorded = 0
for i in range(10):
    marks.podprof_step_begin(i)
    marks.podprof_range_push_as(b"from elsewhere", 6)
    marks.podprof_range_pop()
    recorded |= marks.podprof_recording()
    marks.podprof_step_end()
print("recorded", recorded)
