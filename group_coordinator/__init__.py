"""Groups of consumers and their offsets: who is in which group, who reads what, and how far.

README.md is the map: which module serves a request, which has the rules, where a rule stands.
"""
