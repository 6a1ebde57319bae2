"""Authentication, authorization and quotas."""
