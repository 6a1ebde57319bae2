"""The control plane's client: a broker under the controllers of a KRaft quorum."""
