//! A small IRC server on loopback, for the demo and the tests.
