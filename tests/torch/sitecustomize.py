# SPDX-License-Identifier: Apache-2.0
# The sources and tests of torch-spyre use a keyword of Python 3.12's warnings.warn, which says whose
# line the warning shows, and typing.override. On 3.11 the one is dropped and the other is that of
# typing_extensions, which PyTorch brings: PYTHONPATH has this folder.
import sys
import typing
import warnings

if sys.version_info < (3, 12):
    _warn = warnings.warn

    def warn(*args, **keywords):
        keywords.pop("skip_file_prefixes", None)
        return _warn(*args, **keywords)

    warnings.warn = warn

    if not hasattr(typing, "override"):
        import typing_extensions
        typing.override = typing_extensions.override
