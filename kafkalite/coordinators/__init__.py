"""Group and transaction coordinators, fitted to logs of this broker."""
