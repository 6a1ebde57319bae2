"""The verbs from Python, whether the broker is in this process or elsewhere. No broker is
imported.
"""
