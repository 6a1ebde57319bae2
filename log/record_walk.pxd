# The types of C that record_walk.py is compiled with: docs/compiled.md. Python does not read them.
cimport cython

cdef int _MOST_BYTES_OF_INT32
cdef int _MOST_BYTES_OF_INT64
cdef int _SHIFT_OF_LAST_BIT
cdef long long _PART

ctypedef fused _Bytes:
    bytes
    const unsigned char[::1]

@cython.locals(fixed=bytes, viewed="const unsigned char[::1]", changing="const unsigned char[::1]")
cpdef long long walk(data, Py_ssize_t start, Py_ssize_t end, long long count, long long lowest, long long highest, bint needs_keys)

@cython.locals(
    position="Py_ssize_t",
    end="Py_ssize_t",
    begin="long long",
    end_of_part="long long",
    i="long long",
    value="unsigned long long",
    second="unsigned long long",
    delta="long long",
    largest="long long",
    is_needed=bint,
)
cdef long long _walk(_Bytes data, Py_ssize_t start, Py_ssize_t limit, long long count, long long lowest, long long highest, bint needs_keys) except *

@cython.locals(
    count="unsigned long long",
    number="unsigned long long",
    size="unsigned long long",
)
cdef Py_ssize_t _past_headers(_Bytes data, Py_ssize_t position) except -2

cdef (unsigned long long, Py_ssize_t) _varint(_Bytes data, Py_ssize_t position) except *

@cython.locals(
    value="unsigned long long",
    byte="unsigned long long",
    shift=int,
)
cdef (unsigned long long, Py_ssize_t) _longer(_Bytes data, Py_ssize_t position, int most_bytes) except *
