"""The control plane: faults, time, state and waiting as verbs. Imported only where it is asked
for.
"""
