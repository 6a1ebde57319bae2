# The types of C that record_scan.py is compiled with: docs/compiled.md. Python does not read them.
cimport cython

cdef int _MOST_SHIFT

@cython.locals(
    limit="Py_ssize_t",
    begin="Py_ssize_t",
    end="Py_ssize_t",
    size="long long",
    value="Py_ssize_t",
    value_end="Py_ssize_t",
    timestamp_delta="long long",
    offset_delta="long long",
)
cpdef Py_ssize_t scan(bytes data, Py_ssize_t position, Py_ssize_t count, list records) except -1

@cython.locals(
    byte="unsigned long long",
    value="unsigned long long",
    shift=int,
)
cdef (long long, Py_ssize_t) _varint(bytes data, Py_ssize_t position) except *
