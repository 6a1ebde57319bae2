"""google-re2, as far as it is used here: it comes without types of its own."""

class Options:
    log_errors: bool

class error(Exception): ...

class _Regexp:
    def fullmatch(self, text: str) -> object | None: ...

def compile(pattern: str, options: Options | None = None) -> _Regexp: ...
