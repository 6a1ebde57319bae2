# The types of C that record_walk.py is compiled with: docs/compiled.md. Python does not read them.
cimport cython

cdef int _MOST_BYTES_OF_INT32
cdef int _MOST_BYTES_OF_INT64
cdef long long _PART

@cython.locals(
    position="Py_ssize_t",
    end="Py_ssize_t",
    begin="long long",
    i="long long",
    value="unsigned long long",
    second="unsigned long long",
    delta="long long",
    largest="long long",
    is_needed=bint,
)
cpdef long long walk(bytes data, Py_ssize_t start, long long count, long long lowest, long long highest, bint needs_keys)

@cython.locals(
    count="unsigned long long",
    number="unsigned long long",
    size="unsigned long long",
)
cdef Py_ssize_t _past_headers(bytes data, Py_ssize_t position) except -2
