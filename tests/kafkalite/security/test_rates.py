"""Kafka's windows and its token bucket, with figures worked out by hand."""

from math import nan

import pytest

from kafkalite.security.rates import Rate, TokenBucket, Window

WINDOW = Window(samples=11, size_ms=1000)


def test_a_first_burst_counts_over_all_windows_but_one() -> None:
    rate = Rate(WINDOW)
    rate.record(1000, 5_000)
    assert rate.span_ms(5_000) == 10_000
    assert rate.measure(5_000) == 100.0


def test_the_wait_brings_the_rate_back_to_the_quota() -> None:
    rate = Rate(WINDOW)
    rate.record(1500, 0)
    # 150 a second where 100 are allowed: half as long again as the ten seconds.
    assert rate.throttle_ms(100, 0) == 5_000
    assert rate.throttle_ms(100, 0, longest_ms=1_000) == 1_000
    assert rate.throttle_ms(150, 0) == 0


def test_old_samples_fall_out() -> None:
    rate = Rate(WINDOW)
    rate.record(1000, 0)
    for second in range(1, 12):
        rate.record(10, second * 1000)
    # Twelve samples are kept; the first is purged once eleven windows went by since its event.
    assert rate.measure(11_000) == pytest.approx(110 / 10)


def test_samples_are_used_again() -> None:
    rate = Rate(WINDOW)
    for second in range(50):
        rate.record(100, second * 1000)
    # Eleven samples, the last of which has only begun: ten seconds.
    assert rate.measure(49_000) == 110.0


def test_silence_forgets_everything() -> None:
    rate = Rate(WINDOW)
    rate.record(1000, 0)
    assert rate.measure(60_000) == 0.0


def test_an_empty_rate_is_zero() -> None:
    assert Rate(WINDOW).measure(7) == 0.0


def test_the_bucket_is_full_at_first_and_may_be_overdrawn() -> None:
    bucket = TokenBucket(WINDOW)
    now = 1_000_000_000
    bucket.record(60, 5, now)  # the most is 55
    assert bucket.throttle_ms(5, now) == 1_000
    assert bucket.throttle_ms(5, now + 1_000) is None
    bucket.record(1, 5, now + 1_000)
    assert bucket.throttle_ms(5, now + 1_000) == 200


def test_the_bucket_holds_no_more_than_its_burst() -> None:
    bucket = TokenBucket(WINDOW)
    bucket.record(0, 5, 10**9)
    bucket.record(56, 5, 10**10)
    assert bucket.throttle_ms(5, 10**10) == 200


def test_the_bucket_is_full_at_first_whatever_the_clock_says() -> None:
    bucket = TokenBucket(WINDOW)
    bucket.record(56, 5, 0)
    assert bucket.throttle_ms(5, 0) == 200


def test_a_wait_is_an_int_of_java() -> None:
    """The last 32 bits of a long, of which the largest is the most; a negative one is no wait."""
    rate = Rate(WINDOW)
    rate.record(2_147_493.0, 0)
    assert rate.throttle_ms(1, 0) == 2_147_483_000
    rate.record(1_000, 0)
    assert rate.throttle_ms(1, 0) == 0
    rate.record(3_000_000, 0)
    assert rate.throttle_ms(1, 0) == (5_148_493 - 10) * 1000 - 2**32
    assert rate.throttle_ms(5e-324, 0) == 0
    assert rate.throttle_ms(5e-324, 0, longest_ms=1_000) == 1_000
    bucket = TokenBucket(WINDOW)
    bucket.record(1, 5e-324, 0)
    assert bucket.throttle_ms(5e-324, 0) == 0


def test_a_quota_of_nothing_lets_nobody_through() -> None:
    rate = Rate(WINDOW)
    rate.record(1, 0)
    assert rate.throttle_ms(0, 0, longest_ms=1_000) == 1_000


def test_a_quota_that_is_no_number_holds_nobody() -> None:
    rate = Rate(WINDOW)
    rate.record(10**9, 0)
    assert rate.throttle_ms(nan, 0) == 0
    bucket = TokenBucket(WINDOW)
    bucket.record(10**9, nan, 0)
    assert bucket.throttle_ms(nan, 0) is None
